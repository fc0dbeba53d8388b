// What all elements of a case together say: facts of its data, the score tests, the share of o
// whose bits are not those of the emulated reference.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/output.hpp"
#include "harness/core/verdict.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

// Logit range, n_eff, flush mass, gain bias, condition and scores; zeros where the reference has
// none.
Evidence facts_of(const Reference& reference);

// Elements of o whose T2p is so tight that it nearly decides their bits, and how many of them
// differ from the rounded centre of T2p.
struct Mismatch {
  std::int64_t counted = 0, differ = 0;
  double share() const { return counted == 0 ? 0 : static_cast<double>(differ) / counted; }
};
Mismatch mismatch_of(const Subject& subject, const Output& output, const Reference& reference);

// Why an output within every gate is suspect; empty when it is not.
struct Suspicion {
  std::string reason;
  std::string filter;  // that says so: a Score's, or "mismatch"
};
Suspicion why_suspect(const std::vector<Score>& scores, const Mismatch& mismatch);

}  // namespace attest
