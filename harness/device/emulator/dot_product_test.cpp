#include "harness/device/emulator/dot_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "harness/core/formats.hpp"
#include "reference/model/matrix_unit.hpp"

namespace attest::emulator {
namespace {

struct Trial {
  int depth = 16;
  float a[kDotDepth] = {}, b[kDotDepth][kDotColumns] = {}, c[kDotColumns] = {};
  std::vector<float> sum(Arith arith, DotInput input) const {
    std::vector<float> out(c, c + kDotColumns);
    add_dot_product(arith, {a, b, depth, input}, out.data());
    return out;
  }
};

// bf16 or fp8 values of a spread of exponents that makes terms overlap, cancel and fall off the
// end.
Trial drawn(std::mt19937& random, bool fp8, int spread) {
  std::uniform_int_distribution<int> exponent(-spread, spread), code(0, 255), mantissa(0, 127);
  const auto value = [&] {
    if (fp8) {
      const int byte = code(random);
      return byte == 0x80 ? 0.0f : fnuz_values()[static_cast<std::size_t>(byte)];
    }
    const float x = std::ldexp(1.0f + static_cast<float>(mantissa(random)) / 128, exponent(random));
    return code(random) % 2 ? x : code(random) % 16 ? -x : 0.0f;
  };
  Trial t;
  t.depth = fp8 ? 32 : 16;
  for (int k = 0; k < t.depth; ++k) {
    t.a[k] = value();
    for (float& x : t.b[k]) x = value();
  }
  std::normal_distribution<float> normal;
  for (float& x : t.c) x = std::ldexp(normal(random), exponent(random));
  return t;
}

// The model that the bounds were tested with was written apart from this one.
void expect_as_modelled(Arith arith, DotInput input, MatrixUnit unit, bool fp8) {
  std::mt19937 random(static_cast<unsigned>(unit) + 7);
  for (int i = 0; i < 20000; ++i) {
    const Trial t = drawn(random, fp8, i % 40);
    std::vector<float> want(t.c, t.c + kDotColumns);
    model::multiply_accumulate(unit, {t.a, static_cast<std::size_t>(t.depth)}, &t.b[0][0],
                               kDotColumns, kDotColumns, want.data());
    const std::vector<float> got = t.sum(arith, input);
    for (int j = 0; j < kDotColumns; ++j)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[j] + 0.0f),
                std::bit_cast<std::uint32_t>(want[j] + 0.0f))
          << to_string(arith) << " trial " << i << " column " << j << ": " << got[j] << " "
          << want[j];
  }
}

TEST(DotProduct, OfCdna3AgreesWithTheModelOfTheBounds) {
  expect_as_modelled(Arith::kCdna3, DotInput::kHalf, MatrixUnit::kCdna3Bf16, false);
  expect_as_modelled(Arith::kCdna3, DotInput::kFp8, MatrixUnit::kCdna3Fp8, true);
}
TEST(DotProduct, OfCdna2AgreesWithTheModelOfTheBounds) {
  expect_as_modelled(Arith::kCdna2, DotInput::kHalf, MatrixUnit::kCdna2Bf16, false);
}
TEST(DotProduct, OfFmaAgreesWithTheModelOfTheBounds) {
  expect_as_modelled(Arith::kFma, DotInput::kHalf, MatrixUnit::kSequentialFma, false);
}

// Exact sums by whole numbers: all terms are multiples of 2^-60 below 2^40.
TEST(DotProduct, ExactRoundsTheWholeSumOnce) {
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    Trial t = drawn(random, false, 8);
    for (int j = 0; j < kDotColumns; ++j) {
      const auto units = [](double x) { return static_cast<__int128>(std::ldexp(x, 60)); };
      t.c[j] = std::ldexp(std::round(std::ldexp(t.c[j], 20)), -20);  // no bits below the units
      __int128 sum = units(t.c[j]);
      for (int k = 0; k < t.depth; ++k) sum += units(static_cast<double>(t.a[k]) * t.b[k][j]);
      // To 24 bits, ties to even.
      const bool negative = sum < 0;
      auto size = static_cast<unsigned __int128>(negative ? -sum : sum);
      int shift = 0;
      while (size >> shift >> 24) ++shift;
      const unsigned __int128 half = shift ? static_cast<unsigned __int128>(1) << (shift - 1) : 0;
      const unsigned __int128 rest = size - (size >> shift << shift);
      size >>= shift;
      if (shift && (rest > half || (rest == half && (size & 1)))) ++size;
      const float want =
          std::ldexp(static_cast<float>(static_cast<std::uint64_t>(size)), shift - 60);
      const float again = t.sum(Arith::kExact, DotInput::kHalf)[j];
      ASSERT_EQ(again, negative ? -want : want) << i << " " << j;
    }
  }
}

TEST(DotProduct, AdversarialIsTheLargestInEvenColumnsAndTheSmallestInOddOnes) {
  std::mt19937 random(9);
  int apart = 0;
  for (int i = 0; i < 500; ++i) {
    const Trial t = drawn(random, false, 6);
    const std::vector<float> got = t.sum(Arith::kAdversarial, DotInput::kHalf);
    for (int j = 0; j < kDotColumns; ++j) {
      std::vector<float> all;
      for (const Arith a : {Arith::kFma, Arith::kExact, Arith::kCdna2, Arith::kCdna3})
        all.push_back(t.sum(a, DotInput::kHalf)[j]);
      const auto [least, most] = std::minmax_element(all.begin(), all.end());
      EXPECT_EQ(got[j], j % 2 ? *least : *most);
      apart += *least != *most;
    }
  }
  EXPECT_GT(apart, 500);  // or the test above showed nothing
}

TEST(DotProduct, OfFp32InputsIsAChainOfFmasOnEveryUnit) {
  std::mt19937 random(11);
  const Trial t = drawn(random, false, 6);
  for (const Arith a : kAriths)
    EXPECT_EQ(t.sum(a, DotInput::kF32), t.sum(Arith::kFma, DotInput::kF32));
}

TEST(Ariths, NamesAreReadBack) {
  for (const Arith a : kAriths) EXPECT_EQ(parse_ariths(to_string(a))->front(), a);
  EXPECT_EQ(parse_ariths("all")->size(), kAriths.size());
  EXPECT_EQ(*parse_ariths("cdna3,exact,cdna3"), (std::vector<Arith>{Arith::kCdna3, Arith::kExact}));
  EXPECT_NE(parse_ariths("cdna4").trouble().text.find("'cdna4'"), std::string::npos);
}

}  // namespace
}  // namespace attest::emulator
