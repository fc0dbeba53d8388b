// Inputs for the reference's own tests and benchmark, made apart from the project's generators: the
// oracle's tests must not share their mistakes.
#pragma once
#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"

namespace attest {

enum class Family {
  kNormal,        // q, k ~ N(0, 1)
  kHugeLogits,    // |x| of hundreds
  kVeryNegative,  // all logits far below zero
  kAllEqual,      // every token has the same logit
  kCancelling,    // V of alternating sign, so that o is small against |v|
  kNeedle,        // one token holds nearly all weight
  kPositiveV,     // V > 0, so that one-sided roundings add up
  kStaircase,     // logits rise all along: every tile rescales
};
inline constexpr Family kFamilies[] = {
    Family::kNormal,     Family::kHugeLogits, Family::kVeryNegative, Family::kAllEqual,
    Family::kCancelling, Family::kNeedle,     Family::kPositiveV,    Family::kStaircase};
const char* name_of(Family family);

// Pages in reversed order, with unused ones between; all that no token uses is NaN. Stored as the
// problem says, in fp8 to the nearest code.
Result<Inputs> small_inputs(const Problem& problem, Family family, std::uint64_t seed);

}  // namespace attest
