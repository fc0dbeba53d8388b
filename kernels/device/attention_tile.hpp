// One wave's matrix products of attention over 16 heads and 16 tokens on AMD's matrix unit, and who
// holds what: S^T = K Q^T and O^T = V^T P^T by v_mfma_f32_16x16x16_bf16, all 512 output columns in
// one wave.
//
// A lane holds one head x 4 tokens of the scores, and the same of P, which is exactly the operand
// of the second product: P never leaves registers. Rows are read 16 bytes (8 columns) at a time;
// the contraction order over columns is permuted, the same way for Q and K.
//
// Layouts: CDNA3 ISA, "Matrix Arithmetic Instructions" (D of 16x16x16: row 4 * (lane / 16) + r,
// column lane % 16; A and B: k = 4 * (lane / 16) + e).
#pragma once
#include "kernels/device/bf16.hpp"
#include "kernels/device/gpu.hpp"
#include "kernels/device/memory.hpp"

namespace gpu {

inline constexpr int kTileTokens = 16;
inline constexpr int kTileHeads = 16;
inline constexpr int kBlocks = 4;   // column blocks of a wave's output
inline constexpr int kColumns = 8;  // of one octet

inline constexpr int kBlockColumns = 128;  // output columns of one block
inline constexpr int kStepsAtOnce = 18;    // of Q.K whose loads may be in flight together
ATTEST_INLINE int head_of(int lane) { return lane % 16; }
ATTEST_INLINE int token_of(int lane, int k) { return 4 * (lane / 16) + k; }
ATTEST_INLINE int key_token_of(int lane) { return lane % 16; }    // whose row of K a lane loads
ATTEST_INLINE int key_octet_of(int lane) { return lane / 16; }    // of the 4 octets in 32 columns
ATTEST_INLINE int value_octet_of(int lane) { return lane % 16; }  // of a block of columns
// Of register r of an accumulator.
ATTEST_INLINE int quad_octet_of(int lane, int r) { return 4 * (lane / 16) + r; }
ATTEST_INLINE bool leads_its_head(int lane) { return lane < 16; }
ATTEST_INLINE float max_over_tokens(float x) {
  x = max_of(x, shuffle(x, lane_index() ^ 16));
  return max_of(x, shuffle(x, lane_index() ^ 32));
}
ATTEST_INLINE float sum_over_tokens(float x) {
  x += shuffle(x, lane_index() ^ 16);
  return x + shuffle(x, lane_index() ^ 32);
}

using Words2 = Bits32 __attribute__((ext_vector_type(2)));
using Operand = short __attribute__((ext_vector_type(4)));
using Accumulator = float __attribute__((ext_vector_type(4)));
using Probabilities = Operand;

ATTEST_INLINE Operand operand(Bits32 low, Bits32 high) {
  return __builtin_bit_cast(Operand, Words2{low, high});
}
ATTEST_INLINE void add_product(Accumulator& d, Operand a, Operand b) {
  d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, d, 0, 0, 0);
}

// Q of the wave's 16 heads, in registers for the whole kernel.
template <int kSteps>
class QueryTile {
 public:
  // `row` is that of the lane's head.
  ATTEST_INLINE void load(const Bits16* row) {
    for (int c = 0; c < kSteps; ++c) {
      octet_[c] = load_octet(row + 32 * c + 8 * key_octet_of(lane_index()));
    }
  }
  // scores += the 32 columns of step c. Two chains, as a chain waits for each product.
  ATTEST_INLINE void add_scores(Accumulator (&chain)[2], int c, const Octet& key) const {
    add_product(chain[0], operand(key.word[0], key.word[1]),
                operand(octet_[c].word[0], octet_[c].word[1]));
    add_product(chain[1], operand(key.word[2], key.word[3]),
                operand(octet_[c].word[2], octet_[c].word[3]));
  }

 private:
  Octet octet_[kSteps];
};

ATTEST_INLINE void collect_scores(float (&score)[4], const Accumulator (&chain)[2]) {
  const Accumulator sum = chain[0] + chain[1];
  for (int k = 0; k < 4; ++k) score[k] = sum[k];
}
ATTEST_INLINE Probabilities to_probabilities(const float (&p)[4]) {
  return operand(pack_bf16_no_nan(p[0], p[1]), pack_bf16_no_nan(p[2], p[3]));
}
ATTEST_INLINE void add_values(Accumulator& o, const Probabilities& p, const TokenQuad& v) {
  add_product(o, operand(v.word[0], v.word[1]), p);
}
ATTEST_INLINE void scale(Accumulator& o, float factor) { o *= factor; }

// The first output column of the 8 that register r of block b holds over its 8 accumulators.
ATTEST_INLINE int first_column_of(int lane, int b, int r) {
  return b * kBlockColumns + 8 * quad_octet_of(lane, r);
}

}  // namespace gpu
