// SOP1, SOP2, SOPC and SOPK: scalar arithmetic, logic and compares. Source: AMD Instinct MI300 ISA,
// chapters 5 and 12.1-12.4.
#include <bit>

#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {
namespace {

u32 s0(const Wave& w, const Inst& in) { return scalar32(w, in.op[1]); }
u32 s1(const Wave& w, const Inst& in) { return scalar32(w, in.op[2]); }

// A result and the new SCC; ops that leave SCC alone return kKeep.
struct Out32 {
  u32 value;
  int scc;
};
struct Out64 {
  u64 value;
  int scc;
};
constexpr int kKeep = -1;

template <auto Fn>
Flow binary32(Wave& w, const Inst& in) {
  const Out32 out = Fn(s0(w, in), s1(w, in), w.scc);
  set_scalar32(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
template <auto Fn>
Flow binary64(Wave& w, const Inst& in) {
  const Out64 out = Fn(scalar64(w, in.op[1]), scalar64(w, in.op[2]));
  set_scalar64(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
// 64-bit shifts and field ops take a 32-bit second source.
template <auto Fn>
Flow binary64_32(Wave& w, const Inst& in) {
  const Out64 out = Fn(scalar64(w, in.op[1]), s1(w, in));
  set_scalar64(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
template <auto Fn>
Flow make64(Wave& w, const Inst& in) {
  set_scalar64(w, in.op[0], Fn(s0(w, in), s1(w, in)));
  return Flow::kNext;
}
template <auto Fn>
Flow unary32(Wave& w, const Inst& in) {
  const Out32 out = Fn(s0(w, in));
  set_scalar32(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
template <auto Fn>
Flow unary64(Wave& w, const Inst& in) {
  const Out64 out = Fn(scalar64(w, in.op[1]));
  set_scalar64(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
template <auto Fn>
Flow narrow(Wave& w, const Inst& in) {  // 64-bit source, 32-bit result
  const Out32 out = Fn(scalar64(w, in.op[1]));
  set_scalar32(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
// SOPK: the 16-bit immediate, sign- or zero-extended.
i32 simm(const Inst& in, int slot) { return static_cast<std::int16_t>(in.op[slot].value); }
constexpr Out32 logic(u32 value) { return {value, value != 0}; }
constexpr Out64 logic(u64 value) { return {value, value != 0}; }
constexpr u32 low_bits(u32 count) { return count >= 32 ? ~0u : (1u << count) - 1; }
constexpr u64 low_bits64(u32 count) { return count >= 64 ? ~u64{0} : (u64{1} << count) - 1; }
constexpr Out32 bfe_u32(u32 a, u32 b, bool) {
  return logic(a >> (b & 31) & low_bits(b >> 16 & 127));
}
constexpr Out32 bfe_i32(u32 a, u32 b, bool) {
  const u32 width = b >> 16 & 127;
  // The shift is arithmetic: beyond the top the field is filled with the sign.
  const u32 field = static_cast<u32>(static_cast<i32>(a) >> (b & 31));
  if (width == 0 || width >= 32) return logic(width ? field : 0u);
  return logic(static_cast<u32>(static_cast<i32>(field << (32 - width)) >> (32 - width)));
}
constexpr Out64 bfe_u64(u64 a, u32 b) { return logic(a >> (b & 63) & low_bits64(b >> 16 & 127)); }
constexpr Out64 bfe_i64(u64 a, u32 b) {
  const u32 width = b >> 16 & 127;
  const u64 field = static_cast<u64>(static_cast<i64>(a) >> (b & 63));
  if (width == 0 || width >= 64) return logic(width ? field : u64{0});
  return logic(static_cast<u64>(static_cast<i64>(field << (64 - width)) >> (64 - width)));
}
constexpr u32 reverse32(u32 a) {
  u32 r = 0;
  for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
  return r;
}
// Bits from the top of a `width`-bit number, here sign-extended, before one that differs from its
// sign; all ones when none does.
constexpr u32 sign_bits(u64 a, u32 width) {
  const u64 x = a >> 63 ? ~a : a;
  return x ? static_cast<u32>(std::countl_zero(x)) - (64 - width) : ~0u;
}
// Every group of four bits with a one in it: all ones.
constexpr u64 full_quads(u64 a) {
  u64 r = 0;
  for (int quad = 0; quad < 64; quad += 4) r |= (a >> quad & 15 ? u64{15} : 0) << quad;
  return r;
}
constexpr i32 to_signed(u32 value) { return static_cast<i32>(value); }
constexpr bool add_overflows(u32 a, u32 b) { return (~(a ^ b) & (a ^ (a + b))) >> 31; }
constexpr bool sub_overflows(u32 a, u32 b) { return ((a ^ b) & (a ^ (a - b))) >> 31; }

Flow movk(Wave& w, const Inst& in) {
  set_scalar32(w, in.op[0], static_cast<u32>(simm(in, 1)));
  return Flow::kNext;
}
Flow cmovk(Wave& w, const Inst& in) { return w.scc ? movk(w, in) : Flow::kNext; }
Flow addk(Wave& w, const Inst& in) {
  const u32 a = scalar32(w, in.op[0]), b = static_cast<u32>(simm(in, 1));
  w.scc = add_overflows(a, b);
  set_scalar32(w, in.op[0], a + b);
  return Flow::kNext;
}
Flow mulk(Wave& w, const Inst& in) {
  set_scalar32(w, in.op[0], scalar32(w, in.op[0]) * static_cast<u32>(simm(in, 1)));
  return Flow::kNext;
}
Flow cmov32(Wave& w, const Inst& in) {
  if (w.scc) set_scalar32(w, in.op[0], s0(w, in));
  return Flow::kNext;
}
Flow cmov64(Wave& w, const Inst& in) {
  if (w.scc) set_scalar64(w, in.op[0], scalar64(w, in.op[1]));
  return Flow::kNext;
}
template <bool kSet>
Flow bitset32(Wave& w, const Inst& in) {
  const u32 bit = 1u << (s0(w, in) & 31), old = scalar32(w, in.op[0]);
  set_scalar32(w, in.op[0], kSet ? old | bit : old & ~bit);
  return Flow::kNext;
}

std::vector<Semantics> add_and_compare() {
  return {
      {"s_add_u32", binary32<[](u32 a, u32 b, bool) {
         return Out32{a + b, a + b < a};
       }>},
      {"s_sub_u32", binary32<[](u32 a, u32 b, bool) {
         return Out32{a - b, b > a};
       }>},
      {"s_add_i32", binary32<[](u32 a, u32 b, bool) {
         return Out32{a + b, add_overflows(a, b)};
       }>},
      {"s_sub_i32", binary32<[](u32 a, u32 b, bool) {
         return Out32{a - b, sub_overflows(a, b)};
       }>},
      {"s_addc_u32", binary32<[](u32 a, u32 b, bool c) {
         return Out32{a + b + c, (u64{a} + b + c) >> 32 != 0};
       }>},
      {"s_subb_u32", binary32<[](u32 a, u32 b, bool c) {
         return Out32{a - b - c, u64{b} + c > a};
       }>},
      {"s_min_i32", binary32<[](u32 a, u32 b, bool) {
         return to_signed(a) < to_signed(b) ? Out32{a, 1} : Out32{b, 0};
       }>},
      {"s_min_u32", binary32<[](u32 a, u32 b, bool) {
         return a < b ? Out32{a, 1} : Out32{b, 0};
       }>},
      {"s_max_i32", binary32<[](u32 a, u32 b, bool) {
         return to_signed(a) >= to_signed(b) ? Out32{a, 1} : Out32{b, 0};
       }>},
      {"s_max_u32", binary32<[](u32 a, u32 b, bool) {
         return a >= b ? Out32{a, 1} : Out32{b, 0};
       }>},
      {"s_cselect_b32", binary32<[](u32 a, u32 b, bool c) {
         return Out32{c ? a : b, kKeep};
       }>},
  };
}

std::vector<Semantics> multiply_and_pack() {
  return {
      {"s_mul_i32", binary32<[](u32 a, u32 b, bool) {
         return Out32{a * b, kKeep};
       }>},
      {"s_mul_hi_u32", binary32<[](u32 a, u32 b, bool) {
         return Out32{static_cast<u32>(u64{a} * b >> 32), kKeep};
       }>},
      {"s_mul_hi_i32", binary32<[](u32 a, u32 b, bool) {
         return Out32{static_cast<u32>(i64{to_signed(a)} * to_signed(b) >> 32), kKeep};
       }>},
      {"s_lshl1_add_u32", binary32<[](u32 a, u32 b, bool) {
         return Out32{(a << 1) + b, ((u64{a} << 1) + b) >> 32 != 0};
       }>},
      {"s_lshl2_add_u32", binary32<[](u32 a, u32 b, bool) {
         return Out32{(a << 2) + b, ((u64{a} << 2) + b) >> 32 != 0};
       }>},
      {"s_lshl3_add_u32", binary32<[](u32 a, u32 b, bool) {
         return Out32{(a << 3) + b, ((u64{a} << 3) + b) >> 32 != 0};
       }>},
      {"s_lshl4_add_u32", binary32<[](u32 a, u32 b, bool) {
         return Out32{(a << 4) + b, ((u64{a} << 4) + b) >> 32 != 0};
       }>},
      {"s_absdiff_i32", binary32<[](u32 a, u32 b, bool) {
         const u32 d = a - b;
         return logic(to_signed(d) < 0 ? 0 - d : d);
       }>},
      {"s_abs_i32", unary32<[](u32 a) { return logic(to_signed(a) < 0 ? 0 - a : a); }>},
      {"s_sext_i32_i8", unary32<[](u32 a) {
         return Out32{static_cast<u32>(static_cast<std::int8_t>(a)), kKeep};
       }>},
      {"s_sext_i32_i16", unary32<[](u32 a) {
         return Out32{static_cast<u32>(static_cast<std::int16_t>(a)), kKeep};
       }>},
      {"s_movk_i32", movk},
      {"s_cmovk_i32", cmovk},
      {"s_addk_i32", addk},
      {"s_mulk_i32", mulk},
      {"s_pack_ll_b32_b16", binary32<[](u32 a, u32 b, bool) {
         return Out32{(a & 0xffff) | b << 16, kKeep};
       }>},
      {"s_pack_lh_b32_b16", binary32<[](u32 a, u32 b, bool) {
         return Out32{(a & 0xffff) | (b & 0xffff0000), kKeep};
       }>},
      {"s_pack_hh_b32_b16", binary32<[](u32 a, u32 b, bool) {
         return Out32{a >> 16 | (b & 0xffff0000), kKeep};
       }>},
  };
}

std::vector<Semantics> bitwise32() {
  return {
      {"s_and_b32", binary32<[](u32 a, u32 b, bool) { return logic(a & b); }>},
      {"s_or_b32", binary32<[](u32 a, u32 b, bool) { return logic(a | b); }>},
      {"s_xor_b32", binary32<[](u32 a, u32 b, bool) { return logic(a ^ b); }>},
      {"s_andn2_b32", binary32<[](u32 a, u32 b, bool) { return logic(a & ~b); }>},
      {"s_orn2_b32", binary32<[](u32 a, u32 b, bool) { return logic(a | ~b); }>},
      {"s_nand_b32", binary32<[](u32 a, u32 b, bool) { return logic(~(a & b)); }>},
      {"s_nor_b32", binary32<[](u32 a, u32 b, bool) { return logic(~(a | b)); }>},
      {"s_xnor_b32", binary32<[](u32 a, u32 b, bool) { return logic(~(a ^ b)); }>},
      {"s_lshl_b32", binary32<[](u32 a, u32 b, bool) { return logic(a << (b & 31)); }>},
      {"s_lshr_b32", binary32<[](u32 a, u32 b, bool) { return logic(a >> (b & 31)); }>},
      {"s_ashr_i32", binary32<[](u32 a, u32 b, bool) {
         return logic(static_cast<u32>(to_signed(a) >> (b & 31)));
       }>},
      {"s_bfm_b32", binary32<[](u32 a, u32 b, bool) {
         return Out32{low_bits(a & 31) << (b & 31), kKeep};
       }>},
      {"s_bfe_u32", binary32<bfe_u32>},
      {"s_bfe_i32", binary32<bfe_i32>},
  };
}

std::vector<Semantics> bitwise64() {
  return {
      {"s_and_b64", binary64<[](u64 a, u64 b) { return logic(a & b); }>, Type::kB64},
      {"s_or_b64", binary64<[](u64 a, u64 b) { return logic(a | b); }>, Type::kB64},
      {"s_xor_b64", binary64<[](u64 a, u64 b) { return logic(a ^ b); }>, Type::kB64},
      {"s_andn2_b64", binary64<[](u64 a, u64 b) { return logic(a & ~b); }>, Type::kB64},
      {"s_orn2_b64", binary64<[](u64 a, u64 b) { return logic(a | ~b); }>, Type::kB64},
      {"s_nand_b64", binary64<[](u64 a, u64 b) { return logic(~(a & b)); }>, Type::kB64},
      {"s_nor_b64", binary64<[](u64 a, u64 b) { return logic(~(a | b)); }>, Type::kB64},
      {"s_xnor_b64", binary64<[](u64 a, u64 b) { return logic(~(a ^ b)); }>, Type::kB64},
      {"s_lshl_b64", binary64_32<[](u64 a, u32 b) { return logic(a << (b & 63)); }>, Type::kB64},
      {"s_lshr_b64", binary64_32<[](u64 a, u32 b) { return logic(a >> (b & 63)); }>, Type::kB64},
      {"s_ashr_i64", binary64_32<[](u64 a, u32 b) {
         return logic(static_cast<u64>(static_cast<i64>(a) >> (b & 63)));
       }>,
       Type::kB64},
      {"s_bfe_u64", binary64_32<bfe_u64>, Type::kB64},
      {"s_bfe_i64", binary64_32<bfe_i64>, Type::kB64},
      {"s_bfm_b64", make64<[](u32 a, u32 b) { return low_bits64(a & 63) << (b & 63); }>,
       Type::kB64},
  };
}

std::vector<Semantics> bit_counts() {
  return {
      {"s_not_b32", unary32<[](u32 a) { return logic(~a); }>},
      {"s_not_b64", unary64<[](u64 a) { return logic(~a); }>, Type::kB64},
      {"s_brev_b32", unary32<[](u32 a) {
         return Out32{reverse32(a), kKeep};
       }>},
      {"s_brev_b64", unary64<[](u64 a) {
         return Out64{
             u64{reverse32(static_cast<u32>(a))} << 32 | reverse32(static_cast<u32>(a >> 32)),
             kKeep};
       }>,
       Type::kB64},
      {"s_bcnt0_i32_b32",
       unary32<[](u32 a) { return logic(static_cast<u32>(32 - std::popcount(a))); }>},
      {"s_bcnt1_i32_b32", unary32<[](u32 a) { return logic(static_cast<u32>(std::popcount(a))); }>},
      {"s_bcnt0_i32_b64",
       narrow<[](u64 a) { return logic(static_cast<u32>(64 - std::popcount(a))); }>, Type::kB64},
      {"s_bcnt1_i32_b64", narrow<[](u64 a) { return logic(static_cast<u32>(std::popcount(a))); }>,
       Type::kB64},
      {"s_ff1_i32_b32", unary32<[](u32 a) {
         return Out32{a ? static_cast<u32>(std::countr_zero(a)) : ~0u, kKeep};
       }>},
      {"s_ff1_i32_b64", narrow<[](u64 a) {
         return Out32{a ? static_cast<u32>(std::countr_zero(a)) : ~0u, kKeep};
       }>,
       Type::kB64},
      {"s_ff0_i32_b64", narrow<[](u64 a) {
         return Out32{~a ? static_cast<u32>(std::countr_one(a)) : ~0u, kKeep};
       }>,
       Type::kB64},
      {"s_flbit_i32", unary32<[](u32 a) {
         return Out32{sign_bits(static_cast<u64>(i64{to_signed(a)}), 32), kKeep};
       }>},
      {"s_flbit_i32_i64", narrow<[](u64 a) {
         return Out32{sign_bits(a, 64), kKeep};
       }>,
       Type::kB64},
      {"s_ff0_i32_b32", unary32<[](u32 a) {
         return Out32{~a ? static_cast<u32>(std::countr_one(a)) : ~0u, kKeep};
       }>},
      {"s_flbit_i32_b32", unary32<[](u32 a) {
         return Out32{a ? static_cast<u32>(std::countl_zero(a)) : ~0u, kKeep};
       }>},
      {"s_flbit_i32_b64", narrow<[](u64 a) {
         return Out32{a ? static_cast<u32>(std::countl_zero(a)) : ~0u, kKeep};
       }>,
       Type::kB64},
  };
}

std::vector<Semantics> moves() {
  return {
      {"s_bitset0_b32", bitset32<false>},
      {"s_bitset1_b32", bitset32<true>},
      {"s_mov_b32", unary32<[](u32 a) {
         return Out32{a, kKeep};
       }>},
      {"s_mov_b64", unary64<[](u64 a) {
         return Out64{a, kKeep};
       }>,
       Type::kB64},
      {"s_cmov_b32", cmov32},
      {"s_cmov_b64", cmov64, Type::kB64},
      {"s_cselect_b64",
       [](Wave& w, const Inst& in) {
         set_scalar64(w, in.op[0], scalar64(w, in.op[w.scc ? 1 : 2]));
         return Flow::kNext;
       },
       Type::kB64},
      {"s_wqm_b32", unary32<[](u32 a) { return logic(static_cast<u32>(full_quads(a))); }>},
      {"s_wqm_b64", unary64<[](u64 a) { return logic(full_quads(a)); }>, Type::kB64},
  };
}

}  // namespace

std::vector<Semantics> scalar_semantics() {
  std::vector<Semantics> all;
  for (auto list :
       {add_and_compare(), multiply_and_pack(), bitwise32(), bitwise64(), bit_counts(), moves()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace attest::emulator
