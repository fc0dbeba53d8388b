#include "harness/crosscheck.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "harness/core/parallel.hpp"

namespace attest {
namespace {

// As the kernel did, whatever is known about it.
Status bare(Status status) {
  if (status == Status::kXfail) return Status::kFailed;
  return status == Status::kXpass ? Status::kPassed : status;
}

class Recorded final : public CaseRunner {
 public:
  explicit Recorded(const Results& results) {
    for (const CaseRecord& record : results.cases) records_[record.planned_token()] = &record;
  }
  CaseRecord run(const Case& c) override {
    const auto found = records_.find(to_token(c));
    if (found != records_.end()) return *found->second;
    return {to_token(c), verdict_of({TroubleKind::kInfra, "it is not on record"}, c.kernel), 0};
  }

 private:
  std::map<std::string, const CaseRecord*> records_;
};

// A thread's runners, opened when it gets its first case.
class Sides {
 public:
  Outcome open(const std::vector<OpenRunner>& sides) {
    for (std::size_t i = runners_.size(); i < sides.size(); ++i) {
      auto runner = sides[i]();
      if (!runner.ok()) return runner.trouble();
      runners_.push_back(std::move(*runner));
    }
    return Done{};
  }
  CrossRecords run(const Case& c) {
    CrossRecords records;
    for (const auto& runner : runners_) records.push_back(runner->run(c));
    return records;
  }

 private:
  std::vector<std::unique_ptr<CaseRunner>> runners_;
};

}  // namespace

Likeness likeness(const Verdict& a, const Verdict& b) {
  const auto any = [&](Status status) { return a.status == status || b.status == status; };
  if (any(Status::kInfra)) return Likeness::kUndecided;
  const auto is_right = [](const Verdict& v) {
    return bare(v.status) == Status::kPassed || v.status == Status::kVacuous;
  };
  const auto is_quiet = [&](const Verdict& v) {
    return is_right(v) || v.status == Status::kSkipped;
  };
  if (any(Status::kSkipped)) {
    return is_quiet(a) && is_quiet(b) ? Likeness::kSkipped : Likeness::kDifferent;
  }
  if (bare(a.status) == bare(b.status) && a.bucket == b.bucket) return Likeness::kSame;
  return is_right(a) && is_right(b) ? Likeness::kEvidence : Likeness::kDifferent;
}

Outcome run_crosscheck(const CrossTask& task, const std::function<void(const CrossRecords&)>& told,
                       const std::atomic<bool>& stop) {
  std::vector<Sides> of_thread(static_cast<std::size_t>(task.threads));
  std::mutex telling;
  Trouble trouble{TroubleKind::kInfra, ""};
  std::atomic<bool> is_troubled{false};
  const bool done = parallel_for(task.threads, task.cases.size(), [&](int thread, std::size_t i) {
    if (stop || is_troubled) return;
    Sides& sides = of_thread[static_cast<std::size_t>(thread)];
    const Outcome opened = sides.open(task.sides);
    const CrossRecords records = opened.ok() ? sides.run(task.cases[i]) : CrossRecords{};
    const std::lock_guard lock(telling);
    if (opened.ok()) return told(records);
    if (!is_troubled.exchange(true)) trouble = opened.trouble();
  });
  if (!done) return Trouble{TroubleKind::kInfra, "out of memory on the host"};
  if (is_troubled) return trouble;
  return Done{};
}

OpenRunner recorded_runners(const Results& results) {
  return [&results]() -> Result<std::unique_ptr<CaseRunner>> {
    return std::unique_ptr<CaseRunner>(std::make_unique<Recorded>(results));
  };
}

void CrossTally::add(const CrossRecords& records) {
  const Verdict &a = records.front().verdict, &b = records.back().verdict;
  switch (likeness(a, b)) {
    case Likeness::kSame:
      ++same;
      statuses.add(bare(a.status));
      break;
    case Likeness::kEvidence:
      ++evidence;
      break;
    case Likeness::kDifferent:
      ++different;
      break;
    case Likeness::kSkipped:
      ++skipped;
      break;
    case Likeness::kUndecided:
      ++undecided;
      break;
  }
}

int exit_code(const CrossTally& tally, bool interrupted) {
  Tally graded = tally.statuses;
  graded.vacuous = 0;
  graded.failed += tally.different;
  graded.infra += tally.undecided;
  graded.interrupted = interrupted;
  return exit_code(graded);
}

}  // namespace attest
