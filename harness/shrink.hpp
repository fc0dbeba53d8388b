// Shrinker: from a failing case to a small one that fails for the same reason. It is greedy: of the
// candidates simpler than the best so far it takes the first that fails in the same bucket, and
// begins again; it ends when none does, or when its budget is spent. First the shape shrinks (steps
// of a trajectory with it), then values, then the schedule.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

struct ShrinkLimits {
  int tries = 600;      // candidates that are run
  double seconds = 60;  // of the host's clock, from the first step
};

class Shrinker {
 public:
  using Verify = std::function<Verdict(const Case&)>;

  Shrinker(Case failing, Verdict verdict, const Kernel& kernel, Verify verify,
           const ShrinkLimits& limits);

  // Runs one candidate. False when nothing is left to try; then `why_ended` says why.
  bool step();

  const Case& best() const { return best_; }
  const Verdict& verdict() const { return verdict_; }  // of the best
  int tries() const { return tries_; }
  int accepted() const { return accepted_; }
  double seconds() const;
  std::string_view why_ended() const { return why_ended_; }  // "no simpler case fails alike", ...

 private:
  bool next_candidate(Case& candidate);

  Case best_;
  Verdict verdict_;
  std::string bucket_;
  const Kernel& kernel_;
  Verify verify_;
  ShrinkLimits limits_;
  std::vector<Case> candidates_;  // of the stage, simpler than the best
  std::size_t next_ = 0;
  int stage_ = -1;  // steps, shape, values, schedule
  std::set<std::string> tried_;
  int tries_ = 0, accepted_ = 0;
  double begin_ = -1;
  std::string_view why_ended_;
};

}  // namespace attest
