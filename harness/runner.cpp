#include "harness/runner.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "harness/core/check.hpp"
#include "harness/schedules.hpp"

namespace attest {

std::atomic<bool> stop_requested{false};

namespace {

void on_interrupt(int) {
  if (stop_requested.exchange(true)) _exit(3);
  constexpr char kText[] = "\nattest: finishing the case that runs; again to stop at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
}

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

void stop_on_interrupt() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

CaseRecord run_case(const Kernel& kernel, const Case& c, Device& device,
                    const VerifyOptions& options, const Ledger& ledger) {
  CaseRecord record{to_token(c), {}, 0};
  const auto begin = Clock::now();
  Explored explored = explore_schedules(kernel, device, c, options, [&](const Case& of_schedule) {
    return verify_with_ledger(ledger, kernel, device, of_schedule, options);
  });
  if (std::string shown = to_token(explored.c); shown != record.token) {
    record.planned = std::exchange(record.token, std::move(shown));
  }
  record.verdict = std::move(explored.verdict);
  record.total_ms = ms_since(begin);
  return record;
}

CaseRecord run_case(const Case& c, Device& device, const VerifyOptions& options,
                    const Ledger& ledger) {
  const Kernel* const kernel = find_kernel(c.kernel);
  ATTEST_CHECK(kernel != nullptr);
  return run_case(*kernel, c, device, options, ledger);
}

Tally run_cases(std::span<const Case> cases, const RunCase& run,
                std::span<const std::unique_ptr<Reporter>> reporters,
                const std::atomic<bool>& stop) {
  Tally tally;
  const auto begin = Clock::now();
  for (const Case& c : cases) {
    if (stop) break;
    const std::string token = to_token(c);
    for (const auto& reporter : reporters) reporter->case_begin(tally.total(), token);
    CaseRecord record = run(c);
    record.at_s = ms_since(begin) / 1000;
    for (const auto& reporter : reporters) reporter->case_end(record);
    tally.add(record.verdict.status);
  }
  tally.interrupted = tally.total() < static_cast<std::int64_t>(cases.size());
  for (const auto& reporter : reporters) reporter->run_end(tally, ms_since(begin) / 1000);
  return tally;
}

Tally run_cases(std::span<const Case> cases, Device& device, const VerifyOptions& options,
                std::span<const std::unique_ptr<Reporter>> reporters, const std::atomic<bool>& stop,
                const Ledger& ledger) {
  const RunCase run = [&](const Case& c) { return run_case(c, device, options, ledger); };
  return run_cases(cases, run, reporters, stop);
}

}  // namespace attest
