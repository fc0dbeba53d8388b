// SOP1, SOP2, SOPC, SOPK: one value in, one value and SCC out. Rules: CDNA3 ISA guide,
// "SOP1/SOP2/SOPC/SOPK instructions".
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

struct Scalar {  // operands of one scalar instruction
  u64 a = 0, b = 0, d = 0, exec = 0;
  bool scc = false;
  u32 ua() const { return static_cast<u32>(a); }
  u32 ub() const { return static_cast<u32>(b); }
  i32 ia() const { return static_cast<i32>(a); }
  i32 ib() const { return static_cast<i32>(b); }
};
struct After {
  u64 d = 0;
  std::optional<bool> scc;  // none: SCC keeps its value
  std::optional<u64> exec;
};
using ScalarRule = After (*)(const Scalar&);

enum Shape { kD, kDS, kDSS, kSS, kDImm, kSImm };  // destination, sources, 16-bit immediate
struct ScalarOp {
  const char* name;
  Shape shape;
  int d, a, b;  // widths in dwords
  Kind ka, kb;
  ScalarRule rule;
};

constexpr Kind U = Kind::kU32, W = Kind::kU64, S = Kind::kShift;

After nonzero32(u32 d) { return {d, d != 0, {}}; }
After nonzero64(u64 d) { return {d, d != 0, {}}; }
u64 reversed(u64 x, int bits) {
  u64 r = 0;
  for (int i = 0; i < bits; ++i) r |= ((x >> i) & 1) << (bits - 1 - i);
  return r;
}
u64 low_mask(unsigned bits) { return bits >= 64 ? ~u64{0} : (u64{1} << bits) - 1; }
unsigned field_width(const Scalar& x) { return (x.ub() >> 16) & 127; }
After bfe_u64(const Scalar& x, u64 value, unsigned offset_mask) {
  return nonzero64((value >> (x.ub() & offset_mask)) & low_mask(field_width(x)));
}
After bfe_i32(const Scalar& x) {
  const unsigned width = field_width(x);
  const i32 shifted = x.ia() >> (x.ub() & 31);
  return nonzero32(width == 0    ? 0
                   : width >= 32 ? u32(shifted)
                                 : u32(sign_extended(u32(shifted), int(width))));
}
After bfe_i64(const Scalar& x) {
  const unsigned width = field_width(x);
  const i64 shifted = i64(x.a) >> (x.ub() & 63);
  return nonzero64(width == 0    ? 0
                   : width >= 64 ? u64(shifted)
                                 : u64(sign_extended(u64(shifted), int(width))));
}
template <int kShift>
After shift_add(const Scalar& x) {
  const u64 sum = (u64{x.ua()} << kShift) + x.ub();
  return {static_cast<u32>(sum), sum >> 32 != 0, {}};
}
After signed_sum(i64 wide) {
  return {static_cast<u32>(wide), wide < INT32_MIN || wide > INT32_MAX, {}};
}
After quads(u64 x, int bits) {  // s_wqm: every quad with a bit set becomes full
  u64 r = 0;
  for (int i = 0; i < bits; i += 4) r |= (x >> i) & 15 ? u64{15} << i : 0;
  return nonzero64(r);
}
template <u64 (*f)(u64, u64)>
After saveexec(const Scalar& x) {
  const u64 e = f(x.a, x.exec);
  return {x.exec, e != 0, e};
}
template <u64 (*f)(u64, u64)>
After wrexec(const Scalar& x) {
  const u64 e = f(x.a, x.exec);
  return {e, e != 0, e};
}
u64 f_and(u64 a, u64 b) { return a & b; }
u64 f_or(u64 a, u64 b) { return a | b; }
u64 f_xor(u64 a, u64 b) { return a ^ b; }
u64 f_andn1(u64 a, u64 b) { return ~a & b; }
u64 f_andn2(u64 a, u64 b) { return a & ~b; }
u64 f_orn1(u64 a, u64 b) { return ~a | b; }
u64 f_orn2(u64 a, u64 b) { return a | ~b; }
u64 f_nand(u64 a, u64 b) { return ~(a & b); }
u64 f_nor(u64 a, u64 b) { return ~(a | b); }
u64 f_xnor(u64 a, u64 b) { return ~(a ^ b); }
template <u64 (*f)(u64, u64)>
After bits32(const Scalar& x) {
  return nonzero32(static_cast<u32>(f(x.a, x.b)));
}
template <u64 (*f)(u64, u64)>
After bits64(const Scalar& x) {
  return nonzero64(f(x.a, x.b));
}
After flag(bool scc) { return {0, scc, {}}; }
u64 pack(u32 low, u32 high) { return (low & 0xffff) | (high & 0xffff) << 16; }

