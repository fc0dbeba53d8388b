#include "harness/sum_of_verdicts.hpp"

#include <algorithm>

namespace attest {

void add_to(Verdict& all, const Verdict& verdict) {
  all.checked += verdict.checked;
  all.remarks.insert(all.remarks.end(), verdict.remarks.begin(), verdict.remarks.end());
  for (const Worst& worst : verdict.worst) {
    const auto known = std::find_if(all.worst.begin(), all.worst.end(),
                                    [&](const Worst& w) { return w.tensor == worst.tensor; });
    if (known == all.worst.end()) {
      all.worst.push_back(worst);
    } else if (worst.ratio > known->ratio) {
      *known = worst;
    }
  }
  if (all.status != Status::kPassed || verdict.status == Status::kPassed) return;
  all.status = verdict.status;
  all.reason = verdict.reason;
  all.bucket = verdict.bucket;
}

}  // namespace attest
