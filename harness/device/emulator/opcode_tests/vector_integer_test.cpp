// Integer and bit instructions of VOP1, VOP2 and VOP3. Rules: CDNA3 ISA guide, "VOP1/VOP2/VOP3
// instructions".
#include <gtest/gtest.h>

#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind kU = Kind::kU32, kW = Kind::kU64, kS = Kind::kShift, kH = Kind::kU16;

u64 leading_equal_bits(
    u32 x) {  // v_ffbh_i32: position of the first bit that differs from the sign, from the top
  for (int i = 1; i < 32; ++i) {
    if (((x >> (31 - i)) & 1) != (x >> 31)) return i;
  }
  return 0xffffffffu;
}
u64 reversed(u32 x) {
  u32 r = 0;
  for (int i = 0; i < 32; ++i) r |= ((x >> i) & 1) << (31 - i);
  return r;
}
u32 permuted_byte(u64 data, u32 selector) {
  if (selector >= 13) return 0xff;
  if (selector == 12) return 0;
  if (selector >= 8) return (data >> (16 * (selector - 8) + 15)) & 1 ? 0xff : 0;
  return (data >> (8 * selector)) & 0xff;
}
u64 permuted(const Lane& x) {
  const u64 data = x.s[0] << 32 | x.u(1);  // S0 holds bytes 4-7
  u64 r = 0;
  for (int b = 0; b < 4; ++b) r |= u64{permuted_byte(data, (x.u(2) >> (8 * b)) & 0xff)} << (8 * b);
  return r;
}
u32 byte_differences(u32 a, u32 b) {
  u32 sum = 0;
  for (int k = 0; k < 32; k += 8) sum += std::abs(int((a >> k) & 0xff) - int((b >> k) & 0xff));
  return sum;
}
template <class T>
T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
u64 saturated(i64 x, i64 low, i64 high) {
  return static_cast<u64>(x < low ? low : x > high ? high : x) & 0xffffffffu;
}
u32 low24(u32 x) { return x & 0xffffffu; }
i64 signed24(u32 x) { return sign_extended(x, 24); }
i64 signed16(u32 x) { return sign_extended(x & 0xffff, 16); }

