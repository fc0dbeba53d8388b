// Scalar arithmetic and compares. Rules: CDNA3 ISA guide, "SOP2", "SOPC" and "SOPK instructions".
#include <algorithm>

#include "harness/device/emulator/opcode_tests/scalar_op.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind kU = Kind::kU32, kW = Kind::kU64, kS = Kind::kShift;
After nonzero32(u32 d) { return {d, d != 0, {}}; }
After nonzero64(u64 d) { return {d, d != 0, {}}; }
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
After flag(bool scc) { return {0, scc, {}}; }
u64 pack(u32 low, u32 high) { return (low & 0xffff) | (high & 0xffff) << 16; }

const std::vector<ScalarOp> kArithmetic = {
    {"s_add_u32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       const u64 r = x.a + x.b;
       return After{u32(r), r >> 32 != 0, {}};
     }},
    {"s_sub_u32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{x.ua() - x.ub(), x.ub() > x.ua(), {}};
     }},
    {"s_add_i32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) { return signed_sum(i64{x.ia()} + x.ib()); }},
    {"s_sub_i32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) { return signed_sum(i64{x.ia()} - x.ib()); }},
    {"s_addc_u32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       const u64 r = x.a + x.b + x.scc;
       return After{u32(r), r >> 32 != 0, {}};
     }},
    {"s_subb_u32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{u32(x.ua() - x.ub() - x.scc), x.b + x.scc > x.a, {}};
     }},
    {"s_min_i32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{u32(std::min(x.ia(), x.ib())), x.ia() < x.ib(), {}};
     }},
    {"s_min_u32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{std::min(x.ua(), x.ub()), x.ua() < x.ub(), {}};
     }},
    {"s_max_i32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{u32(std::max(x.ia(), x.ib())), x.ia() >= x.ib(), {}};
     }},
    {"s_max_u32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{std::max(x.ua(), x.ub()), x.ua() >= x.ub(), {}};
     }},
    {"s_cselect_b32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{x.scc ? x.ua() : x.ub(), {}, {}};
     }},
    {"s_cselect_b64", kDSS, 2, 2, 2, kW, kW,
     [](const Scalar& x) {
       return After{x.scc ? x.a : x.b, {}, {}};
     }},
    {"s_lshl_b32", kDSS, 1, 1, 1, kU, kS,
     [](const Scalar& x) { return nonzero32(x.ua() << (x.ub() & 31)); }},
    {"s_lshl_b64", kDSS, 2, 2, 1, kW, kS,
     [](const Scalar& x) { return nonzero64(x.a << (x.ub() & 63)); }},
    {"s_lshr_b32", kDSS, 1, 1, 1, kU, kS,
     [](const Scalar& x) { return nonzero32(x.ua() >> (x.ub() & 31)); }},
    {"s_lshr_b64", kDSS, 2, 2, 1, kW, kS,
     [](const Scalar& x) { return nonzero64(x.a >> (x.ub() & 63)); }},
    {"s_ashr_i32", kDSS, 1, 1, 1, kU, kS,
     [](const Scalar& x) { return nonzero32(u32(x.ia() >> (x.ub() & 31))); }},
    {"s_ashr_i64", kDSS, 2, 2, 1, kW, kS,
     [](const Scalar& x) { return nonzero64(u64(i64(x.a) >> (x.ub() & 63))); }},
    {"s_bfm_b32", kDSS, 1, 1, 1, kS, kS,
     [](const Scalar& x) {
       return After{u32(low_mask(x.ua() & 31) << (x.ub() & 31)), {}, {}};
     }},
    {"s_bfm_b64", kDSS, 2, 1, 1, kS, kS,
     [](const Scalar& x) {
       return After{low_mask(x.ua() & 63) << (x.ub() & 63), {}, {}};
     }},
    {"s_mul_i32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{x.ua() * x.ub(), {}, {}};
     }},
    {"s_mul_hi_u32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{x.a * x.b >> 32, {}, {}};
     }},
    {"s_mul_hi_i32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{u32(i64{x.ia()} * x.ib() >> 32), {}, {}};
     }},
    {"s_bfe_u32", kDSS, 1, 1, 1, kU, kU, [](const Scalar& x) { return bfe_u64(x, x.ua(), 31); }},
    {"s_bfe_i32", kDSS, 1, 1, 1, kU, kU, bfe_i32},
    {"s_bfe_u64", kDSS, 2, 2, 1, kW, kU, [](const Scalar& x) { return bfe_u64(x, x.a, 63); }},
    {"s_bfe_i64", kDSS, 2, 2, 1, kW, kU, bfe_i64},
    {"s_absdiff_i32", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       const i32 r = i32(x.ua() - x.ub());  // wraps, then is negated: the guide's own order
       return nonzero32(r < 0 ? 0 - u32(r) : u32(r));
     }},
    {"s_lshl1_add_u32", kDSS, 1, 1, 1, kU, kU, shift_add<1>},
    {"s_lshl2_add_u32", kDSS, 1, 1, 1, kU, kU, shift_add<2>},
    {"s_lshl3_add_u32", kDSS, 1, 1, 1, kU, kU, shift_add<3>},
    {"s_lshl4_add_u32", kDSS, 1, 1, 1, kU, kU, shift_add<4>},
    {"s_pack_ll_b32_b16", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{pack(x.ua(), x.ub()), {}, {}};
     }},
    {"s_pack_lh_b32_b16", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{pack(x.ua(), x.ub() >> 16), {}, {}};
     }},
    {"s_pack_hh_b32_b16", kDSS, 1, 1, 1, kU, kU,
     [](const Scalar& x) {
       return After{pack(x.ua() >> 16, x.ub() >> 16), {}, {}};
     }},
};