const std::vector<ScalarOp>& move_and_bit_ops() {
  static const std::vector<ScalarOp> ops = {
      {"s_mov_b32", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) {
         return After{x.ua(), {}, {}};
       }},
      {"s_mov_b64", kDS, 2, 2, 0, W, U,
       [](const Scalar& x) {
         return After{x.a, {}, {}};
       }},
      {"s_cmov_b32", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) {
         return After{x.scc ? x.ua() : u32(x.d), {}, {}};
       }},
      {"s_cmov_b64", kDS, 2, 2, 0, W, U,
       [](const Scalar& x) {
         return After{x.scc ? x.a : x.d, {}, {}};
       }},
      {"s_not_b32", kDS, 1, 1, 0, U, U, [](const Scalar& x) { return nonzero32(~x.ua()); }},
      {"s_not_b64", kDS, 2, 2, 0, W, U, [](const Scalar& x) { return nonzero64(~x.a); }},
      {"s_wqm_b32", kDS, 1, 1, 0, U, U, [](const Scalar& x) { return quads(x.ua(), 32); }},
      {"s_wqm_b64", kDS, 2, 2, 0, W, U, [](const Scalar& x) { return quads(x.a, 64); }},
      {"s_brev_b32", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) {
         return After{reversed(x.ua(), 32), {}, {}};
       }},
      {"s_brev_b64", kDS, 2, 2, 0, W, U,
       [](const Scalar& x) {
         return After{reversed(x.a, 64), {}, {}};
       }},
      {"s_bcnt0_i32_b32", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) { return nonzero32(32 - std::popcount(x.ua())); }},
      {"s_bcnt0_i32_b64", kDS, 1, 2, 0, W, U,
       [](const Scalar& x) { return nonzero32(64 - std::popcount(x.a)); }},
      {"s_bcnt1_i32_b32", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) { return nonzero32(std::popcount(x.ua())); }},
      {"s_bcnt1_i32_b64", kDS, 1, 2, 0, W, U,
       [](const Scalar& x) { return nonzero32(std::popcount(x.a)); }},
      {"s_ff0_i32_b32", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) {
         return After{~x.ua() ? u32(std::countr_one(x.ua())) : ~u32{0}, {}, {}};
       }},
      {"s_ff0_i32_b64", kDS, 1, 2, 0, W, U,
       [](const Scalar& x) {
         return After{~x.a ? u32(std::countr_one(x.a)) : ~u32{0}, {}, {}};
       }},
      {"s_ff1_i32_b32", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) {
         return After{x.ua() ? u32(std::countr_zero(x.ua())) : ~u32{0}, {}, {}};
       }},
      {"s_ff1_i32_b64", kDS, 1, 2, 0, W, U,
       [](const Scalar& x) {
         return After{x.a ? u32(std::countr_zero(x.a)) : ~u32{0}, {}, {}};
       }},
      {"s_flbit_i32_b32", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) {
         return After{x.ua() ? u32(std::countl_zero(x.ua())) : ~u32{0}, {}, {}};
       }},
      {"s_flbit_i32_b64", kDS, 1, 2, 0, W, U,
       [](const Scalar& x) {
         return After{x.a ? u32(std::countl_zero(x.a)) : ~u32{0}, {}, {}};
       }},
      {"s_flbit_i32", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) {
         const u32 y = x.ia() < 0 ? ~x.ua() : x.ua();
         return After{y ? u32(std::countl_zero(y)) : ~u32{0}, {}, {}};
       }},
      {"s_sext_i32_i8", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) {
         return After{u32(sign_extended(x.ua() & 0xff, 8)), {}, {}};
       }},
      {"s_sext_i32_i16", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) {
         return After{u32(sign_extended(x.ua() & 0xffff, 16)), {}, {}};
       }},
      {"s_bitset0_b32", kDS, 1, 1, 0, S, U,
       [](const Scalar& x) {
         return After{u32(x.d) & ~(1u << (x.ua() & 31)), {}, {}};
       }},
      {"s_bitset1_b32", kDS, 1, 1, 0, S, U,
       [](const Scalar& x) {
         return After{u32(x.d) | 1u << (x.ua() & 31), {}, {}};
       }},
      {"s_abs_i32", kDS, 1, 1, 0, U, U,
       [](const Scalar& x) { return nonzero32(x.ia() < 0 ? 0 - x.ua() : x.ua()); }},
      {"s_and_saveexec_b64", kDS, 2, 2, 0, W, U, saveexec<f_and>},
      {"s_or_saveexec_b64", kDS, 2, 2, 0, W, U, saveexec<f_or>},
      {"s_xor_saveexec_b64", kDS, 2, 2, 0, W, U, saveexec<f_xor>},
      {"s_andn1_saveexec_b64", kDS, 2, 2, 0, W, U, saveexec<f_andn1>},
      {"s_andn2_saveexec_b64", kDS, 2, 2, 0, W, U, saveexec<f_andn2>},
      {"s_orn1_saveexec_b64", kDS, 2, 2, 0, W, U, saveexec<f_orn1>},
      {"s_orn2_saveexec_b64", kDS, 2, 2, 0, W, U, saveexec<f_orn2>},
      {"s_nand_saveexec_b64", kDS, 2, 2, 0, W, U, saveexec<f_nand>},
      {"s_nor_saveexec_b64", kDS, 2, 2, 0, W, U, saveexec<f_nor>},
      {"s_xnor_saveexec_b64", kDS, 2, 2, 0, W, U, saveexec<f_xnor>},
      {"s_andn1_wrexec_b64", kDS, 2, 2, 0, W, U, wrexec<f_andn1>},
      {"s_andn2_wrexec_b64", kDS, 2, 2, 0, W, U, wrexec<f_andn2>},
      {"s_and_b32", kDSS, 1, 1, 1, U, U, bits32<f_and>},
      {"s_and_b64", kDSS, 2, 2, 2, W, W, bits64<f_and>},
      {"s_or_b32", kDSS, 1, 1, 1, U, U, bits32<f_or>},
      {"s_or_b64", kDSS, 2, 2, 2, W, W, bits64<f_or>},
      {"s_xor_b32", kDSS, 1, 1, 1, U, U, bits32<f_xor>},
      {"s_xor_b64", kDSS, 2, 2, 2, W, W, bits64<f_xor>},
      {"s_andn2_b32", kDSS, 1, 1, 1, U, U, bits32<f_andn2>},
      {"s_andn2_b64", kDSS, 2, 2, 2, W, W, bits64<f_andn2>},
      {"s_orn2_b32", kDSS, 1, 1, 1, U, U, bits32<f_orn2>},
      {"s_orn2_b64", kDSS, 2, 2, 2, W, W, bits64<f_orn2>},
      {"s_nand_b32", kDSS, 1, 1, 1, U, U, bits32<f_nand>},
      {"s_nand_b64", kDSS, 2, 2, 2, W, W, bits64<f_nand>},
      {"s_nor_b32", kDSS, 1, 1, 1, U, U, bits32<f_nor>},
      {"s_nor_b64", kDSS, 2, 2, 2, W, W, bits64<f_nor>},
      {"s_xnor_b32", kDSS, 1, 1, 1, U, U, bits32<f_xnor>},
      {"s_xnor_b64", kDSS, 2, 2, 2, W, W, bits64<f_xnor>},
  };
  return ops;
}

