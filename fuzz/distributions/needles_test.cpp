// Where the needles are.
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

// Which tokens stand out for a row. Half of a needle's 12 nats is nine standard deviations of the
// background.
std::set<int> needles_of(const Problem& p, const Sampler& sampler, int seq, int query, int head) {
  std::set<int> tokens;
  const Values q = q_row(sampler, seq, query, head);
  for (int token = 0; token < p.s_kv[seq]; ++token) {
    const int owner = token < p.shared_prefix ? kPrefixOwner : seq;
    if (logit(p, q, kv_row(sampler, owner, token)) > 6) tokens.insert(token);
  }
  return tokens;
}

TEST(Needles, EveryRowSeesTheEndsOfTheSequenceAndOfItsSplits) {
  Problem p{.h_q = 12, .s_kv = {700}, .s_q = {3}, .page_size = 16};
  const auto sampler = prepare("needles", p, {SplitRule{}, 3, 64});
  for (int query = 0; query < 3; ++query) {
    for (int head = 0; head < 12; ++head) {
      const std::set<int> seen = needles_of(p, *sampler, 0, query, head);
      for (int token : {0, 232, 233, 465, 466, 697, 698, 699}) {
        EXPECT_TRUE(seen.contains(token)) << query << " " << head << " " << token;
      }
      EXPECT_LT(seen.size(), 60u);  // few enough for each to matter
    }
  }
}

TEST(Needles, SomeRowSeesEachTileAndPageEdgeAndNothingElse) {
  Problem p{.h_q = 5, .s_kv = {0, 500}, .s_q = {1, 1}, .page_size = 16};
  const auto sampler = prepare("needles", p, {SplitRule{}, 3, 64});
  std::set<int> seen, expected;
  for (int head = 0; head < 5; ++head) seen.merge(needles_of(p, *sampler, 1, 0, head));
  for (int split = 0; split < 3; ++split) {  // 166 tokens a split, the last one 168
    const int begin = 166 * split, end = split == 2 ? 500 : begin + 166;
    for (int tile = begin; tile < end; tile += 64) {
      expected.insert(tile);
      expected.insert(std::min(tile + 64, end) - 1);
    }
  }
  for (int page = 0; page < 500; page += 16) {
    expected.insert(page);
    expected.insert(std::min(page + 16, 500) - 1);
  }
  EXPECT_EQ(seen, expected);
}

TEST(Needles, HeadsOfOneTokenAreAllDifferent) {
  Problem p{.h_q = 128, .s_kv = {64}, .s_q = {1}};
  const auto sampler = prepare("needles", p);
  std::set<Values> rows;
  for (int head = 0; head < 128; ++head) rows.insert(q_row(*sampler, 0, 0, head));
  EXPECT_EQ(rows.size(), 128u);
}

TEST(Needles, StandTwelveNatsAboveTheRestAtAnyScale) {
  for (const float scale : {1.0f / 24, 1.0f, -0.5f, 1e-3f}) {
    Problem p{.h_q = 1, .s_kv = {300}, .s_q = {1}, .page_size = 64, .sm_scale = scale};
    const auto sampler = prepare("needles", p);
    // Source: bf16 rounds the needle's k by up to 2^-8 of itself.
    EXPECT_NEAR(logit(p, q_row(*sampler, 0, 0, 0), kv_row(*sampler, 0, 299)), 12, 12 * 0x1p-8);
  }
}

}  // namespace
}  // namespace attest
