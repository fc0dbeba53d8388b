// Online softmax of one wave: 16 heads, 16 tokens at a time.
#pragma once
#include "kernels/device/attention_tile.hpp"
#include "kernels/mla_decode/arguments.hpp"

namespace attest::mla_decode {

inline constexpr int kSteps = kDQk / 32;  // of 32 columns each in Q.K

using Query = gpu::QueryTile<kSteps>;

class OnlineSoftmax {
 public:
  ATTEST_INLINE OnlineSoftmax() {
    max_ = gpu::minus_infinity();
    sum_ = 0;
    for (auto& block : o_) {
      for (auto& quad : block) quad = gpu::Accumulator{};
    }
  }

  // Takes in the first `count` (1..16) tokens of a tile. Rows is a source of its 16-byte pieces:
  // key(octet) and value(k, octet). kPartial: count may be under 16. kClean: the source gives
  // zeros for the V of absent tokens.
  template <bool kPartial, bool kClean, class Rows>
  ATTEST_INLINE void take(const Query& query, const Rows& rows, int count, float scale_log2) {
    gpu::Quad p;  // scores, then weights, of the lane's 4 tokens
    score<kPartial>(p.value, query, rows, count, scale_log2);
    float factor;
    const bool moved = to_weights(p.value, factor);
    if (gpu::wave_any(moved)) {  // a factor of exactly 1 everywhere changes no bit
      rescale(factor);
    }
    const gpu::Probabilities weights = gpu::to_probabilities(p.value);
#pragma unroll
    for (int b = 0; b < gpu::kBlocks; ++b) {
      gpu::Octet v[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int octet = b * (gpu::kBlockColumns / 8) + gpu::value_octet_of(gpu::lane_index());
        v[k] = rows.value(k, octet);
        if (kPartial && !kClean && gpu::token_of(gpu::lane_index(), k) >= count) {
          v[k] = gpu::Octet{};  // whatever the row holds: 0 * NaN and 0 * inf are NaN
        }
      }
      add_block(o_[b], weights, v);
    }
  }

  // Once, after the last tile: the lanes of a head have each summed their own tokens.
  ATTEST_INLINE void finish() { sum_ = gpu::sum_over_tokens(sum_); }
  ATTEST_INLINE void rescale(float factor) {
#pragma unroll
    for (int b = 0; b < gpu::kBlocks; ++b) {
#pragma unroll
      for (int x = 0; x < gpu::kColumns; ++x) gpu::scale(o_[b][x], factor);
    }
  }
  ATTEST_INLINE float max() const { return max_; }  // of score * log2(e)
  ATTEST_INLINE float sum() const { return sum_; }  // of exp2(score * log2(e) - max)
  ATTEST_INLINE const gpu::Accumulator& o(int b, int x) const { return o_[b][x]; }

 private:
  template <bool kPartial, class Rows>
  ATTEST_INLINE static void score(float (&s)[4], const Query& query, const Rows& rows, int count,
                                  float scale_log2) {
    gpu::Accumulator chain[2] = {};
#pragma unroll gpu::kStepsAtOnce
    for (int c = 0; c < kSteps; ++c) {
      const gpu::Octet key = rows.key(4 * c + gpu::key_octet_of(gpu::lane_index()));
      query.add_scores(chain, c, key);
    }
    gpu::collect_scores(s, chain);
    for (int k = 0; k < 4; ++k) {
      s[k] *= scale_log2;
      if (kPartial && gpu::token_of(gpu::lane_index(), k) >= count) s[k] = gpu::minus_infinity();
    }
  }

  // Scores to unnormalised weights under the new running max; true when the max moved, by `factor`.
  ATTEST_INLINE bool to_weights(float (&s)[4], float& factor) {
    const float of_lane = gpu::max_of(gpu::max_of(s[0], s[1]), gpu::max_of(s[2], s[3]));
    const float now = gpu::max_of(max_, gpu::max_over_tokens(of_lane));
    // While every score is -inf, -inf - -inf would be NaN; the weights are 0 for any finite base.
    const float base = now == gpu::minus_infinity() ? 0.0f : now;
    factor = gpu::exp2_fast(max_ - base);
    const bool moved = now != max_;
    max_ = now;
    for (int k = 0; k < 4; ++k) s[k] = gpu::exp2_fast(s[k] - base);
    sum_ = sum_ * factor + ((s[0] + s[1]) + (s[2] + s[3]));
    return moved;
  }

  ATTEST_INLINE static void add_block(gpu::Accumulator (&o)[gpu::kColumns],
                                      const gpu::Probabilities& p, const gpu::Octet (&v)[4]) {
    gpu::add_values(o[0], p, gpu::column_of<0>(v));
    gpu::add_values(o[1], p, gpu::column_of<1>(v));
    gpu::add_values(o[2], p, gpu::column_of<2>(v));
    gpu::add_values(o[3], p, gpu::column_of<3>(v));
    gpu::add_values(o[4], p, gpu::column_of<4>(v));
    gpu::add_values(o[5], p, gpu::column_of<5>(v));
    gpu::add_values(o[6], p, gpu::column_of<6>(v));
    gpu::add_values(o[7], p, gpu::column_of<7>(v));
  }

  float max_;
  float sum_;
  gpu::Accumulator o_[gpu::kBlocks][gpu::kColumns];  // column 8 * octet + x in o_[b][x]
};

}  // namespace attest::mla_decode
