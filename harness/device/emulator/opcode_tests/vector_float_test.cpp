// f32, f64 and f16 arithmetic of VOP1, VOP2 and VOP3. Rules: CDNA3 ISA guide, "Vector ALU
// instructions".
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfenv>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind kF = Kind::kF32, kD = Kind::kF64, kH = Kind::kF16, kX = Kind::kExp;
constexpr Match kAnyNan = Match::kFloat;

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

const std::vector<VectorOp> kOps = {
    {"v_add_f32",
     kVop2,
     kF,
     {kF, kF},
     [](const Lane& x) { return x.out(x.f(0) + x.f(1)); },
     kAnyNan},
    {"v_sub_f32",
     kVop2,
     kF,
     {kF, kF},
     [](const Lane& x) { return x.out(x.f(0) - x.f(1)); },
     kAnyNan},
    {"v_subrev_f32",
     kVop2,
     kF,
     {kF, kF},
     [](const Lane& x) { return x.out(x.f(1) - x.f(0)); },
     kAnyNan},
    {"v_mul_f32",
     kVop2,
     kF,
     {kF, kF},
     [](const Lane& x) { return x.out_from(double{x.f(0)} * x.f(1)); },
     kAnyNan},
    {"v_mul_legacy_f32",
     kVop3,
     kF,
     {kF, kF},
     [](const Lane& x) { return x.out_from(mul_legacy(x.f(0), x.f(1))); },
     kAnyNan},
    {"v_min_f32", kVop2, kF, {kF, kF}, min32, kAnyNan},
    {"v_max_f32", kVop2, kF, {kF, kF}, max32, kAnyNan},
    {"v_min3_f32", kVop3, kF, {kF, kF, kF}, min3, kAnyNan},
    {"v_max3_f32", kVop3, kF, {kF, kF, kF}, max3, kAnyNan},
    {"v_med3_f32", kVop3, kF, {kF, kF, kF}, med3, kAnyNan},
    {"v_fma_f32", kVop3, kF, {kF, kF, kF}, [](const Lane& x) { return fused(x, x.f(2)); }, kAnyNan},
    {"v_fmac_f32", kVop2, kF, {kF, kF}, [](const Lane& x) { return fused(x, x.old_f()); }, kAnyNan},
    {"v_floor_f32",
     kVop2,
     kF,
     {kF},
     [](const Lane& x) { return x.out(std::floor(x.f(0))); },
     kAnyNan},
    {"v_ceil_f32",
     kVop2,
     kF,
     {kF},
     [](const Lane& x) { return x.out(std::ceil(x.f(0))); },
     kAnyNan},
    {"v_trunc_f32",
     kVop2,
     kF,
     {kF},
     [](const Lane& x) { return x.out(std::trunc(x.f(0))); },
     kAnyNan},
    {"v_rndne_f32",
     kVop2,
     kF,
     {kF},
     [](const Lane& x) { return x.out(std::nearbyint(x.f(0))); },
     kAnyNan},
    {"v_fract_f32",
     kVop2,
     kF,
     {kF},
     [](const Lane& x) { return x.out(fraction(x.f(0))); },
     kAnyNan},
    {"v_frexp_exp_i32_f32", kVop2, Kind::kU32, {kF}, frexp_exponent},
    {"v_frexp_mant_f32", kVop2, kF, {kF}, frexp_mantissa, kAnyNan},
    {"v_ldexp_f32",
     kVop3,
     kF,
     {kF, kX},
     [](const Lane& x) {
       return x.out_from(std::ldexp(double{x.f(0)}, std::clamp(x.i(1), -600, 600)));
     },
     kAnyNan},
    {"v_mac_f32",
     kVop2,
     kF,
     {kF, kF},
     [](const Lane& x) { return bits_of(mad(x.f(0), x.f(1), as_float(x.d))); },
     kAnyNan,
     nullptr,
     "gfx90a"},
    {"v_mad_f32",
     kVop3,
     kF,
     {kF, kF, kF},
     [](const Lane& x) { return bits_of(mad(x.f(0), x.f(1), x.f(2))); },
     kAnyNan,
     nullptr,
     "gfx90a"},

    {"v_add_f64",
     kVop3,
     kD,
     {kD, kD},
     [](const Lane& x) { return x.out(x.g(0) + x.g(1)); },
     kAnyNan},
    {"v_mul_f64", kVop3, kD, {kD, kD}, [](const Lane& x) { return product64(x); }, kAnyNan},
    {"v_min_f64", kVop3, kD, {kD, kD}, min64, kAnyNan},
    {"v_max_f64", kVop3, kD, {kD, kD}, max64, kAnyNan},
    {"v_fma_f64",
     kVop3,
     kD,
     {kD, kD, kD},
     [](const Lane& x) { return x.out(std::fma(x.g(0), x.g(1), x.g(2))); },
     kAnyNan},
    {"v_fmac_f64",
     kE32 | kE64,
     kD,
     {kD, kD},
     [](const Lane& x) { return x.out(std::fma(x.g(0), x.g(1), x.old_g())); },
     kAnyNan},
    {"v_floor_f64",
     kE32 | kE64,
     kD,
     {kD},
     [](const Lane& x) { return x.out(std::floor(x.g(0))); },
     kAnyNan},
    {"v_ceil_f64",
     kE32 | kE64,
     kD,
     {kD},
     [](const Lane& x) { return x.out(std::ceil(x.g(0))); },
     kAnyNan},
    {"v_trunc_f64",
     kE32 | kE64,
     kD,
     {kD},
     [](const Lane& x) { return x.out(std::trunc(x.g(0))); },
     kAnyNan},
    {"v_rndne_f64",
     kE32 | kE64,
     kD,
     {kD},
     [](const Lane& x) { return x.out(std::nearbyint(x.g(0))); },
     kAnyNan},
    {"v_ldexp_f64", kVop3, kD, {kD, kX}, ldexp64, kAnyNan},

    {"v_add_f16",
     kVop2,
     kH,
     {kH, kH},
     [](const Lane& x) { return half_result(x, half_value(x.h(0)) + half_value(x.h(1))); },
     kAnyNan},
    {"v_sub_f16",
     kVop2,
     kH,
     {kH, kH},
     [](const Lane& x) { return half_result(x, half_value(x.h(0)) - half_value(x.h(1))); },
     kAnyNan},
    {"v_subrev_f16",
     kVop2,
     kH,
     {kH, kH},
     [](const Lane& x) { return half_result(x, half_value(x.h(1)) - half_value(x.h(0))); },
     kAnyNan},
    {"v_mul_f16",
     kVop2,
     kH,
     {kH, kH},
     [](const Lane& x) { return half_result(x, half_value(x.h(0)) * half_value(x.h(1))); },
     kAnyNan},
    {"v_min_f16", kVop2, kH, {kH, kH}, half_min, kAnyNan},
    {"v_max_f16", kVop2, kH, {kH, kH}, half_max, kAnyNan},
    // The gfx9 opcode (unlike v_fma_legacy_f16) keeps the other half of the destination.
    {"v_fma_f16",
     kVop3,
     kH,
     {kH, kH, kH},
     [](const Lane& x) {
       return (x.d & 0xffff0000u) | x.out_half(half_fma(x.h(0), x.h(1), x.h(2)));
     },
     kAnyNan},
};

}  // namespace

