// Stage 2: merges the live splits of one row. A program has a slice of the 512 columns, a thread
// one column; every wave works out the weights of block_s splits at a time, then adds up their
// outputs in order.
#pragma once
#include "kernels/device/arrival.hpp"
#include "kernels/device/bf16.hpp"
#include "kernels/mla_decode/work.hpp"

namespace attest::mla_decode {

inline constexpr int kLaneSplits = kMaxBlockS / gpu::kWaveSize;  // weights that a lane holds
inline constexpr int kLoadsAtOnce = 8;                           // of outputs, added in order

ATTEST_INLINE float max_over_wave(float x) {
  for (int step = 1; step < gpu::kWaveSize; step *= 2) {
    x = gpu::max_of(x, gpu::shuffle(x, gpu::lane_index() ^ step));
  }
  return x;
}
ATTEST_INLINE float sum_over_wave(float x) {
  for (int step = 1; step < gpu::kWaveSize; step *= 2) {
    x += gpu::shuffle(x, gpu::lane_index() ^ step);
  }
  return x;
}

class Merge {
 public:
  // lse[j]: of split first + kWaveSize * j + lane, -inf where there is none.
  ATTEST_INLINE void weigh(const float (&lse)[kLaneSplits], float (&weight)[kLaneSplits]) {
    float max = gpu::minus_infinity();
    for (float x : lse) max = gpu::max_of(max, x);
    max = gpu::max_of(max_, max_over_wave(max));
    const float base = max == gpu::minus_infinity() ? 0.0f : max;
    const float factor = gpu::exp2_fast((max_ - base) * gpu::kLog2E);
    float sum = 0;
    for (int j = 0; j < kLaneSplits; ++j) {
      weight[j] = gpu::exp2_fast((lse[j] - base) * gpu::kLog2E);
      sum += weight[j];
    }
    sum_ = sum_ * factor + sum_over_wave(sum);
    o_ *= factor;
    max_ = max;
  }
  ATTEST_INLINE void add(float weight, float o) { o_ += weight * o; }
  ATTEST_INLINE float o() const { return sum_ == 0.0f ? 0.0f : o_ * gpu::reciprocal(sum_); }
  ATTEST_INLINE float lse() const { return max_ + gpu::log2_fast(sum_) * gpu::kLn2; }

 private:
  float max_ = gpu::minus_infinity();  // natural log
  float sum_ = 0;
  float o_ = 0;
};

template <class Partial>
ATTEST_INLINE float widen(const Partial* p) {
  if constexpr (sizeof(Partial) == 2) {
    return gpu::widen(*p);
  } else {
    return *p;
  }
}

// `row`: of split 0 of this row in the partials; `stride`: rows from one split to the next.
template <class Partial>
ATTEST_INLINE void add_block(Merge& merge, const Stage2Arguments& a, gpu::Int64 row, int column,
                             int first, int end) {
  const int lane = gpu::lane_index();
  float lse[kLaneSplits], weight[kLaneSplits];
  for (int j = 0; j < kLaneSplits; ++j) {
    const int split = first + gpu::kWaveSize * j + lane;
    lse[j] = split < end ? a.partial_lse[row + static_cast<gpu::Int64>(split) * a.h]
                         : gpu::minus_infinity();
  }
  merge.weigh(lse, weight);
  const Partial* o = static_cast<const Partial*>(a.partial_o) + column;
#pragma unroll
  for (int j = 0; j < kLaneSplits; ++j) {
    const int here = gpu::min_of(end - first - gpu::kWaveSize * j, gpu::kWaveSize);
    for (int i = 0; i < here; i += kLoadsAtOnce) {
      // A split that shows this row no token: its output is not even read, it may be NaN.
      const auto counts = [&](int n) {
        return i + n < here && gpu::broadcast(lse[j], i + n) != gpu::minus_infinity();
      };
      float value[kLoadsAtOnce];
#pragma unroll
      for (int n = 0; n < kLoadsAtOnce; ++n) {
        const gpu::Int64 at =
            row + static_cast<gpu::Int64>(first + gpu::kWaveSize * j + i + n) * a.h;
        if (counts(n)) value[n] = widen(o + at * kDV);
      }
#pragma unroll
      for (int n = 0; n < kLoadsAtOnce; ++n) {
        if (counts(n)) merge.add(gpu::broadcast(weight[j], i + n), value[n]);
      }
    }
  }
}

template <class Partial>
ATTEST_INLINE void merge_splits(const Stage2Arguments& a, int columns) {
  const int head = gpu::block_x() % a.h;
  const int slice = gpu::block_x() / a.h;
  const QueryToken query = find_query_token(a.batch, gpu::block_z(), gpu::block_y());
  if (!query.exists) return;
  const int live =
      gpu::min_of((query.s_kv + query.split_length - 1) / query.split_length, a.batch.num_splits);
  const gpu::Int64 row = static_cast<gpu::Int64>(query.token) * a.batch.num_splits * a.h + head;
  const int column = slice * columns + gpu::thread_index();
  Merge merge;
  for (int first = 0; first < live; first += a.block_s) {
    add_block<Partial>(merge, a, row, column, first, gpu::min_of(first + a.block_s, live));
  }
  gpu::arrive();
  gpu::Bits16* o = static_cast<gpu::Bits16*>(a.o);
  o[query.token * a.o_stride_token + head * a.o_stride_head + column] =
      static_cast<gpu::Bits16>(gpu::pack_bf16(merge.o(), 0.0f));
  if (slice == 0 && gpu::thread_index() == 0) {  // one slice: the others hold the same value
    a.lse[static_cast<gpu::Int64>(query.token) * a.h + head] = merge.lse();
  }
}

}  // namespace attest::mla_decode
