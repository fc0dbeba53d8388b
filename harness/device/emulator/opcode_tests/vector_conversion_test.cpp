// Conversions. Rules: CDNA3 ISA guide, V_CVT_*: to integer truncates, saturates, and turns NaN into
// 0; to a float rounds to nearest, ties to even.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind kU = Kind::kU32, kF = Kind::kF32, kD = Kind::kF64, kH = Kind::kF16;
constexpr Match kAnyNan = Match::kFloat;

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

const std::vector<VectorOp> kOps = {
    {"v_cvt_f32_u32",
     kVop2,
     kF,
     {kU},
     [](const Lane& x) { return bits_of(static_cast<float>(x.u(0))); }},
    {"v_cvt_f32_i32",
     kVop2,
     kF,
     {kU},
     [](const Lane& x) { return bits_of(static_cast<float>(x.i(0))); }},
    {"v_cvt_f32_ubyte0", kVop2, kF, {kU}, byte_to_float<0>},
    {"v_cvt_f32_ubyte1", kVop2, kF, {kU}, byte_to_float<1>},
    {"v_cvt_f32_ubyte2", kVop2, kF, {kU}, byte_to_float<2>},
    {"v_cvt_f32_ubyte3", kVop2, kF, {kU}, byte_to_float<3>},
    {"v_cvt_u32_f32", kVop2, kU, {kF}, [](const Lane& x) { return to_u32(x.f(0)); }},
    {"v_cvt_i32_f32", kVop2, kU, {kF}, [](const Lane& x) { return to_i32(x.f(0)); }},
    {"v_cvt_rpi_i32_f32",
     kVop2,
     kU,
     {kF},
     [](const Lane& x) { return to_i32(std::floor(x.f(0) + 0.5f)); }},
    {"v_cvt_flr_i32_f32",
     kVop2,
     kU,
     {kF},
     [](const Lane& x) { return to_i32(std::floor(x.f(0))); }},
    {"v_cvt_f32_f16", kVop2, kF, {kH}, float_from_half, kAnyNan},
    {"v_cvt_f16_f32", kVop2, kH, {kF}, half_from_float, kAnyNan},
    {"v_cvt_f32_f64", kE32 | kE64, kF, {kD}, float_from_double, kAnyNan},
    {"v_cvt_f64_f32",
     kE32 | kE64,
     kD,
     {kF},
     [](const Lane& x) { return bits_of(double{x.f(0)}); },
     kAnyNan},
    {"v_cvt_f64_i32", kE32 | kE64, kD, {kU}, [](const Lane& x) { return bits_of(double(x.i(0))); }},
    {"v_cvt_f64_u32", kE32 | kE64, kD, {kU}, [](const Lane& x) { return bits_of(double(x.u(0))); }},
    {"v_cvt_i32_f64", kE32 | kE64, kU, {kD}, [](const Lane& x) { return to_i32(x.g(0)); }},
    {"v_cvt_u32_f64", kE32 | kE64, kU, {kD}, [](const Lane& x) { return to_u32(x.g(0)); }},
    {"v_cvt_pkrtz_f16_f32", kVop3, Kind::kPkHalf, {kF, kF}, packed_toward_zero, kAnyNan},
    {"v_cvt_pk_u16_u32",
     kVop3,
     kU,
     {kU, kU},
     [](const Lane& x) { return u64(std::min(x.u(0), 65535u) | std::min(x.u(1), 65535u) << 16); }},
    {"v_cvt_pk_i16_i32",
     kVop3,
     kU,
     {kU, kU},
     [](const Lane& x) {
       const auto sat = [](i32 v) { return u32(std::clamp(v, -32768, 32767)) & 0xffff; };
       return u64(sat(x.i(0)) | sat(x.i(1)) << 16);
     }},
};

}  // namespace

const std::vector<VectorOp>& vector_conversion_ops() { return kOps; }

TEST(VectorConversion, FollowsTheIsaGuide) { check(vector_conversion_ops()); }

}  // namespace attest::emulator::opcode_tests
