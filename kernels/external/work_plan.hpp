// The work of a persistent decode kernel, as aiter's metadata describes it
// (csrc/kernels/mla/metadata/v1_2_device.cuh; a plan of our own: one item for each live split).
#pragma once
#include <cstdint>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/problem.hpp"

namespace attest::external {

struct WorkItem {
  std::int32_t sequence = 0;
  std::int32_t partial_row =
      -1;  // of its first query token, in rows of all heads; -1: it writes o itself
  std::int32_t q_begin = 0, q_end = 0;    // query tokens of the launch
  std::int32_t kv_begin = 0, kv_end = 0;  // entries of kv_indices
  std::int32_t kv_after = 0;  // tokens of the sequence behind the item: where its diagonal lies
  std::int32_t unused = 0;
};
static_assert(sizeof(WorkItem) == 32);

struct WorkPlan {
  std::vector<std::int32_t>
      indptr;  // [workgroups + 1]: workgroup w runs items indptr[w] .. indptr[w + 1]
  std::vector<WorkItem> items;
};

// For a problem of page_size 1 whose sequences have equally many query tokens. The partial row of
// query token i of a split is (sequence * num_splits + split) * s_q + i. A sequence without tokens
// has one item without tokens, as in aiter's plan (v1_2_device.cuh).
WorkPlan plan_work(const Problem& problem, const SplitRule& rule, int num_splits);

// The same where each sequence is one item that writes o itself.
WorkPlan plan_unsplit_work(const Problem& problem);

}  // namespace attest::external
