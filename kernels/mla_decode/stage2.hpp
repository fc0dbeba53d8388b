// Stage 2: merges the live splits of one row. A program has a slice of the 512 columns, a thread
// kLaneColumns of them; every wave works out the weights of block_s splits at a time, then adds up
// their outputs in order.
#pragma once
#include "kernels/device/arrival.hpp"
#include "kernels/device/bf16.hpp"
#include "kernels/mla_decode/work.hpp"

namespace attest::mla_decode {

inline constexpr int kLaneSplits = kMaxBlockS / gpu::kWaveSize;  // weights that a lane holds
inline constexpr int kLoadsAtOnce = 8;                           // of outputs, added in order
#if ATTEST_AMD
inline constexpr int kLaneColumns = 1;
#else
inline constexpr int kLaneColumns = kHopperLaneColumns;
#endif

// A thread's columns of a row, moved in one access.
template <class T>
struct alignas(sizeof(T) * kLaneColumns) Columns {
  T value[kLaneColumns];
};

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
    for (float& o : o_) o *= factor;
    max_ = max;
  }
  ATTEST_INLINE void add(float weight, const Columns<float>& o) {
    for (int c = 0; c < kLaneColumns; ++c) o_[c] += weight * o.value[c];
  }
  ATTEST_INLINE float o(int c) const { return sum_ == 0.0f ? 0.0f : o_[c] * gpu::reciprocal(sum_); }
  ATTEST_INLINE float lse() const { return max_ + gpu::log2_fast(sum_) * gpu::kLn2; }

 private:
  float max_ = gpu::minus_infinity();  // natural log
  float sum_ = 0;
  float o_[kLaneColumns] = {};
};

ATTEST_INLINE float widen(float x) { return x; }
ATTEST_INLINE float widen(gpu::Bits16 x) { return gpu::widen(x); }

template <class Partial>
ATTEST_INLINE Columns<float> load_columns(const Partial* from) {
  const auto partial = *reinterpret_cast<const Columns<Partial>*>(from);
  Columns<float> o;
  for (int c = 0; c < kLaneColumns; ++c) o.value[c] = widen(partial.value[c]);
  return o;
}

// `row`: of split 0 of this row in the partials.
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
      bool counts[kLoadsAtOnce];
      Columns<float> value[kLoadsAtOnce];
#pragma unroll
      for (int n = 0; n < kLoadsAtOnce; ++n) {
        // A split that shows this row no token: its output is not even read, it may be NaN.
        counts[n] = gpu::broadcast(lse[j], i + n) != gpu::minus_infinity();
        const gpu::Int64 at =
            row + static_cast<gpu::Int64>(first + gpu::kWaveSize * j + i + n) * a.h;
        if (counts[n]) value[n] = load_columns(o + at * kDV);
      }
#pragma unroll
      for (int n = 0; n < kLoadsAtOnce; ++n) {
        const float weight_of_n = gpu::broadcast(weight[j], i + n);
        if (counts[n]) merge.add(weight_of_n, value[n]);
      }
    }
  }
}

template <class Partial>
ATTEST_INLINE void merge_splits(const Stage2Arguments& a, int threads) {
  const int head = gpu::block_x() % a.h;
  const int slice = gpu::block_x() / a.h;
  const QueryToken query = find_query_token(a.batch, gpu::block_z(), gpu::block_y());
  if (!query.exists) return;
  const int live =
      gpu::min_of((query.s_kv + query.split_length - 1) / query.split_length, a.batch.num_splits);
  const gpu::Int64 row = static_cast<gpu::Int64>(query.token) * a.batch.num_splits * a.h + head;
  const int column = (slice * threads + gpu::thread_index()) * kLaneColumns;
  Merge merge;
  for (int first = 0; first < live; first += a.block_s) {
    add_block<Partial>(merge, a, row, column, first, gpu::min_of(first + a.block_s, live));
  }
  gpu::arrive();
  gpu::Bits16* o = static_cast<gpu::Bits16*>(a.o);
  Columns<gpu::Bits16> rounded;
  for (int c = 0; c < kLaneColumns; ++c) {
    rounded.value[c] = static_cast<gpu::Bits16>(gpu::pack_bf16(merge.o(c), 0.0f));
  }
  const gpu::Int64 at = query.token * a.o_stride_token + head * a.o_stride_head + column;
  *reinterpret_cast<Columns<gpu::Bits16>*>(o + at) = rounded;
  if (slice == 0 && gpu::thread_index() == 0) {  // one slice: the others hold the same value
    a.lse[static_cast<gpu::Int64>(query.token) * a.h + head] = merge.lse();
  }
}

}  // namespace attest::mla_decode
