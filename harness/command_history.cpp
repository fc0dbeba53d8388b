#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "harness/commands.hpp"
#include "harness/finished_runs.hpp"
#include "harness/result_files.hpp"
#include "reports/history/history.hpp"
#include "reports/history/history_text.hpp"
#include "reports/run/say.hpp"

namespace attest {
namespace {

constexpr int kMostRuns = 20;

struct Request {
  std::string file;
  std::vector<std::string> add;  // results (result_files.hpp); none: the history is shown
  std::string family;            // glob; empty: all
  bool json = false;
};

Outcome add_one(History& history, const std::string& path) {
  const auto run = read_run_of({path});
  if (!run.ok()) return run.trouble();
  const Outcome added = history.add(*run);
  if (!added.ok()) return Trouble{added.trouble().kind, path + ": " + added.trouble().text};
  say("attest: {}: in the history: run {}, cases: {}\n", path, run->header().run,
      run->cases.size());
  return Done{};
}

int add_all(History& history, const std::vector<std::string>& results) {
  for (const std::string& paths : results) {
    // All are read before one is added: what are no shards of one run stays out.
    const auto run = read_run(paths);
    if (!run.ok()) return report_trouble(run.trouble());
    // Each by itself: shards without a common id are runs of their own.
    for (const std::string& path : paths_of(paths)) {
      const Outcome added = add_one(history, path);
      if (!added.ok()) return report_trouble(added.trouble());
    }
  }
  return 0;
}

Outcome keep_family(Trend& trend, const std::string& glob) {
  if (glob.empty()) return Done{};
  std::vector<std::string> names;
  for (const TrendLine& line : trend.lines) names.push_back(line.family);
  std::erase_if(trend.lines, [&](const TrendLine& line) { return !is_family(line, glob); });
  if (!trend.lines.empty()) return Done{};
  return Trouble{TroubleKind::kUsage, fmt::format("--family {}: there is none such; there are: {}",
                                                  glob, fmt::join(names, ", "))};
}

int command_history(const Request& request) {
  std::error_code none;
  if (request.add.empty() && !request.file.empty() &&
      !std::filesystem::exists(request.file, none)) {
    return report_trouble(
        {TroubleKind::kUsage,
         fmt::format("{0}: there is no such file; `attest history --history {0} --add "
                     "results.jsonl` makes it",
                     request.file)});
  }
  auto history = History::open(request.file);
  if (!history.ok()) return report_trouble(history.trouble());
  if (!request.add.empty()) return add_all(*history, request.add);
  auto runs = history->runs(kMostRuns);
  if (!runs.ok()) return report_trouble(runs.trouble());
  auto trend = history->trend();
  if (!trend.ok()) return report_trouble(trend.trouble());
  const Outcome kept = keep_family(*trend, request.family);
  if (!kept.ok()) return report_trouble(kept.trouble());
  const std::string text =
      request.json ? history_as_json(*runs, *trend) : history_as_text(*runs, *trend);
  if (say_to(stdout, "{}", text) && std::fflush(stdout) == 0) return 0;
  return report_trouble({TroubleKind::kInfra, fmt::format("stdout: {}", std::strerror(errno))});
}

}  // namespace

void add_history(CLI::App& app, std::function<int()>& command) {
  CLI::App& sub = *app.add_subcommand(
      "history", "runs over time: trends of error / bound, and since when what fails");
  const auto request = std::make_shared<Request>();
  sub.callback([request, &command] { command = [request] { return command_history(*request); }; });
  sub.add_option("--history", request->file, "SQLite file of `attest nightly --history`")
      ->required();
  sub.add_option(
      "--add", request->add,
      "results.jsonl, or the folder of `attest nightly --out`: keep them; several, each a "
      "run; shards of one run by commas");
  sub.add_option("--family", request->family,
                 "only trends of this: a glob over \"mla_decode emu:gfx942 lse\", or a word of it");
  sub.add_flag("--json", request->json, "machine-readable output on stdout");
}

}  // namespace attest
