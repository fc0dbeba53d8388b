// VOP3P: packed f32, f16 and 16-bit integers. op_sel picks the half that makes the low result,
// op_sel_hi the one that makes the high result; neg_lo and neg_hi flip signs of those. Source:
// MI300 ISA, chapter 12.12 (VOP3P).
#include "harness/device/emulator/float_ops.hpp"

namespace attest::emulator {
namespace {

// --- packed f32: a 64-bit register pair holds two floats
// ------------------------------------------------------------
struct Half32 {
  const u32* row;
  u32 flip;
  float at(int l) const { return as_float(row[l] ^ flip); }
};
Half32 half32(Wave& w, const Inst& in, int slot, bool high) {
  const int bit = slot - 1;
  const bool upper = (high ? in.op_sel_hi : in.op_sel) >> bit & 1;
  const bool negate = (high ? in.neg_hi : in.neg_lo) >> bit & 1;
  return {upper ? fetch_high(w, in, slot) : fetch(w, in, slot), negate ? 0x80000000u : 0u};
}
template <int kSources, auto Fn>
Flow packed_f32(Wave& w, const Inst& in) {
  alignas(64) u32 r[2][kLanes];
  for (int high = 0; high < 2; ++high) {
    const Half32 a = half32(w, in, 1, high), b = half32(w, in, 2, high),
                 c = kSources > 2 ? half32(w, in, 3, high) : a;
    for (int l = 0; l < kLanes; ++l) {
      if constexpr (kSources == 2) r[high][l] = as_bits(Fn(a.at(l), b.at(l)));
      if constexpr (kSources == 3) r[high][l] = as_bits(Fn(a.at(l), b.at(l), c.at(l)));
    }
    if (in.clamp) {
      for (int l = 0; l < kLanes; ++l) {
        const float x = as_float(r[high][l]);
        if (x != x && !(w.mode & kModeDx10Clamp)) continue;
        r[high][l] = as_bits(!(x > 0) ? 0.0f : x > 1 ? 1.0f : x);
      }
    }
  }
  store_row(w, in.op[0].reg, r[0]);
  store_row(w, in.op[0].reg + 1, r[1]);
  return Flow::kNext;
}
Flow pk_mov_b32(Wave& w, const Inst& in) {
  alignas(64) u32 low[kLanes], high[kLanes];
  std::memcpy(low, in.op_sel & 1 ? fetch_high(w, in, 1) : fetch(w, in, 1), sizeof low);
  std::memcpy(high, in.op_sel & 2 ? fetch_high(w, in, 2) : fetch(w, in, 2), sizeof high);
  store_row(w, in.op[0].reg, low);
  store_row(w, in.op[0].reg + 1, high);
  return Flow::kNext;
}

// --- two 16-bit values in a register
// --------------------------------------------------------------------------------
u32 pick(const Inst& in, int bit, bool high, u32 value) {
  const bool upper = (high ? in.op_sel_hi : in.op_sel) >> bit & 1;
  return upper ? value >> 16 : value & 0xffff;
}
u32 clamp_half(u32 half, bool nan_to_zero) {
  if (is_nan16(half)) return nan_to_zero ? 0 : half;
  return half & 0x8000 ? 0 : half > 0x3c00 ? 0x3c00 : half;
}
template <int kSources, bool kFloat, auto Fn>
Flow packed16(Wave& w, const Inst& in) {
  const HalfMode mode(w);
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2), *c = kSources > 2 ? fetch(w, in, 3) : a;
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    u32 out[2];
    for (int high = 0; high < 2; ++high) {
      const u32 flips = kFloat ? (high ? in.neg_hi : in.neg_lo) : 0;
      u32 x = pick(in, 0, high, a[l]) ^ (flips & 1) << 15,
          y = pick(in, 1, high, b[l]) ^ (flips >> 1 & 1) << 15;
      u32 z = kSources > 2 ? pick(in, 2, high, c[l]) ^ (flips >> 2 & 1) << 15 : 0;
      if (kFloat) x = mode.in(x), y = mode.in(y), z = mode.in(z);
      if constexpr (kSources == 2) out[high] = Fn(x, y) & 0xffff;
      if constexpr (kSources == 3) out[high] = Fn(x, y, z) & 0xffff;
      if (kFloat) out[high] = mode.out(out[high]);
      if (kFloat && in.clamp) out[high] = clamp_half(out[high], w.mode & kModeDx10Clamp);
    }
    r[l] = out[0] | out[1] << 16;
  }
  store_row(w, in.op[0].reg, r);
  return Flow::kNext;
}
i32 i16_of(u32 value) { return static_cast<std::int16_t>(value); }

// v_fma_mix_f32: each source is f32, or the half of it that op_sel names when its op_sel_hi bit is
// set.
float mix_source(const Inst& in, int bit, u32 value) {
  float x = in.op_sel_hi >> bit & 1
                ? half_to_float(in.op_sel >> bit & 1 ? value >> 16 : value & 0xffff)
                : as_float(value);
  if (in.neg_hi >> bit & 1) x = std::fabs(x);
  return in.neg_lo >> bit & 1 ? -x : x;
}
float fma_mix(const Inst& in, u32 a, u32 b, u32 c) {
  return __builtin_fmaf(mix_source(in, 0, a), mix_source(in, 1, b), mix_source(in, 2, c));
}
// kHalf: -1 f32 result, 0 low half, 1 high half of the destination
template <int kHalf>
Flow mix(Wave& w, const Inst& in) {
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2), *c = fetch(w, in, 3),
            *old = w.v[in.op[0].reg];
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const float x = fma_mix(in, a[l], b[l], c[l]);
    if (kHalf < 0) r[l] = as_bits(x);
    if (kHalf == 0) r[l] = (old[l] & 0xffff0000) | float_to_half(x);
    if (kHalf == 1) r[l] = (old[l] & 0xffff) | float_to_half(x) << 16;
  }
  store_row(w, in.op[0].reg, r);
  return Flow::kNext;
}

