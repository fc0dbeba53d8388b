#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "harness/commands.hpp"
#include "harness/finished_runs.hpp"
#include "harness/report_files.hpp"
#include "harness/result_files.hpp"
#include "reports/compare/compare_text.hpp"

namespace attest {
namespace {

struct Request {
  std::string base, pr;  // files, folders (result_files.hpp)
  std::string format = "text", out;
};

Result<const CompareFormat*> format_named(const std::string& name) {
  if (const CompareFormat* const format = find_compare_format(name)) return format;
  std::vector<std::string_view> names;
  for (const CompareFormat& format : all_compare_formats()) names.push_back(format.name);
  return Trouble{TroubleKind::kUsage, fmt::format("there is no format '{}'; there are: {}", name,
                                                  fmt::join(names, ", "))};
}

Outcome write(const std::string& path, const std::string& text) {
  if (!path.empty() && path != "-") return write_whole_file(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return Done{};
  return Trouble{TroubleKind::kInfra, fmt::format("stdout: {}", std::strerror(errno))};
}

int command_compare(const Request& request) {
  const auto format = format_named(request.format);
  if (!format.ok()) return report_trouble(format.trouble());
  const auto base = read_run(request.base);
  if (!base.ok()) return report_trouble(base.trouble());
  const auto pr = read_run(request.pr);
  if (!pr.ok()) return report_trouble(pr.trouble());
  const Comparison comparison = compare(*base, request.base, *pr, request.pr);
  const Outcome written = write(request.out, (*format)->render(comparison));
  const int code = comparison.exit_code();
  return written.ok() ? code : worse_of(code, report_trouble(written.trouble()));
}

}  // namespace

void add_compare(CLI::App& app, std::function<int()>& command) {
  CLI::App& sub = *app.add_subcommand(
      "compare",
      "what changed between two runs of the same cases. Exit code: 0 nothing is worse, 1 something "
      "fails that did not, 3 PR is incomplete, 4 the machine gave no verdict where it had, 5 PR "
      "proves less: a looser bound, another contract, fewer cases, less seen");
  const auto request = std::make_shared<Request>();
  sub.callback([request, &command] { command = [request] { return command_compare(*request); }; });
  const char* const side =
      "results.jsonl, the folder of `attest nightly --out`, or several of these by commas: shards";
  sub.add_option("base", request->base, side)->required();
  sub.add_option("pr", request->pr, side)->required();
  sub.add_option("--format", request->format, "text, markdown or json")->capture_default_str();
  sub.add_option("--out", request->out, "file; -: stdout, the default");
}

}  // namespace attest
