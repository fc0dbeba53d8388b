#include "fuzz/properties/parts/comparison.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace attest {
namespace {

constexpr std::uint16_t kPi = 0x4049;

Element o_at(int head, int column) {
  return {Part::kO, Format::kBf16, {0, 0, head, head}, -1, column};
}
Element lse_at(int head) { return {Part::kLse, Format::kFp32, {0, 0, head, head}}; }
Held bf16(double value) { return held(Format::kBf16, encode_bf16(value), kPoison16); }
const Held kNothing16 = held(Format::kBf16, kPoison16, kPoison16);

Checked same(Held actual, Held expected, bool finite = true) {
  Comparison comparison;
  comparison.same(o_at(0, 7), actual, expected, finite);
  return comparison.result("");
}
Checked near(Held actual, double expected, double allowed) {
  Comparison comparison;
  comparison.near(o_at(0, 7), actual, expected, allowed);
  return comparison.result("");
}

TEST(Comparison, SameTakesEqualBitsAndTwoThatAreUnwritten) {
  EXPECT_EQ(same(bf16(1), bf16(1)).kind, "");
  EXPECT_EQ(same(kNothing16, kNothing16, false).kind, "");
  EXPECT_EQ(same(held(Format::kBf16, kPi, kPi), kNothing16, false).kind, "");
}

TEST(Comparison, SameRejectsTwoThatAreUnwrittenWhereANumberBelongs) {
  EXPECT_EQ(same(kNothing16, kNothing16).kind, "unwritten");
}

TEST(Comparison, NearDemandsANumberEvenWhereNoBoundIsPromised) {
  const double none = std::numeric_limits<double>::infinity();
  EXPECT_EQ(near(bf16(1), 7, none).kind, "");
  EXPECT_EQ(near(bf16(1), 7, none).unbounded, 1);
  EXPECT_EQ(near(kNothing16, 7, none).kind, "unwritten");
  EXPECT_EQ(near(held(Format::kBf16, 0x7fc0, kPoison16), 7, none).kind, "nonfinite");
}

TEST(Comparison, SameRejectsAnUlpTheOtherZeroAndAMissingValue) {
  EXPECT_EQ(same(held(Format::kBf16, 0x3f81, kPoison16), bf16(1)).kind, "differs");
  EXPECT_EQ(same(bf16(-0.0), bf16(0.0)).kind, "differs");
  EXPECT_EQ(same(kNothing16, bf16(1)).kind, "unwritten");
  EXPECT_EQ(same(bf16(1), kNothing16).kind, "unwritten");
}

// A kernel may rightly write what is poison in the other launch.
TEST(Comparison, SameTakesAValueThatIsTheOthersPoison) {
  EXPECT_EQ(same(held(Format::kBf16, kPi, kPi), held(Format::kBf16, kPi, kPoison16)).kind, "");
  EXPECT_EQ(same(held(Format::kBf16, kPi, kPi), bf16(1)).kind, "unwritten");
}

TEST(Comparison, SameRejectsEqualNansWhereANumberBelongs) {
  const Held nan = held(Format::kBf16, 0x7fc0, kPoison16);
  EXPECT_EQ(same(nan, nan).kind, "nonfinite");
  EXPECT_EQ(same(nan, nan, false).kind, "");
  EXPECT_EQ(same(nan, bf16(1)).kind, "nonfinite");
}

TEST(Comparison, NearTakesExactlyWhatIsAllowed) {
  EXPECT_EQ(near(bf16(1.5), 1, 0.5).kind, "");
  EXPECT_EQ(near(bf16(1.5), 1, 0.5).worst.ratio, 1);
  EXPECT_EQ(near(bf16(1.5), 1, std::nextafter(0.5, 0)).kind, "wrong");
  EXPECT_EQ(near(bf16(1), 1, 0).kind, "");
}

TEST(Comparison, NearRejectsWhatIsNoNumberOrNotThere) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(near(held(Format::kBf16, 0x7fc0, kPoison16), 1, 9).kind, "nonfinite");
  EXPECT_EQ(near(kNothing16, 1, 9).kind, "unwritten");
  EXPECT_EQ(near(bf16(1), nan, 9).kind, "nonfinite");
  EXPECT_EQ(near(bf16(1), 1, nan).kind, "wrong");
}

TEST(Comparison, WhatHasNoBoundIsNotCompared) {
  const Checked checked = near(bf16(1), 5, std::numeric_limits<double>::infinity());
  EXPECT_EQ(checked.compared, 0);
  EXPECT_EQ(checked.unbounded, 1);
  EXPECT_EQ(checked.kind, "");
}

TEST(Comparison, BlamesTheMissingBeforeTheWrongAndTheEarlierTensor) {
  Comparison comparison;
  comparison.near(o_at(0, 0), bf16(9), 1, 1);
  EXPECT_EQ(comparison.result("").worst.tensor, "o");
  comparison.near(lse_at(0), held(Format::kFp32, 0, kPoison16), 1, 0.5);
  EXPECT_EQ(comparison.result("").worst.tensor, "lse");
  comparison.written(o_at(1, 3), kNothing16);
  EXPECT_EQ(comparison.result("").kind, "unwritten");
  EXPECT_EQ(comparison.result("").worst.column, 3);
  EXPECT_EQ(comparison.result("").wrong, 3);
  EXPECT_EQ(comparison.result("").compared, 3);
}

TEST(Comparison, ReportsTheLargestOfTheWrongAndItsPattern) {
  Comparison comparison;
  for (int d = 0; d < 100; ++d) comparison.near(o_at(1, d), bf16(d == 60 ? 4 : 2), 1, 0.5);
  const Checked checked = comparison.result("words");
  EXPECT_EQ(checked.worst.column, 60);
  EXPECT_EQ(checked.worst.ratio, 6);
  EXPECT_EQ(checked.pattern, "columns");
  EXPECT_EQ(checked.words, "words");
}

TEST(Comparison, AnOverwrittenPlaceIsAFault) {
  Comparison comparison;
  comparison.unwritten(o_at(0, 0), kNothing16);
  EXPECT_EQ(comparison.result("").kind, "");
  comparison.unwritten(o_at(0, 1), bf16(0));
  EXPECT_EQ(comparison.result("").kind, "overwritten");
}

}  // namespace
}  // namespace attest
