// bf16 in registers: exact widening, rounding to nearest even, packing, and the 4 tokens x 8
// columns transpose that turns rows of V into matrix operands.
#pragma once
#include "kernels/device/gpu.hpp"

namespace gpu {

ATTEST_INLINE float widen(Bits16 x) { return float_of(static_cast<Bits32>(x) << 16); }

#if ATTEST_AMD
// gfx90a and gfx942 have no bf16 conversion: add half an ulp, or just less to a value whose last
// kept bit is even. A NaN whose low half is near all-ones would wrap. Attention weights are no
// such NaN: v_exp_f32 keeps the payload of a score, which came from bf16 products.
ATTEST_INLINE Bits32 rounded_high_half(float x) {
  const Bits32 bits = bits_of(x);
  return bits + 0x7fffu + (bits >> 16 & 1u);
}
ATTEST_INLINE Bits32 pack_bf16_no_nan(float low, float high) {
  return pick_bytes<0x07060302>(rounded_high_half(high), rounded_high_half(low));
}
ATTEST_INLINE Bits32 pack_bf16(float low, float high) {
  const Bits32 quiet = 0x7fc00000u;
  const Bits32 low_bits = low != low ? quiet : rounded_high_half(low);
  const Bits32 high_bits = high != high ? quiet : rounded_high_half(high);
  return pick_bytes<0x07060302>(high_bits, low_bits);
}
#else
ATTEST_INLINE Bits32 pack_bf16(float low, float high) {
  Bits32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
ATTEST_INLINE Bits32 pack_bf16_no_nan(float low, float high) { return pack_bf16(low, high); }
#endif

// 4 tokens of one column, in the order in which a lane holds 4 tokens of P.
struct TokenQuad {
  Bits32 word[2];
};

// Column x (0..7) of 4 rows of 8 columns.
template <int x>
ATTEST_INLINE TokenQuad column_of(const Octet (&row)[4]) {
  constexpr Bits32 kHalves = x % 2 == 0 ? 0x05040100u : 0x07060302u;
  return {{pick_bytes<kHalves>(row[1].word[x / 2], row[0].word[x / 2]),
           pick_bytes<kHalves>(row[3].word[x / 2], row[2].word[x / 2])}};
}

}  // namespace gpu
