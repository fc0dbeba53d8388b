#include "harness/pace.hpp"

#include <gtest/gtest.h>

namespace attest {
namespace {

Pace after(double launches, int cases, double cost_ms, double ms) {
  Pace pace(launches);
  for (int i = 0; i < cases; ++i) pace.took(cost_ms, ms);
  return pace;
}

TEST(Pace, GivesACaseTwentyTimesItsCostAndNeverLessThanAMinute) {
  const Pace pace(1);
  EXPECT_DOUBLE_EQ(pace.limit_s(0), 60);
  EXPECT_DOUBLE_EQ(pace.limit_s(3000), 60);
  EXPECT_DOUBLE_EQ(pace.limit_s(10e3), 200);
  EXPECT_DOUBLE_EQ(pace.expected_s(10e3), 10);
}

TEST(Pace, OfACaseThatRunsManyTimesIsAsMuchLonger) {
  const Pace pace(401);
  EXPECT_DOUBLE_EQ(pace.limit_s(100), 20 * 401 * 0.1);
  EXPECT_DOUBLE_EQ(pace.expected_s(100), 401 * 0.1);
}

TEST(Pace, OfASlowMachineIsNoHang) {
  const Pace pace = after(1, 20, 100, 3000);  // 30 times slower
  EXPECT_DOUBLE_EQ(pace.limit_s(0), 30 * 60);
  EXPECT_DOUBLE_EQ(pace.limit_s(10e3), 30 * 200);
  EXPECT_DOUBLE_EQ(pace.expected_s(100), 3);
}

TEST(Pace, OfAFastMachineIsNoHangEither) {
  const Pace pace = after(1, 20, 100, 1);
  EXPECT_DOUBLE_EQ(pace.limit_s(10e3), 200);
  EXPECT_DOUBLE_EQ(pace.expected_s(10e3), 0.1);
}

TEST(Pace, OfCostsThatWereMeasuredWithAllLaunchesExpectsThemOnce) {
  EXPECT_DOUBLE_EQ(after(401, 20, 40e3, 40e3).expected_s(40e3), 40);
}

TEST(Pace, IsNotTakenFromFewCasesOrOutliersOrNothing) {
  EXPECT_DOUBLE_EQ(after(1, 4, 100, 9000).limit_s(0), 60);
  Pace pace = after(1, 20, 100, 100);
  for (int i = 0; i < 9; ++i) pace.took(100, 1e6);
  pace.took(0, 1e6);
  EXPECT_DOUBLE_EQ(pace.limit_s(0), 60);
}

TEST(Pace, OfACostBeyondReasonEndsAllTheSame) {
  EXPECT_DOUBLE_EQ(Pace(1).limit_s(1e9), 30 * 60);
  EXPECT_DOUBLE_EQ(Pace(10).limit_s(1e9), 10 * 30 * 60);
}

}  // namespace
}  // namespace attest
