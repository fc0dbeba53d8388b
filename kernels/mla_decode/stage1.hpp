// Stage 1: attention of one query token over one split, for a tile of 16 or 64 heads. Here what the
// builds for AMD (stage1_cdna.hpp) and for NVIDIA (stage1_hopper.hpp) share: which work a workgroup
// has, and how results are stored.
#pragma once
#include "kernels/device/memory.hpp"
#include "kernels/mla_decode/work.hpp"

namespace attest::mla_decode {

// What one workgroup does, equal in all its lanes.
struct Program {
  bool live = false;
  int token = 0, split = 0, head_begin = 0;
  int begin = 0, end = 0;  // tokens of the cache; empty when the query token sees none of the split
  int first_entry = 0;     // of the sequence in kv_indices
};

// Where a workgroup stands in the grid.
struct GridPlace {
  int x, y, z;
};
#if ATTEST_AMD
ATTEST_INLINE GridPlace grid_place() { return {gpu::block_x(), gpu::block_y(), gpu::block_z()}; }
#else
// Workgroups begin in the order of x, y, z. All of z, which share a split's KV, are to run
// together: they find it in the L2.
ATTEST_INLINE GridPlace grid_place() {
  const int begun =
      gpu::block_x() + gpu::grid_x() * (gpu::block_y() + gpu::grid_y() * gpu::block_z());
  const int rest = begun / gpu::grid_z();
  return {rest % gpu::grid_x(), rest / gpu::grid_x(), begun % gpu::grid_z()};
}
#endif

template <int kHeadTile>
ATTEST_INLINE Program find_program(const Stage1Arguments& a) {
  const GridPlace at = grid_place();
  const int split = a.split_major ? at.x : at.y;
  const int sequence = a.split_major ? at.y : at.x;
  const int head_tiles = (a.h + kHeadTile - 1) / kHeadTile;
  const int i = at.z / head_tiles;
  const QueryToken query = find_query_token(a.batch, sequence, i);
  const int num_splits = a.batch.num_splits;
  const int begin = split * query.split_length;
  // An empty split is left unwritten; a lone one writes what a row that sees nothing holds.
  if (!query.exists || (begin >= query.s_kv && num_splits > 1)) return {};
  const int split_end = split == num_splits - 1 ? query.s_kv : begin + query.split_length;
  return {true,
          query.token,
          split,
          (at.z - i * head_tiles) * kHeadTile,
          begin,
          gpu::min_of(split_end, gpu::min_of(query.s_kv, query.visible)),
          a.batch.kv_indptr[sequence]};
}

// A token's row of the cache, which is at most 2^32 rows long; its elements need 64 bits.
ATTEST_INLINE unsigned cache_row(const Stage1Arguments& a, const Program& p, int token) {
  const int page = a.kv_indices[p.first_entry + (token >> a.batch.page_shift)];
  return (static_cast<unsigned>(page) << a.batch.page_shift) +
         (token & ((1 << a.batch.page_shift) - 1));
}
ATTEST_INLINE const gpu::Bits16* row_address(const Stage1Arguments& a, unsigned row) {
  return a.kv + static_cast<unsigned long long>(row) * kDQk;
}

// 8 columns of one head's output, divided by the sum of its weights.
ATTEST_INLINE void store_head(const Stage1Arguments& a, const Program& p, int head, int column,
                              float inverse_sum, float (&value)[8]) {
  if (head >= a.h) return;
  for (float& v : value) v *= inverse_sum;
  const gpu::Int64 row =
      p.token * a.o_stride_token + p.split * a.o_stride_split + head * a.o_stride_head;
  gpu::store_columns(a.o, row + column, a.o_is_fp32, value);
}

ATTEST_INLINE float inverse_of(float sum) {  // a row that saw no token is zeros
  return sum == 0.0f ? 0.0f : gpu::reciprocal(sum);
}

// lse = ln(sum of exp(score)), from a max and a log in base 2.
ATTEST_INLINE void store_lse(const Stage1Arguments& a, const Program& p, int head, float max,
                             float sum) {
  if (head >= a.h) return;
  a.lse[(static_cast<gpu::Int64>(p.token) * a.batch.num_splits + p.split) * a.h + head] =
      (max + gpu::log2_fast(sum)) * gpu::kLn2;
}

}  // namespace attest::mla_decode
