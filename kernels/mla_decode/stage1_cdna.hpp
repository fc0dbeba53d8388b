// Stage 1 on AMD's matrix units, a wave's tile of 16 heads and 16 tokens at a time.
#pragma once
#include "kernels/device/arrival.hpp"
#include "kernels/mla_decode/online_softmax.hpp"
#include "kernels/mla_decode/stage1.hpp"

namespace attest::mla_decode {

inline constexpr int kGroups = kThreads / gpu::kWaveSize;  // of one wave each: 4

// Heads past the last one repeat it: heads do not mix, and theirs are not stored.
ATTEST_INLINE void load_query(Query& query, const Stage1Arguments& a, const Program& p,
                              int first_head) {
  const int head = gpu::min_of(first_head + gpu::head_of(gpu::lane_index()), a.h - 1);
  query.load(a.q + p.token * a.q_stride_token + head * a.q_stride_head);
}

// ---- 16 heads: groups take turns at tiles of tokens, each with its own softmax, and merge them.

// Rows straight from global memory.
struct GlobalRows {
  const gpu::Bits16* key_row;
  const gpu::Bits16* value_row[4];
  ATTEST_INLINE gpu::Octet key(int octet) const { return gpu::load_octet(key_row + 8 * octet); }
  ATTEST_INLINE gpu::Octet value(int k, int octet) const {
    return gpu::load_octet(value_row[k] + 8 * octet);
  }
};

// `row` is that of token lane % 16 of the tile.
ATTEST_INLINE GlobalRows rows_of_tile(const Stage1Arguments& a, unsigned row) {
  const int lane = gpu::lane_index();
  GlobalRows rows;
  rows.key_row = row_address(a, row);
  for (int k = 0; k < 4; ++k) {
    rows.value_row[k] = row_address(a, gpu::shuffle(row, gpu::token_of(lane, k)));
  }
  return rows;
}

ATTEST_INLINE void attend_16_heads(OnlineSoftmax& softmax, const Stage1Arguments& a,
                                   const Program& p, int group) {
  constexpr int kStride = kGroups * gpu::kTileTokens;
  const int first = p.begin + group * gpu::kTileTokens;
  if (first >= p.end) return;
  Query query;
  load_query(query, a, p, p.head_begin);
  // Absent tokens of the last tile take the last token's row: nothing past the end is read.
  const auto row_for = [&](int tile) {
    return cache_row(a, p, gpu::min_of(tile + gpu::lane_index() % gpu::kTileTokens, p.end - 1));
  };
  unsigned row = row_for(first);
  int tile = first;
  for (; tile + gpu::kTileTokens <= p.end; tile += kStride) {
    const GlobalRows rows = rows_of_tile(a, row);
    row = row_for(tile + kStride);  // a tile ahead: KV waits for it
    softmax.take<false, false>(query, rows, gpu::kTileTokens, a.scale_log2);
  }
  if (tile < p.end) {
    softmax.take<true, false>(query, rows_of_tile(a, row), p.end - tile, a.scale_log2);
  }
}

// The groups' results in LDS: first their max and sum, then one block of columns at a time, each
// lane's registers as they are. 32 KiB, so that two workgroups fit a compute unit.
union MergeBuffer {
  struct {
    float max[kGroups][gpu::kTileHeads];
    float sum[kGroups][gpu::kTileHeads];
  } of;
  gpu::Quad o[kGroups][gpu::kColumns][gpu::kWaveSize];
};

// Rescales a group's output to the max over all groups; returns the inverse of the sum over all.
ATTEST_INLINE float align_groups(OnlineSoftmax& softmax, MergeBuffer& buffer,
                                 const Stage1Arguments& a, const Program& p, int group) {
  const int lane = gpu::lane_index();
  if (gpu::leads_its_head(lane)) {
    buffer.of.max[group][gpu::head_of(lane)] = softmax.max();
    buffer.of.sum[group][gpu::head_of(lane)] = softmax.sum();
  }
  gpu::barrier();
  const int head = gpu::head_of(lane);
  float max = gpu::minus_infinity(), sum = 0;
  for (int g = 0; g < kGroups; ++g) max = gpu::max_of(max, buffer.of.max[g][head]);
  const float base = max == gpu::minus_infinity() ? 0.0f : max;
  for (int g = 0; g < kGroups; ++g) {
    sum += gpu::exp2_fast(buffer.of.max[g][head] - base) * buffer.of.sum[g][head];
  }
  const float factor = gpu::exp2_fast(softmax.max() - base);
  const float inverse = inverse_of(sum);
  if (group == 0 && gpu::leads_its_head(lane)) store_lse(a, p, p.head_begin + head, max, sum);
  softmax.rescale(factor);
  return inverse;
}

// Group g adds up and stores register g of every lane's accumulators.
ATTEST_INLINE void merge_groups(OnlineSoftmax& softmax, MergeBuffer& buffer,
                                const Stage1Arguments& a, const Program& p, int group) {
  const int lane = gpu::lane_index();
  gpu::arrive();
  const float inverse = align_groups(softmax, buffer, a, p, group);
  gpu::barrier();
  const int head = p.head_begin + gpu::head_of(lane);
#pragma unroll
  for (int b = 0; b < gpu::kBlocks; ++b) {
#pragma unroll
    for (int x = 0; x < gpu::kColumns; ++x) {
      const gpu::Accumulator& o = softmax.o(b, x);
      gpu::store_quad(&buffer.o[group][x][lane], {{o[0], o[1], o[2], o[3]}});
    }
    gpu::barrier();
    float value[8];
    for (int x = 0; x < gpu::kColumns; ++x) {
      value[x] = 0;
      for (int g = 0; g < kGroups; ++g) value[x] += buffer.o[g][x][lane].value[group];
    }
    store_head(a, p, head, gpu::first_column_of(lane, b, group), inverse, value);
    gpu::barrier();
  }
}

// ---- 64 heads: each wave has its own 16 heads; all see the same tokens, staged in LDS.

inline constexpr int kStageTokens = 32;
inline constexpr int kStageStride = kDQk + 8;  // elements: the padding moves a row on by 4 banks

struct alignas(16) Stage {
  gpu::Bits16 row[kStageTokens * kStageStride];
};

struct StagedRows {
  const gpu::Bits16* tile;
  ATTEST_INLINE gpu::Octet key(int octet) const {
    return gpu::load_octet(tile + gpu::key_token_of(gpu::lane_index()) * kStageStride + 8 * octet);
  }
  ATTEST_INLINE gpu::Octet value(int k, int octet) const {
    return gpu::load_octet(tile + gpu::token_of(gpu::lane_index(), k) * kStageStride + 8 * octet);
  }
};

// Each thread moves every 8th octet of one token's row, through registers.
class Stager {
 public:
  static constexpr int kThreadsPerToken = kThreads / kStageTokens;
  static constexpr int kOctets = kDQk / 8 / kThreadsPerToken;

