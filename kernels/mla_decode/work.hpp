// Which tokens a program of either stage works on.
#pragma once
#include "kernels/device/gpu.hpp"
#include "kernels/mla_decode/arguments.hpp"

namespace attest::mla_decode {

// One query token of one sequence.
struct QueryToken {
  bool exists = false;  // false: this sequence has fewer query tokens than the grid
  int token = 0;        // row of q, o, lse
  int visible = 0;      // it sees the first `visible` tokens of the cache; may be negative
  int s_kv = 0;
  int split_length = 0;  // of every split but the last live one
};

ATTEST_INLINE QueryToken find_query_token(const Batch& batch, int sequence, int i) {
  const int begin = batch.qo_indptr[sequence];
  const int s_q = batch.qo_indptr[sequence + 1] - begin;
  const int pages = batch.kv_indptr[sequence + 1] - batch.kv_indptr[sequence];
  if (i >= s_q) return {};
  const int s_kv =
      pages == 0 ? 0 : ((pages - 1) << batch.page_shift) + batch.kv_last_page_len[sequence];
  const int visible = s_kv - s_q + i + 1;  // bottom-right aligned: the last query token sees all
  const int split_length = gpu::max_of(
      kMinSplitTokens,
      static_cast<int>(static_cast<unsigned>(s_kv) / static_cast<unsigned>(batch.num_splits)));
  return {true, begin + i, visible, s_kv, split_length};
}

}  // namespace attest::mla_decode
