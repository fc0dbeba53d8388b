// The factors of the fast path against closed forms, worked by hand from error_bound.md.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/core/problem.hpp"
#include "reference/error_bound.hpp"

namespace attest {
namespace {

// Source: both sides are fp64 expressions of a few operations.
constexpr double kSame = 1e-12;
void expect_same(double actual, double expected) {
  EXPECT_NEAR(actual, expected, std::fabs(expected) * kSame);
}

TEST(Factors, OfBf16POnCdna3) {
  const SplitErrors e = split_errors({.matrix_unit = MatrixUnit::kCdna3Bf16}, 1000);
  expect_same(e.dot, (72 * (1 + 1 / 64.0) + 9.1) * kU);
  EXPECT_EQ(e.logit, kU);
  EXPECT_EQ(e.exp_argument, 5 * kU);
  EXPECT_EQ(e.weight_exp, 2 * kU);
  EXPECT_EQ(e.weight_rescale, 2 * kU);
  EXPECT_EQ(e.p_relative, 1 / 256.0);
  EXPECT_EQ(e.p_saturation, 0);
  EXPECT_EQ(e.p_scaling, 0);
  expect_same(e.accumulates(3), (125 * (1 + 1 / 64.0) + 9.1 + 2 + 3 + 3) * kU);
  expect_same(e.denominates(3), (64 + 16 + 3) * kU);
  EXPECT_EQ(e.denominator_roundings, 16);
  expect_same(e.denominator_tile, 64 * kU);
  expect_same(e.dot_variance, (72 * (1 + 1 / 64.0) + 9.1) * kU * kU / 3);
  expect_same(e.accumulate_roundings, 125 * (1 + 1 / 64.0) + 9.1 + 2 + 3);
  expect_same(e.accumulate_bias, 9.1 * kU);
  expect_same(e.p_variance, std::pow(2.0, -14) / 12);
  expect_same(e.p_bias, std::pow(2.0, -16) / 3);
}

TEST(Factors, OfTruncatedFp8PWithAScaleThatIsNoPowerOfTwo) {
  const SplitErrors e = split_errors({.matrix_unit = MatrixUnit::kHopperBf16,
                                      .exp_ulp = 2,
                                      .divide_u = 1,
                                      .p_bits = 4,
                                      .p_min_exponent = -6,
                                      .p_largest = 448,
                                      .p_scale = 448,
                                      .p_truncates = true,
                                      .k_relative = 1 / 256.0},
                                     100);
  expect_same(e.dot, (2 * 36 + 18) * kU + 1 / 256.0);
  EXPECT_EQ(e.weight_exp, 4 * kU);
  EXPECT_EQ(e.p_relative, 1 / 8.0);
  EXPECT_EQ(e.p_absolute, 1 / 512.0);
  EXPECT_EQ(e.p_saturation, 0);
  EXPECT_EQ(e.p_scaling, kU);
  expect_same(e.accumulates(0), (2 * 7 + 18 + 2 + 1 + 2) * kU);
  EXPECT_EQ(e.p_bias, 1 / 16.0);
  // All of a truncating unit's roundings are of one sign.
  expect_same(e.dot_variance, std::pow(90 * kU / 8, 2) + std::pow(2.0, -16) / 3);
  expect_same(e.accumulate_roundings, 2 + 1 + 2);
  expect_same(e.accumulate_bias, (2 * 7 + 18) * kU);
}

TEST(Factors, OfLazyWavesThatSaturate) {
  const SplitErrors e = split_errors({.p_bits = 4,
                                      .p_min_exponent = -7,
                                      .p_largest = 240,
                                      .p_scale = 256,
                                      .l_from_rounded_p = true,
                                      .tile_tokens = 16,
                                      .waves_per_split = 4,
                                      .lazy_rescale = 8},
                                     64);
  const double lazy = 10 * kU * std::log(2.0) * 8;
  expect_same(e.dot, kDQk * kU);
  expect_same(e.weight_exp, 4 * kU + lazy);
  EXPECT_GE(e.p_saturation, 1 - 240 / 65536.0);
  expect_same(e.p_saturation, 1 - 240 / (65536 * (1 + 2 * kU + lazy)));
  expect_same(e.accumulates(2), (64 + 2 + 5 + 3 + 2) * kU);
  expect_same(e.denominates(2), (16 + 4 + 5 + 2) * kU);
  EXPECT_EQ(e.p_bias, 0);
}

TEST(Factors, OfStoredAndMergedLse) {
  Arithmetic a{.exp_ulp = 2, .log_ulp = 3, .divide_u = 1};
  expect_same(stored_lse_error(a, -100, 4), (6 * 4 + 4 * 100 + 2 * 4 + 96) * kU);
  a.lse_in_log2 = false;
  expect_same(stored_lse_error(a, -100, 4), (6 * 4 + 2 * 4 + 96) * kU);
  expect_same(merge_weight_error(a, 5, -100, 4, 7), (6 * 4 + 2 * 4 + 96 + 4 * 7 + 4 * 6) * kU);
  expect_same(merge_denominator_error(5), 11 * kU);
  expect_same(merge_accumulate_error(a, 5), (10 + 3 + 1) * kU);
  expect_same(merged_lse_error(a, -50, 2), (6 * 2 + 2 * 2 + 3 * 50) * kU);
  EXPECT_EQ(division_free_error(a, 5, -50, 60, 3), 0);
  a.merge = Merge::kSequential;
  expect_same(merge_accumulate_error(a, 5), (15 + 3 + 1) * kU);
  a.merge = Merge::kDivisionFree;
  expect_same(division_free_error(a, 5, -50, 60, 3),
              std::expm1((4 * 50 + 60 + 4 * 3 + 5 + 2 + 6 * std::log(6.0) + 4) * kU));
}

TEST(Factors, ADescaleFactorThatIsNoPowerOfTwoRoundsScoresAndResults) {
  Problem p;
  p.q_type = p.kv_type = Storage::kFp8;
  p.q_scale = 0.5f;
  p.kv_scale = 4;
  EXPECT_EQ(descales_of(p).of_logit, 0);
  EXPECT_EQ(descales_of(p).of_o, 0);
  p.q_scale = 0.7f;
  EXPECT_EQ(descales_of(p).of_logit, 1);
  EXPECT_EQ(descales_of(p).of_o, 0);
  p.kv_scale = 3;
  EXPECT_EQ(descales_of(p).of_logit, 2);
  EXPECT_EQ(descales_of(p).of_o, 1);
  const Arithmetic a{.matrix_unit = MatrixUnit::kCdna3Fp8,
                     .p_bits = 4,
                     .p_min_exponent = -7,
                     .p_largest = 240,
                     .p_scale = 128,
                     .lazy_rescale = 8};
  const SplitErrors e = split_errors(a, 1000, descales_of(p)), of_bf16 = split_errors(a, 1000);
  expect_same(e.logit, 3 * kU);
  expect_same(e.exp_argument, 7 * kU);
  expect_same(e.weight_exp - of_bf16.weight_exp, 4 * kU * 8 * kLn2);
  expect_same(e.logit_variance, kU * kU);
  expect_same(e.accumulate - of_bf16.accumulate, kU);
  expect_same(e.accumulate_roundings - of_bf16.accumulate_roundings, 1);
  EXPECT_EQ(e.dot, of_bf16.dot);  // products of codes are exact
  expect_same(stored_lse_error(a, -100, 4, 2) - stored_lse_error(a, -100, 4), 200 * kU);
}

}  // namespace
}  // namespace attest