const std::vector<ScalarOp> kCompares = {
    {"s_cmp_eq_i32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ua() == x.ub()); }},
    {"s_cmp_lg_i32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ua() != x.ub()); }},
    {"s_cmp_gt_i32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ia() > x.ib()); }},
    {"s_cmp_ge_i32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ia() >= x.ib()); }},
    {"s_cmp_lt_i32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ia() < x.ib()); }},
    {"s_cmp_le_i32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ia() <= x.ib()); }},
    {"s_cmp_eq_u32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ua() == x.ub()); }},
    {"s_cmp_lg_u32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ua() != x.ub()); }},
    {"s_cmp_gt_u32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ua() > x.ub()); }},
    {"s_cmp_ge_u32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ua() >= x.ub()); }},
    {"s_cmp_lt_u32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ua() < x.ub()); }},
    {"s_cmp_le_u32", kSS, 0, 1, 1, kU, kU, [](const Scalar& x) { return flag(x.ua() <= x.ub()); }},
    {"s_cmp_eq_u64", kSS, 0, 2, 2, kW, kW, [](const Scalar& x) { return flag(x.a == x.b); }},
    {"s_cmp_lg_u64", kSS, 0, 2, 2, kW, kW, [](const Scalar& x) { return flag(x.a != x.b); }},
    {"s_bitcmp0_b32", kSS, 0, 1, 1, kU, kS,
     [](const Scalar& x) { return flag(!((x.ua() >> (x.ub() & 31)) & 1)); }},
    {"s_bitcmp1_b32", kSS, 0, 1, 1, kU, kS,
     [](const Scalar& x) { return flag((x.ua() >> (x.ub() & 31)) & 1); }},
    {"s_bitcmp0_b64", kSS, 0, 2, 1, kW, kS,
     [](const Scalar& x) { return flag(!((x.a >> (x.ub() & 63)) & 1)); }},
    {"s_bitcmp1_b64", kSS, 0, 2, 1, kW, kS,
     [](const Scalar& x) { return flag((x.a >> (x.ub() & 63)) & 1); }},
    // SOPK: b is the 16-bit immediate, sign-extended but for the unsigned compares.
    {"s_cmpk_eq_i32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ia() == i16(x.ub())); }},
    {"s_cmpk_lg_i32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ia() != i16(x.ub())); }},
    {"s_cmpk_gt_i32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ia() > i16(x.ub())); }},
    {"s_cmpk_ge_i32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ia() >= i16(x.ub())); }},
    {"s_cmpk_lt_i32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ia() < i16(x.ub())); }},
    {"s_cmpk_le_i32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ia() <= i16(x.ub())); }},
    {"s_cmpk_eq_u32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ua() == u16(x.ub())); }},
    {"s_cmpk_lg_u32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ua() != u16(x.ub())); }},
    {"s_cmpk_gt_u32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ua() > u16(x.ub())); }},
    {"s_cmpk_ge_u32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ua() >= u16(x.ub())); }},
    {"s_cmpk_lt_u32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ua() < u16(x.ub())); }},
    {"s_cmpk_le_u32", kSImm, 0, 1, 1, kU, kU,
     [](const Scalar& x) { return flag(x.ua() <= u16(x.ub())); }},
    {"s_movk_i32", kDImm, 1, 0, 1, kU, kU,
     [](const Scalar& x) {
       return After{u32(i32{i16(x.ub())}), {}, {}};
     }},
    {"s_cmovk_i32", kDImm, 1, 0, 1, kU, kU,
     [](const Scalar& x) {
       return After{x.scc ? u32(i32{i16(x.ub())}) : u32(x.d), {}, {}};
     }},
    {"s_addk_i32", kDImm, 1, 0, 1, kU, kU,
     [](const Scalar& x) { return signed_sum(i64{i32(x.d)} + i16(x.ub())); }},
    {"s_mulk_i32", kDImm, 1, 0, 1, kU, kU,
     [](const Scalar& x) {
       return After{u32(i32(x.d)) * u32(i32{i16(x.ub())}), {}, {}};
     }},
};

}  // namespace

const std::vector<ScalarOp>& scalar_arithmetic() { return kArithmetic; }
const std::vector<ScalarOp>& scalar_compares() { return kCompares; }

}  // namespace attest::emulator::opcode_tests