u32 shl16(u32 a, u32 b) { return b << (a & 15); }
u32 add16(u32 a, u32 b) { return a + b; }
u32 sub16(u32 a, u32 b) { return a - b; }
i32 sg(u32 value) { return static_cast<i32>(value); }
u32 limited(i32 value, i32 low, i32 high) {
  return static_cast<u32>(value < low ? low : value > high ? high : value);
}

std::vector<Semantics> packed_floats() {
  return {
      {"v_pk_fma_f32",
       packed_f32<3, [](float a, float b, float c) { return __builtin_fmaf(a, b, c); }>,
       Type::kB64},
      {"v_pk_mul_f32", packed_f32<2, [](float a, float b) { return a * b; }>, Type::kB64},
      {"v_pk_add_f32", packed_f32<2, [](float a, float b) { return a + b; }>, Type::kB64},
      {"v_pk_mov_b32", pk_mov_b32, Type::kB64},
      {"v_pk_add_f16",
       packed16<2, true,
                [](u32 a, u32 b) { return float_to_half(half_to_float(a) + half_to_float(b)); }>,
       Type::kF16},
      {"v_pk_mul_f16",
       packed16<2, true,
                [](u32 a, u32 b) { return float_to_half(half_to_float(a) * half_to_float(b)); }>,
       Type::kF16},
      {"v_pk_fma_f16", packed16<3, true, fma_half>, Type::kF16},
      {"v_pk_min_f16",
       by_ieee<packed16<2, true, [](u32 a, u32 b) { return extreme16(a, b, true, false); }>,
               packed16<2, true, [](u32 a, u32 b) { return extreme16(a, b, false, false); }>>,
       Type::kF16},
      {"v_pk_max_f16",
       by_ieee<packed16<2, true, [](u32 a, u32 b) { return extreme16(a, b, true, true); }>,
               packed16<2, true, [](u32 a, u32 b) { return extreme16(a, b, false, true); }>>,
       Type::kF16},
  };
}

std::vector<Semantics> packed_integers_and_mixes() {
  return {
      {"v_pk_add_u16",
       by_clamp<packed16<2, false, add16>,
                packed16<2, false, [](u32 a, u32 b) { return limited(sg(a + b), 0, 65535); }>>},
      {"v_pk_sub_u16",
       by_clamp<packed16<2, false, sub16>,
                packed16<2, false, [](u32 a, u32 b) { return limited(sg(a - b), 0, 65535); }>>},
      {"v_pk_add_i16", by_clamp<packed16<2, false, add16>, packed16<2, false,
                                                                    [](u32 a, u32 b) {
                                                                      return limited(
                                                                          i16_of(a) + i16_of(b),
                                                                          -32768, 32767);
                                                                    }>>},
      {"v_pk_sub_i16", by_clamp<packed16<2, false, sub16>, packed16<2, false,
                                                                    [](u32 a, u32 b) {
                                                                      return limited(
                                                                          i16_of(a) - i16_of(b),
                                                                          -32768, 32767);
                                                                    }>>},
      {"v_pk_mul_lo_u16", packed16<2, false, [](u32 a, u32 b) { return a * b; }>},
      {"v_pk_mad_u16", packed16<3, false, [](u32 a, u32 b, u32 c) { return a * b + c; }>},
      {"v_pk_mad_i16", packed16<3, false, [](u32 a, u32 b, u32 c) { return a * b + c; }>},
      {"v_pk_min_u16", packed16<2, false, [](u32 a, u32 b) { return a < b ? a : b; }>},
      {"v_pk_max_u16", packed16<2, false, [](u32 a, u32 b) { return a > b ? a : b; }>},
      {"v_pk_min_i16",
       packed16<2, false, [](u32 a, u32 b) { return i16_of(a) < i16_of(b) ? a : b; }>},
      {"v_pk_max_i16",
       packed16<2, false, [](u32 a, u32 b) { return i16_of(a) > i16_of(b) ? a : b; }>},
      {"v_pk_lshlrev_b16", packed16<2, false, shl16>},
      {"v_pk_lshrrev_b16", packed16<2, false, [](u32 a, u32 b) { return b >> (a & 15); }>},
      {"v_pk_ashrrev_i16",
       packed16<2, false, [](u32 a, u32 b) { return static_cast<u32>(i16_of(b) >> (a & 15)); }>},
      {"v_fma_mix_f32", mix<-1>},
      {"v_fma_mixlo_f16", mix<0>},
      {"v_fma_mixhi_f16", mix<1>},
  };
}

}  // namespace

std::vector<Semantics> vector_packed_semantics() {
  std::vector<Semantics> all = packed_floats();
  for (const Semantics& entry : packed_integers_and_mixes()) all.push_back(entry);
  return all;
}

}  // namespace attest::emulator
