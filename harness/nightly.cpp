#include "harness/nightly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "harness/core/kernel.hpp"
#include "harness/corpus.hpp"
#include "harness/pace.hpp"
#include "harness/shrink.hpp"
#include "reports/run/phases.hpp"
#include "reports/run/results.hpp"

namespace attest {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostInfra = 20;     // in a row: nothing runs any more
constexpr int kMostTooLong = 200;  // draws in a row that would not end in time

// What says how fast cases run here: it ran once, to its end.
bool tells_pace(const CaseRecord& record) {
  const Status status = record.verdict.status;
  return record.tries == 1 && status != Status::kSkipped && status != Status::kInfra;
}

class Nightly : public JobSource {
 public:
  Nightly(const NightlyTask& task, const Ledger& ledger,
          std::span<const std::unique_ptr<Reporter>> reporters, const std::atomic<int>& interrupts)
      : task_(task),
        reporters_(reporters),
        interrupts_(interrupts),
        tally_(task.tally),
        known_(task.ended),
        pace_(task.launches),
        pool_(task.pool, *this, ledger) {
    end_.ended = begun_ = static_cast<std::int64_t>(task.ended.size());
    for (const std::string& token : task.begun) {
      remaining_.push_back({token, std::string(kDrawnPhase), 0});
      known_.insert(token);
    }
    for (const PlannedCase& planned : task.plan) {
      if (!task.ended.contains(planned.token)) remaining_.push_back(planned);
      known_.insert(planned.token);
    }
  }

  NightlyEnd run() {
    tell([&](Reporter& to) { to.run_begin(task_.header); });
    if (!task_.plan_is_on_record) tell([&](Reporter& to) { to.plan(task_.plan); });
    give_up();
    while (!is_over()) {
      step();
      if (!to_shrink_.empty() && !is_stopping()) {
        const Found found = std::move(to_shrink_.front());
        to_shrink_.pop_front();
        shrink(found);
      }
    }
    tally_.interrupted =
        std::any_of(remaining_.begin(), remaining_.end(), is_planned) || !running_.empty();
    if (!end_.journal_failed) {
      tell([&](Reporter& to) { to.run_end(tally_, seconds()); });
    }
    return std::move(end_);
  }

  std::optional<Job> next() override {
    if (is_stopping()) return std::nullopt;
    if (trial_) return std::exchange(trial_, std::nullopt);
    std::optional<PlannedCase> next = next_planned();
    if (!next) next = next_drawn();
    is_exhausted_ = !next;
    if (!next) return std::nullopt;
    tell_begin(next->token);
    if (is_stopping()) return std::nullopt;
    Job job{next->token, limit_s(next->cost_ms), !is_planned(*next)};
    running_.emplace(next->token, std::move(*next));
    return job;
  }

  bool is_stopping() const override { return interrupts_ > 0 || !end_.trouble.text.empty(); }

  void ended(const Job& job, CaseRecord record) override {
    if (job.is_trial) {
      answer_ = std::move(record);
      return;
    }
    const PlannedCase planned = std::move(running_.extract(job.token).mapped());
    record.phase = planned.phase;
    if (tells_pace(record)) pace_.took(planned.cost_ms, record.total_ms);
    note_infra(record);
    put_on_record(std::move(record), planned.cost_ms);
  }

 private:
  struct Found {
    CaseRecord record;
    double cost_ms = 0;
  };

  static bool is_planned(const PlannedCase& one) { return one.phase != kDrawnPhase; }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool is_over() const {
    const bool no_more = is_stopping() || (is_exhausted_ && to_shrink_.empty());
    return no_more && !pool_.is_busy();
  }

  template <class Say>
  void tell(const Say& say) {
    for (const auto& reporter : reporters_) say(*reporter);
    if (const std::string why = reporters_.front()->trouble(); !why.empty()) {
      end_.journal_failed = true;
      end_.trouble = {TroubleKind::kInfra, why};
    }
  }

  void tell_begin(const std::string& token) {
    tell([&](Reporter& to) { to.case_begin(begun_, token); });
    ++begun_;
  }

  // What is there to stop for is looked at after each.
  void step() {
    pool_.step();
    if (!pool_.trouble().text.empty() && end_.trouble.text.empty()) end_.trouble = pool_.trouble();
    if (!end_.trouble.text.empty() || interrupts_ > 1) pool_.kill_all();
  }

  double limit_s(double cost_ms) const {
    return task_.timeout_s > 0 ? task_.timeout_s : pace_.limit_s(cost_ms);
  }
  bool ends_in_time(const PlannedCase& one) const {
    return task_.budget_s == 0 || seconds() + pace_.expected_s(one.cost_ms) < task_.budget_s;
  }
  double left_to_shrink_s() const {
    return task_.budget_s == 0 ? task_.shrink_s
                               : std::min(task_.shrink_s, task_.budget_s - seconds());
  }

  // The first that ends in time: where a long one does not, a later one may.
  std::optional<PlannedCase> next_planned() {
    const auto found = std::find_if(remaining_.begin(), remaining_.end(),
                                    [&](const PlannedCase& one) { return ends_in_time(one); });
    if (found == remaining_.end()) return std::nullopt;
    PlannedCase next = std::move(*found);
    remaining_.erase(found);
    return next;
  }

