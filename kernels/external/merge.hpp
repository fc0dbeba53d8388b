// The merge of an external kernel's fp32 partials: stage 2 of mla_decode.
#pragma once
#include "harness/core/kernel.hpp"

namespace attest::external {

struct Partials {
  Buffer o;    // [total_q, num_splits, h_q, 512] fp32
  Buffer lse;  // [total_q, num_splits, h_q] fp32
  int num_splits = 1;
  int tile = 0;  // splits take tiles of so many tokens in turn: 16, 32 or 64, page_size is 1; 0: as
                 // mla_decode's
};

// `module` is mla_decode's. It reads the partials of the first min(num_splits, ceil(s_kv / tile))
// splits.
Outcome launch_merge(Device& device, Module module, const Problem& problem,
                     const MlaTensors& tensors, const Partials& partials);

// Partials in the order [b, num_splits, s_q, h_q], after their launch: into the tensors, in theirs.
Outcome reorder(Device& device, const Problem& problem, const Partials& from, const MlaTensors& to);

}  // namespace attest::external
