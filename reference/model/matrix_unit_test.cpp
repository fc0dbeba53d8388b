#include "reference/model/matrix_unit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "harness/core/formats.hpp"

namespace attest::model {
namespace {

constexpr MatrixUnit kUnits[] = {MatrixUnit::kSequentialFma, MatrixUnit::kCdna1Bf16,
                                 MatrixUnit::kCdna2Bf16, MatrixUnit::kCdna3Bf16,
                                 MatrixUnit::kCdna3Fp8};

// One dot product in every lane at once; all lanes must agree.
float dot(MatrixUnit unit, float c, const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> rows, sum(kLanes, c);
  for (const float value : b) rows.insert(rows.end(), kLanes, value);
  multiply_accumulate(unit, a, rows.data(), kLanes, kLanes, sum.data());
  for (const float lane : sum) EXPECT_TRUE(lane == sum[0] || std::isnan(sum[0]));
  return sum[0];
}
float sum_of(MatrixUnit unit, float c, const std::vector<float>& products) {
  return dot(unit, c, products, std::vector<float>(products.size(), 1.0f));
}

// What tells the units apart. Source of the predictions: MMA-Sim, arXiv:2511.10909.
struct Probe {
  const char* name;
  float c;
  std::vector<float> a, b;
  float expected[5];  // by kUnits
};
const std::vector<float> kOnes(8, 1.0f);
const Probe kProbes[] = {
    {"one between two large", 0, {0x1p24f, 1, -0x1p24f}, {1, 1, 1}, {0, 0, 0, 1, 1}},
    {"two ones between two large", 0, {0x1p24f, 1, 1, -0x1p24f}, {1, 1, 1, 1}, {0, 1, 1, 2, 2}},
    {"C swamps",
     0x1p24f,
     kOnes,
     kOnes,
     {0x1p24f, 0x1p24f + 8, 0x1p24f + 8, 0x1p24f + 8, 0x1p24f + 8}},
    {"24 bits below the largest", 0, {1, 0x1p-24f, -1}, {1, 1, 1}, {0, 0, 0, 0x1p-24f, 0x1p-24f}},
    {"25 bits below the largest", 0, {1, 0x1p-25f, -1}, {1, 1, 1}, {0, 0, 0, 0, 0}},
    {"a small negative product", 0, {1, -0x1p-26f, -1}, {1, 1, 1}, {0, 0, 0, 0, -0x1p-24f}},
    {"a small negative C", -0x1p-30f, {1, -1}, {1, 1}, {0, -0x1p-30f, -0x1p-30f, -0x1p-24f, 0}},
    {"a subnormal factor",
     0,
     {0x1p-130f},
     {0x1p20f},
     {0x1p-110f, 0x1p-110f, 0, 0x1p-110f, 0x1p-110f}},
    {"a subnormal C", 0x1p-130f, {0}, {0}, {0x1p-130f, 0x1p-130f, 0, 0x1p-130f, 0x1p-130f}},
};

TEST(MatrixUnit, AnswersThePublishedProbes) {
  for (const Probe& probe : kProbes) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(dot(kUnits[i], probe.c, probe.a, probe.b), probe.expected[i])
          << probe.name << ", unit " << i;
    }
  }
}

TEST(MatrixUnit, OfCdna3IsNotOdd) {
  int different = 0;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 2000; ++i) {
    std::vector<float> a, b, minus;
    for (int k = 0; k < 576; ++k) {
      a.push_back(decode_bf16(encode_bf16(normal(random))));
      b.push_back(decode_bf16(encode_bf16(normal(random))));
      minus.push_back(-a.back());
    }
    different += dot(MatrixUnit::kCdna3Bf16, 0, a, b) != -dot(MatrixUnit::kCdna3Bf16, 0, minus, b);
    EXPECT_EQ(dot(MatrixUnit::kCdna2Bf16, 0, a, b), -dot(MatrixUnit::kCdna2Bf16, 0, minus, b));
  }
  EXPECT_GT(different, 0);
  EXPECT_LT(different, 100);
}