  std::optional<PlannedCase> next_drawn() {
    for (int too_long = 0; seconds() < task_.budget_s && too_long < kMostTooLong;) {
      PlannedCase drawn = fuzz_case(task_.seed, task_.shard, drawn_++);
      if (known_.contains(drawn.token)) continue;  // before a resume, or twice
      if (ends_in_time(drawn)) {
        known_.insert(drawn.token);
        return drawn;
      }
      ++too_long;
    }
    return std::nullopt;
  }

  void give_up() {
    const auto given_up = std::stable_partition(
        remaining_.begin(), remaining_.end(),
        [&](const PlannedCase& one) { return !task_.given_up.contains(one.token); });
    for (auto one = given_up; one != remaining_.end() && !is_stopping(); ++one) {
      CaseRecord record{one->token, {}, 0, {}, one->phase};
      record.verdict.status = Status::kInfra;
      record.verdict.reason =
          fmt::format("{}: it ran when the nightly was killed, and again when that was resumed",
                      facts_of(record).kernel);
      put_on_record(std::move(record), one->cost_ms);
    }
    if (!is_stopping()) remaining_.erase(given_up, remaining_.end());
  }

  void note_infra(const CaseRecord& record) {
    const bool is_said_by_worker = record.verdict.status == Status::kInfra && record.tries == 1;
    infra_in_a_row_ = is_said_by_worker ? infra_in_a_row_ + 1 : 0;
    if (infra_in_a_row_ == kMostInfra && end_.trouble.text.empty()) {
      end_.trouble = {TroubleKind::kInfra, fmt::format("{} cases in a row, the last of them {}",
                                                       kMostInfra, record.verdict.reason)};
    }
  }

  void put_on_record(CaseRecord record, double cost_ms) {
    record.at_s = seconds();
    const bool is_drawn = record.phase == kDrawnPhase;
    tell([&](Reporter& to) { to.case_end(record); });
    if (end_.journal_failed) return;
    ++end_.ended;
    const Status status = record.verdict.status;
    // As graded_tally has it.
    if (!is_drawn || (status != Status::kVacuous && status != Status::kSkipped)) tally_.add(status);
    const bool is_first = is_finding(status) && !record.verdict.bucket.empty() &&
                          buckets_.insert(record.verdict.bucket).second;
    if (is_first && is_drawn) to_shrink_.push_back({std::move(record), cost_ms});
  }

  // A case that is no part of the run; the others go on meanwhile.
  CaseRecord try_out(const Case& c, double most_ms) {
    answer_.reset();
    trial_ = Job{to_token(c), limit_s(most_ms), false, true};
    while (!answer_ && !is_stopping()) step();
    trial_.reset();
    return answer_ ? std::move(*answer_) : CaseRecord{to_token(c), {}, 0};
  }

  // What it is shrunk to is kept, and stands on record as a case that was drawn. With no time left
  // it is kept as it is.
  void shrink(const Found& found) {
    const double left_s = left_to_shrink_s();
    if (left_s <= 0) return keep(found.record);
    const auto c = parse_token(found.record.token);
    const Kernel* const kernel = c.ok() ? find_kernel(c->kernel) : nullptr;
    if (kernel == nullptr) return;
    CaseRecord last, smallest = found.record;
    Shrinker shrinker(*c, found.record.verdict, *kernel,
                      [&](const Case& candidate) {
                        last = try_out(candidate, found.cost_ms);
                        return last.verdict;
                      },
                      {.seconds = left_s});
    for (int accepted = 0; !is_stopping() && shrinker.step();) {
      if (shrinker.accepted() > accepted) smallest = last;
      accepted = shrinker.accepted();
    }
    keep(smallest);
    if (!is_stopping() && known_.insert(smallest.token).second) {
      tell_begin(smallest.planned_token());
      smallest.phase = kDrawnPhase;
      put_on_record(std::move(smallest), found.cost_ms);
    }
  }

  void keep(const CaseRecord& smallest) {
    const auto c = parse_token(smallest.token);
    if (!c.ok() || task_.corpus.empty()) return;
    const Outcome added = add_to_corpus(task_.corpus, *c, smallest.verdict.bucket);
    if (added.ok()) {
      end_.kept.push_back(fmt::format("{}  # {}", smallest.token, smallest.verdict.bucket));
    } else if (end_.trouble.text.empty()) {
      end_.trouble = added.trouble();
    }
  }

  const NightlyTask& task_;
  const std::span<const std::unique_ptr<Reporter>> reporters_;
  const std::atomic<int>& interrupts_;
  const Clock::time_point begin_ = Clock::now();
  std::deque<PlannedCase> remaining_;
  std::map<std::string, PlannedCase> running_;
  Tally tally_;
  std::set<std::string> known_;  // tokens that the run has, whatever their end
  std::set<std::string> buckets_;
  Pace pace_;
  std::deque<Found> to_shrink_;
  std::optional<Job> trial_;          // to be begun
  std::optional<CaseRecord> answer_;  // of the trial
  std::int64_t begun_ = 0, drawn_ = 0;
  int infra_in_a_row_ = 0;
  bool is_exhausted_ = false;
  NightlyEnd end_;
  WorkerPool pool_;
};

}  // namespace

NightlyEnd run_nightly(const NightlyTask& task, const Ledger& ledger,
                       std::span<const std::unique_ptr<Reporter>> reporters,
                       const std::atomic<int>& interrupts) {
  return Nightly(task, ledger, reporters, interrupts).run();
}

}  // namespace attest
