// What two published rules need beside the expected result: PyTorch's own attention in bf16, whose
// error FlashAttention's rule doubles, and sum a|v|, which benchdnn's allows an eps of.
#pragma once
#include <cstdint>
#include <vector>

#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"
#include "harness/core/trouble.hpp"

namespace attest {

struct PytorchAttention {
  std::vector<std::uint16_t> o;  // [rows, 512] bf16
  std::vector<float> magnitude;  // [rows, 512] sum a|v|, a in fp32 from unrounded scores
};

// The result does not depend on `threads`. Trouble: kInfra when the host has no memory for it.
Result<PytorchAttention> pytorch_attention(const Problem& problem, const Inputs& inputs,
                                           int threads);

}  // namespace attest