const std::vector<VectorOp> kOps = {
    {"v_mov_b32", kVop2, kU, {kU}, [](const Lane& x) { return x.s[0]; }},
    {"v_mov_b64", kE32 | kE64, kW, {kW}, [](const Lane& x) { return x.s[0]; }},
    {"v_not_b32", kVop2, kU, {kU}, [](const Lane& x) { return u64{~x.u(0)}; }},
    {"v_bfrev_b32", kVop2, kU, {kU}, [](const Lane& x) { return reversed(x.u(0)); }},
    {"v_ffbh_u32",
     kVop2,
     kU,
     {kU},
     [](const Lane& x) { return u64(x.u(0) ? std::countl_zero(x.u(0)) : 0xffffffffu); }},
    {"v_ffbl_b32",
     kVop2,
     kU,
     {kU},
     [](const Lane& x) { return u64(x.u(0) ? std::countr_zero(x.u(0)) : 0xffffffffu); }},
    {"v_ffbh_i32", kVop2, kU, {kU}, [](const Lane& x) { return leading_equal_bits(x.u(0)); }},
    {"v_and_b32", kVop2, kU, {kU, kU}, [](const Lane& x) { return u64{x.u(0) & x.u(1)}; }},
    {"v_or_b32", kVop2, kU, {kU, kU}, [](const Lane& x) { return u64{x.u(0) | x.u(1)}; }},
    {"v_xor_b32", kVop2, kU, {kU, kU}, [](const Lane& x) { return u64{x.u(0) ^ x.u(1)}; }},
    {"v_xnor_b32", kVop2, kU, {kU, kU}, [](const Lane& x) { return u64{~(x.u(0) ^ x.u(1))}; }},
    {"v_add_u32",
     kVop2,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64{x.u(0) + x.u(1)}; },
     Match::kBits,
     [](const Lane& x) { return saturated(i64{x.u(0)} + x.u(1), 0, 0xffffffff); }},
    {"v_sub_u32",
     kVop2,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64{x.u(0) - x.u(1)}; },
     Match::kBits,
     [](const Lane& x) { return saturated(i64{x.u(0)} - x.u(1), 0, 0xffffffff); }},
    {"v_subrev_u32",
     kVop2,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64{x.u(1) - x.u(0)}; },
     Match::kBits,
     [](const Lane& x) { return saturated(i64{x.u(1)} - x.u(0), 0, 0xffffffff); }},
    {"v_add_i32",
     kVop3,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64{x.u(0) + x.u(1)}; },
     Match::kBits,
     [](const Lane& x) { return saturated(i64{x.i(0)} + x.i(1), INT32_MIN, INT32_MAX); }},
    {"v_sub_i32",
     kVop3,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64{x.u(0) - x.u(1)}; },
     Match::kBits,
     [](const Lane& x) { return saturated(i64{x.i(0)} - x.i(1), INT32_MIN, INT32_MAX); }},
    {"v_min_i32",
     kVop2,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64(u32(std::min(x.i(0), x.i(1)))); }},
    {"v_max_i32",
     kVop2,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64(u32(std::max(x.i(0), x.i(1)))); }},
    {"v_min_u32", kVop2, kU, {kU, kU}, [](const Lane& x) { return u64{std::min(x.u(0), x.u(1))}; }},
    {"v_max_u32", kVop2, kU, {kU, kU}, [](const Lane& x) { return u64{std::max(x.u(0), x.u(1))}; }},
    {"v_lshlrev_b32",
     kVop2,
     kU,
     {kS, kU},
     [](const Lane& x) { return u64{x.u(1) << (x.u(0) & 31)}; }},
    {"v_lshrrev_b32",
     kVop2,
     kU,
     {kS, kU},
     [](const Lane& x) { return u64{x.u(1) >> (x.u(0) & 31)}; }},
    {"v_ashrrev_i32",
     kVop2,
     kU,
     {kS, kU},
     [](const Lane& x) { return u64(u32(x.i(1) >> (x.u(0) & 31))); }},
    {"v_mul_u32_u24",
     kVop2,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64(u32(u64{low24(x.u(0))} * low24(x.u(1)))); }},
    {"v_mul_hi_u32_u24",
     kVop2,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64{low24(x.u(0))} * low24(x.u(1)) >> 32; }},
    {"v_mul_i32_i24",
     kVop2,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64(u32(signed24(x.u(0)) * signed24(x.u(1)))); }},
    {"v_mul_hi_i32_i24",
     kVop2,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64(u32(signed24(x.u(0)) * signed24(x.u(1)) >> 32)); }},
    {"v_mul_lo_u32", kVop3, kU, {kU, kU}, [](const Lane& x) { return u64{x.u(0) * x.u(1)}; }},
    {"v_mul_hi_u32", kVop3, kU, {kU, kU}, [](const Lane& x) { return u64{x.u(0)} * x.u(1) >> 32; }},
    {"v_mul_hi_i32",
     kVop3,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64(u32(i64{x.i(0)} * x.i(1) >> 32)); }},
    {"v_bfm_b32",
     kVop3,
     kU,
     {kS, kS},
     [](const Lane& x) { return u64(((1u << (x.u(0) & 31)) - 1) << (x.u(1) & 31)); }},
    {"v_bcnt_u32_b32",
     kVop3,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64(u32(std::popcount(x.u(0)) + x.u(1))); }},
    {"v_bfe_u32",
     kVop3,
     kU,
     {kU, kS, kS},
     [](const Lane& x) { return u64((x.u(0) >> (x.u(1) & 31)) & ((1u << (x.u(2) & 31)) - 1)); }},
    {"v_bfe_i32",
     kVop3,
     kU,
     {kU, kS, kS},
     [](const Lane& x) {
       const int width = x.u(2) & 31;
       return width == 0 ? u64{0} : u64(u32(sign_extended(x.i(0) >> (x.u(1) & 31), width)));
     }},
    {"v_bfi_b32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64((x.u(0) & x.u(1)) | (~x.u(0) & x.u(2))); }},
    {"v_alignbit_b32",
     kVop3,
     kU,
     {kU, kU, kS},
     [](const Lane& x) { return u64(u32((x.s[0] << 32 | x.u(1)) >> (x.u(2) & 31))); }},
    {"v_alignbyte_b32",
     kVop3,
     kU,
     {kU, kU, kS},
     [](const Lane& x) { return u64(u32((x.s[0] << 32 | x.u(1)) >> (8 * (x.u(2) & 3)))); }},
    {"v_perm_b32", kVop3, kU, {kU, kU, kU}, permuted},
    {"v_min3_i32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) {
       return u64(u32(std::min({x.i(0), x.i(1), x.i(2)})));
     }},
    {"v_max3_i32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) {
       return u64(u32(std::max({x.i(0), x.i(1), x.i(2)})));
     }},
    {"v_med3_i32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64(u32(median(x.i(0), x.i(1), x.i(2)))); }},
    {"v_min3_u32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) {
       return u64{std::min({x.u(0), x.u(1), x.u(2)})};
     }},
    {"v_max3_u32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) {
       return u64{std::max({x.u(0), x.u(1), x.u(2)})};
     }},
    {"v_med3_u32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64{median(x.u(0), x.u(1), x.u(2))}; }},
    {"v_add3_u32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64{x.u(0) + x.u(1) + x.u(2)}; }},
    {"v_or3_b32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64{x.u(0) | x.u(1) | x.u(2)}; }},
    {"v_xad_u32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64{(x.u(0) ^ x.u(1)) + x.u(2)}; }},
    {"v_lshl_add_u32",
     kVop3,
     kU,
     {kU, kS, kU},
     [](const Lane& x) { return u64{(x.u(0) << (x.u(1) & 31)) + x.u(2)}; }},
    {"v_add_lshl_u32",
     kVop3,
     kU,
     {kU, kU, kS},
     [](const Lane& x) { return u64{(x.u(0) + x.u(1)) << (x.u(2) & 31)}; }},
    {"v_lshl_or_b32",
     kVop3,
     kU,
     {kU, kS, kU},
     [](const Lane& x) { return u64{(x.u(0) << (x.u(1) & 31)) | x.u(2)}; }},
    {"v_and_or_b32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64{(x.u(0) & x.u(1)) | x.u(2)}; }},
    {"v_mad_u32_u24",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64(u32(low24(x.u(0)) * low24(x.u(1)) + x.u(2))); },
     Match::kBits,
     [](const Lane& x) {
       return saturated(i64{low24(x.u(0))} * low24(x.u(1)) + x.u(2), 0, 0xffffffff);
     }},
    {"v_mad_i32_i24",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64(u32(signed24(x.u(0)) * signed24(x.u(1)) + x.i(2))); },
     Match::kBits,
     [](const Lane& x) {
       return saturated(signed24(x.u(0)) * signed24(x.u(1)) + x.i(2), INT32_MIN, INT32_MAX);
     }},
    {"v_mad_u32_u16",
     kVop3,
     kU,
     {kH, kH, kU},
     [](const Lane& x) { return u64(u32((x.u(0) & 0xffff) * (x.u(1) & 0xffff) + x.u(2))); }},
    {"v_mad_i32_i16",
     kVop3,
     kU,
     {kH, kH, kU},
     [](const Lane& x) { return u64(u32(signed16(x.u(0)) * signed16(x.u(1)) + x.i(2))); }},
    {"v_sad_u8",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64{byte_differences(x.u(0), x.u(1)) + x.u(2)}; }},
    {"v_sad_hi_u8",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) { return u64{(byte_differences(x.u(0), x.u(1)) << 16) + x.u(2)}; }},
    {"v_sad_u16",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) {
       u32 sum = x.u(2);
       for (int at : {0, 16}) {
         const u32 a = x.u(0) >> at & 0xffff, b = x.u(1) >> at & 0xffff;
         sum += std::max(a, b) - std::min(a, b);
       }
       return u64{sum};
     }},
    {"v_sad_u32",
     kVop3,
     kU,
     {kU, kU, kU},
     [](const Lane& x) {
       return u64{std::max(x.u(0), x.u(1)) - std::min(x.u(0), x.u(1)) + x.u(2)};
     }},
    {"v_lshlrev_b64", kVop3, kW, {kS, kW}, [](const Lane& x) { return x.s[1] << (x.u(0) & 63); }},
    {"v_lshrrev_b64", kVop3, kW, {kS, kW}, [](const Lane& x) { return x.s[1] >> (x.u(0) & 63); }},
    {"v_ashrrev_i64",
     kVop3,
     kW,
     {kS, kW},
     [](const Lane& x) { return u64(i64(x.s[1]) >> (x.u(0) & 63)); }},
    {"v_lshl_add_u64",
     kVop3,
     kW,
     {kW, kS, kW},
     [](const Lane& x) { return (x.s[0] << (x.u(1) & 7)) + x.s[2]; }},
    {"v_cndmask_b32",
     kE32 | kReadsVcc,
     kU,
     {kU, kU},
     [](const Lane& x) { return x.carry ? x.s[1] : x.s[0]; },
     Match::kBits,
     nullptr,
     "gfx942",
     ", vcc"},
    {"v_mbcnt_lo_u32_b32",
     kVop3,
     kU,
     {kU, kU},
     [](const Lane& x) {
       const u64 below = (u64{1} << x.lane) - 1;
       return u64(u32(std::popcount(x.u(0) & u32(below)) + x.u(1)));
     }},
    {"v_mbcnt_hi_u32_b32",
     kVop3,
     kU,
     {kU, kU},
     [](const Lane& x) {
       const u64 below = (u64{1} << x.lane) - 1;
       return u64(u32(std::popcount(x.u(0) & u32(below >> 32)) + x.u(1)));
     }},
};

}  // namespace

const std::vector<VectorOp>& vector_integer_ops() { return kOps; }

TEST(VectorInteger, FollowsTheIsaGuide) { check(vector_integer_ops()); }

}  // namespace attest::emulator::opcode_tests
