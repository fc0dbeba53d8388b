#include "fuzz/distributions/parts/building_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "fuzz/distributions/parts/test_rows.hpp"

namespace attest {
namespace {

using test::Values;

TEST(PutSum, LosesWhatItSays) {
  const double value = 1.0 / 3;
  for (const auto& [terms, loss] : {std::pair{1, 0x1p-8}, {2, 0x1p-16}, {3, 0x1p-24}}) {
    Values row(terms);
    put_sum(row, value);
    double sum = 0;
    for (std::uint16_t x : row) sum += decode_bf16(x);
    EXPECT_LE(std::abs(sum - value), loss * value)
        << terms;  // Source: bf16 rounds by 2^-8 of itself
  }
  for (const float fp32 : {0x1.fffffep3f, 0x1.010101p-5f, -0x1.7f7f7ep20f, 1 / 3.0f}) {
    Values row(3);
    put_sum(row, fp32);
    EXPECT_EQ(double{decode_bf16(row[0])} + decode_bf16(row[1]) + decode_bf16(row[2]), fp32);
  }
}

TEST(KOf, IsFiniteAndMakesTheLogitWhereTheScaleCan) {
  EXPECT_EQ(k_of(12, 0), 0);
  EXPECT_EQ(k_of(0, 1e-40f), 0);
  EXPECT_EQ(k_of(-5, 0x1p-149f), -0x1p60);
  EXPECT_EQ(k_of(12, -0.5f) * 16 * -0.5, 12);
}

TEST(LastTokens, AreThoseThatSomeQueryTokenSeesLast) {
  const Problem p{.h_q = 1, .s_kv = {64, 70, 2, 66}, .s_q = {3, 2, 4, 1}};
  const LastTokens last(p);
  for (int seq = 0; seq < p.b(); ++seq) {
    std::set<int> expected;
    for (int i = 0; i < p.s_q[seq]; ++i) expected.insert(p.visible(seq, i) - 1);
    for (int token = 0; token < p.s_kv[seq]; ++token) {
      EXPECT_EQ(last.contains(seq, token), expected.contains(token)) << seq << " " << token;
    }
  }
}

TEST(LastTokens, OfAPrefixAreThoseOfAllItsSequences) {
  const Problem p{
      .h_q = 1, .s_kv = {64, 65, 300}, .s_q = {1, 4, 1}, .page_size = 64, .shared_prefix = 64};
  const LastTokens last(p);
  std::set<int> seen;
  for (int token = 0; token < 64; ++token) {
    if (last.contains(kPrefixOwner, token)) seen.insert(token);
  }
  EXPECT_EQ(seen, (std::set<int>{61, 62, 63}));
  EXPECT_TRUE(last.contains(1, 64));
  EXPECT_FALSE(last.contains(2, 298));
}

TEST(WalkPlaces, AreThoseOfTheWalk) {
  const Problem p{.s_kv = {0, 10, 500}, .s_q = {1, 1, 1}};
  const Walk walk{SplitRule{}, 3, 16};
  const WalkPlaces places(p, walk);
  for (int seq : {1, 2}) {
    const auto splits = live_splits(walk.split_rule, p.s_kv[seq], 3);
    for (std::size_t split = 0; split < splits.size(); ++split) {
      const auto [begin, end] = splits[split];
      for (int token = begin; token < end; ++token) {
        const WalkPlace at = places.at(seq, token);
        EXPECT_EQ(at.split, static_cast<int>(split));
        EXPECT_EQ(at.splits, static_cast<int>(splits.size()));
        EXPECT_EQ(at.tile, (token - begin) / 16);
        EXPECT_EQ(at.tiles, (end - begin + 15) / 16);
        EXPECT_EQ(at.offset, (token - begin) % 16);
        EXPECT_EQ(at.tokens, std::min(16, end - begin - 16 * at.tile));
      }
    }
  }
}

TEST(WalkPlaces, OfAPrefixAreThoseOfTheLongestSequence) {
  const Problem p{.s_kv = {64, 640}, .s_q = {1, 1}, .page_size = 64, .shared_prefix = 64};
  const WalkPlaces places(p, {SplitRule{}, 2, 16});
  EXPECT_EQ(places.at(kPrefixOwner, 63).splits, 2);
  EXPECT_EQ(places.at(kPrefixOwner, 63).tiles, 20);
  EXPECT_EQ(places.at(1, 320).split, 1);
}

}  // namespace
}  // namespace attest
