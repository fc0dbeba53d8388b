// The V that each distribution claims.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "fuzz/distributions/parts/building_blocks.hpp"
#include "fuzz/distributions/parts/test_rows.hpp"

namespace attest {
namespace {

using test::kv_row;
using test::logit;
using test::logits;
using test::prepare;
using test::q_row;
using test::Values;

TEST(Ones, VIsOne) {
  const Problem p;
  const Values row = kv_row(*prepare("ones", p), 0, 7);
  for (int column = 0; column < kDV; ++column) EXPECT_EQ(decode_bf16(row[column]), 1);
}

// Of 512 tokens each has a column of its own, and its logit says which rows match it.
TEST(OneHot, AColumnNamesATokenAndALogitTheRowsThatMatch) {
  const Problem p{.h_q = 3, .s_kv = {512, 8}, .s_q = {2, 1}};
  const auto sampler = prepare("one_hot", p, {}, {7});
  std::set<int> columns;
  for (int token = 0; token < 512; ++token) {
    const Values row = kv_row(*sampler, 0, token);
    const int column = (token + 64 + 7) % kDV;
    EXPECT_EQ(decode_bf16(row[column]), 1) << token;
    EXPECT_EQ(std::count(row.begin(), row.end(), 0), kDQk - 2) << token;
    columns.insert(column);
  }
  EXPECT_EQ(columns.size(), 512u);
  for (int query : {0, 1}) {
    for (int head = 0; head < 3; ++head) {
      const std::vector<double> x = logits(p, *sampler, 0, query, head);
      for (int token = 0; token < 512; ++token) {
        // Source: k is rounded to bf16, by up to 2^-9 of itself.
        EXPECT_NEAR(x[token], token % 64 == 3 * query + head ? 3 : 0, 3 * 0x1p-9) << token;
      }
    }
  }
}

TEST(Positive, VIsInOneToTwoAndTakesAllOfIt) {
  const Problem p;
  for (const char* name : {"positive", "monotone", "decreasing", "rescale_steps"}) {
    const auto sampler = prepare(name, p);
    std::set<float> seen;
    for (int token = 0; token < 64; ++token) {
      const Values row = kv_row(*sampler, 0, token);
      for (int column = 0; column < kDV; ++column) seen.insert(decode_bf16(row[column]));
    }
    EXPECT_EQ(seen.size(), 128u) << name;
    EXPECT_EQ(*seen.begin(), 1) << name;
    EXPECT_LT(*seen.rbegin(), 2) << name;
  }
}

TEST(Alternating, VIsOneOffByOnePercentWithTheTokensSign) {
  const Problem p{.h_q = 2, .s_kv = {4000}, .s_q = {1}};
  const auto sampler = prepare("alternating", p);
  const std::vector<double> x = logits(p, *sampler, 0, 0, 1);
  double sum = 0;
  for (int token = 0; token < 4000; ++token) {
    EXPECT_EQ(x[token], x[0]);
    const Values row = kv_row(*sampler, 0, token);
    for (int column = 0; column < kDV; ++column) {
      const float v = decode_bf16(row[column]);
      ASSERT_EQ(v < 0, token % 2 == 1);
      ASSERT_NEAR(std::abs(v), 1, 0.06);  // Source: 4.3 times 1 %, rounded to bf16
    }
    sum += decode_bf16(row[17]);
  }
  EXPECT_LT(std::abs(sum / 4000), 1e-3);  // Source: 0.01 / sqrt(4000) = 1.6e-4, six times
  EXPECT_GT(std::abs(x[0]), 2);           // not 0, or scale and row would not show in lse
}

TEST(ColumnScales, AreAllPowersOfTwoFromMinusTwentyToTwenty) {
  const Problem p;
  const auto sampler = prepare("column_scales", p);
  std::vector<int> exponents(kDV);
  for (int column = 0; column < kDV; ++column) {
    double squares = 0;
    for (int token = 0; token < 64; ++token) {
      squares += std::pow(double{decode_bf16(kv_row(*sampler, 0, token)[column])}, 2) / 64;
    }
    exponents[column] = static_cast<int>(std::lround(std::log2(squares) / 2));
  }
  const std::set<int> seen(exponents.begin(), exponents.end());
  EXPECT_EQ(seen.size(), 41u);
  EXPECT_EQ(*seen.begin(), -20);
  EXPECT_EQ(*seen.rbegin(), 20);
  for (int distance = 1; distance < kDV; distance *= 2) {
    for (int column = 0; column + distance < kDV; ++column) {
      EXPECT_NE(exponents[column], exponents[column + distance]) << column << " " << distance;
    }
  }
}

bool is_subnormal(std::uint16_t x) { return (x & 0x7f80) == 0 && (x & 0x7f) != 0; }

TEST(Subnormal, MakesUpHalfOfVAndAllOfEveryEighthColumn) {
  const Problem p;
  const auto sampler = prepare("subnormal", p);
  int others = 0;
  std::set<std::uint16_t> codes;
  for (int token = 0; token < 64; ++token) {
    const Values row = kv_row(*sampler, 0, token);
    for (int column = 0; column < kDV; ++column) {
      if (is_subnormal(row[column])) codes.insert(row[column]);
      if (column % 8 == 7) {
        EXPECT_TRUE(is_subnormal(row[column])) << column;
      } else {
        others += is_subnormal(row[column]);
      }
    }
  }
  EXPECT_EQ(codes.size(), 254u);                     // all there are, of both signs
  EXPECT_NEAR(others, 64 * 448 / 2, 64 * 448 / 50);  // Source: a binomial's six deviations
}

TEST(Subnormal, NormalNumbersRuleTheLogits) {
  const Problem p{.h_q = 2};
  const auto sampler = prepare("subnormal", p);
  Values q = q_row(*sampler, 0, 0, 1), k = kv_row(*sampler, 0, 5);
  EXPECT_TRUE(std::any_of(q.begin() + kDV, q.end(), is_subnormal));
  EXPECT_TRUE(std::any_of(k.begin() + kDV, k.end(), is_subnormal));
  const double with = logit(p, q, k);
  for (Values* row : {&q, &k}) {
    for (std::uint16_t& x : *row) x = is_subnormal(x) ? 0 : x;
  }
  EXPECT_EQ(logit(p, q, k), with);
  EXPECT_NE(with, 0);
}

}  // namespace
}  // namespace attest
