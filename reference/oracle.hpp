// The formula in 50 decimal digits for a chosen row. It certifies the references, never a kernel.
// Cost: about 0.3 us a multiplication, so 40 ms a row of 128 tokens. Finite inputs only.
#pragma once
#include "reference/online_softmax.hpp"

namespace attest {

// Rounded once, to fp64. `tokens`: {0, s_kv} or a split.
RowResult<double> oracle(const Problem& problem, const Inputs& inputs, std::int64_t row,
                         TokenRange tokens);

// To 106 bits, as high + low: for oracles that are themselves better than fp64.
struct OraclePair {
  RowResult<double> high, low;
};
OraclePair oracle_pair(const Problem& problem, const Inputs& inputs, std::int64_t row,
                       TokenRange tokens);

double oracle_exp(double x);

}  // namespace attest