const std::vector<ScalarOp>& arithmetic_ops() {
  static const std::vector<ScalarOp> ops = {
      {"s_add_u32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         const u64 r = x.a + x.b;
         return After{u32(r), r >> 32 != 0, {}};
       }},
      {"s_sub_u32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{x.ua() - x.ub(), x.ub() > x.ua(), {}};
       }},
      {"s_add_i32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) { return signed_sum(i64{x.ia()} + x.ib()); }},
      {"s_sub_i32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) { return signed_sum(i64{x.ia()} - x.ib()); }},
      {"s_addc_u32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         const u64 r = x.a + x.b + x.scc;
         return After{u32(r), r >> 32 != 0, {}};
       }},
      {"s_subb_u32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{u32(x.ua() - x.ub() - x.scc), x.b + x.scc > x.a, {}};
       }},
      {"s_min_i32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{u32(std::min(x.ia(), x.ib())), x.ia() < x.ib(), {}};
       }},
      {"s_min_u32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{std::min(x.ua(), x.ub()), x.ua() < x.ub(), {}};
       }},
      {"s_max_i32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{u32(std::max(x.ia(), x.ib())), x.ia() >= x.ib(), {}};
       }},
      {"s_max_u32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{std::max(x.ua(), x.ub()), x.ua() >= x.ub(), {}};
       }},
      {"s_cselect_b32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{x.scc ? x.ua() : x.ub(), {}, {}};
       }},
      {"s_cselect_b64", kDSS, 2, 2, 2, W, W,
       [](const Scalar& x) {
         return After{x.scc ? x.a : x.b, {}, {}};
       }},
      {"s_lshl_b32", kDSS, 1, 1, 1, U, S,
       [](const Scalar& x) { return nonzero32(x.ua() << (x.ub() & 31)); }},
      {"s_lshl_b64", kDSS, 2, 2, 1, W, S,
       [](const Scalar& x) { return nonzero64(x.a << (x.ub() & 63)); }},
      {"s_lshr_b32", kDSS, 1, 1, 1, U, S,
       [](const Scalar& x) { return nonzero32(x.ua() >> (x.ub() & 31)); }},
      {"s_lshr_b64", kDSS, 2, 2, 1, W, S,
       [](const Scalar& x) { return nonzero64(x.a >> (x.ub() & 63)); }},
      {"s_ashr_i32", kDSS, 1, 1, 1, U, S,
       [](const Scalar& x) { return nonzero32(u32(x.ia() >> (x.ub() & 31))); }},
      {"s_ashr_i64", kDSS, 2, 2, 1, W, S,
       [](const Scalar& x) { return nonzero64(u64(i64(x.a) >> (x.ub() & 63))); }},
      {"s_bfm_b32", kDSS, 1, 1, 1, S, S,
       [](const Scalar& x) {
         return After{u32(low_mask(x.ua() & 31) << (x.ub() & 31)), {}, {}};
       }},
      {"s_bfm_b64", kDSS, 2, 1, 1, S, S,
       [](const Scalar& x) {
         return After{low_mask(x.ua() & 63) << (x.ub() & 63), {}, {}};
       }},
      {"s_mul_i32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{x.ua() * x.ub(), {}, {}};
       }},
      {"s_mul_hi_u32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{x.a * x.b >> 32, {}, {}};
       }},
      {"s_mul_hi_i32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{u32(i64{x.ia()} * x.ib() >> 32), {}, {}};
       }},
      {"s_bfe_u32", kDSS, 1, 1, 1, U, U, [](const Scalar& x) { return bfe_u64(x, x.ua(), 31); }},
      {"s_bfe_i32", kDSS, 1, 1, 1, U, U, bfe_i32},
      {"s_bfe_u64", kDSS, 2, 2, 1, W, U, [](const Scalar& x) { return bfe_u64(x, x.a, 63); }},
      {"s_bfe_i64", kDSS, 2, 2, 1, W, U, bfe_i64},
      {"s_absdiff_i32", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         const i32 r = i32(x.ua() - x.ub());  // wraps, then is negated: the guide's own order
         return nonzero32(r < 0 ? 0 - u32(r) : u32(r));
       }},
      {"s_lshl1_add_u32", kDSS, 1, 1, 1, U, U, shift_add<1>},
      {"s_lshl2_add_u32", kDSS, 1, 1, 1, U, U, shift_add<2>},
      {"s_lshl3_add_u32", kDSS, 1, 1, 1, U, U, shift_add<3>},
      {"s_lshl4_add_u32", kDSS, 1, 1, 1, U, U, shift_add<4>},
      {"s_pack_ll_b32_b16", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{pack(x.ua(), x.ub()), {}, {}};
       }},
      {"s_pack_lh_b32_b16", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{pack(x.ua(), x.ub() >> 16), {}, {}};
       }},
      {"s_pack_hh_b32_b16", kDSS, 1, 1, 1, U, U,
       [](const Scalar& x) {
         return After{pack(x.ua() >> 16, x.ub() >> 16), {}, {}};
       }},
  };
  return ops;
}

