#include "reports/history/change_points.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "harness/core/random.hpp"

namespace attest {
namespace {

// Normal, of standard deviation 1: Box and Muller.
double normal(std::uint64_t seed, std::uint64_t i) {
  const auto uniform = [&](std::uint64_t which) {
    return (static_cast<double>(mix64(mix64(seed) + 2 * i + which) >> 11) + 0.5) * 0x1p-53;
  };
  return std::sqrt(-2 * std::log(uniform(0))) * std::cos(2 * 3.141592653589793 * uniform(1));
}

// Levels, each for so many points, with noise of this relative size.
std::vector<double> series(std::initializer_list<std::pair<int, double>> levels, double noise,
                           std::uint64_t seed) {
  std::vector<double> values;
  for (const auto& [points, level] : levels) {
    for (int i = 0; i < points; ++i)
      values.push_back(level * std::exp(noise * normal(seed, values.size())));
  }
  return values;
}

TEST(ChangePoints, FindAStepOf1_5InTheMiddleWithinAPoint) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto changes = change_points(series({{30, 0.2}, {30, 0.3}}, 0.05, seed));
    ASSERT_EQ(changes.size(), 1u) << seed;
    EXPECT_NEAR(changes[0], 30, 1) << seed;
  }
}

TEST(ChangePoints, FindTwoStepsAndAPeakThatComesAndGoes) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto stairs = change_points(series({{20, 0.2}, {20, 0.3}, {20, 0.45}}, 0.05, seed));
    ASSERT_EQ(stairs.size(), 2u) << seed;
    EXPECT_NEAR(stairs[0], 20, 1) << seed;
    EXPECT_NEAR(stairs[1], 40, 1) << seed;
    const auto peak = change_points(series({{25, 0.2}, {6, 0.3}, {29, 0.2}}, 0.05, seed));
    ASSERT_EQ(peak.size(), 2u) << seed;
    EXPECT_NEAR(peak[0], 25, 1) << seed;
    EXPECT_NEAR(peak[1], 31, 1) << seed;
  }
}

TEST(ChangePoints, FindAStepOfFourNightsAgo) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(change_points(series({{56, 0.2}, {4, 0.3}}, 0.05, seed)), std::vector{56}) << seed;
  }
}

// Measured over 2,000 series each of 20 and of 60 points: 0 have a mark with 5 % and with 10 % of
// noise, 5 to 12 with 20 % and with 50 %.
TEST(ChangePoints, AreNoneInAThousandConstantSeriesWithNoise) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    EXPECT_TRUE(change_points(series({{60, 0.2}}, 0.05, seed)).empty()) << seed;
  }
}

// An emulator gives the same numbers every night.
TEST(ChangePoints, OfASeriesWithoutNoiseAreItsSteps) {
  EXPECT_TRUE(change_points(std::vector<double>(60, 0.2)).empty());
  EXPECT_EQ(change_points(series({{30, 0.2}, {30, 0.3}}, 0, 0)), std::vector{30});
  EXPECT_EQ(change_points(series({{50, 0.2}, {60, 0.3}, {90, 0.2}}, 0, 0)), (std::vector{50, 110}));
  EXPECT_TRUE(change_points(series({{30, 0.2}, {30, 0.22}}, 0, 0)).empty());  // no news
}

TEST(ChangePoints, AreNotWhatLastsANightOrTwo) {
  EXPECT_TRUE(change_points(series({{30, 0.2}, {2, 47}, {28, 0.2}}, 0.05, 1)).empty());
  EXPECT_EQ(change_points(series({{20, 0.2}, {1, 47}, {19, 0.2}, {20, 0.3}}, 0.05, 1)),
            std::vector{40});  // nor do these hide a step
}

TEST(ChangePoints, OfFewPointsAreNone) {
  for (int points = 0; points <= 5; ++points) {
    EXPECT_TRUE(change_points(series({{points / 2, 0.2}, {points - points / 2, 9}}, 0, 0)).empty());
  }
}

}  // namespace
}  // namespace attest
