#include "harness/bench_verify.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "harness/core/kernel.hpp"
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
    stage_ = stage;
    begin_ = now;
  }
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  std::map<std::string, double> seconds_;
  std::string stage_;
  Clock::time_point begin_;
};

// What one thread has part.
struct Part {
  std::unique_ptr<Device> device;
  StageTimes times;
  Tally tally;
  std::int64_t cases = 0, kv_tokens = 0;
  std::string finding;
  Clock::time_point end;
  Trouble trouble{TroubleKind::kInfra, ""};  // there is no device
};

void run_one(const VerifyWork& work, const VerifyBenchOptions& options, std::int64_t index,
             Part& part) {
  part.times.at("draw");
  const Case c = work.at(index);
  part.times.at("other");  // what a case does before it tells its first stage
  const Verdict verdict = verify(
      *find_kernel(c.kernel), *part.device, c,
      {.code_objects = options.code_objects, .threads = 1, .at_stage = [&](std::string_view stage) {
         part.times.at(stage);
       }});
  part.times.at("");
  part.tally.add(verdict.status);
  ++part.cases;
  part.kv_tokens += c.problem.total_kv();
  if (part.finding.empty() && (is_finding(verdict.status) || verdict.status == Status::kInfra)) {
    part.finding = to_token(c) + ": " + verdict.reason;
  }
}

// A device belongs to the thread that opens it. What a runtime loads at first use is not counted.
void warm_up(const VerifyWork& work, const VerifyBenchOptions& options, Part& part) {
  auto device = options.open_device();
  if (!device.ok()) {
    part.trouble = device.trouble();
    return;
  }
  part.device = std::move(*device);
  run_one(work, options, 0, part);
  Part fresh;
  fresh.device = std::move(part.device);
  part = std::move(fresh);
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

Result<VerifySpeed> bench_verify(const VerifyWork& work, const VerifyBenchOptions& options) {
  std::vector<Part> parts(static_cast<std::size_t>(options.threads));
  std::latch all_are_warm(options.threads);
  std::atomic<std::int64_t> next{0};
  std::atomic<Clock::rep> begin{0};
  const auto run = [&](int thread) {
    Part& part = parts[static_cast<std::size_t>(thread)];
    warm_up(work, options, part);
    all_are_warm.arrive_and_wait();
    begin = Clock::now().time_since_epoch().count();  // of the last one that comes this far
    for (std::int64_t i = next++; i < work.cases && part.device; i = next++) {
      run_one(work, options, i, part);
    }
    part.end = Clock::now();
    part.device.reset();
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 1; i < options.threads; ++i) threads.emplace_back(run, i);
    run(0);
  }
  VerifySpeed speed;
  speed.name = work.name;
  const Clock::time_point began{Clock::duration(begin)};
  for (const Part& part : parts) {
    if (!part.trouble.text.empty()) return part.trouble;
    add(part, speed);
    speed.seconds = std::max(speed.seconds, seconds_between(began, part.end));
  }
  return speed;
}

}  // namespace attest
