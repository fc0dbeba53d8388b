// Vector integer, bit and conversion-free moves. Source: AMD Instinct MI300 ISA, chapters 6
// and 12.7-12.10.
#include <bit>

#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {
namespace {

constexpr i32 sg(u32 value) { return static_cast<i32>(value); }
constexpr i32 s24(u32 value) { return static_cast<i32>(value << 8) >> 8; }
constexpr u32 u24(u32 value) { return value & 0xffffff; }
constexpr u32 u16_of(u32 value) { return value & 0xffff; }
constexpr i32 i16_of(u32 value) { return static_cast<std::int16_t>(value); }
constexpr u32 min_u(u32 a, u32 b) { return a < b ? a : b; }
constexpr u32 max_u(u32 a, u32 b) { return a > b ? a : b; }
constexpr u32 min_i(u32 a, u32 b) { return sg(a) < sg(b) ? a : b; }
constexpr u32 max_i(u32 a, u32 b) { return sg(a) > sg(b) ? a : b; }
constexpr u32 low_bits(u32 count) { return (1u << (count & 31)) - 1; }

constexpr u32 saturate_u(i64 x) { return x < 0 ? 0 : x > 0xffffffff ? ~0u : static_cast<u32>(x); }
constexpr u32 saturate_i(i64 x) {
  return x < INT32_MIN ? 0x80000000u : x > INT32_MAX ? 0x7fffffffu : static_cast<u32>(x);
}

constexpr u32 limit16(u32 value) {
  const i32 x = sg(value);
  return u16_of(static_cast<u32>(x < -32768 ? -32768 : x > 32767 ? 32767 : x));
}

constexpr u32 bfe_u(u32 a, u32 b, u32 c) { return a >> (b & 31) & low_bits(c); }
constexpr u32 bfe_i(u32 a, u32 b, u32 c) {
  // The shift is arithmetic: beyond the top the field is filled with the sign.
  const u32 width = c & 31, field = static_cast<u32>(sg(a) >> (b & 31));
  return width == 0 ? 0 : static_cast<u32>(sg(field << (32 - width)) >> (32 - width));
}
constexpr u32 reverse(u32 a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  a = (a >> 8 & 0x00ff00ff) | (a & 0x00ff00ff) << 8;
  return a >> 16 | a << 16;
}
// {S0, S1} with S1 low; selectors 8-11 are signs of the words, 12 is 0x00, 13 and up 0xff.
constexpr u32 perm_byte(u64 bytes, u32 sel) {
  if (sel < 8) return bytes >> 8 * sel & 0xff;
  if (sel < 12) return bytes >> (16 * (sel - 8) + 15) & 1 ? 0xff : 0;
  return sel == 12 ? 0 : 0xff;
}
constexpr u32 perm(u32 a, u32 b, u32 c) {
  const u64 bytes = u64{a} << 32 | b;
  u32 r = 0;
  for (int i = 0; i < 4; ++i) r |= perm_byte(bytes, c >> 8 * i & 0xff) << 8 * i;
  return r;
}
constexpr u32 med3_u(u32 a, u32 b, u32 c) { return max_u(min_u(a, b), min_u(max_u(a, b), c)); }
constexpr u32 med3_i(u32 a, u32 b, u32 c) { return max_i(min_i(a, b), min_i(max_i(a, b), c)); }
constexpr u32 sad8(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += 8) {
    const i32 d = static_cast<i32>(a >> i & 0xff) - static_cast<i32>(b >> i & 0xff);
    c += static_cast<u32>(d < 0 ? -d : d);
  }
  return c;
}
constexpr u32 sad16(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += 16) {
    const i32 d = static_cast<i32>(a >> i & 0xffff) - static_cast<i32>(b >> i & 0xffff);
    c += static_cast<u32>(d < 0 ? -d : d);
  }
  return c;
}

