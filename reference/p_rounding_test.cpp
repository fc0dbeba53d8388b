#include "reference/p_rounding.hpp"

#include <gtest/gtest.h>

#include "harness/core/contract.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

double rounded(const Arithmetic& a, double p) { return p_rounding(a)(splat(p))[3]; }

// Both sides of every boundary between two codes: the boundary itself, and one step beyond.
template <class Check>
void at_boundaries(double low, double high, const Check& check) {
  for (const double p : {low, (low + high) / 2, std::nextafter((low + high) / 2, 0.0),
                         std::nextafter((low + high) / 2, high), std::nextafter(high, 0.0), high})
    check(p);
}

TEST(PRounding, IsTheCodecOfBf16AtEveryBoundaryUpToOne) {
  for (const Rounding rounding : {Rounding::kNearestEven, Rounding::kTowardZero}) {
    const Arithmetic a{.p_truncates = rounding == Rounding::kTowardZero};
    for (std::uint16_t code = 0; code < 0x3F80; code += code < 0x100 ? 1 : 7) {
      const double low = decode_bf16(code), high = decode_bf16(code + 1);
      at_boundaries(low, high, [&](double p) {
        ASSERT_EQ(rounded(a, p), decode_bf16(encode_bf16(p, rounding))) << code << " " << p;
      });
    }
  }
}

TEST(PRounding, IsTheCodecOfFp8AtEveryBoundaryAndSaturates) {
  for (const Fp8 format : {Fp8::kE4m3fn, Fp8::kE4m3fnuz}) {
    for (const Rounding rounding : {Rounding::kNearestEven, Rounding::kTowardZero}) {
      const Arithmetic a{.p_bits = 4,
                         .p_min_exponent = format == Fp8::kE4m3fn ? -6 : -7,
                         .p_largest = largest_fp8(format),
                         .p_truncates = rounding == Rounding::kTowardZero};
      const auto expected = [&](double p) {
        return decode_fp8(encode_fp8(p, format, Fp8Overflow::kSaturate, rounding), format);
      };
      for (std::uint8_t code = 0; decode_fp8(code, format) < largest_fp8(format); ++code) {
        at_boundaries(decode_fp8(code, format), decode_fp8(code + 1, format),
                      [&](double p) { ASSERT_EQ(rounded(a, p), expected(p)) << int{code}; });
      }
      EXPECT_EQ(rounded(a, 1000), largest_fp8(format));
    }
  }
}

TEST(PRounding, LeavesFp32AsItIs) {
  const Arithmetic a{.p_bits = 24};
  for (const double p : {0.0, 0x1p-126, 0.1, 1.0}) EXPECT_EQ(rounded(a, p), p);
}

}  // namespace
}  // namespace attest