const std::vector<ScalarOp>& compare_ops() {
  static const std::vector<ScalarOp> ops = {
      {"s_cmp_eq_i32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ua() == x.ub()); }},
      {"s_cmp_lg_i32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ua() != x.ub()); }},
      {"s_cmp_gt_i32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ia() > x.ib()); }},
      {"s_cmp_ge_i32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ia() >= x.ib()); }},
      {"s_cmp_lt_i32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ia() < x.ib()); }},
      {"s_cmp_le_i32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ia() <= x.ib()); }},
      {"s_cmp_eq_u32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ua() == x.ub()); }},
      {"s_cmp_lg_u32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ua() != x.ub()); }},
      {"s_cmp_gt_u32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ua() > x.ub()); }},
      {"s_cmp_ge_u32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ua() >= x.ub()); }},
      {"s_cmp_lt_u32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ua() < x.ub()); }},
      {"s_cmp_le_u32", kSS, 0, 1, 1, U, U, [](const Scalar& x) { return flag(x.ua() <= x.ub()); }},
      {"s_cmp_eq_u64", kSS, 0, 2, 2, W, W, [](const Scalar& x) { return flag(x.a == x.b); }},
      {"s_cmp_lg_u64", kSS, 0, 2, 2, W, W, [](const Scalar& x) { return flag(x.a != x.b); }},
      {"s_bitcmp0_b32", kSS, 0, 1, 1, U, S,
       [](const Scalar& x) { return flag(!((x.ua() >> (x.ub() & 31)) & 1)); }},
      {"s_bitcmp1_b32", kSS, 0, 1, 1, U, S,
       [](const Scalar& x) { return flag((x.ua() >> (x.ub() & 31)) & 1); }},
      {"s_bitcmp0_b64", kSS, 0, 2, 1, W, S,
       [](const Scalar& x) { return flag(!((x.a >> (x.ub() & 63)) & 1)); }},
      {"s_bitcmp1_b64", kSS, 0, 2, 1, W, S,
       [](const Scalar& x) { return flag((x.a >> (x.ub() & 63)) & 1); }},
      // SOPK: b is the 16-bit immediate, sign-extended but for the unsigned compares.
      {"s_cmpk_eq_i32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ia() == i16(x.ub())); }},
      {"s_cmpk_lg_i32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ia() != i16(x.ub())); }},
      {"s_cmpk_gt_i32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ia() > i16(x.ub())); }},
      {"s_cmpk_ge_i32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ia() >= i16(x.ub())); }},
      {"s_cmpk_lt_i32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ia() < i16(x.ub())); }},
      {"s_cmpk_le_i32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ia() <= i16(x.ub())); }},
      {"s_cmpk_eq_u32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ua() == u16(x.ub())); }},
      {"s_cmpk_lg_u32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ua() != u16(x.ub())); }},
      {"s_cmpk_gt_u32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ua() > u16(x.ub())); }},
      {"s_cmpk_ge_u32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ua() >= u16(x.ub())); }},
      {"s_cmpk_lt_u32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ua() < u16(x.ub())); }},
      {"s_cmpk_le_u32", kSImm, 0, 1, 1, U, U,
       [](const Scalar& x) { return flag(x.ua() <= u16(x.ub())); }},
      {"s_movk_i32", kDImm, 1, 0, 1, U, U,
       [](const Scalar& x) {
         return After{u32(i32{i16(x.ub())}), {}, {}};
       }},
      {"s_cmovk_i32", kDImm, 1, 0, 1, U, U,
       [](const Scalar& x) {
         return After{x.scc ? u32(i32{i16(x.ub())}) : u32(x.d), {}, {}};
       }},
      {"s_addk_i32", kDImm, 1, 0, 1, U, U,
       [](const Scalar& x) { return signed_sum(i64{i32(x.d)} + i16(x.ub())); }},
      {"s_mulk_i32", kDImm, 1, 0, 1, U, U,
       [](const Scalar& x) {
         return After{u32(i32(x.d)) * u32(i32{i16(x.ub())}), {}, {}};
       }},
  };
  return ops;
}

std::string scalar_register(int first, int width) {
  return width == 1 ? fmt::format("s{}", first) : fmt::format("s[{}:{}]", first, first + width - 1);
}

// d in s[0:1], a in s[2:3], b in s[4:5]; `constant` (an inline constant) replaces the last source
// register.
std::string text_of(const ScalarOp& op, u16 immediate, const char* constant) {
  const std::string d = scalar_register(0, op.d ? op.d : 1);
  const std::string a = op.a ? scalar_register(2, op.a) : "",
                    b = op.b ? scalar_register(4, op.b) : "";
  switch (op.shape) {
    case kDS:
      return fmt::format("{} {}, {}", op.name, d, constant ? constant : a);
    case kDSS:
      return fmt::format("{} {}, {}, {}", op.name, d, a, constant ? constant : b);
    case kSS:
      return fmt::format("{} {}, {}", op.name, a, constant ? constant : b);
    case kDImm:
      return fmt::format("{} {}, {:#x}", op.name, d, immediate);
    default:
      return fmt::format("{} {}, {:#x}", op.name, a, immediate);
  }
}

void set_pair(WaveState& state, int at, u64 value) {
  state.sgpr[at] = static_cast<u32>(value);
  state.sgpr[at + 1] = static_cast<u32>(value >> 32);
}

void check_one(const ScalarOp& op, Scalar x, u16 immediate, const char* constant) {
  WaveState state;
  set_pair(state, 0, x.d);
  set_pair(state, 2, x.a);
  set_pair(state, 4, x.b);
  state.scc = x.scc;
  state.exec = x.exec;
  const std::string text = text_of(op, immediate, constant);
  Memory memory;
  const Outcome outcome = run_snippet(text, "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  if (op.shape == kDImm || op.shape == kSImm) x.b = immediate;
  if (constant)
    (op.shape == kDS ? x.a : x.b) =
        (op.shape == kDS ? op.a : op.b) == 2 ? ~u64{15} : u64{0xfffffff0};
  const After want = op.rule(x);
  const std::string where = fmt::format("{} a={:#x} b={:#x} d={:#x} scc={} exec={:#x}", text, x.a,
                                        x.b, x.d, x.scc, x.exec);
  EXPECT_EQ(state.scc, want.scc.value_or(x.scc)) << where << ": scc";
  EXPECT_EQ(state.exec, want.exec.value_or(x.exec)) << where << ": exec";
  const u64 got = state.sgpr[0] | u64{state.sgpr[1]} << 32;
  const u64 keep = op.d == 2 ? 0 : ~u64{0} << 32;
  const u64 d = op.d == 0 ? x.d : (want.d & ~keep) | (x.d & keep);
  EXPECT_EQ(got, d) << where << fmt::format(": got {:#x}, the rule says {:#x}", got, d);
}

std::vector<ScalarOp> all_ops() {
  std::vector<ScalarOp> ops = move_and_bit_ops();
  for (const auto* more : {&arithmetic_ops(), &compare_ops()})
    ops.insert(ops.end(), more->begin(), more->end());
  return ops;
}

// A few dozen pairs that meet every edge case at least once; both values of SCC.
void check_scalar(const ScalarOp& op) {
  const auto& as = interesting(op.ka);
  const auto& bs = interesting(op.kb);
  const std::size_t count = std::max<std::size_t>(as.size(), bs.size()) * 2;
  for (std::size_t n = 0; n < count; ++n) {
    Scalar x;
    x.a = n % 3 == 2 ? draw(op.ka, n) : as[n % as.size()];
    x.b = n % 5 == 4 ? draw(op.kb, ~n) : bs[(n * 7 + n / bs.size()) % bs.size()];
    if (op.a == 1) x.a &= 0xffffffffu;
    if (op.b == 1) x.b &= 0xffffffffu;
    // Field descriptors of s_bfe: offset in [4:0] or [5:0], width in [22:16].
    if (std::string(op.name).find("_bfe_") != std::string::npos)
      x.b = (n * 5) % 70 | (n * 11 % 72) << 16;
    x.d = draw(Kind::kU64, n + 77);
    x.exec = draw(Kind::kU64, n + 99);
    x.scc = n % 2;
    check_one(op, x, static_cast<u16>(interesting(Kind::kU16)[n % interesting(Kind::kU16).size()]),
              nullptr);
    if (n < 2 && op.shape != kDImm && op.shape != kSImm) check_one(op, x, 0, "-16");
  }
}

}  // namespace

std::vector<std::string> scalar_mnemonics() {
  std::vector<std::string> names;
  for (const ScalarOp& op : all_ops()) names.push_back(op.name);
  return names;
}

TEST(Scalar, FollowsTheIsaGuide) {
  for (const ScalarOp& op : all_ops()) {
    if (!implemented(op.name)) continue;
    SCOPED_TRACE(op.name);
    check_scalar(op);
  }
}

TEST(Scalar, ReadsAndWritesSpecialRegisters) {
  WaveState state;
  state.vcc = 0x1111222233334444ull;
  state.exec = 0xff00ff00ff00ff00ull;
  state.m0 = 77;
  Memory memory;
  const Outcome outcome = run_snippet(
      "s_mov_b64 s[0:1], vcc\ns_mov_b64 s[2:3], exec\ns_mov_b32 s4, m0\ns_mov_b32 s5, "
      "vcc_hi\ns_mov_b32 s6, exec_lo\n"
      "s_mov_b32 m0, 0x12345\ns_mov_b64 vcc, -1\ns_mov_b64 exec, 0xf0\ns_mov_b32 s7, "
      "src_scc\ns_mov_b32 s8, 0.5\n"
      "s_mov_b64 s[10:11], -16\ns_mov_b64 s[12:13], 0xf000000f",
      "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  EXPECT_EQ(state.sgpr[0], 0x33334444u);
  EXPECT_EQ(state.sgpr[1], 0x11112222u);
  EXPECT_EQ(state.sgpr[2], 0xff00ff00u);
  EXPECT_EQ(state.sgpr[4], 77u);
  EXPECT_EQ(state.sgpr[5], 0x11112222u);
  EXPECT_EQ(state.sgpr[6], 0xff00ff00u);
  EXPECT_EQ(state.m0, 0x12345u);
  EXPECT_EQ(state.vcc, ~u64{0});
  EXPECT_EQ(state.exec, 0xf0u);
  EXPECT_EQ(state.sgpr[7], 0u);
  EXPECT_EQ(state.sgpr[8], 0x3f000000u);
  EXPECT_EQ(state.sgpr[10], 0xfffffff0u);
  EXPECT_EQ(state.sgpr[11], 0xffffffffu);
  EXPECT_EQ(state.sgpr[12], 0xf000000fu);
  // LLVM AMDGPUUsage and the guide: a literal of a 64-bit scalar operand is zero-extended.
  EXPECT_EQ(state.sgpr[13], 0u);
}

}  // namespace attest::emulator::opcode_tests
