#include "kernels/external/work_plan.hpp"

#include <algorithm>

namespace attest::external {
namespace {

constexpr int kComputeUnits = 304;  // of an MI300X: as many workgroups at most

// Two items a workgroup where there are enough: what one leaves in registers and LDS meets the
// next.
std::vector<std::int32_t> shares(std::size_t items) {
  const int count = static_cast<int>(items);
  const int workgroups = std::clamp((count + 1) / 2, 1, kComputeUnits);
  std::vector<std::int32_t> indptr;
  for (int w = 0; w <= workgroups; ++w) indptr.push_back(count * w / workgroups);
  return indptr;
}

}  // namespace

WorkPlan plan_work(const Problem& problem, const SplitRule& rule, int num_splits) {
  WorkPlan plan;
  std::int32_t q_begin = 0;
  std::int32_t kv_begin = problem.kv_indptr_start;
  for (int seq = 0; seq < problem.b(); ++seq) {
    const int s_q = problem.s_q[seq], s_kv = problem.s_kv[seq];
    const std::vector<TokenRange> live = live_splits(rule, s_kv, num_splits);
    for (int split = 0; split < static_cast<int>(live.size()); ++split) {
      plan.items.push_back({.sequence = seq,
                            .partial_row = (seq * num_splits + split) * s_q,
                            .q_begin = q_begin,
                            .q_end = q_begin + s_q,
                            .kv_begin = kv_begin + live[split].begin,
                            .kv_end = kv_begin + live[split].end,
                            .kv_after = s_kv - live[split].end});
    }
    if (live.empty()) {
      plan.items.push_back({.sequence = seq,
                            .q_begin = q_begin,
                            .q_end = q_begin + s_q,
                            .kv_begin = kv_begin,
                            .kv_end = kv_begin});
    }
    q_begin += s_q;
    kv_begin += s_kv;
  }
  plan.indptr = shares(plan.items.size());
  return plan;
}

WorkPlan plan_unsplit_work(const Problem& problem) {
  WorkPlan plan = plan_work(problem, SplitRule{}, 1);
  for (WorkItem& item : plan.items) item.partial_row = -1;
  return plan;
}

}  // namespace attest::external
