#include "reference/model/units.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/core/formats.hpp"
#include "harness/core/random.hpp"

namespace attest::model {
namespace {

constexpr Transcendental kModes[] = {Transcendental::kNearest, Transcendental::kHigh,
                                     Transcendental::kLow, Transcendental::kRandom};

Units units(Transcendental mode, Arithmetic arithmetic = {}) {
  ModelOptions options;
  options.transcendental = mode;
  return Units(arithmetic, options);
}

// The largest and the smallest relative error over some arguments, in units of 2^-23.
struct Errors {
  double high = -1e9, low = 1e9;
  void add(double actual, double exact) {
    const double error = (actual / exact - 1) * 0x1p23;
    high = std::max(high, error);
    low = std::min(low, error);
  }
};

constexpr Stream kArguments{99};

Errors errors_of_exp2(const Units& u) {
  Errors errors;
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<float>(-125 * kArguments.uniform(i));
    errors.add(u.exp2(x), std::exp2(double{x}));
  }
  return errors;
}

TEST(Units, OfEveryModeStayWithinTheDeclaredUlpsAndReachThem) {
  for (const double ulp : {1.0, 2.0, 3.5}) {
    for (const Transcendental mode : kModes) {
      const Errors errors = errors_of_exp2(units(mode, {.exp_ulp = ulp}));
      EXPECT_LE(errors.high, ulp);
      EXPECT_GE(errors.low, -ulp);
      if (mode == Transcendental::kHigh) EXPECT_GT(errors.high, 0.99 * ulp);
      if (mode == Transcendental::kHigh) EXPECT_GT(errors.low, ulp - 1.01);
      if (mode == Transcendental::kLow) EXPECT_LT(errors.low, -0.99 * ulp);
      if (mode == Transcendental::kLow) EXPECT_LT(errors.high, 1.01 - ulp);
      if (mode == Transcendental::kRandom) EXPECT_GT(errors.high, 0.9 * ulp - 0.1);
      if (mode == Transcendental::kRandom) EXPECT_LT(errors.low, 0.1 - 0.9 * ulp);
    }
  }
}

TEST(Units, Log2AndDivisionStayWithinTheirs) {
  for (const Transcendental mode : kModes) {
    const Units u = units(mode, {.log_ulp = 2, .divide_u = 3});
    Errors log, quotient;
    for (int i = 0; i < 20000; ++i) {
      const auto x = static_cast<float>(1 + 65535 * kArguments.uniform(i));
      if (x != 1) log.add(u.log2(x), std::log2(double{x}));
      quotient.add(u.divide(0.7f, x), double{0.7f} / double{x});
    }
    EXPECT_LE(std::max(log.high, -log.low), 2);
    EXPECT_LE(std::max(quotient.high, -quotient.low), 1.5 * (1 + 0x1p-20));  // divide_u / 2
    if (mode == Transcendental::kHigh) EXPECT_GT(quotient.high, 1.3);
  }
}

TEST(Units, AreExactWhereAKernelReliesOnIt) {
  for (const Transcendental mode : kModes) {
    const Units u = units(mode, {.exp_ulp = 4, .log_ulp = 4});
    EXPECT_EQ(u.exp2(0), 1);
    EXPECT_EQ(u.exp2(-0.0f), 1);
    EXPECT_EQ(u.log2(1), 0);
    EXPECT_EQ(u.exp2(-INFINITY), 0);
    EXPECT_EQ(u.exp2(-126.001f), 0);  // below 2^-126
    EXPECT_GE(u.exp2(-126), 0x1p-126f);
  }
}

TEST(Units, DivideOnceWhereTheDeclarationLeavesNoRoomForMore) {
  const Units exact = units(Transcendental::kHigh, {.divide_u = 1});
  ModelOptions ieee;
  ieee.ieee_division = true;
  EXPECT_EQ(exact.divide(1, 3), 1.0f / 3);
  EXPECT_EQ(Units({}, ieee).divide(1, 3), 1.0f / 3);
  EXPECT_NE(units(Transcendental::kHigh).divide(1, 3), 1.0f / 3);
}

TEST(PFormat, AgreesWithTheCodecsOfBf16AndFp8) {
  struct Case {
    Arithmetic arithmetic;
    float (*codec)(float, Rounding);
  };
  const auto bf16 = [](float p, Rounding r) { return decode_bf16(encode_bf16(p, r)); };
  const auto fn = [](float p, Rounding r) {
    return decode_fp8(encode_fp8(p, Fp8::kE4m3fn, Fp8Overflow::kSaturate, r), Fp8::kE4m3fn);
  };
  const auto fnuz = [](float p, Rounding r) {
    return decode_fp8(encode_fp8(p, Fp8::kE4m3fnuz, Fp8Overflow::kSaturate, r), Fp8::kE4m3fnuz);
  };
  const Case cases[] = {{{}, bf16},
                        {{.p_bits = 4, .p_min_exponent = -6, .p_largest = 448}, fn},
                        {{.p_bits = 4, .p_min_exponent = -7, .p_largest = 240}, fnuz}};
  for (const Case& c : cases) {
    for (const bool truncates : {false, true}) {
      Arithmetic arithmetic = c.arithmetic;
      arithmetic.p_truncates = truncates;
      const PFormat format(arithmetic);
      const Rounding rounding = truncates ? Rounding::kTowardZero : Rounding::kNearestEven;
      for (int i = 0; i < 200000; ++i) {
        auto p = static_cast<float>(std::exp2(-30 + 40 * kArguments.uniform(2 * i)));
        // Every other one close to a tie: few bits, and one below them.
        if (i % 2 == 0)
          p = std::nextafter(std::ldexp(std::round(std::ldexp(p, 14)), -14),
                             i % 4 == 0 ? 0.0f : 1e9f);
        ASSERT_EQ(format.round(p), c.codec(p, rounding)) << p << " " << truncates;
      }
      for (const float tie :
           {0x1p-10f, 0x1p-11f, 0x1.8p-9f, 1 + 0x1p-8f, 1 + 0x1.8p-7f, 1.0625f, 464.0f, 0.0f})
        ASSERT_EQ(format.round(tie), c.codec(tie, rounding)) << tie;
    }
  }
}

}  // namespace
}  // namespace attest::model
