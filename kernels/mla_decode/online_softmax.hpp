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
    for (int h = 0; h < gpu::kLaneHeads; ++h) {
      max_[h] = gpu::minus_infinity();
      sum_[h] = 0;
    }
    for (auto& block : o_) {
      for (auto& quad : block) quad = gpu::Accumulator{};
    }
  }

  // Takes in the first `count` (1..16) tokens of a tile. Rows is a source of its 16-byte pieces:
  // key(j, octet) and value(k, octet). kPartial: count may be under 16. kClean: the source gives
  // zeros for the V of absent tokens.
  template <bool kPartial, bool kClean, class Rows>
  ATTEST_INLINE void take(const Query& query, const Rows& rows, int count, float scale_log2,
                          int part) {
    float p[gpu::kLaneHeads][4];
    score<kPartial>(p, query, rows, count, scale_log2);
    float factor[gpu::kLaneHeads];
    const bool moved = to_weights(p, factor);
    if (gpu::wave_any(moved)) {  // a factor of exactly 1 everywhere changes no bit
      rescale(factor);
    }
    const gpu::Probabilities weights = gpu::to_probabilities(p);
#pragma unroll
    for (int b = 0; b < gpu::kBlocks; ++b) {
      gpu::Octet v[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int octet = (part * gpu::kBlocks + b) * (gpu::kBlockColumns / 8) +
                          gpu::value_octet_of(gpu::lane_index());
        v[k] = rows.value(k, octet);
        if (kPartial && !kClean && gpu::token_of(gpu::lane_index(), k) >= count) {
          v[k] = gpu::Octet{};  // whatever the row holds: 0 * NaN and 0 * inf are NaN
        }
      }
      add_block(o_[b], weights, v);
    }
  }

  // Once, after the last tile: the lanes of a head have each summed their own tokens.
  ATTEST_INLINE void finish() {
    for (int h = 0; h < gpu::kLaneHeads; ++h) sum_[h] = gpu::sum_over_tokens(sum_[h]);
  }
  ATTEST_INLINE void rescale(const float (&factor)[gpu::kLaneHeads]) {
#pragma unroll
    for (int b = 0; b < gpu::kBlocks; ++b) {
#pragma unroll
      for (int x = 0; x < gpu::kColumns; ++x) gpu::scale(o_[b][x], factor);
    }
  }
  ATTEST_INLINE float max(int h) const { return max_[h]; }  // of score * log2(e)
  ATTEST_INLINE float sum(int h) const { return sum_[h]; }  // of exp2(score * log2(e) - max)
  ATTEST_INLINE const gpu::Accumulator& o(int b, int x) const { return o_[b][x]; }

 private:
  template <bool kPartial, class Rows>
  ATTEST_INLINE static void score(float (&s)[gpu::kLaneHeads][4], const Query& query,
                                  const Rows& rows, int count, float scale_log2) {
    gpu::Accumulator chain[2] = {};
#pragma unroll gpu::kStepsAtOnce
    for (int c = 0; c < kSteps; ++c) {
      gpu::Octet key[gpu::kKeyRows];
      for (int j = 0; j < gpu::kKeyRows; ++j) {
        key[j] = rows.key(j, 4 * c + gpu::key_octet_of(gpu::lane_index()));
      }
      query.add_scores(chain, c, key);
    }
    gpu::collect_scores(s, chain);
    for (int h = 0; h < gpu::kLaneHeads; ++h) {
      for (int k = 0; k < 4; ++k) {
        s[h][k] *= scale_log2;
        if (kPartial && gpu::token_of(gpu::lane_index(), k) >= count)
          s[h][k] = gpu::minus_infinity();
      }
    }
  }

  // Scores to unnormalised weights under the new running max; true when a max moved, by `factor`.
  ATTEST_INLINE bool to_weights(float (&s)[gpu::kLaneHeads][4], float (&factor)[gpu::kLaneHeads]) {
    bool moved = false;
    for (int h = 0; h < gpu::kLaneHeads; ++h) {
      const float of_lane =
          gpu::max_of(gpu::max_of(s[h][0], s[h][1]), gpu::max_of(s[h][2], s[h][3]));
      const float now = gpu::max_of(max_[h], gpu::max_over_tokens(of_lane));
      // While every score is -inf, -inf - -inf would be NaN; the weights are 0 for any finite base.
      const float base = now == gpu::minus_infinity() ? 0.0f : now;
      factor[h] = gpu::exp2_fast(max_[h] - base);
      moved = moved || now != max_[h];
      max_[h] = now;
      for (int k = 0; k < 4; ++k) s[h][k] = gpu::exp2_fast(s[h][k] - base);
      sum_[h] = sum_[h] * factor[h] + ((s[h][0] + s[h][1]) + (s[h][2] + s[h][3]));
    }
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

  float max_[gpu::kLaneHeads];
  float sum_[gpu::kLaneHeads];
  gpu::Accumulator o_[gpu::kBlocks][gpu::kColumns];  // column 8 * octet + x in o_[b][x]
};

}  // namespace attest::mla_decode
