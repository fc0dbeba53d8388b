#include "harness/core/random.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace attest {
namespace {

float decode(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

TEST(Random, APrefixOfARowDoesNotDependOnItsLength) {
  const Stream stream = stream_of(Seed{3}, Tensor::kKv, 1, 2);
  std::vector<std::uint16_t> all(577), part(575);
  fill_normal(stream, all);
  fill_normal(stream, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin()));
}

TEST(Random, SeedTensorAndRowEachChangeTheStream) {
  const std::uint64_t base = stream_of(Seed{3}, Tensor::kKv, 1, 2).key;
  EXPECT_NE(base, stream_of(Seed{4}, Tensor::kKv, 1, 2).key);
  EXPECT_NE(base, stream_of(Seed{3}, Tensor::kQ, 1, 2).key);
  EXPECT_NE(base, stream_of(Seed{3}, Tensor::kKv, 2, 1).key);
  EXPECT_NE(base, stream_of(Seed{3}, Tensor::kKv, -1, 2).key);
  EXPECT_NE(base, stream_of(Seed{3}, Tensor::kKv, 1, 3).key);
}

TEST(Random, NormalHasTheMomentsOfAStandardNormal) {
  std::vector<std::uint16_t> values(1 << 20);
  fill_normal(stream_of(Seed{1}, Tensor::kQ), values);
  double sum = 0, square = 0, fourth = 0, lag = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double z = decode(values[i]);
    sum += z;
    square += z * z;
    fourth += z * z * z * z;
    if (i > 0) lag += z * decode(values[i - 1]);
  }
  const double n = static_cast<double>(values.size());
  // Source: six standard errors of each moment of n independent normals: sqrt(1/n), sqrt(2/n),
  // sqrt(96/n), sqrt(1/n).
  EXPECT_NEAR(sum / n, 0, 6 * std::sqrt(1 / n));
  EXPECT_NEAR(square / n, 1, 6 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3, 6 * std::sqrt(96 / n));
  EXPECT_NEAR(lag / n, 0, 6 * std::sqrt(1 / n));
}

TEST(Random, OneToTwoStaysThere) {
  std::vector<std::uint16_t> values(4096);
  fill_one_to_two(stream_of(Seed{1}, Tensor::kKv), values);
  float least = 9, most = 0;
  for (std::uint16_t bits : values) {
    least = std::min(least, decode(bits));
    most = std::max(most, decode(bits));
  }
  EXPECT_EQ(least, 1.0f);
  EXPECT_EQ(most, 2.0f - 0x1p-7f);
}

}  // namespace
}  // namespace attest
