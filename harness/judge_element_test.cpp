// The rule for one element, fed with lies: NaN of every payload, inf, one ulp beyond, bounds that
// are no numbers.
#include "harness/judge_element.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "harness/core/random.hpp"

namespace attest {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

std::uint32_t fp32(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }
std::uint32_t bf16(double value) { return encode_bf16(value); }

bool accepts(Stored stored, std::uint32_t bits, double expected, double bound) {
  return fault_of(stored, bits, expected, bound) == Fault::kNone;
}

TEST(JudgeElement, AcceptsTheRoundedEndsOfABf16BoundAndNothingBeyond) {
  for (const double expected : {0.7, -3.1, 1.0, 0.0, 1e-40, 250.0, -0.99999}) {
    for (const double bound : {0.0, 1e-12, 1e-3, 0.3}) {
      const std::uint16_t high = encode_bf16(expected + bound), low = encode_bf16(expected - bound);
      EXPECT_TRUE(accepts(Stored::kBf16, high, expected, bound)) << expected << " " << bound;
      EXPECT_TRUE(accepts(Stored::kBf16, low, expected, bound)) << expected << " " << bound;
      const std::uint16_t above = decode_bf16(high) >= 0 ? (high & 0x7fff) + 1 : high - 1;
      const std::uint16_t below = decode_bf16(low) > 0 ? low - 1 : ((low & 0x7fff) | 0x8000) + 1;
      EXPECT_FALSE(accepts(Stored::kBf16, above, expected, bound)) << expected << " " << bound;
      EXPECT_FALSE(accepts(Stored::kBf16, below, expected, bound)) << expected << " " << bound;
    }
  }
}

TEST(JudgeElement, AcceptsEveryBf16ThatABoundHoldsAndNoOther) {
  const double expected = 1.003, bound = 0.0137;  // both sides of a power of two
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const double value = decode_bf16(static_cast<std::uint16_t>(code));
    const bool inside = value >= decode_bf16(encode_bf16(expected - bound)) &&
                        value <= decode_bf16(encode_bf16(expected + bound));
    ASSERT_EQ(accepts(Stored::kBf16, code, expected, bound), inside) << value;
  }
}

// Between a code and its neighbours lie the midpoints that decide where an end is rounded to; at a
// power of two the lower one is nearer.
TEST(JudgeElement, AcceptsABf16OnlyIfAnEndReachesItsMidpoint) {
  for (const double actual : {1.0, 1.0 + 0x1p-7, 1.9921875, 2.0, 0.75, 0x1p-60, 3 * 0x1p50}) {
    const std::uint16_t code = encode_bf16(actual);
    const double above = (decode_bf16(code + 1) - actual) / 2;
    const double below = (actual - decode_bf16(code - 1)) / 2;
    for (const double bound : {above / 8, above * 8}) {
      const double hair = above * 0x1p-20;
      EXPECT_TRUE(accepts(Stored::kBf16, code, actual + above + bound - hair, bound));
      EXPECT_FALSE(accepts(Stored::kBf16, code, actual + above + bound + hair, bound)) << actual;
      EXPECT_TRUE(accepts(Stored::kBf16, code, actual - below - bound + hair, bound));
      EXPECT_FALSE(accepts(Stored::kBf16, code, actual - below - bound - hair, bound)) << actual;
      // Truncation keeps all of [actual, next).
      EXPECT_TRUE(accepts(Stored::kBf16Truncated, code, actual + 2 * above + bound - hair, bound));
      EXPECT_FALSE(accepts(Stored::kBf16Truncated, code, actual + 2 * above + bound + hair, bound));
      EXPECT_TRUE(accepts(Stored::kBf16Truncated, code, actual - bound, bound));
      EXPECT_FALSE(accepts(Stored::kBf16Truncated, code, actual - bound - hair, bound));
    }
  }
}

TEST(JudgeElement, SkipsARatioOnlyIfItIsNotLarger) {
  const Stream stream = stream_of(Seed{3}, Tensor::kPlan);
  for (int i = 0; i < 20000; ++i) {
    const double expected = 4 * stream.uniform(5 * i) - 2, bound = 0.01 * stream.uniform(5 * i + 1);
    const double actual =
        decode_bf16(encode_bf16(expected + 0.04 * (stream.uniform(5 * i + 2) - 0.5)));
    const double known = 3 * stream.uniform(5 * i + 3);
    for (const Stored stored : {Stored::kBf16, Stored::kBf16Truncated, Stored::kFp32}) {
      const bool larger = ratio_of(stored, actual, expected, bound) > known;
      ASSERT_TRUE(!larger || ratio_may_exceed(known, stored, actual, expected, bound)) << i;
    }
  }
}