// v_perm_b32 with a constant selector of plain bytes is the kernel's transpose: one pass, no
// per-byte choice.
Flow perm_b32(Wave& w, const Inst& in) {
  const Operand& c = in.op[3];
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2);
  alignas(64) u32 r[kLanes];
  const u32 sel = c.kind == Operand::Kind::kVector ? 0 : scalar32(w, c);
  if (c.kind != Operand::Kind::kVector && (sel & 0xf8f8f8f8) == 0) {
    const u32 s0 = 8 * (sel & 7), s1 = 8 * (sel >> 8 & 7), s2 = 8 * (sel >> 16 & 7),
              s3 = 8 * (sel >> 24 & 7);
    for (int l = 0; l < kLanes; ++l) {
      const u64 bytes = u64{a[l]} << 32 | b[l];
      r[l] = static_cast<u32>((bytes >> s0 & 0xff) | (bytes >> s1 & 0xff) << 8 |
                              (bytes >> s2 & 0xff) << 16 | (bytes >> s3 & 0xff) << 24);
    }
  } else {
    const u32* selectors = fetch(w, in, 3);
    for (int l = 0; l < kLanes; ++l) r[l] = perm(a[l], b[l], selectors[l]);
  }
  store(w, in, r);
  return Flow::kNext;
}

// Adds and subtracts that write a carry to the pair in op[1], and read one from op[4] when
// kCarryIn.
template <auto Fn, bool kCarryIn>
Flow carry(Wave& w, const Inst& in) {
  const u32 *a = fetch(w, in, 2), *b = fetch(w, in, 3);
  const u64 carries = kCarryIn ? scalar64(w, in.op[4]) : 0;
  alignas(64) u32 r[kLanes];
  u64 out = 0;
  for (int l = 0; l < kLanes; ++l) {
    const u64 wide = Fn(a[l], b[l], static_cast<u32>(carries >> l & 1));
    r[l] = static_cast<u32>(wide);
    out |= (wide >> 32 & 1) << l;
  }
  store(w, in, r);
  set_scalar64(w, in.op[1], out & w.exec());
  return Flow::kNext;
}
// With SDWA the sources are one position further along: src0_sel belongs to op[2].
template <auto Fn>
Flow wide3(Wave& w, const Inst& in) {  // u32, u32, u64 -> u64, carry to op[1]
  const u32 *a = fetch(w, in, 2), *b = fetch(w, in, 3), *low = fetch(w, in, 4),
            *high = fetch_high(w, in, 4);
  alignas(64) u32 r0[kLanes], r1[kLanes];
  u64 out = 0;
  for (int l = 0; l < kLanes; ++l) {
    const auto [value, overflow] = Fn(a[l], b[l], u64{high[l]} << 32 | low[l]);
    r0[l] = static_cast<u32>(value);
    r1[l] = static_cast<u32>(value >> 32);
    out |= u64{overflow} << l;
  }
  store64(w, in, r0, r1);
  set_scalar64(w, in.op[1], out & w.exec());
  return Flow::kNext;
}
struct WideSum {
  u64 value;
  bool overflow;
};
constexpr WideSum mad_u64(u32 a, u32 b, u64 c) {
  const u64 sum = u64{a} * b + c;
  return {sum, sum < c};
}
constexpr WideSum mad_i64(u32 a, u32 b, u64 c) {
  const __int128 sum = static_cast<__int128>(i64{sg(a)} * sg(b)) + static_cast<i64>(c);
  return {static_cast<u64>(sum), sum != static_cast<i64>(sum)};
}

