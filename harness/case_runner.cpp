#include "harness/case_runner.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "harness/case_source.hpp"
#include "harness/device/device_list.hpp"
#include "harness/machine.hpp"
#include "harness/runner.hpp"
#include "harness/shared_worker.hpp"
#include "harness/worker.hpp"

namespace attest {
namespace {

// Without an answer from a worker for so long it hangs: of a case that was drawn, with all its
// launches, each of which has a limit of its own.
constexpr double kDrawnCaseSeconds = 120;

class DeviceRunner final : public CaseRunner {
 public:
  DeviceRunner(std::unique_ptr<Device> device, VerifyOptions options, const Ledger& ledger,
               FindKernel find)
      : device_(std::move(device)),
        options_(std::move(options)),
        ledger_(ledger),
        find_(std::move(find)) {
    as_is_ = options_;
    as_is_.schedules = 0;
  }
  CaseRecord run(const Case& c) override {
    return run_case(*find_(c.kernel), c, *device_, options_, ledger_);
  }
  CaseRecord run_as_is(const Case& c) override {
    return run_case(*find_(c.kernel), c, *device_, as_is_, ledger_);
  }

 private:
  std::unique_ptr<Device> device_;
  VerifyOptions options_, as_is_;
  const Ledger& ledger_;
  FindKernel find_;
};

class IsolatedRunner final : public CaseRunner, private JobSource {
 public:
  IsolatedRunner(PoolOptions options, double limit_s, const Ledger& ledger)
      : limit_s_(limit_s), pool_(std::move(options), *this, ledger) {}

  CaseRecord run(const Case& c) override {
    const std::string token = to_token(c);
    job_ = Job{.token = token, .limit_s = limit_s_};
    while (!record_ && pool_.trouble().text.empty()) pool_.step();
    job_.reset();
    if (record_) return *std::exchange(record_, std::nullopt);
    return {token, verdict_of({TroubleKind::kInfra, pool_.trouble().text}, c.kernel), 0};
  }

 private:
  std::optional<Job> next() override { return std::exchange(job_, std::nullopt); }
  void ended(const Job&, CaseRecord record) override { record_ = std::move(record); }

  double limit_s_;
  std::optional<Job> job_;
  std::optional<CaseRecord> record_;
  WorkerPool pool_;
};

// Of a case that passed alone: nothing else tells that a process ended.
CaseRecord unexplained(CaseRecord alone, const std::string& kernel, const SharedEnd& end) {
  Verdict& verdict = alone.verdict;
  verdict.reason = fmt::format(
      "{}: {}\neach ran again alone, and none failed: this one ended '{}'{}{}", kernel, end.text(),
      to_string(verdict.status), verdict.reason.empty() ? "" : ": ", verdict.reason);
  verdict.status = Status::kInfra;
  verdict.bucket.clear();
  return alone;
}

// A case that is not right beside others, whose kernels can write where its own does: what counts
// is how it ends alone. That it passes there takes nothing back.
CaseRecord with_alone(CaseRecord beside, CaseRecord alone) {
  alone.tries += beside.tries;
  alone.total_ms += beside.total_ms;
  const Status status = alone.verdict.status;
  const bool has_verdict = is_finding(status) || status == Status::kXfail;
  const bool is_infra = status == Status::kInfra;
  if (has_verdict || (is_infra && !is_finding(beside.verdict.status))) return alone;
  Verdict& verdict = beside.verdict;
  verdict.reason += fmt::format(
      "; so in a process that ran other cases beside it, alone it ended '{}'{}{}",
      to_string(status), alone.verdict.reason.empty() ? "" : ": ", alone.verdict.reason);
  if (!is_infra && is_failure(verdict.status)) verdict.status = Status::kFlaky;
  beside.tries = alone.tries;
  beside.total_ms = alone.total_ms;
  return beside;
}

// Beside others in a worker that they share; alone where that was ended, or the case is not right.
class SharedRunner final : public CaseRunner {
 public:
  SharedRunner(std::shared_ptr<SharedWorker> shared, std::unique_ptr<CaseRunner> alone)
      : shared_(std::move(shared)), alone_(std::move(alone)) {}
  CaseRecord run(const Case& c) override {
    SharedAnswer beside = shared_->run(to_token(c));
    if (beside.record) {
      const Status status = beside.record->verdict.status;
      if (!is_finding(status) && status != Status::kInfra) return std::move(*beside.record);
      return with_alone(std::move(*beside.record), alone_->run(c));
    }
    CaseRecord alone = alone_->run(c);
    const bool is_all = beside.end && beside.end->is_unexplained_after(alone.verdict.status);
    return is_all ? unexplained(std::move(alone), c.kernel, *beside.end) : alone;
  }
  CaseRecord run_as_is(const Case& c) override { return alone_->run_as_is(c); }

