// run_nightly: the cases of a plan, then what fuzz draws until the time is over, in worker
// processes; each on record before it runs, and when it has ended.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/plan.hpp"
#include "harness/worker_pool.hpp"
#include "reports/reporter.hpp"

namespace attest {

struct NightlyTask {
  RunHeader header;
  std::vector<PlannedCase> plan;  // all of it
  bool plan_is_on_record = false;
  // Of a run that is resumed: what has ended and does not run again, how, and what was drawn beside
  // the plan and began.
  std::set<std::string> ended;
  Tally tally;
  std::vector<std::string> begun;
  std::set<std::string>
      given_up;  // of these and the plan: with them nightlies ended; not run again

  double budget_s = 0;   // no case begins that is not expected to end by then; 0: the plan alone
  double timeout_s = 0;  // of a case without an answer; 0: by what it is expected to cost
  double launches = 1;   // of each case, for one that its cost counts
  double shrink_s = 60;  // of the first failure that fuzz finds in a bucket, within the budget
  std::uint64_t seed = 0;
  Shard shard;
  std::string corpus;  // folder: gets what failures of fuzz are shrunk to
  PoolOptions pool;
};

struct NightlyEnd {
  Trouble trouble;                // that ended it; empty text: none did
  bool journal_failed = false;    // and that was it
  std::int64_t ended = 0;         // cases on record, those before a resume too
  std::vector<std::string> kept;  // "TOKEN  # BUCKET": of failures of fuzz, in the corpus
};

// Reporters, the first of which writes the journal: where it cannot, all ends at once. `interrupts`
// counts Ctrl-C: after the first no case begins, after the second those that run are killed.
NightlyEnd run_nightly(const NightlyTask& task, const Ledger& ledger,
                       std::span<const std::unique_ptr<Reporter>> reporters,
                       const std::atomic<int>& interrupts);

}  // namespace attest