TEST(MatrixUnit, OfCdna1RoundsAnExactSumOnce) {
  // 1 + 2^-24 is a tie; what lies 2^-60 above must be seen, and goes up.
  EXPECT_EQ(sum_of(MatrixUnit::kCdna1Bf16, 1, {0x1p-24f, 0x1p-60f}), 1 + 0x1p-23f);
  EXPECT_EQ(sum_of(MatrixUnit::kCdna1Bf16, 1, {0x1p-24f, 0}), 1);
  EXPECT_EQ(sum_of(MatrixUnit::kCdna1Bf16, 1, {0x1p-24f, -0x1p-60f}), 1);
  EXPECT_EQ(sum_of(MatrixUnit::kCdna1Bf16, -1, {-0x1p-24f, -0x1p-60f}), -1 - 0x1p-23f);
  EXPECT_EQ(sum_of(MatrixUnit::kCdna1Bf16, 1, {0x1.8p-23f, -0x1p-60f}), 1 + 0x1p-23f);
  EXPECT_EQ(sum_of(MatrixUnit::kCdna1Bf16, 0x1p60f, {-0x1p60f, 0x1p-40f}), 0x1p-40f);
}

TEST(MatrixUnit, OfHopperTruncatesWhatLiesBelowTwentyFiveBitsAndTheResult) {
  constexpr MatrixUnit kUnit = MatrixUnit::kHopperBf16;
  EXPECT_EQ(sum_of(kUnit, 0, {1, 0x1p-25f, -1}), 0x1p-25f);
  EXPECT_EQ(sum_of(kUnit, 0, {1, 0x1p-26f, -1}), 0);
  EXPECT_EQ(sum_of(kUnit, 1, {0x1.8p-24f}), 1);  // RNE would give 1 + 2^-23
  EXPECT_EQ(sum_of(kUnit, -1, {-0x1.8p-24f}), -1);
  EXPECT_EQ(sum_of(kUnit, 0x1p-149f, {0}), 0x1p-149f);
}

TEST(MatrixUnit, KeepsColumnsAndStridesApart) {
  constexpr int kColumns = 208;  // blocks of 128, 64 and 16
  constexpr int kStride = 224;
  std::mt19937 random(5);
  std::uniform_int_distribution<int> small(-9, 9);
  std::vector<float> a(21), b(21 * kStride);
  for (float& value : a) value = static_cast<float>(small(random));
  for (float& value : b) value = static_cast<float>(small(random));
  for (const MatrixUnit unit :
       {MatrixUnit::kSequentialFma, MatrixUnit::kCdna1Bf16, MatrixUnit::kCdna2Bf16,
        MatrixUnit::kCdna3Bf16, MatrixUnit::kCdna3Fp8, MatrixUnit::kHopperBf16,
        MatrixUnit::kUnknown}) {
    std::vector<float> sum(kStride, 3.0f);
    multiply_accumulate(unit, a, b.data(), kStride, kColumns, sum.data());
    for (int j = 0; j < kStride; ++j) {
      float exact = 3;
      for (int k = 0; k < 21 && j < kColumns; ++k) exact += a[k] * b[k * kStride + j];
      ASSERT_EQ(sum[j], exact) << "unit " << static_cast<int>(unit) << ", column " << j;
    }
  }
}

TEST(MatrixUnit, LetsNoNanOrInfinityVanish) {
  for (const MatrixUnit unit : kUnits) {
    EXPECT_TRUE(std::isnan(sum_of(unit, 0, {1, NAN, 2}))) << static_cast<int>(unit);
    EXPECT_TRUE(std::isnan(sum_of(unit, NAN, {1, 2}))) << static_cast<int>(unit);
    EXPECT_EQ(sum_of(unit, 0, {1, INFINITY, 2}), INFINITY) << static_cast<int>(unit);
    EXPECT_EQ(sum_of(unit, -INFINITY, {1, 2}), -INFINITY) << static_cast<int>(unit);
    EXPECT_TRUE(std::isnan(sum_of(unit, 0, {INFINITY, -INFINITY}))) << static_cast<int>(unit);
  }
}

}  // namespace
}  // namespace attest::model
