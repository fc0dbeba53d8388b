// How fast reference() is on this machine.
#pragma once
#include "harness/core/trouble.hpp"

namespace attest {

struct ReferenceSpeed {
  int threads = 1;
  double seconds = 0;
  double tokens_per_s = 0;  // KV tokens at h_q = 16, with bounds
};

// One sequence of `tokens` with 16 heads and normal inputs, in one split.
Result<ReferenceSpeed> bench_reference(int tokens, int threads);

}  // namespace attest