template <auto Fn>
Flow shift64(Wave& w, const Inst& in) {  // D.u64 = Fn(S1.u64, S0.u32): the "rev" forms
  const u32 *shift = fetch(w, in, 1), *low = fetch(w, in, 2), *high = fetch_high(w, in, 2);
  alignas(64) u32 r0[kLanes], r1[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const u64 value = Fn(u64{high[l]} << 32 | low[l], shift[l] & 63);
    r0[l] = static_cast<u32>(value);
    r1[l] = static_cast<u32>(value >> 32);
  }
  store64(w, in, r0, r1);
  return Flow::kNext;
}
Flow lshl_add_u64(Wave& w, const Inst& in) {
  const u32 *low = fetch(w, in, 1), *high = fetch_high(w, in, 1), *shift = fetch(w, in, 2),
            *low2 = fetch(w, in, 3), *high2 = fetch_high(w, in, 3);
  alignas(64) u32 r0[kLanes], r1[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const u64 value =
        ((u64{high[l]} << 32 | low[l]) << (shift[l] & 7)) + (u64{high2[l]} << 32 | low2[l]);
    r0[l] = static_cast<u32>(value);
    r1[l] = static_cast<u32>(value >> 32);
  }
  store64(w, in, r0, r1);
  return Flow::kNext;
}
Flow mov_b64(Wave& w, const Inst& in) {
  alignas(64) u32 r0[kLanes], r1[kLanes];
  std::memcpy(r0, fetch(w, in, 1), sizeof r0);
  std::memcpy(r1, fetch_high(w, in, 1), sizeof r1);
  store64(w, in, r0, r1);
  return Flow::kNext;
}
Flow swap(Wave& w, const Inst& in) {
  alignas(64) u32 a[kLanes], b[kLanes];
  std::memcpy(a, w.v[in.op[0].reg], sizeof a);
  std::memcpy(b, w.v[in.op[1].reg], sizeof b);
  store_row(w, in.op[0].reg, b);
  store_row(w, in.op[1].reg, a);
  return Flow::kNext;
}
Flow cndmask(Wave& w,
             const Inst& in) {  // D = mask ? S1 : S0; the mask is op[3], VCC when it is implied
  const u64 bits = in.operands > 3 ? scalar64(w, in.op[3]) : w.s64(kVcc);
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = bits >> l & 1 ? b[l] : a[l];
  store(w, in, r);
  return Flow::kNext;
}
template <bool kHigh>
Flow mbcnt(Wave& w, const Inst& in) {
  const u32 *mask = fetch(w, in, 1), *sum = fetch(w, in, 2);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const u64 below = (u64{1} << l) - 1;
    r[l] = sum[l] +
           static_cast<u32>(std::popcount(mask[l] & static_cast<u32>(kHigh ? below >> 32 : below)));
  }
  store(w, in, r);
  return Flow::kNext;
}

std::vector<Semantics> arithmetic() {
  return {
      {"v_add_u32", by_clamp<map2<[](u32 a, u32 b) { return a + b; }>,
                             map2<[](u32 a, u32 b) { return saturate_u(i64{a} + b); }>>},
      {"v_sub_u32", by_clamp<map2<[](u32 a, u32 b) { return a - b; }>,
                             map2<[](u32 a, u32 b) { return saturate_u(i64{a} - b); }>>},
      {"v_subrev_u32", by_clamp<map2<[](u32 a, u32 b) { return b - a; }>,
                                map2<[](u32 a, u32 b) { return saturate_u(i64{b} - a); }>>},
      {"v_add3_u32", map3<[](u32 a, u32 b, u32 c) { return a + b + c; }>},
      {"v_mul_lo_u32", map2<[](u32 a, u32 b) { return a * b; }>},
      {"v_mul_hi_u32", map2<[](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }>},
      {"v_mul_hi_i32",
       map2<[](u32 a, u32 b) { return static_cast<u32>(i64{sg(a)} * sg(b) >> 32); }>},
      {"v_mul_u32_u24", map2<[](u32 a, u32 b) { return u24(a) * u24(b); }>},
      {"v_mul_i32_i24",
       map2<[](u32 a, u32 b) { return static_cast<u32>(s24(a)) * static_cast<u32>(s24(b)); }>},
      {"v_mul_hi_u32_u24",
       map2<[](u32 a, u32 b) { return static_cast<u32>(u64{u24(a)} * u24(b) >> 32); }>},
      {"v_mul_hi_i32_i24",
       map2<[](u32 a, u32 b) { return static_cast<u32>(i64{s24(a)} * s24(b) >> 32); }>},
      {"v_mad_u32_u24",
       by_clamp<map3<[](u32 a, u32 b, u32 c) { return u24(a) * u24(b) + c; }>,
                map3<[](u32 a, u32 b, u32 c) { return saturate_u(i64{u24(a)} * u24(b) + c); }>>},
      {"v_mad_i32_i24",
       by_clamp<
           map3<[](u32 a, u32 b, u32 c) {
             return static_cast<u32>(s24(a)) * static_cast<u32>(s24(b)) + c;
           }>,
           map3<[](u32 a, u32 b, u32 c) { return saturate_i(i64{s24(a)} * s24(b) + sg(c)); }>>},
      {"v_min_u32", map2<min_u>},
      {"v_max_u32", map2<max_u>},
      {"v_min_i32", map2<min_i>},
      {"v_max_i32", map2<max_i>},
      {"v_min3_u32", map3<[](u32 a, u32 b, u32 c) { return min_u(min_u(a, b), c); }>},
      {"v_max3_u32", map3<[](u32 a, u32 b, u32 c) { return max_u(max_u(a, b), c); }>},
      {"v_min3_i32", map3<[](u32 a, u32 b, u32 c) { return min_i(min_i(a, b), c); }>},
      {"v_max3_i32", map3<[](u32 a, u32 b, u32 c) { return max_i(max_i(a, b), c); }>},
      {"v_med3_u32", map3<med3_u>},
      {"v_med3_i32", map3<med3_i>},
      {"v_sad_u8", map3<sad8>},
      {"v_sad_hi_u8", map3<[](u32 a, u32 b, u32 c) { return (sad8(a, b, 0) << 16) + c; }>},
      {"v_sad_u16", map3<sad16>},
      {"v_sad_u32", map3<[](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }>},
      {"v_lshl_add_u32", map3<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>},
      {"v_add_lshl_u32", map3<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>},
      {"v_xad_u32", map3<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>},
  };
}

