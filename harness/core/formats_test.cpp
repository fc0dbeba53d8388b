// Every code of every format, against values stated apart from the codec: the table of the OCP and
// AMD specifications, and neighbours with their midpoints for rounding.
#include "harness/core/formats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace attest {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Fp8 kFn = Fp8::kE4m3fn, kFnuz = Fp8::kE4m3fnuz;

// Value -> code of the finite values of a format, built by counting up its grid rather than by
// taking bits apart.
std::map<double, int> grid(double least, double largest, int per_binade) {
  std::map<double, int> codes;
  double value = 0, step = least;
  for (int code = 0; value <= largest; ++code, value += step) {
    codes[value] = code;
    if (code >= 2 * per_binade && code % per_binade == 0) step *= 2;
  }
  return codes;
}

void expect_rounds_between(const std::map<double, int>& codes, auto encode_nearest,
                           auto encode_rtz) {
  for (auto low = codes.begin(), high = std::next(low); high != codes.end(); ++low, ++high) {
    const double middle = (low->first + high->first) / 2;  // exact: one bit more than the format
    const int even = low->second % 2 == 0 ? low->second : high->second;
    ASSERT_EQ(encode_nearest(low->first), low->second);
    ASSERT_EQ(encode_nearest(middle), even) << middle;
    ASSERT_EQ(encode_nearest(std::nextafter(middle, 0.0)), low->second) << middle;
    ASSERT_EQ(encode_nearest(std::nextafter(middle, kInf)), high->second) << middle;
    ASSERT_EQ(encode_rtz(std::nextafter(high->first, 0.0)), low->second) << middle;
    ASSERT_EQ(encode_rtz(high->first), high->second);
  }
}

TEST(Bf16, DecodesEveryCodeAsTheHighHalfOfAFloat) {
  for (int code = 0; code < 65536; ++code) {
    const float value = decode_bf16(static_cast<std::uint16_t>(code));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), static_cast<std::uint32_t>(code) << 16);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(decode_bf16(encode_bf16(value))));
    } else {
      ASSERT_EQ(encode_bf16(value), code);
      ASSERT_EQ(encode_bf16(value, Rounding::kTowardZero), code);
      ASSERT_EQ(convert_bf16(value, Bf16Conversion::kNearestQuiet), code);
    }
  }
}

TEST(Bf16, RoundsToTheNearestOfEveryTwoNeighboursAndTiesToEven) {
  const auto codes = grid(0x1p-133, decode_bf16(0x7F7F), 128);
  ASSERT_EQ(codes.size(), 0x7F80u);
  ASSERT_EQ(codes.begin()->second, 0);
  ASSERT_EQ(static_cast<float>(codes.rbegin()->first), decode_bf16(0x7F7F));
  expect_rounds_between(
      codes, [](double v) { return encode_bf16(v); },
      [](double v) { return encode_bf16(v, Rounding::kTowardZero); });
}

TEST(Bf16, OverflowsToInfAtHalfAnUlpBeyondTheLargestAndOnlyWhenRoundingToNearest) {
  const double edge = static_cast<double>(decode_bf16(0x7F7F)) + 0x1p119;
  EXPECT_EQ(encode_bf16(edge), 0x7F80);
  EXPECT_EQ(encode_bf16(-edge), 0xFF80);
  EXPECT_EQ(encode_bf16(std::nextafter(edge, 0.0)), 0x7F7F);
  EXPECT_EQ(encode_bf16(1e300, Rounding::kTowardZero), 0x7F7F);
  EXPECT_EQ(encode_bf16(-kInf), 0xFF80);
  EXPECT_EQ(encode_bf16(-0.0), 0x8000);
}

TEST(Bf16, BitTrickOfKernelsAgreesWithTheCodecOnTiesAndNeighbours) {
  for (std::uint32_t high = 0; high < 0xFF80; ++high) {
    if ((high & 0x7F80) == 0x7F80) continue;
    for (std::uint32_t low : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      const float value = std::bit_cast<float>(high << 16 | low);
      ASSERT_EQ(convert_bf16(value, Bf16Conversion::kNearestQuiet), encode_bf16(value));
      ASSERT_EQ(convert_bf16(value, Bf16Conversion::kTruncatePlain),
                encode_bf16(value, Rounding::kTowardZero));
    }
  }
}

