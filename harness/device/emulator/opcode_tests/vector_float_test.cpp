// f32, f64 and f16 arithmetic of VOP1, VOP2 and VOP3. Rules: CDNA3 ISA guide, "Vector ALU
// instructions".
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind F = Kind::kF32, D = Kind::kF64, H = Kind::kF16, X = Kind::kExp;
constexpr Match kF = Match::kFloat;

// The guide's V_MIN/V_MAX: with IEEE on, a signalling NaN gives a quiet NaN; otherwise the number
// wins over the NaN; -0 < +0.
template <class T>
T lesser(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T greater(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
u32 quiet32(u32 b) { return is_nan32(b) ? b | 0x400000u : b; }
bool signalling32(const Lane& x, int n) {
  for (int k = 0; k < n; ++k) {
    if (x.mode.ieee() && is_signalling32(x.u(k))) return true;
  }
  return false;
}
bool signalling64(const Lane& x) {
  return x.mode.ieee() && (is_signalling64(x.s[0]) || is_signalling64(x.s[1]));
}
constexpr u64 kNan32 = 0x7fc00000u, kNan64 = 0x7ff8000000000000ull, kNan16 = 0x7e00u;

u64 min32(const Lane& x) { return signalling32(x, 2) ? kNan32 : x.out(lesser(x.f(0), x.f(1))); }
u64 max32(const Lane& x) { return signalling32(x, 2) ? kNan32 : x.out(greater(x.f(0), x.f(1))); }
u64 min64(const Lane& x) { return signalling64(x) ? kNan64 : x.out(lesser(x.g(0), x.g(1))); }
u64 max64(const Lane& x) { return signalling64(x) ? kNan64 : x.out(greater(x.g(0), x.g(1))); }
// v_min3 = min(min(a, b), c): the inner result of a signalling NaN is quiet, so that it loses
// against c.
u64 min3(const Lane& x) {
  if (x.mode.ieee() && is_signalling32(x.u(2))) return kNan32;
  if (signalling32(x, 2)) return x.out(x.f(2));
  return x.out(lesser(lesser(x.f(0), x.f(1)), x.f(2)));
}
u64 max3(const Lane& x) {
  if (x.mode.ieee() && is_signalling32(x.u(2))) return kNan32;
  if (signalling32(x, 2)) return x.out(x.f(2));
  return x.out(greater(greater(x.f(0), x.f(1)), x.f(2)));
}
u64 med3(const Lane& x) {
  const float a = x.f(0), b = x.f(1), c = x.f(2);
  if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return min3(x);
  return x.out(greater(lesser(a, b), lesser(greater(a, b), c)));
}

u64 half_min(const Lane& x) {
  if (x.mode.ieee() && (is_signalling16(x.u(0)) || is_signalling16(x.u(1)))) return kNan16;
  const double a = half_value(x.h(0)), b = half_value(x.h(1));
  if (std::isnan(a) && std::isnan(b)) return kNan16;
  return x.out_half(half_from(lesser(a, b)));
}
u64 half_max(const Lane& x) {
  if (x.mode.ieee() && (is_signalling16(x.u(0)) || is_signalling16(x.u(1)))) return kNan16;
  const double a = half_value(x.h(0)), b = half_value(x.h(1));
  if (std::isnan(a) && std::isnan(b)) return kNan16;
  return x.out_half(half_from(greater(a, b)));
}
// Sums and products of two f16 are exact in double but for the rounding to f16.
u64 half_result(const Lane& x, double r) {
  return x.out_half(std::isnan(r) ? kNan16 : half_from(r));
}

float fraction(float a) {  // x - floor(x), below 1 (the guide: the result is clamped to the largest
                           // value below 1)
  if (std::isinf(a)) return std::nanf("");
  return std::min(a - std::floor(a), 0x1.fffffep-1f);
}
u64 frexp_exponent(const Lane& x) {
  const float a = x.f(0);
  if (a == 0 || !std::isfinite(a)) return 0;
  int e = 0;
  std::frexp(a, &e);
  return u64(u32(e));
}
u64 frexp_mantissa(const Lane& x) {
  const float a = x.f(0);
  if (!std::isfinite(a)) return quiet32(x.u(0));
  int e = 0;
  return bits_of(std::frexp(a, &e));
}
double mul_legacy(double a, double b) { return a == 0 || b == 0 ? 0.0 : a * b; }
u64 ldexp64(const Lane& x) {
  const int e = std::clamp(x.i(1), -5000, 5000);
  const double r = std::ldexp(x.g(0), e);
  return !x.mode.out16_64() && is_tiny64(std::ldexp(static_cast<long double>(x.g(0)), e))
             ? bits_of(r) & 1ull << 63
             : bits_of(r);
}
u64 product64(const Lane& x) {
  const double r = x.g(0) * x.g(1);
  // Below the least normal number before rounding: seen on the 64-bit significand of long double.
  const bool tiny = is_tiny64(static_cast<long double>(x.g(0)) * x.g(1));
  return !x.mode.out16_64() && tiny ? bits_of(r) & 1ull << 63 : bits_of(r);
}
u64 fused(const Lane& x, float c) {
  const double wide =
      std::fma(double{x.f(0)}, x.f(1), c);  // near enough to see whether it is below 2^-126
  if (!x.out32() && is_tiny(wide)) return std::signbit(wide) ? 0x80000000u : 0;
  return bits_of(std::fma(x.f(0), x.f(1), c));
}
float mad(float a, float b, float c) {  // two roundings, denormals flushed whatever the mode says
  const auto flushed = [](float v) {
    return as_float(flushed32(static_cast<u32>(bits_of(v)), false));
  };
  return flushed(flushed(flushed(a) * flushed(b)) + flushed(c));
}

}  // namespace

const std::vector<VectorOp>& vector_float_ops() {
  static const std::vector<VectorOp> ops = {
      {"v_add_f32", kVop2, F, {F, F}, [](const Lane& x) { return x.out(x.f(0) + x.f(1)); }, kF},
      {"v_sub_f32", kVop2, F, {F, F}, [](const Lane& x) { return x.out(x.f(0) - x.f(1)); }, kF},
      {"v_subrev_f32", kVop2, F, {F, F}, [](const Lane& x) { return x.out(x.f(1) - x.f(0)); }, kF},
      {"v_mul_f32",
       kVop2,
       F,
       {F, F},
       [](const Lane& x) { return x.out_from(double{x.f(0)} * x.f(1)); },
       kF},
      {"v_mul_legacy_f32",
       kVop3,
       F,
       {F, F},
       [](const Lane& x) { return x.out_from(mul_legacy(x.f(0), x.f(1))); },
       kF},
      {"v_min_f32", kVop2, F, {F, F}, min32, kF},
      {"v_max_f32", kVop2, F, {F, F}, max32, kF},
      {"v_min3_f32", kVop3, F, {F, F, F}, min3, kF},
      {"v_max3_f32", kVop3, F, {F, F, F}, max3, kF},
      {"v_med3_f32", kVop3, F, {F, F, F}, med3, kF},
      {"v_fma_f32", kVop3, F, {F, F, F}, [](const Lane& x) { return fused(x, x.f(2)); }, kF},
      {"v_fmac_f32", kVop2, F, {F, F}, [](const Lane& x) { return fused(x, x.old_f()); }, kF},
      {"v_floor_f32", kVop2, F, {F}, [](const Lane& x) { return x.out(std::floor(x.f(0))); }, kF},
      {"v_ceil_f32", kVop2, F, {F}, [](const Lane& x) { return x.out(std::ceil(x.f(0))); }, kF},
      {"v_trunc_f32", kVop2, F, {F}, [](const Lane& x) { return x.out(std::trunc(x.f(0))); }, kF},
      {"v_rndne_f32",
       kVop2,
       F,
       {F},
       [](const Lane& x) { return x.out(std::nearbyint(x.f(0))); },
       kF},
      {"v_fract_f32", kVop2, F, {F}, [](const Lane& x) { return x.out(fraction(x.f(0))); }, kF},
      {"v_frexp_exp_i32_f32", kVop2, Kind::kU32, {F}, frexp_exponent},
      {"v_frexp_mant_f32", kVop2, F, {F}, frexp_mantissa, kF},
      {"v_ldexp_f32",
       kVop3,
       F,
       {F, X},
       [](const Lane& x) {
         return x.out_from(std::ldexp(double{x.f(0)}, std::clamp(x.i(1), -600, 600)));
       },
       kF},
      {"v_mac_f32",
       kVop2,
       F,
       {F, F},
       [](const Lane& x) { return bits_of(mad(x.f(0), x.f(1), as_float(x.d))); },
       kF,
       nullptr,
       "gfx90a"},
      {"v_mad_f32",
       kVop3,
       F,
       {F, F, F},
       [](const Lane& x) { return bits_of(mad(x.f(0), x.f(1), x.f(2))); },
       kF,
       nullptr,
       "gfx90a"},

      {"v_add_f64", kVop3, D, {D, D}, [](const Lane& x) { return x.out(x.g(0) + x.g(1)); }, kF},
      {"v_mul_f64", kVop3, D, {D, D}, [](const Lane& x) { return product64(x); }, kF},
      {"v_min_f64", kVop3, D, {D, D}, min64, kF},
      {"v_max_f64", kVop3, D, {D, D}, max64, kF},
      {"v_fma_f64",
       kVop3,
       D,
       {D, D, D},
       [](const Lane& x) { return x.out(std::fma(x.g(0), x.g(1), x.g(2))); },
       kF},
      {"v_fmac_f64",
       kE32 | kE64,
       D,
       {D, D},
       [](const Lane& x) { return x.out(std::fma(x.g(0), x.g(1), x.old_g())); },
       kF},
      {"v_floor_f64",
       kE32 | kE64,
       D,
       {D},
       [](const Lane& x) { return x.out(std::floor(x.g(0))); },
       kF},
      {"v_ceil_f64",
       kE32 | kE64,
       D,
       {D},
       [](const Lane& x) { return x.out(std::ceil(x.g(0))); },
       kF},
      {"v_trunc_f64",
       kE32 | kE64,
       D,
       {D},
       [](const Lane& x) { return x.out(std::trunc(x.g(0))); },
       kF},
      {"v_rndne_f64",
       kE32 | kE64,
       D,
       {D},
       [](const Lane& x) { return x.out(std::nearbyint(x.g(0))); },
       kF},
      {"v_ldexp_f64", kVop3, D, {D, X}, ldexp64, kF},

      {"v_add_f16",
       kVop2,
       H,
       {H, H},
       [](const Lane& x) { return half_result(x, half_value(x.h(0)) + half_value(x.h(1))); },
       kF},
      {"v_sub_f16",
       kVop2,
       H,
       {H, H},
       [](const Lane& x) { return half_result(x, half_value(x.h(0)) - half_value(x.h(1))); },
       kF},
      {"v_subrev_f16",
       kVop2,
       H,
       {H, H},
       [](const Lane& x) { return half_result(x, half_value(x.h(1)) - half_value(x.h(0))); },
       kF},
      {"v_mul_f16",
       kVop2,
       H,
       {H, H},
       [](const Lane& x) { return half_result(x, half_value(x.h(0)) * half_value(x.h(1))); },
       kF},
      {"v_min_f16", kVop2, H, {H, H}, half_min, kF},
      {"v_max_f16", kVop2, H, {H, H}, half_max, kF},
      // The gfx9 opcode (unlike v_fma_legacy_f16) keeps the other half of the destination.
      {"v_fma_f16",
       kVop3,
       H,
       {H, H, H},
       [](const Lane& x) {
         return (x.d & 0xffff0000u) | x.out_half(half_fma(x.h(0), x.h(1), x.h(2)));
       },
       kF},
  };
  return ops;
}

TEST(VectorFloat, FollowsTheIsaGuide) { check(vector_float_ops()); }

}  // namespace attest::emulator::opcode_tests