TEST(JudgeElement, RejectsFp32OneUlpBeyondTheBound) {
  const float expected = 3.25f, bound = 0x1p-10f;
  const float edge = expected + bound;
  EXPECT_TRUE(accepts(Stored::kFp32, fp32(edge), expected, bound));
  EXPECT_FALSE(accepts(Stored::kFp32, fp32(std::nextafter(edge, 9.f)), expected, bound));
  EXPECT_TRUE(accepts(Stored::kFp32, fp32(expected - bound), expected, bound));
  EXPECT_FALSE(
      accepts(Stored::kFp32, fp32(std::nextafter(expected - bound, 0.f)), expected, bound));
}

TEST(JudgeElement, RejectsEveryNan) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const float value = decode_bf16(static_cast<std::uint16_t>(code));
    if (!std::isnan(value)) continue;
    for (const double expected : {0.0, 1.0, kInfinity, -kInfinity, kNan}) {
      for (const double bound : {0.0, 1e30, kInfinity, kNan}) {
        ASSERT_FALSE(accepts(Stored::kBf16, code, expected, bound)) << code;
        ASSERT_FALSE(accepts(Stored::kFp32, code << 16 | 1, expected, bound)) << code;
      }
    }
  }
}

TEST(JudgeElement, RejectsInfWhereFiniteIsExpectedHoweverWideTheBound) {
  for (const double bound : {1.0, 1e39, kInfinity}) {
    EXPECT_EQ(fault_of(Stored::kBf16, 0x7f80, 1, bound), Fault::kNonFinite);
    EXPECT_EQ(fault_of(Stored::kFp32, 0xff800000, 1, bound), Fault::kNonFinite);
  }
}

TEST(JudgeElement, TakesMinusInfOnlyWhereItIsExpected) {
  EXPECT_TRUE(accepts(Stored::kFp32, 0xff800000, -kInfinity, 0));
  EXPECT_FALSE(accepts(Stored::kFp32, 0x7f800000, -kInfinity, 0));
  EXPECT_FALSE(accepts(Stored::kFp32, fp32(-3e38), -kInfinity, 1e38));
  EXPECT_FALSE(accepts(Stored::kFp32, 0xff800000, -3e38, 1e38));
}

TEST(JudgeElement, RejectsUnderABoundThatIsNoNumber) {
  for (const double bound : {kNan, -1e-30, -kInfinity}) {
    EXPECT_EQ(fault_of(Stored::kFp32, fp32(1), 1, bound), Fault::kWrong);
    EXPECT_EQ(fault_of(Stored::kBf16, bf16(1), 1, bound), Fault::kWrong);
    EXPECT_EQ(ratio_of(Stored::kBf16, 2, 1, bound), kInfinity);
  }
  EXPECT_EQ(fault_of(Stored::kFp32, fp32(1), kNan, 1), Fault::kWrong);
}

TEST(JudgeElement, TakesZeroOfEitherSign) {
  EXPECT_TRUE(accepts(Stored::kBf16, 0x8000, 0, 0));
  EXPECT_TRUE(accepts(Stored::kBf16, 0x0000, 0, 0));
  EXPECT_FALSE(accepts(Stored::kBf16, 0x0001, 0, 0));
  EXPECT_FALSE(accepts(Stored::kBf16, 0x8001, 0, 0));
}

TEST(JudgeElement, KnowsThePoison) {
  EXPECT_EQ(fault_of(Stored::kBf16, kPoison16, 0, 1), Fault::kUnwritten);
  EXPECT_EQ(fault_of(Stored::kFp32, kPoison32, 0, 1), Fault::kUnwritten);
  EXPECT_EQ(fault_of(Stored::kBf16, kPoison16 ^ 1, 0, 1), Fault::kNonFinite);
  EXPECT_TRUE(std::isnan(value_of(Stored::kBf16, kPoison16)));
  EXPECT_TRUE(std::isnan(value_of(Stored::kFp32, kPoison32)));
}

}  // namespace
}  // namespace attest