TEST(Bf16, ConversionsDifferOnNanAsNamed) {
  const auto signalling = std::bit_cast<float>(0x7F800001u),
             full = std::bit_cast<float>(0x7FFFFFFFu);
  EXPECT_EQ(convert_bf16(signalling, Bf16Conversion::kNearestQuiet), 0x7FC0);
  EXPECT_EQ(convert_bf16(signalling, Bf16Conversion::kNearestSetLowBit), 0x7F81);
  EXPECT_EQ(convert_bf16(signalling, Bf16Conversion::kNearestOneNan), 0x7FFF);
  EXPECT_EQ(convert_bf16(signalling, Bf16Conversion::kTruncateKeepNan), 0x7F81);
  EXPECT_EQ(convert_bf16(signalling, Bf16Conversion::kTruncatePlain),
            0x7F80);                                                     // inf: the known defect
  EXPECT_EQ(convert_bf16(full, Bf16Conversion::kNearestQuiet), 0x7FFF);  // not 0x8000
}

TEST(Bf16, HalfUlpIsTheDistanceToTheMidpointAndIsLargestAtThePowerOfTwo) {
  EXPECT_EQ(half_ulp_bf16(1.0), 0x1p-8);
  EXPECT_EQ(half_ulp_bf16(std::nextafter(2.0, 0.0)), 0x1p-8);
  EXPECT_EQ(half_ulp_bf16(2.0), 0x1p-7);
  EXPECT_EQ(half_ulp_bf16(0.0), 0x1p-134);
  EXPECT_EQ(half_ulp_bf16(0x1p-133), 0x1p-134);
}

TEST(Fp8, DecodesEveryCodeToTheTableOfItsSpecification) {
  const auto fn = grid(0x1p-9, 448, 8), fnuz = grid(0x1p-10, 240, 8);
  ASSERT_EQ(fn.size(), 127u);
  ASSERT_EQ(fnuz.size(), 128u);
  for (const auto& [value, code] : fn) {
    ASSERT_EQ(decode_fp8(static_cast<std::uint8_t>(code), kFn), value);
    ASSERT_EQ(decode_fp8(static_cast<std::uint8_t>(code | 0x80), kFn), -value);
  }
  for (const auto& [value, code] : fnuz) {
    ASSERT_EQ(decode_fp8(static_cast<std::uint8_t>(code), kFnuz), value);
    if (code != 0) ASSERT_EQ(decode_fp8(static_cast<std::uint8_t>(code | 0x80), kFnuz), -value);
  }
  EXPECT_TRUE(std::isnan(decode_fp8(0x7F, kFn)));
  EXPECT_TRUE(std::isnan(decode_fp8(0xFF, kFn)));
  EXPECT_TRUE(std::isnan(decode_fp8(0x80, kFnuz)));
  EXPECT_TRUE(std::signbit(decode_fp8(0x80, kFn)));
}

TEST(Fp8, TheSameCodeIsTwiceAsMuchInFnAsInFnuz) {
  for (int code = 1; code < 0x7F; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    ASSERT_EQ(decode_fp8(byte, kFn), 2 * decode_fp8(byte, kFnuz));
  }
}

TEST(Fp8, RoundsToTheNearestOfEveryTwoNeighboursAndTiesToEven) {
  for (const Fp8 format : {kFn, kFnuz}) {
    expect_rounds_between(
        format == kFn ? grid(0x1p-9, 448, 8) : grid(0x1p-10, 240, 8),
        [&](double v) { return encode_fp8(v, format); },
        [&](double v) { return encode_fp8(v, format, Fp8Overflow::kNan, Rounding::kTowardZero); });
  }
}

TEST(Fp8, EveryNegativeMirrorsItsPositiveAndFnuzHasNoMinusZero) {
  for (int code = 1; code < 0x7F; ++code) {
    for (const Fp8 format : {kFn, kFnuz}) {
      const double value = decode_fp8(static_cast<std::uint8_t>(code), format);
      ASSERT_EQ(encode_fp8(-value, format), code | 0x80);
    }
  }
  EXPECT_EQ(encode_fp8(-0.0, kFn), 0x80);
  EXPECT_EQ(encode_fp8(-0x1p-20, kFn), 0x80);
  EXPECT_EQ(encode_fp8(-0.0, kFnuz), 0x00);
  EXPECT_EQ(encode_fp8(-0x1p-20, kFnuz), 0x00);
}

