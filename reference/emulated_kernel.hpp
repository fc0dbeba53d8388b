// A kernel in plain fp32 for the bound's tests: its matrix unit (a chain of fma, or groups of 8
// products summed exactly and rounded once), exp2 on a running max per tile, P
// rounded as declared, waves that take tiles in turn, splits merged from their stored partial
// results. One row at a time.
#pragma once
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"

namespace attest {

struct KernelRow {
  std::vector<float> o;  // [512] before the last rounding
  float lse = 0;
  std::vector<std::vector<float>>
      partial_o;  // [live splits][512], before rounding to the stored format
  std::vector<float> partial_lse;
};

KernelRow emulated_kernel(const Problem& problem, const Inputs& inputs, const Contract& contract,
                          int num_splits, std::int64_t row);

}  // namespace attest
