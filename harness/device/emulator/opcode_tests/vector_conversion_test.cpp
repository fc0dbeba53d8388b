// Conversions. Rules: CDNA3 ISA guide, V_CVT_*: to integer truncates, saturates, and turns NaN into
// 0; to a float rounds to nearest, ties to even.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind U = Kind::kU32, F = Kind::kF32, D = Kind::kF64, H = Kind::kF16;
constexpr Match kF = Match::kFloat;

u64 to_u32(double x) {
  if (std::isnan(x) || x <= 0) return 0;
  return x >= 4294967295.0 ? 0xffffffffu : static_cast<u32>(x);
}
u64 to_i32(double x) {
  if (std::isnan(x)) return 0;
  return static_cast<u32>(static_cast<i32>(std::clamp(std::trunc(x), -2147483648.0, 2147483647.0)));
}
u64 float_from_half(const Lane& x) {
  const u32 h = x.h(0);
  if (is_nan16(h)) return 0x7fc00000u;
  return x.out(static_cast<float>(half_value(h)));
}
u64 half_from_float(const Lane& x) { return x.out_half(half_from(x.f(0))); }
u64 float_from_double(const Lane& x) { return x.out_from(x.g(0)); }
u64 packed_toward_zero(const Lane& x) {
  return x.out_half(half_truncated(x.f(0))) | x.out_half(half_truncated(x.f(1))) << 16;
}
template <int kByte>
u64 byte_to_float(const Lane& x) {
  return bits_of(static_cast<float>((x.u(0) >> (8 * kByte)) & 0xff));
}

}  // namespace

const std::vector<VectorOp>& vector_conversion_ops() {
  static const std::vector<VectorOp> ops = {
      {"v_cvt_f32_u32",
       kVop2,
       F,
       {U},
       [](const Lane& x) { return bits_of(static_cast<float>(x.u(0))); }},
      {"v_cvt_f32_i32",
       kVop2,
       F,
       {U},
       [](const Lane& x) { return bits_of(static_cast<float>(x.i(0))); }},
      {"v_cvt_f32_ubyte0", kVop2, F, {U}, byte_to_float<0>},
      {"v_cvt_f32_ubyte1", kVop2, F, {U}, byte_to_float<1>},
      {"v_cvt_f32_ubyte2", kVop2, F, {U}, byte_to_float<2>},
      {"v_cvt_f32_ubyte3", kVop2, F, {U}, byte_to_float<3>},
      {"v_cvt_u32_f32", kVop2, U, {F}, [](const Lane& x) { return to_u32(x.f(0)); }},
      {"v_cvt_i32_f32", kVop2, U, {F}, [](const Lane& x) { return to_i32(x.f(0)); }},
      {"v_cvt_rpi_i32_f32",
       kVop2,
       U,
       {F},
       [](const Lane& x) { return to_i32(std::floor(x.f(0) + 0.5f)); }},
      {"v_cvt_flr_i32_f32",
       kVop2,
       U,
       {F},
       [](const Lane& x) { return to_i32(std::floor(x.f(0))); }},
      {"v_cvt_f32_f16", kVop2, F, {H}, float_from_half, kF},
      {"v_cvt_f16_f32", kVop2, H, {F}, half_from_float, kF},
      {"v_cvt_f32_f64", kE32 | kE64, F, {D}, float_from_double, kF},
      {"v_cvt_f64_f32",
       kE32 | kE64,
       D,
       {F},
       [](const Lane& x) { return bits_of(double{x.f(0)}); },
       kF},
      {"v_cvt_f64_i32", kE32 | kE64, D, {U}, [](const Lane& x) { return bits_of(double(x.i(0))); }},
      {"v_cvt_f64_u32", kE32 | kE64, D, {U}, [](const Lane& x) { return bits_of(double(x.u(0))); }},
      {"v_cvt_i32_f64", kE32 | kE64, U, {D}, [](const Lane& x) { return to_i32(x.g(0)); }},
      {"v_cvt_u32_f64", kE32 | kE64, U, {D}, [](const Lane& x) { return to_u32(x.g(0)); }},
      {"v_cvt_pkrtz_f16_f32", kVop3, Kind::kPkHalf, {F, F}, packed_toward_zero, kF},
      {"v_cvt_pk_u16_u32",
       kVop3,
       U,
       {U, U},
       [](const Lane& x) {
         return u64(std::min(x.u(0), 65535u) | std::min(x.u(1), 65535u) << 16);
       }},
      {"v_cvt_pk_i16_i32",
       kVop3,
       U,
       {U, U},
       [](const Lane& x) {
         const auto sat = [](i32 v) { return u32(std::clamp(v, -32768, 32767)) & 0xffff; };
         return u64(sat(x.i(0)) | sat(x.i(1)) << 16);
       }},
  };
  return ops;
}

TEST(VectorConversion, FollowsTheIsaGuide) { check(vector_conversion_ops()); }

}  // namespace attest::emulator::opcode_tests
