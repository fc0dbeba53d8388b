#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "harness/commands.hpp"
#include "harness/report_files.hpp"
#include "harness/result_files.hpp"
#include "reports/history/history.hpp"
#include "reports/run/say.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/text.hpp"

namespace attest {
namespace {

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

Result<const ReportFormat*> format_named(const std::string& name) {
  if (const ReportFormat* const format = find_report_format(name)) return format;
  std::vector<std::string_view> names;
  for (const ReportFormat& format : all_report_formats()) names.push_back(format.name);
  return usage(fmt::format("there is no format '{}'; there are: {}", name, fmt::join(names, ", ")));
}

Result<Trend> trend_of(const std::string& history) {
  if (history.empty()) return Trend{};
  std::error_code none;
  if (!std::filesystem::exists(history, none)) return usage(history + ": there is no such file");
  const auto opened = History::open(history);
  if (!opened.ok()) return opened.trouble();
  return opened->trend();
}

Outcome write_stdout(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return Done{};
  return Trouble{TroubleKind::kInfra, fmt::format("stdout: {}", std::strerror(errno))};
}

Outcome write_reports(const ReportRequest& request, const ReportFormat& format,
                      const Results& results, const Trend& trend) {
  if (!request.folder.empty()) {
    const Outcome written = write_report_files(results, trend, request.folder);
    if (!written.ok()) return written;
    say("attest: reports in {}: {}\n", request.folder, tally_text(results.tally));
    if (request.format.empty() && request.out.empty()) return Done{};
  }
  const std::string text = format.render(results, trend);
  if (request.out.empty() || request.out == "-") return write_stdout(text);
  return write_whole_file(request.out, text);
}

}  // namespace

int command_report(const ReportRequest& request) {
  const auto format = format_named(request.format.empty() ? "console" : request.format);
  if (!format.ok()) return report_trouble(format.trouble());
  auto results = read_run_of(request.files);
  if (!results.ok()) return report_trouble(results.trouble());
  const auto trend = trend_of(request.history);
  if (!trend.ok()) return report_trouble(trend.trouble());
  for (const std::string& note : notes_of(*results)) say("attest: {}\n", visible(note));
  // Who asks for a report of one part must not take it for that of the whole.
  if (!results->absent.empty()) results->tally.interrupted = true;
  const int code = run_exit_code(*results);
  const Outcome written = write_reports(request, **format, *results, *trend);
  return written.ok() ? code : worse_of(code, report_trouble(written.trouble()));
}

}  // namespace attest