const std::vector<VectorOp>& vector_float_ops() { return kOps; }

TEST(VectorFloat, FollowsTheIsaGuide) { check(vector_float_ops()); }

namespace {

// FP_ROUND of MODE, f32 in bits 1:0 and f64 in 3:2: nearest even, up, down, toward zero.
constexpr int kHostRounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

// The host's sum, product and fma of two volatile operands in that rounding.
template <class T>
std::array<T, 3> rounded(int rounding, T a, T b) {
  const volatile T x = a, y = b;
  std::fesetround(rounding);
  const volatile T sum = x + y, product = x * y, fused = std::fma(T{x}, T{y}, T{x});
  std::fesetround(FE_TONEAREST);
  return {sum, product, fused};
}

}  // namespace

TEST(VectorFloat, RoundsAsModeSays) {
  for (u32 r = 0; r < 4; ++r) {
    WaveState state;
    state.mode = 0x3f0 | r | ((r + 1) % 4) << 2;
    for (unsigned lane = 0; lane < 64; ++lane) {
      state.vgpr[lane] = static_cast<u32>(bits_of(1.0f / static_cast<float>(lane + 3)));
      state.vgpr[64 + lane] = static_cast<u32>(bits_of(-0.7f * static_cast<float>(lane + 1)));
      const u64 wide = bits_of(1.0 / (lane + 3)), other = bits_of(-0.7 * (lane + 1));
      for (int k = 0; k < 2; ++k) {
        state.vgpr[(2 + k) * 64 + lane] = static_cast<u32>(wide >> (32 * k));
        state.vgpr[(4 + k) * 64 + lane] = static_cast<u32>(other >> (32 * k));
      }
    }
    const WaveState before = state;
    Memory memory;
    const Outcome outcome = run_snippet(
        "v_add_f32 v8, v0, v1\nv_mul_f32 v9, v0, v1\nv_fma_f32 v10, v0, v1, v0\n"
        "v_add_f64 v[12:13], v[2:3], v[4:5]\nv_mul_f64 v[14:15], v[2:3], v[4:5]\n"
        "v_fma_f64 v[16:17], v[2:3], v[4:5], v[2:3]",
        "gfx942", memory, state);
    ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
    for (unsigned lane = 0; lane < 64; ++lane) {
      const auto at = [&](int reg) {
        return before.vgpr[reg * 64 + lane] | u64{before.vgpr[(reg + 1) * 64 + lane]} << 32;
      };
      const auto narrow = rounded(kHostRounding[r], as_float(at(0)), as_float(at(1)));
      const auto wide = rounded(kHostRounding[(r + 1) % 4], as_double(at(2)), as_double(at(4)));
      for (int k = 0; k < 3; ++k) {
        EXPECT_EQ(as_float(state.vgpr[(8 + k) * 64 + lane]), narrow[k]) << r << " " << k;
        const int reg = 12 + 2 * k;
        const u64 got = state.vgpr[reg * 64 + lane] | u64{state.vgpr[(reg + 1) * 64 + lane]} << 32;
        EXPECT_EQ(as_double(got), wide[k]) << r << " " << k;
      }
    }
  }
}

}  // namespace attest::emulator::opcode_tests