TEST(Fp8, OverflowVariantsDifferAsNamed) {
  struct Row {
    double value;
    int saturate, nan, hip_saturate, hip_nan;
  };
  for (const Row& r : {Row{448, 0x7E, 0x7E, 0x7E, 0x7E}, Row{449, 0x7E, 0x7E, 0x7E, 0x7F},
                       Row{464, 0x7E, 0x7E, 0x7E, 0x7F}, Row{464.01, 0x7E, 0x7F, 0x7E, 0x7F},
                       Row{-1e9, 0xFE, 0xFF, 0xFE, 0xFF}, Row{kInf, 0x7E, 0x7F, 0x7F, 0x7F}}) {
    EXPECT_EQ(encode_fp8(r.value, kFn, Fp8Overflow::kSaturate), r.saturate) << r.value;
    EXPECT_EQ(encode_fp8(r.value, kFn, Fp8Overflow::kNan), r.nan) << r.value;
    EXPECT_EQ(encode_fp8(r.value, kFn, Fp8Overflow::kHipSaturate), r.hip_saturate) << r.value;
    EXPECT_EQ(encode_fp8(r.value, kFn, Fp8Overflow::kHipNanBeforeRound), r.hip_nan) << r.value;
  }
  EXPECT_EQ(encode_fp8(247.9, kFnuz, Fp8Overflow::kNan), 0x7F);
  EXPECT_EQ(encode_fp8(248, kFnuz, Fp8Overflow::kNan),
            0x80);  // the tie goes to the even code, which is the NaN's
  EXPECT_EQ(encode_fp8(-248, kFnuz, Fp8Overflow::kSaturate), 0xFF);
  EXPECT_EQ(encode_fp8(240.1, kFnuz, Fp8Overflow::kHipNanBeforeRound), 0x80);
  EXPECT_EQ(encode_fp8(NAN, kFnuz), 0x80);
}

TEST(E8m0, DecodesEveryCodeAndTheVariantsDifferOnlyAtTheEnds) {
  for (int code = 1; code < 255; ++code) {
    for (auto variant :
         {E8m0Decode::kOcp, E8m0Decode::kCk, E8m0Decode::kZero, E8m0Decode::kShift}) {
      ASSERT_EQ(decode_e8m0(static_cast<std::uint8_t>(code), variant), std::pow(2.0, code - 127));
    }
  }
  EXPECT_EQ(decode_e8m0(0), 0x1p-127f);
  EXPECT_EQ(decode_e8m0(0, E8m0Decode::kCk), 0x1p-126f);
  EXPECT_EQ(decode_e8m0(0, E8m0Decode::kZero), 0.0f);
  EXPECT_EQ(decode_e8m0(0, E8m0Decode::kShift), 0.0f);
  EXPECT_TRUE(std::isnan(decode_e8m0(255)));
  EXPECT_TRUE(std::isinf(decode_e8m0(255, E8m0Decode::kShift)));
}

TEST(E8m0, EncodesEveryPowerExactlyAndTheNextValueUpOrDown) {
  for (int code = 0; code < 255; ++code) {
    const double value = std::pow(2.0, code - 127);
    for (auto rounding : {E8m0Rounding::kUp, E8m0Rounding::kDown}) {
      ASSERT_EQ(encode_e8m0(value, rounding), code);
    }
    const double above = std::nextafter(value, kInf);
    ASSERT_EQ(encode_e8m0(above, E8m0Rounding::kUp), std::min(code + 1, 254));
    ASSERT_EQ(encode_e8m0(above, E8m0Rounding::kDown), code);
  }
  EXPECT_EQ(encode_e8m0(0), 0);
  EXPECT_EQ(encode_e8m0(kInf), 254);
  EXPECT_EQ(encode_e8m0(NAN), 255);
}

TEST(E8m0, FlashMlaQuantiserNeverGoesBelowCode114) {
  EXPECT_EQ(flashmla_scale_code(0), 114);
  EXPECT_EQ(flashmla_scale_code(448), 127);
  EXPECT_EQ(flashmla_scale_code(449), 128);
}

}  // namespace
}  // namespace attest
