#include "harness/split_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/core/poison.hpp"

namespace attest {
namespace {

// Calls visit(token) for the first `visible` tokens of a sequence, split by split.
template <class Visit>
void each_token(int tile, int num_splits, int visible, const Visit& visit) {
  for (int split = 0; split < num_splits; ++split) {
    for (int begin = split * tile; begin < visible; begin += num_splits * tile) {
      for (int token = begin; token < std::min(begin + tile, visible); ++token) visit(token);
    }
  }
}

}  // namespace

InSplitOrder in_split_order(const Problem& problem, const SplitRule& rule, int num_splits,
                            Inputs inputs) {
  InSplitOrder made{.problem = {.h_q = problem.h_q,
                                .s_kv = {},
                                .s_q = std::vector<int>(problem.total_q(), 1),
                                .num_splits = problem.num_splits,
                                .sm_scale = problem.sm_scale,
                                .q_pad = problem.q_pad,
                                .o_pad = problem.o_pad,
                                .q_type = problem.q_type,
                                .kv_type = problem.kv_type,
                                .q_scale = problem.q_scale,
                                .kv_scale = problem.kv_scale},
                    .inputs = std::move(inputs)};
  Inputs& in = made.inputs;
  const std::vector<std::int32_t> old_indptr = std::exchange(in.kv_indptr, {0});
  const std::vector<std::int32_t> old_indices = std::exchange(in.kv_indices, {});
  const int page = problem.page_size;
  in.kv_last_page_len.clear();
  for (int seq = 0; seq < problem.b(); ++seq) {
    for (int i = 0; i < problem.s_q[seq]; ++i) {
      const int visible = std::max(0, problem.visible(seq, i));
      each_token(rule.dealt_tile, num_splits, visible, [&](int token) {
        in.kv_indices.push_back(old_indices[old_indptr[seq] + token / page] * page + token % page);
      });
      made.problem.s_kv.push_back(visible);
      in.kv_indptr.push_back(static_cast<std::int32_t>(in.kv_indices.size()));
      in.kv_last_page_len.push_back(visible > 0 ? 1 : 0);
    }
  }
  in.num_pages *= page;
  in.qo_indptr.resize(made.problem.s_q.size() + 1);
  std::iota(in.qo_indptr.begin(), in.qo_indptr.end(), 0);
  in.used_pages = in.kv_indices;
  std::sort(in.used_pages.begin(), in.used_pages.end());
  in.used_pages.erase(std::unique(in.used_pages.begin(), in.used_pages.end()), in.used_pages.end());
  return made;
}

void forget_masked_splits(const Problem& problem, const SplitRule& rule, int num_splits,
                          Output& output) {
  constexpr std::uint32_t kMinusInf = 0xff800000;
  std::int64_t token = 0;
  for (int seq = 0; seq < problem.b(); ++seq) {
    for (int i = 0; i < problem.s_q[seq]; ++i, ++token) {
      for (int split = 0; split < num_splits; ++split) {
        const int begin = split * rule.dealt_tile;
        if (begin < problem.visible(seq, i) || begin >= problem.s_kv[seq]) continue;
        for (int head = 0; head < problem.h_q; ++head) {
          const std::int64_t row = (token * num_splits + split) * problem.h_q + head;
          if (output.partial_lse[row] != kMinusInf) continue;
          output.partial_lse[row] = kPoison32;
          std::fill_n(output.partial_o.begin() + row * kDV, kDV, kPoison32);
        }
      }
    }
  }
}

}  // namespace attest
