// Expected: what the formula gives for the stored inputs, and how far a kernel under its contract may be from it.
#pragma once
#include <cstdint>
#include <vector>

#include "harness/core/contract.hpp"

namespace attest {

// Row-major tensors of one stage. A row that sees no token has o = 0 and lse = -inf.
struct Expected {
  std::int64_t rows = 0;
  int num_splits = 1;
  std::vector<double> o;            // [rows, 512]
  std::vector<double> lse;          // [rows] natural log
  std::vector<double> partial_o;    // [rows, num_splits, 512]; empty when num_splits == 1
  std::vector<double> partial_lse;  // [rows, num_splits]; -inf where a split shows the row no token
};

// Absolute bounds on the value before its last rounding to the stored format; same shapes as Expected.
struct Bound {
  std::vector<float> o, lse, partial_o, partial_lse;
};

}  // namespace attest