std::vector<Semantics> wide_and_short_arithmetic() {
  return {
      {"v_add_co_u32", carry<[](u32 a, u32 b, u32) { return u64{a} + b; }, false>},
      {"v_addc_co_u32", carry<[](u32 a, u32 b, u32 c) { return u64{a} + b + c; }, true>},
      {"v_sub_co_u32", carry<[](u32 a, u32 b, u32) { return u64{a} - b; }, false>},
      {"v_subb_co_u32", carry<[](u32 a, u32 b, u32 c) { return u64{a} - b - c; }, true>},
      {"v_subrev_co_u32", carry<[](u32 a, u32 b, u32) { return u64{b} - a; }, false>},
      {"v_subbrev_co_u32", carry<[](u32 a, u32 b, u32 c) { return u64{b} - a - c; }, true>},
      {"v_mad_u64_u32", wide3<mad_u64>, Type::kB64},
      {"v_mad_i64_i32", wide3<mad_i64>, Type::kB64},
      {"v_lshl_add_u64", lshl_add_u64, Type::kB64},
      {"v_add_u16", map2<[](u32 a, u32 b) { return u16_of(a + b); }>},
      {"v_sub_u16", map2<[](u32 a, u32 b) { return u16_of(a - b); }>},
      {"v_subrev_u16", map2<[](u32 a, u32 b) { return u16_of(b - a); }>},
      {"v_mul_lo_u16", map2<[](u32 a, u32 b) { return u16_of(u16_of(a) * u16_of(b)); }>},
      {"v_min_u16", map2<[](u32 a, u32 b) { return min_u(u16_of(a), u16_of(b)); }>},
      {"v_max_u16", map2<[](u32 a, u32 b) { return max_u(u16_of(a), u16_of(b)); }>},
      {"v_min_i16", map2<[](u32 a, u32 b) { return u16_of(i16_of(a) < i16_of(b) ? a : b); }>},
      {"v_max_i16", map2<[](u32 a, u32 b) { return u16_of(i16_of(a) > i16_of(b) ? a : b); }>},
      {"v_add_i32", by_clamp<map2<[](u32 a, u32 b) { return a + b; }>,
                             map2<[](u32 a, u32 b) { return saturate_i(i64{sg(a)} + sg(b)); }>>},
      {"v_sub_i32", by_clamp<map2<[](u32 a, u32 b) { return a - b; }>,
                             map2<[](u32 a, u32 b) { return saturate_i(i64{sg(a)} - sg(b)); }>>},
      {"v_mad_u32_u16", map3<[](u32 a, u32 b, u32 c) { return u16_of(a) * u16_of(b) + c; }>},
      {"v_mad_i32_i16",
       map3<[](u32 a, u32 b, u32 c) { return static_cast<u32>(i16_of(a) * i16_of(b)) + c; }>},
      {"v_cvt_pk_u16_u32",
       map2<[](u32 a, u32 b) { return min_u(a, 0xffff) | min_u(b, 0xffff) << 16; }>},
      {"v_cvt_pk_i16_i32", map2<[](u32 a, u32 b) { return limit16(a) | limit16(b) << 16; }>},
      {"v_mad_legacy_u16",
       map3<[](u32 a, u32 b, u32 c) { return u16_of(u16_of(a) * u16_of(b) + c); }>},
  };
}

