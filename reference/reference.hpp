// The oracle: attention by its formula in fp64, from the stored bits, with the bound that a
// kernel's contract implies.
//   x_j = sm_scale q.k_j;  lse = ln sum e^{x_j};  o = sum e^{x_j - lse} v_j;  V is the first 512
//   columns of K.
#pragma once
#include "harness/core/contract.hpp"
#include "harness/core/expected.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"
#include "harness/core/trouble.hpp"

namespace attest {

struct Reference {
  Expected expected;
  Bound bound;  // +inf where the arithmetic promises nothing, as when sums of |q k| leave fp32
};

// num_splits: as the kernel runs it (Kernel::num_splits). The result does not depend on `threads`.
// Trouble kInfra when the host has no memory for it.
Result<Reference> reference(const Problem& problem, const Inputs& inputs, const Contract& contract,
                            int num_splits, int threads);

}  // namespace attest