 private:
  std::shared_ptr<SharedWorker> shared_;
  std::unique_ptr<CaseRunner> alone_;
};

}  // namespace

Result<DeviceFacts> facts_of_device(const std::string& device) {
  const auto opened = open_device(device, {.threads = 1});
  if (!opened.ok()) return opened.trouble();
  const Device& its = **opened;
  return DeviceFacts{its.target(), its.is_emulated(), its.is_emulated() ? "" : its.description()};
}

std::string machine_text(const DeviceFacts& device) {
  return machine_text() + (device.hardware.empty() ? "" : ", " + device.hardware);
}

std::string target_of_device(std::string_view device) {
  constexpr std::string_view kEmulator = "emu:";
  if (device.starts_with(kEmulator)) return std::string(device.substr(kEmulator.size()));
  return device.starts_with("cuda:") ? "sm_90" : "";
}

std::unique_ptr<CaseRunner> isolated_runner(PoolOptions options, double limit_s,
                                            const Ledger& ledger) {
  return std::make_unique<IsolatedRunner>(std::move(options), limit_s, ledger);
}

std::unique_ptr<CaseRunner> shared_runner(std::shared_ptr<SharedWorker> shared,
                                          std::unique_ptr<CaseRunner> alone) {
  return std::make_unique<SharedRunner>(std::move(shared), std::move(alone));
}

std::unique_ptr<CaseRunner> isolated_cases(const CommonOptions& common, const Ledger& ledger) {
  constexpr double kLongestCaseSeconds = 3600;  // a launch has a limit of its own
  PoolOptions options;
  options.workers = {worker_arguments(common, common.threads)};
  options.memory_bytes = share_of_memory(1);
  return isolated_runner(std::move(options), kLongestCaseSeconds, ledger);
}

OpenRunner runners_of(const DrawnCases& cases, const Ledger& ledger, FindKernel find) {
  const CommonOptions& common = cases.common;
  if (cases.isolated) {
    PoolOptions options;
    options.workers = {worker_arguments(common, 1)};
    const std::string control =
        cases.control_objects.empty() ? common.code_objects : cases.control_objects;
    auto& arguments = options.workers.front();
    arguments.insert(arguments.end(), {"--drawn", "--control-objects", control});
    if (!cases.launcher.empty()) {
      arguments.insert(arguments.end(), {"--launcher", cases.launcher});
    }
    options.memory_bytes = share_of_memory(cases.campaigns * cases.workers);
    auto of_all = arguments;
    of_all.insert(of_all.end(), {"--crew", std::to_string(cases.workers)});
    const auto shared =
        std::make_shared<SharedWorker>(options.program, std::move(of_all), kDrawnCaseSeconds);
    return [options, shared, &ledger]() -> Result<std::unique_ptr<CaseRunner>> {
      return shared_runner(shared, isolated_runner(options, kDrawnCaseSeconds, ledger));
    };
  }
  VerifyOptions options{.code_objects = common.code_objects, .threads = 1, .ariths = common.ariths};
  options.schedules = common.schedules;
  const DeviceOptions of_device{.threads = 1,
                                .instruction_budget = kInstructionBudget,
                                .checks = common.checks,
                                .guard_page = common.guard_page,
                                .launch_limit_s = kDrawnLaunchSeconds};
  return [name = common.device, options, of_device, &ledger,
          find = std::move(find)]() -> Result<std::unique_ptr<CaseRunner>> {
    auto device = open_device(name, of_device);
    if (!device.ok()) return device.trouble();
    return std::unique_ptr<CaseRunner>(
        std::make_unique<DeviceRunner>(std::move(*device), options, ledger, find));
  };
}

}  // namespace attest
