// The speed of reference() by what it is asked for, on one sequence of N(0, 1) data with h_q = 16.
#pragma once
#include <string_view>

#include "harness/core/trouble.hpp"

namespace attest {

enum class ReferenceWork {
  kPlain,     // the values
  kT0,        // and T0
  kT1,        // T0, T1, facts, temperature
  kT2,        // T0, T2, T2p, facts, temperature
  kT2Scored,  // and the score tests of one output
  kProved,    // and what a pass proves: visibility and strawmen
};
inline constexpr ReferenceWork kReferenceWorks[] = {
    ReferenceWork::kPlain, ReferenceWork::kT0,       ReferenceWork::kT1,
    ReferenceWork::kT2,    ReferenceWork::kT2Scored, ReferenceWork::kProved};
std::string_view to_string(ReferenceWork work);

struct ReferenceSpeed {
  double seconds = 0;
  double tokens_per_s = 0;
};

Result<ReferenceSpeed> bench_reference(ReferenceWork work, int tokens, int num_splits, int threads);

}  // namespace attest
