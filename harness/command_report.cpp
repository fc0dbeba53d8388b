#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>

#include "harness/commands.hpp"
#include "harness/report_files.hpp"
#include "reports/run/summary.hpp"

namespace attest {
namespace {

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

Result<const ReportFormat*> format_named(const std::string& name) {
  if (const ReportFormat* const format = find_report_format(name)) return format;
  std::vector<std::string_view> names;
  for (const ReportFormat& format : all_report_formats()) names.push_back(format.name);
  return usage(fmt::format("there is no format '{}'; there are: {}", name, fmt::join(names, ", ")));
}

// Files that are merged are the parts of one run: none may have run what another has.
Result<Results> results_of(const std::vector<std::string>& files) {
  Result<Results> results = read_results(files);
  if (!results.ok() || files.size() == 1 || results->twice.empty()) return results;
  constexpr std::size_t kMostNamed = 10;
  return usage(fmt::format(
      "the files are not the shards of one run: what ended in one ended in another, or twice:\n"
      "  {}\nGive one run's files, each once; of two runs: `attest compare`",
      fmt::join(first_of(results->twice, kMostNamed, "cases"), "\n  ")));
}

Outcome write_stdout(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return Done{};
  return Trouble{TroubleKind::kInfra, fmt::format("stdout: {}", std::strerror(errno))};
}

Outcome write_reports(const ReportRequest& request, const ReportFormat& format,
                      const Results& results) {
  const Trend trend;  // no history is read yet
  if (!request.folder.empty()) {
    const Outcome written = write_report_files(results, trend, request.folder);
    if (!written.ok()) return written;
    fmt::print(stderr, "attest: reports in {}: {}\n", request.folder, tally_text(results.tally));
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
  const auto results = results_of(request.files);
  if (!results.ok()) return report_trouble(results.trouble());
  for (const std::string& note : notes_of(*results)) fmt::print(stderr, "attest: {}\n", note);
  const int code = exit_code(results->tally);
  const Outcome written = write_reports(request, **format, *results);
  return written.ok() ? code : worse_of(code, report_trouble(written.trouble()));
}

}  // namespace attest
