// The oracle for long rows: attention by one pass over a row's tokens with a running max, in
// double-double (106 bits), from the stored bits. It shares no code with reference(),
// online_softmax or the oracle of 50 digits: neither arithmetic, exp and log, nor the walk through
// the page table. It certifies the reference (certify.hpp) at the length at which a kernel failed,
// since it takes about 1.5 ns a multiply-add: 0.1 s for a row of 65536 tokens. Finite inputs only.
#pragma once
#include <cstdint>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"
#include "reference/double_double.hpp"

namespace attest {

struct StreamedRow {
  std::vector<DoubleDouble> o;    // [512]
  std::vector<double> magnitude;  // [512] sum a|v|: what the error of o is relative to
  DoubleDouble lse;               // -inf when the row sees no token
};

struct StreamOptions {
  int block_tokens = 16;      // between two updates of the running max: 1..64
  bool skip_rescale = false;  // a mistake, for the test that the oracle's own mistakes show
};

// Over the tokens of `tokens` that the row sees; {0, kMaxContext}: all.
StreamedRow streaming_oracle(const Problem& problem, const Inputs& inputs, std::int64_t row,
                             TokenRange tokens, const StreamOptions& options = {});

}  // namespace attest