  ATTEST_INLINE void fetch(const Stage1Arguments& a, const Program& p, int tile) {
    const int token = tile + gpu::thread_index() / kThreadsPerToken;
    for (gpu::Octet& octet : octet_) octet = gpu::Octet{};  // an absent token is zeros
    if (token >= p.end) return;
    const gpu::Bits16* row =
        row_address(a, cache_row(a, p, token)) + 8 * (gpu::thread_index() % kThreadsPerToken);
#pragma unroll
    for (int i = 0; i < kOctets; ++i) octet_[i] = gpu::load_octet(row + 8 * kThreadsPerToken * i);
  }
  ATTEST_INLINE void store(gpu::Bits16* tile) const {
    gpu::Bits16* row = tile + gpu::thread_index() / kThreadsPerToken * kStageStride +
                       8 * (gpu::thread_index() % kThreadsPerToken);
#pragma unroll
    for (int i = 0; i < kOctets; ++i) gpu::store_octet(row + 8 * kThreadsPerToken * i, octet_[i]);
  }

 private:
  gpu::Octet octet_[kOctets];
};

ATTEST_INLINE void attend_64_heads(OnlineSoftmax& softmax, gpu::Bits16* stage,
                                   const Stage1Arguments& a, const Program& p, int first_head) {
  if (p.begin >= p.end) return;
  Query query;
  load_query(query, a, p, first_head);
  Stager stager;
  stager.fetch(a, p, p.begin);
  for (int tile = p.begin; tile < p.end; tile += kStageTokens) {
    gpu::barrier();  // the tile before is read
    stager.store(stage);
    gpu::barrier();
    if (tile + kStageTokens < p.end) stager.fetch(a, p, tile + kStageTokens);
#pragma unroll 1
    for (int t = 0; t < kStageTokens && tile + t < p.end; t += gpu::kTileTokens) {
      const StagedRows rows = {stage + t * kStageStride};
      softmax.take<true, true>(query, rows, p.end - tile - t, a.scale_log2);
    }
  }
}

ATTEST_INLINE void store_64_heads(const OnlineSoftmax& softmax, const Stage1Arguments& a,
                                  const Program& p, int first_head) {
  gpu::arrive();
  const int lane = gpu::lane_index();
  const float inverse = inverse_of(softmax.sum());
  if (gpu::leads_its_head(lane)) {
    store_lse(a, p, first_head + gpu::head_of(lane), softmax.max(), softmax.sum());
  }
#pragma unroll
  for (int b = 0; b < gpu::kBlocks; ++b) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      float value[8];
      for (int x = 0; x < gpu::kColumns; ++x) value[x] = softmax.o(b, x)[r];
      store_head(a, p, first_head + gpu::head_of(lane), gpu::first_column_of(lane, b, r), inverse,
                 value);
    }
  }
}

}  // namespace attest::mla_decode
