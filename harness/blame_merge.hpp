// A row's merge again, in fp64, from partial results taken as exact; with the bound of what a
// kernel's own merge may add.
#pragma once
#include <span>
#include <vector>

#include "harness/core/contract.hpp"

namespace attest {

struct PartialResult {
  std::vector<double> o;  // [512]
  double lse = 0;         // -inf: no weight, and o is not read
};

struct Remerged {
  std::vector<double> o, o_bound;  // [512]
  double lse = 0, lse_bound = 0;
};

// NaN where a partial result is NaN; lse is -inf when no split has weight.
Remerged merge_again(const Arithmetic& arithmetic, std::span<const PartialResult> splits);

}  // namespace attest
