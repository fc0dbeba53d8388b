#include <fmt/format.h>

#include "harness/case_runner.hpp"
#include "harness/commands.hpp"
#include "harness/device/device_list.hpp"
#include "harness/reference_device.hpp"
#include "harness/run_files.hpp"
#include "harness/run_header.hpp"
#include "harness/runner.hpp"

namespace attest {
namespace {

// What a tool that watches launches slows down is not hung.
constexpr double kWatchedLaunchSeconds = 600;

// On a device of this process; on a GPU in a worker, which a fault costs alone.
Result<RunCase> how_to_run(const CommonOptions& common, const DeviceFacts& facts,
                           const Ledger& ledger) {
  if (!facts.is_emulated && !common.in_process) {
    const std::shared_ptr<CaseRunner> runner = isolated_cases(common, ledger);
    return RunCase([runner](const Case& c) { return runner->run(c); });
  }
  auto opened = open_device(common.device, {.threads = common.threads,
                                            .checks = common.checks,
                                            .guard_page = common.guard_page,
                                            .launch_limit_s = kWatchedLaunchSeconds});
  if (!opened.ok()) return opened.trouble();
  const std::shared_ptr<Device> device = std::move(*opened);
  VerifyOptions options{common.code_objects, common.threads, {}, false, common.ariths};
  options.schedules = common.schedules;
  options.reference_device = reference_device(common);
  return RunCase(
      [device, options, &ledger](const Case& c) { return run_case(c, *device, options, ledger); });
}

// Runs the cases and turns the tally, or a report that could not be written, into the exit code.
int run_and_report(const CommonOptions& common, const std::vector<Case>& cases,
                   std::vector<std::unique_ptr<Reporter>> reporters) {
  if (cases.empty()) {
    fmt::print(stderr, "attest: nothing is selected, so nothing is proven\n");
    return exit_code(Tally{});
  }
  const auto ledger = Ledger::open(common.ledger);
  if (!ledger.ok()) return report_trouble(ledger.trouble());
  for (const std::string& line : ledger->warnings()) fmt::print(stderr, "attest: {}\n", line);
  const auto device = facts_of_device(common.device);
  if (!device.ok()) return report_trouble(device.trouble());
  const auto run = how_to_run(common, *device, *ledger);
  if (!run.ok()) return report_trouble(run.trouble());
  stop_on_interrupt();
  RunHeader header = run_header(common, "run", static_cast<std::int64_t>(cases.size()));
  header.machine = machine_text(*device);
  for (const auto& reporter : reporters) reporter->run_begin(header);
  const Tally tally = run_cases(cases, *run, reporters);
  for (const auto& reporter : reporters) {
    if (reporter->trouble().empty()) continue;
    return worse_of(exit_code(tally),
                    report_trouble({TroubleKind::kInfra,
                                    "the report could not be written: " + reporter->trouble()}));
  }
  return exit_code(tally);
}

std::unique_ptr<Reporter> stdout_reporter(const CommonOptions& common) {
  return common.json ? make_jsonl_reporter(stdout) : make_console_reporter(stdout, common.console);
}

}  // namespace

int command_run(const CommonOptions& common, const Selection& selection, const RunFiles& files) {
  const auto cases = select_cases(selection);
  if (!cases.ok()) return report_trouble(cases.trouble());
  auto reports = RunReports::open(files);
  if (!reports.ok()) return report_trouble(reports.trouble());
  std::vector<std::unique_ptr<Reporter>> reporters;
  reporters.push_back(stdout_reporter(common));
  reports->add_reporters(reporters);
  const int code = run_and_report(common, *cases, std::move(reporters));
  const Outcome written = reports->write();
  return written.ok() ? code : worse_of(code, report_trouble(written.trouble()));
}

}  // namespace attest