std::vector<Semantics> bitwise() {
  return {
      {"v_mov_b32", map1<[](u32 a) { return a; }>},
      {"v_accvgpr_read_b32", map1<[](u32 a) { return a; }>},
      {"v_accvgpr_write_b32", map1<[](u32 a) { return a; }>},
      {"v_accvgpr_mov_b32", map1<[](u32 a) { return a; }>},
      {"v_mov_b64", mov_b64, Type::kB64},
      {"v_swap_b32", swap},
      {"v_cndmask_b32", cndmask},
      {"v_not_b32", map1<[](u32 a) { return ~a; }>},
      {"v_bfrev_b32", map1<reverse>},
      {"v_ffbh_u32", map1<[](u32 a) { return a ? static_cast<u32>(std::countl_zero(a)) : ~0u; }>},
      {"v_ffbl_b32", map1<[](u32 a) { return a ? static_cast<u32>(std::countr_zero(a)) : ~0u; }>},
      {"v_ffbh_i32", map1<[](u32 a) {
         const u32 x = sg(a) < 0 ? ~a : a;
         return x ? static_cast<u32>(std::countl_zero(x)) : ~0u;
       }>},
      {"v_bcnt_u32_b32", map2<[](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; }>},
      {"v_mbcnt_lo_u32_b32", mbcnt<false>},
      {"v_mbcnt_hi_u32_b32", mbcnt<true>},
      {"v_and_b32", map2<[](u32 a, u32 b) { return a & b; }>},
      {"v_or_b32", map2<[](u32 a, u32 b) { return a | b; }>},
      {"v_xor_b32", map2<[](u32 a, u32 b) { return a ^ b; }>},
      {"v_xnor_b32", map2<[](u32 a, u32 b) { return ~(a ^ b); }>},
      {"v_and_or_b32", map3<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>},
      {"v_or3_b32", map3<[](u32 a, u32 b, u32 c) { return a | b | c; }>},
      {"v_lshl_or_b32", map3<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; }>},
      {"v_lshlrev_b32", map2<[](u32 a, u32 b) { return b << (a & 31); }>},
      {"v_lshrrev_b32", map2<[](u32 a, u32 b) { return b >> (a & 31); }>},
      {"v_ashrrev_i32", map2<[](u32 a, u32 b) { return static_cast<u32>(sg(b) >> (a & 31)); }>},
      {"v_lshlrev_b16", map2<[](u32 a, u32 b) { return u16_of(b << (a & 15)); }>},
      {"v_lshrrev_b16", map2<[](u32 a, u32 b) { return u16_of(b) >> (a & 15); }>},
      {"v_ashrrev_i16",
       map2<[](u32 a, u32 b) { return u16_of(static_cast<u32>(i16_of(b) >> (a & 15))); }>},
      {"v_lshlrev_b64", shift64<[](u64 a, u32 s) { return a << s; }>, Type::kB64},
      {"v_lshrrev_b64", shift64<[](u64 a, u32 s) { return a >> s; }>, Type::kB64},
      {"v_ashrrev_i64",
       shift64<[](u64 a, u32 s) { return static_cast<u64>(static_cast<i64>(a) >> s); }>,
       Type::kB64},
      {"v_bfe_u32", map3<bfe_u>},
      {"v_bfe_i32", map3<bfe_i>},
      {"v_bfi_b32", map3<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>},
      {"v_bfm_b32", map2<[](u32 a, u32 b) { return low_bits(a) << (b & 31); }>},
      {"v_alignbit_b32",
       map3<[](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); }>},
      {"v_alignbyte_b32", map3<[](u32 a, u32 b, u32 c) {
         return static_cast<u32>((u64{a} << 32 | b) >> 8 * (c & 3));
       }>},
      {"v_perm_b32", perm_b32},
  };
}
}  // namespace

std::vector<Semantics> vector_integer_semantics() {
  std::vector<Semantics> all = arithmetic();
  for (auto list : {wide_and_short_arithmetic(), bitwise()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace attest::emulator
