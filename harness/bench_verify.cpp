#include "harness/bench_verify.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "harness/case_source.hpp"
#include "harness/core/kernel.hpp"
#include "harness/device/device_list.hpp"
#include "harness/verify.hpp"

namespace attest {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Of one thread: the time between two stages is the first one's.
class StageTimes {
 public:
  void at(std::string_view stage) {
    const auto now = Clock::now();
    if (!stage_.empty()) {
      seconds_[stage_] += seconds_between(begin_, now);
    }
    stage_ = stage.starts_with("ref ") ? "reference" : stage;  // on a device by its name
    begin_ = now;
  }
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  std::map<std::string, double> seconds_;
  std::string stage_;
  Clock::time_point begin_;
};

class StagedRunner final : public CaseRunner {
 public:
  StagedRunner(std::unique_ptr<Device> device, const CommonOptions& common, AtStage at_stage)
      : device_(std::move(device)),
        options_{
            .code_objects = common.code_objects, .threads = 1, .at_stage = std::move(at_stage)} {}
  CaseRecord run(const Case& c) override {
    return {to_token(c), verify(*find_kernel(c.kernel), *device_, c, options_), 0};
  }

 private:
  std::unique_ptr<Device> device_;
  VerifyOptions options_;
};

// What one thread has done.
struct Part {
  std::unique_ptr<CaseRunner> runner;
  StageTimes times;
  Tally tally;
  std::int64_t cases = 0, kv_tokens = 0;
  std::string finding;
  Clock::time_point end;
  Trouble trouble{TroubleKind::kInfra, ""};  // there is no runner
};

void run_one(const VerifyWork& work, std::int64_t index, Part& part) {
  part.times.at("draw");
  const Case c = work.at(index);
  part.times.at("other");  // what a case does before it tells its first stage
  const CaseRecord record = part.runner->run(c);
  part.times.at("");
  const Verdict& verdict = record.verdict;
  part.tally.add(verdict.status);
  ++part.cases;
  part.kv_tokens += c.problem.total_kv();
  if (part.finding.empty() && (is_finding(verdict.status) || verdict.status == Status::kInfra)) {
    part.finding = record.token + ": " + verdict.reason;
  }
}

// What a runtime loads at first use is not counted.
void warm_up(const VerifyWork& work, const OpenStaged& open, Part& part) {
  auto runner = open([&part](std::string_view stage) { part.times.at(stage); });
  if (!runner.ok()) {
    part.trouble = runner.trouble();
    return;
  }
  part.runner = std::move(*runner);
  run_one(work, 0, part);
  part.times = {};
  part.tally = {};
  part.cases = part.kv_tokens = 0;
  part.finding.clear();
}

void add(const Part& part, VerifySpeed& speed) {
  speed.cases += part.cases;
  speed.kv_tokens += part.kv_tokens;
  for (const auto& [stage, seconds] : part.times.seconds()) speed.stage_seconds[stage] += seconds;
  if (speed.first_finding.empty()) speed.first_finding = part.finding;
  Tally& sum = speed.tally;
  const Tally& more = part.tally;
  for (const auto count : {&Tally::passed, &Tally::suspect, &Tally::vacuous, &Tally::failed,
                           &Tally::flaky, &Tally::crashed, &Tally::hung, &Tally::skipped,
                           &Tally::infra, &Tally::xfail, &Tally::xpass}) {
    sum.*count += more.*count;
  }
}

}  // namespace

double VerifySpeed::share(const std::string& stage) const {
  const auto found = stage_seconds.find(stage);
  if (found == stage_seconds.end()) return 0;
  return found->second / std::accumulate(stage_seconds.begin(), stage_seconds.end(), 0.0,
                                         [](double sum, const auto& s) { return sum + s.second; });
}

OpenStaged staged_runners(const CommonOptions& common) {
  return [common](AtStage at_stage) -> Result<std::unique_ptr<CaseRunner>> {
    auto device = open_device(common.device, {.threads = 1,
                                              .instruction_budget = kInstructionBudget,
                                              .guard_page = common.guard_page,
                                              .launch_limit_s = kDrawnLaunchSeconds});
    if (!device.ok()) return device.trouble();
    return std::unique_ptr<CaseRunner>(
        std::make_unique<StagedRunner>(std::move(*device), common, std::move(at_stage)));
  };
}

Result<VerifySpeed> bench_verify(const VerifyWork& work, int threads, const OpenStaged& open) {
  std::vector<Part> parts(static_cast<std::size_t>(threads));
  std::atomic<std::int64_t> next{0};
  Clock::time_point began;  // before any thread begins
  std::barrier all_are_warm(threads, [&began]() noexcept { began = Clock::now(); });
  const auto run = [&](int thread) {
    Part& part = parts[static_cast<std::size_t>(thread)];
    warm_up(work, open, part);
    all_are_warm.arrive_and_wait();
    for (std::int64_t i = next++; i < work.cases && part.runner; i = next++) run_one(work, i, part);
    part.end = Clock::now();
    part.runner.reset();  // where it was opened: a device belongs to a thread
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
    run(0);
  }
  VerifySpeed speed;
  speed.name = work.name;
  for (const Part& part : parts) {
    if (!part.trouble.text.empty()) return part.trouble;
    add(part, speed);
    speed.seconds = std::max(speed.seconds, seconds_between(began, part.end));
  }
  return speed;
}

}  // namespace attest
