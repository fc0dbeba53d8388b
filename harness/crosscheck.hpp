// crosscheck: the same cases on two devices, or on one and as another run recorded them: the
// verdicts must be the same.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/case_runner.hpp"
#include "reports/run/results.hpp"

namespace attest {

// What two verdicts on one case say about the devices.
enum class Likeness {
  kSame,  // status and bucket
  // Nothing is wrong on either; but by the contract of one of them, whose bound is wider, the case
  // could not have failed.
  kEvidence,
  kDifferent,
  kSkipped,    // on a device it says nothing, and nothing is wrong on the other
  kUndecided,  // the machine's trouble on one of them
};
// A failure that a ledger excuses is a failure.
Likeness likeness(const Verdict& a, const Verdict& b);

struct CrossTask {
  std::vector<Case> cases;
  std::vector<OpenRunner> sides;  // one, to be recorded, or two
  int threads = 1;                // each has a runner of each side
};
// By side, of one case.
using CrossRecords = std::vector<CaseRecord>;

// `told` of each case that ran on all sides, as they end, one at a time. Trouble: a runner does not
// open.
Outcome run_crosscheck(const CrossTask& task, const std::function<void(const CrossRecords&)>& told,
                       const std::atomic<bool>& stop);

// What another run recorded. `results` outlives it.
OpenRunner recorded_runners(const Results& results);

struct CrossTally {
  std::int64_t same = 0, evidence = 0, different = 0, skipped = 0, undecided = 0;
  Tally statuses = {};  // of those that are the same
  void add(const CrossRecords& records);
  std::int64_t total() const { return same + evidence + different + skipped + undecided; }
};
// A failure is one on both devices alike, too. What is vacuous on both says nothing of either.
int exit_code(const CrossTally& tally, bool interrupted);

}  // namespace attest
