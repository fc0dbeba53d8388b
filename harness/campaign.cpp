#include "harness/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace attest {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Ran {
  Case c;
  Verdict verdict;
  std::string property;  // that was asked of it
};

// The threads that run cases, and what they have run but nobody has committed.
class Crew {
 public:
  // No thread is further ahead of the last committed case than this: room for what all threads run
  // while one has a case that takes seconds.
  static constexpr std::int64_t kWindow = 4096;

  Crew(const CaseSource& source, const Stand& stand, const CampaignLimits& limits,
       const CampaignEvents& events, const std::atomic<bool>& stop)
      : source_(source), stand_(stand), limits_(limits), events_(events), stop_(stop) {
    for (int i = 0; i < limits.threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Crew() {
    dismiss();
    for (std::thread& thread : threads_) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void dismiss() {
    const std::lock_guard lock(mutex_);
    dismissed_ = true;
    changed_.notify_all();
  }

  // The next case in order; empty when `wait` is not set and it is not there yet, or when no more
  // will come.
  std::optional<Ran> next(bool wait) {
    std::unique_lock lock(mutex_);
    const auto there = [&] { return ran_.contains(committed_) || is_over(); };
    if (wait) changed_.wait(lock, there);
    const auto found = ran_.find(committed_);
    if (found == ran_.end()) return std::nullopt;
    Ran ran = std::move(found->second);
    ran_.erase(found);
    return ran;
  }
  // Lets the threads go on behind the case that next() gave.
  void committed() {
    const std::lock_guard lock(mutex_);
    ++committed_;
    changed_.notify_all();
  }
  bool over() {
    const std::lock_guard lock(mutex_);
    return is_over() && !ran_.contains(committed_);
  }
  Trouble trouble() {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }

 private:
  bool no_more() const {
    return dismissed_ || stop_ || !trouble_.text.empty() ||
           (limits_.cases >= 0 && claimed_ >= limits_.cases) ||
           (limits_.seconds > 0 && seconds_since(begin_) > limits_.seconds);
  }
  // Nothing is claimed and unfinished, and nothing will be claimed.
  bool is_over() const { return running_ == 0 && (no_more() || working_ == 0); }

  std::optional<std::int64_t> claim() {
    std::unique_lock lock(mutex_);
    while (!no_more()) {
      if (claimed_ < committed_ + kWindow && source_.knows(claimed_, committed_)) {
        ++running_;
        return claimed_++;
      }
      changed_.wait_for(lock, std::chrono::milliseconds(100));  // stop_ and time notify nobody
    }
    return std::nullopt;
  }

  void work() {
    auto runner = stand_.open();
    if (runner.ok()) {
      while (const auto index = claim()) run(*index, **runner);
    }
    const std::lock_guard lock(mutex_);
    if (!runner.ok() && trouble_.text.empty()) trouble_ = runner.trouble();
    --working_;
    changed_.notify_all();
  }

  // A case that fails a relation and is wrong by itself too goes by the reference's name for it,
  // which knows the stage. So one bug has one bucket, not one for each relation that it breaks.
  static void prefer_the_oracle(CaseRunner& runner, Ran& ran) {
    Case alone = ran.c;
    alone.property = kOracle;
    if (alone == ran.c) return;
    Verdict verdict = runner.run_as_is(alone).verdict;
    if (is_failure(verdict.status)) ran.c = std::move(alone), ran.verdict = std::move(verdict);
  }

  void run(std::int64_t index, CaseRunner& runner) {
    Ran ran{source_.at(index), {}, {}};
    ran.property = property_of(ran.c);
    if (events_.begins) events_.begins(index, ran.c);
    CaseRecord record = runner.run(ran.c);
    if (!record.planned.empty()) ran.c = *parse_token(record.token);
    ran.verdict = std::move(record.verdict);
    if (is_failure(ran.verdict.status)) prefer_the_oracle(runner, ran);
    const std::lock_guard lock(mutex_);
    ran_.emplace(index, std::move(ran));
    --running_;
    changed_.notify_all();
  }

  const CaseSource& source_;
  const Stand& stand_;
  const CampaignLimits& limits_;
  const CampaignEvents& events_;
  const std::atomic<bool>& stop_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Ran> ran_;
  std::int64_t claimed_ = 0, committed_ = 0;
  int running_ = 0, working_ = limits_.threads;
  bool dismissed_ = false;
  Trouble trouble_;
  std::vector<std::thread> threads_;
};

constexpr int kMostInfra = 20;  // in a row: nothing runs any more

class Campaign {
 public:
  Campaign(CaseSource& source, const Stand& stand, const CampaignLimits& limits,
           const CampaignEvents& events, const std::atomic<bool>& stop)
      : source_(source), stand_(stand), limits_(limits), events_(events), stop_(stop) {}

  CampaignResult run() {
    {
      Crew crew(source_, stand_, limits_, events_, stop_);
      while (!crew.over() || has_work()) {
        // A case that is there is told before a shrink goes on; a shrink goes on before waiting for
        // a case.
        if (std::optional<Ran> ran = crew.next(!has_work())) {
          commit(std::move(*ran));
          crew.committed();
          const bool enough = events_.enough && events_.enough(result_);
          if (enough || !result_.trouble.text.empty()) crew.dismiss(), dismissed_ = true;
        } else if (has_work()) {
          do_some_work();
        }
      }
      if (result_.trouble.text.empty()) result_.trouble = crew.trouble();
    }
    const bool all = limits_.cases < 0 || result_.cases == limits_.cases;
    result_.tally.interrupted = stop_ || (!all && limits_.seconds == 0 && !dismissed_);
    result_.seconds = seconds_since(begin_);
    return std::move(result_);
  }

 private:
  bool has_work() const { return !stop_ && (shrinker_ || !waiting_.empty()); }

  void commit(Ran ran) {
    const std::int64_t index = result_.cases++;
    source_.commit(index, ran.c, ran.verdict);
    const Verdict& verdict = ran.verdict;
    result_.tally.add(verdict.status);
    result_.elements += verdict.checked;
    result_.coverage.add(ran.c, *stand_.find_kernel(ran.c.kernel));
    const bool is_flaky = verdict.status == Status::kFlaky;
    const bool failed = is_failure(verdict.status) || is_flaky;
    Share& share = result_.shares[{ran.property, ran.c.distribution}];
    ++share.ran;
    share.failed += failed;
    if (verdict.status == Status::kPassed) note_ratios(ran);
    if (is_finding(verdict.status) || is_flaky) keep(index, ran);
    note_infra(ran);
    result_.seconds = seconds_since(begin_);
    if (events_.progress) events_.progress(result_);
  }

  void note_ratios(const Ran& ran) {
    const Contract contract = stand_.find_kernel(ran.c.kernel)->contract(ran.c.problem);
    for (const Worst& worst : ran.verdict.worst) {
      const bool bf16 = worst.tensor == "partial_o" && contract.arithmetic.bf16_partials;
      Largest& largest = result_.largest[worst.tensor + (bf16 ? " in bf16" : "")];
      if (worst.ratio > largest.ratio) largest = {worst.ratio, to_token(ran.c)};
    }
  }

  // Each reason is told once. Where nothing else comes, it is the machine's or the code object's,
  // not the case's.
  void note_infra(const Ran& ran) {
    if (ran.verdict.status != Status::kInfra) {
      infra_in_a_row_ = 0;
      return;
    }
    const bool is_new = static_cast<int>(infra_told_.size()) < kMostInfra &&
                        infra_told_.insert(ran.verdict.reason).second;
    if (is_new && events_.failed) events_.failed(ran.c, ran.verdict, true);
    if (++infra_in_a_row_ == kMostInfra) {
      result_.trouble = {TroubleKind::kInfra, fmt::format("{} cases in a row, the last of them {}",
                                                          kMostInfra, ran.verdict.reason)};
    }
  }

  void keep(std::int64_t index, const Ran& ran) {
    const auto known = std::find_if(result_.found.begin(), result_.found.end(),
                                    [&](const Found& f) { return f.bucket == ran.verdict.bucket; });
    const bool is_new = known == result_.found.end();
    if (events_.failed) events_.failed(ran.c, ran.verdict, is_new);
    if (!is_new) {
      ++known->count;
      return;
    }
    Found found;
    found.bucket = ran.verdict.bucket;
    found.first = found.smallest = ran.c;
    found.index = index;
    found.seconds = seconds_since(begin_);
    found.verdict = ran.verdict;
    found.count = 1;
    if (ran.verdict.status == Status::kFlaky) found.runs = 2;  // its runner's
    result_.found.push_back(std::move(found));
    const bool has_name =
        !ran.verdict.bucket.empty();  // else no other case can be told to fail alike
    if (has_name && static_cast<int>(result_.found.size()) <= limits_.buckets) {
      waiting_.push_back(result_.found.size() - 1);
    }
  }

  Verdict verify(const Case& c) {
    if (!runner_) {
      auto opened = stand_.open();
      if (!opened.ok()) return verdict_of(opened.trouble(), c.kernel);
      runner_ = std::move(*opened);
    }
    return runner_->run_as_is(c).verdict;
  }

  void do_some_work() {
    if (shrinker_) return shrink_on();
    at_ = waiting_.front();
    waiting_.pop_front();
    Found& found = result_.found[at_];
    for (int i = 0; i < limits_.reruns && !stop_; ++i) {
      const Verdict again = verify(found.first);
      if (again.status == Status::kInfra) continue;  // says nothing about the kernel
      ++found.runs;
      found.failures += again.bucket == found.bucket;
    }
    if (events_.rerun) events_.rerun(found);
    if (found.is_flaky()) {  // a candidate that passes would prove nothing
      found.shrink_ended = "flaky";
      if (!is_failure(found.verdict.status)) return;
      result_.tally.remove(found.verdict.status);
      result_.tally.add(Status::kFlaky);
      found.verdict.status = Status::kFlaky;
      return;
    }
    shrinker_.emplace(
        found.first, found.verdict, *stand_.find_kernel(found.first.kernel),
        [this](const Case& c) { return verify(c); }, limits_.shrink);
  }

  void shrink_on() {
    Found& found = result_.found[at_];
    const int accepted = shrinker_->accepted();
    const bool goes_on = shrinker_->step();
    found.tries = shrinker_->tries();
    found.shrink_seconds = shrinker_->seconds();
    if (shrinker_->accepted() > accepted) {
      found.smallest = shrinker_->best();
      found.verdict = shrinker_->verdict();
      if (events_.smaller) events_.smaller(found);
    }
    if (goes_on) return;
    found.shrink_ended = shrinker_->why_ended();
    shrinker_.reset();
    if (events_.shrunk) events_.shrunk(found);
  }

  CaseSource& source_;
  const Stand& stand_;
  const CampaignLimits& limits_;
  const CampaignEvents& events_;
  const std::atomic<bool>& stop_;
  const Clock::time_point begin_ = Clock::now();
  CampaignResult result_;
  std::unique_ptr<CaseRunner> runner_;  // of reruns and shrinks
  std::deque<std::size_t> waiting_;     // buckets that are to be run again and shrunk
  std::optional<Shrinker> shrinker_;
  std::size_t at_ = 0;  // the bucket that is shrunk
  int infra_in_a_row_ = 0;
  std::set<std::string> infra_told_;  // reasons
  bool dismissed_ = false;
};

Share& operator+=(Share& sum, const Share& more) {
  sum.ran += more.ran;
  sum.failed += more.failed;
  return sum;
}

}  // namespace

Shares CampaignResult::by_property() const {
  Shares sums;
  for (const auto& [key, share] : shares) sums[key.first] += share;
  return sums;
}

Shares CampaignResult::by_distribution() const {
  Shares sums;
  for (const auto& [key, share] : shares) sums[key.second] += share;
  return sums;
}

CampaignResult run_campaign(CaseSource& source, const Stand& stand, const CampaignLimits& limits,
                            const CampaignEvents& events, const std::atomic<bool>& stop) {
  return Campaign(source, stand, limits, events, stop).run();
}

}  // namespace attest
