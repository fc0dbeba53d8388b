#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "fuzz/problems/suites.hpp"
#include "harness/bench_verify.hpp"
#include "harness/case_runner.hpp"
#include "harness/case_source.hpp"
#include "harness/command_bench.hpp"
#include "harness/core/check.hpp"
#include "harness/core/kernel.hpp"
#include "harness/device/device_list.hpp"
#include "harness/machine.hpp"
#include "reports/reporter.hpp"

namespace attest {
namespace {

constexpr const char* kStages[] = {"draw",  "generate", "execute", "reference",
                                   "judge", "evidence", "other"};

struct Run {
  VerifyWork work;
  OpenStaged open;
  bool drawn = true;
};

struct Table {
  std::string command, device, hardware;
  int threads = 1;
  std::vector<VerifySpeed> rows = {};
};

VerifyWork smoke_suite() {
  std::vector<Case> cases;
  for (const std::string_view token : find_suite("smoke")->tokens) {
    auto c = parse_token(token);
    ATTEST_CHECK(c.ok());
    cases.push_back(std::move(*c));
  }
  const auto count = static_cast<std::int64_t>(cases.size());
  return {"smoke suite", count, [cases = std::move(cases)](std::int64_t index) {
            return cases[static_cast<std::size_t>(index)];
          }};
}

VerifyWork drawn_cases(const BenchVerifyRequest& request, bool is_emulated) {
  const std::span<const Kernel* const> kernels = all_kernels();
  const std::shared_ptr<CaseSource> source =
      random_cases({request.seed, {kernels.begin(), kernels.end()}, {}, is_emulated});
  return {fmt::format("{} drawn, seed {}", request.cases, request.seed), request.cases,
          [source](std::int64_t index) { return source->at(index); }};
}

std::string markdown(const Table& table) {
  std::string text = fmt::format(
      "# Speed of verification on {} ({})\n\nMachine: {}. Command: `attest {}`. Cases end to end "
      "on "
      "{} threads, a device each. Shares are of the time of all threads; of worker processes "
      "all but drawing is other.\n\n| cases | what came of "
      "them | s | cases/s | KV tokens/s |",
      table.hardware, table.device, machine_text(), table.command, table.threads);
  for (const char* stage : kStages) text += fmt::format(" {} |", stage);
  text += "\n|---|---|---:|---:|---:|";
  for ([[maybe_unused]] const char* stage : kStages) text += "---:|";
  for (const VerifySpeed& row : table.rows) {
    text += fmt::format("\n| {} | {} | {:.2f} | {:.1f} | {:.0f} |", row.name, tally_text(row.tally),
                        row.seconds, row.cases_per_s(), row.tokens_per_s());
    for (const char* stage : kStages) text += fmt::format(" {:.1f} % |", 100 * row.share(stage));
  }
  return text + "\n";
}

std::string as_json(const Table& table) {
  nlohmann::ordered_json json = {
      {"command", table.command},   {"device", table.device},
      {"hardware", table.hardware}, {"machine", machine_text()},
      {"threads", table.threads},   {"rows", nlohmann::ordered_json::array()}};
  for (const VerifySpeed& row : table.rows) {
    nlohmann::ordered_json one = {{"what", row.name},
                                  {"cases", row.cases},
                                  {"passed", row.tally.passed},
                                  {"seconds", row.seconds},
                                  {"cases_per_s", row.cases_per_s()},
                                  {"kv_tokens_per_s", row.tokens_per_s()}};
    for (const char* stage : kStages) one["shares"][stage] = row.share(stage);
    json["rows"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

// Drawn cases may be vacuous, or not for their kernel: that says nothing about the run.
int exit_code_of(const VerifySpeed& row, bool drawn) {
  Tally tally = row.tally;
  if (drawn) tally.vacuous = tally.skipped = 0;
  return exit_code(tally);
}

std::vector<Run> runs_of(const CommonOptions& common, const BenchVerifyRequest& request,
                         bool is_emulated) {
  static const Ledger kNone;
  const OpenStaged here = staged_runners(common);
  const VerifyWork drawn = drawn_cases(request, is_emulated);
  std::vector<Run> runs = {{smoke_suite(), here, false}, {drawn, here}};
  if (!is_emulated || request.isolate) {
    const OpenRunner isolated =
        runners_of({.common = common, .isolated = true, .workers = common.threads}, kNone);
    runs.push_back({drawn, [isolated](const AtStage&) { return isolated(); }});
    runs.back().work.name += ", in worker processes";
  }
  return runs;
}

}  // namespace

void add_bench_verify_options(CLI::App& sub, BenchVerifyRequest& request) {
  sub.add_option("--cases", request.cases, "that are drawn as fuzz draws them")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  sub.add_option("--seed", request.seed, "what they are drawn from")->capture_default_str();
  sub.add_flag("--isolate", request.isolate,
               "also in worker processes, as fuzz runs cases on a GPU; always so on a GPU");
  sub.add_option("--out", request.out, "also write Markdown here");
}

int command_bench_verify(const CommonOptions& common, const BenchVerifyRequest& request) {
  const auto device = open_device(common.device, {.threads = 1});
  if (!device.ok()) return report_trouble(device.trouble());
  int code = write_report(request.out, "");  // a path that cannot be written to is told at once
  if (code != 0) return code;
  const std::vector<Run> runs = runs_of(common, request, (*device)->is_emulated());
  Table table{.command = fmt::format("bench verify --device {} --threads {} --cases {} --seed {}{}",
                                     common.device, common.threads, request.cases, request.seed,
                                     request.isolate ? " --isolate" : ""),
              .device = common.device,
              .hardware = (*device)->description(),
              .threads = common.threads};
  for (const Run& run : runs) {
    const auto speed = bench_verify(run.work, common.threads, run.open);
    if (!speed.ok()) return report_trouble(speed.trouble());
    if (!speed->first_finding.empty()) fmt::print(stderr, "{}\n", speed->first_finding);
    code = worse_of(code, exit_code_of(*speed, run.drawn));
    table.rows.push_back(*speed);
  }
  fmt::print("{}", common.json ? as_json(table) : markdown(table));
  return worse_of(code, write_report(request.out, markdown(table)));
}

}  // namespace attest
