#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "reference/lanes.hpp"
#include "reference/multiply_add.hpp"
#include "reference/oracle.hpp"

namespace attest {
namespace {

double exponential_of(double x) { return exponential(splat(x))[3]; }

TEST(Exponential, IsWithinTwoUlpOfFiftyDigits) {
  for (double x : {0.0, -1e-300, -1e-17, -1e-9, -0.1, -0.34657359027997264, -0.3465735902799727,
                   -0.5, -1.0, -19.7, -87.33, -300.1, -707.9, 1e-5, 1.0, 88.7, 699.9}) {
    const double exact = oracle_exp(x);
    EXPECT_LE(std::fabs(exponential_of(x) - exact), 2 * 0x1p-52 * exact) << x;
  }
}

TEST(Exponential, AgreesWithTheLibraryAllOverItsRange) {
  double worst = 0;
  for (int i = 0; i < 400'000; ++i) {
    const double x = -708 + 0.0035 * i;
    if (x > 700) break;
    const double library = std::exp(x);
    worst = std::max(worst, std::fabs(exponential_of(x) - library) / library);
  }
  EXPECT_LE(worst, 1e-15);
  EXPECT_GT(worst, 0);  // or it compares the library with itself
}

TEST(Exponential, IsOneAtZeroZeroFarBelowAndNanForNan) {
  EXPECT_EQ(exponential_of(0), 1);
  EXPECT_EQ(exponential_of(-0.0), 1);
  EXPECT_EQ(exponential_of(-708.5), 0);
  EXPECT_EQ(exponential_of(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_TRUE(std::isnan(exponential_of(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Vector, UnpacksEveryBf16) {
  for (int code = 0; code < 65536; code += 8) {
    std::uint16_t codes[8];
    for (int i = 0; i < 8; ++i) codes[i] = static_cast<std::uint16_t>(code + i);
    const Float8 values = load_bf16(codes);
    for (int i = 0; i < 8; ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(float{values[i]}), std::uint32_t{codes[i]} << 16);
    }
  }
}

TEST(MultiplyAdd, IsTheSumInOrderWhateverTheBlock) {
  constexpr int kI = 16, kJ = 32, kDepth = 37;
  double a[kDepth][kI], b[kDepth][kJ], c[kI][kJ], expected[kI][kJ];
  for (int k = 0; k < kDepth; ++k) {
    for (int i = 0; i < kI; ++i) a[k][i] = std::sin(k * 31 + i);
    for (int j = 0; j < kJ; ++j) b[k][j] = std::cos(k * 17 + j);
  }
  for (int i = 0; i < kI; ++i) {
    for (int j = 0; j < kJ; ++j) {
      c[i][j] = expected[i][j] = i - j;
      for (int k = 0; k < kDepth; ++k) expected[i][j] = std::fma(a[k][i], b[k][j], expected[i][j]);
    }
  }
  multiply_add<Double8, double>({&a[0][0], 1, kI}, &b[0][0], kJ, kDepth, &c[0][0], kJ, kI, kJ / 8);
  for (int i = 0; i < kI; ++i) {
    for (int j = 0; j < kJ; ++j) ASSERT_EQ(c[i][j], expected[i][j]) << i << ' ' << j;
  }
}

}  // namespace
}  // namespace attest
