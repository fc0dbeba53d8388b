#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "fuzz/distributions/distribution.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

using Row = std::vector<std::uint16_t>;

Row q_row(const Sampler& sampler, int seq, int token, int head) {
  Row row(kDQk);
  sampler.fill_q(seq, token, head, row);
  return row;
}

Row kv_row(const Sampler& sampler, int owner, int token) {
  Row row(kDQk);
  sampler.fill_kv(owner, token, row);
  return row;
}

double logit(const Problem& p, const Row& q, const Row& k) {
  double sum = 0;
  for (int i = 0; i < kDQk; ++i) sum += double{decode_bf16(q[i])} * decode_bf16(k[i]);
  return sum * p.sm_scale;
}

std::unique_ptr<const Sampler> prepare(std::string_view name, const Problem& p, Walk walk = {}) {
  return find_distribution(name)->prepare(p, walk, Seed{5});
}

TEST(Distributions, EachFileIsInTheCatalogue) {
  std::set<std::string> files, listed;
  for (const auto& entry :
       std::filesystem::directory_iterator(ATTEST_SOURCE_DIR "/fuzz/distributions")) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() == ".cpp" && stem != "catalog" && stem != "distributions_test") {
      files.insert(stem);
    }
  }
  for (const Distribution* distribution : all_distributions()) {
    listed.insert(std::string{distribution->name()});
    EXPECT_FALSE(distribution->purpose().empty());
  }
  EXPECT_EQ(files, listed);
  EXPECT_EQ(listed.size(), all_distributions().size());
}

TEST(Distributions, AllValuesAreFinite) {
  for (const float scale : {1.0f / 24, 0.0f, 1e-3f, -1.0f, 1e6f, 1e-38f}) {
    Problem p{.h_q = 3, .s_kv = {200}, .s_q = {2}, .page_size = 16, .sm_scale = scale};
    for (const Distribution* distribution : all_distributions()) {
      const auto sampler = distribution->prepare(p, {}, Seed{1});
      for (int token = 0; token < 200; ++token) {
        for (std::uint16_t x : kv_row(*sampler, 0, token))
          ASSERT_TRUE(std::isfinite(decode_bf16(x)));
      }
      for (std::uint16_t x : q_row(*sampler, 0, 1, 2)) ASSERT_TRUE(std::isfinite(decode_bf16(x)));
    }
  }
}

TEST(Distributions, TokensDifferFromEachOther) {
  Problem p{.s_kv = {64, 64}, .s_q = {1, 1}};
  for (const Distribution* distribution : all_distributions()) {
    const auto sampler = distribution->prepare(p, {}, Seed{1});
    std::set<Row> rows;
    for (int owner : {0, 1}) {
      for (int token = 0; token < 64; ++token) rows.insert(kv_row(*sampler, owner, token));
    }
    EXPECT_EQ(rows.size(), 128u) << distribution->name();
  }
}

TEST(Normal, RowsOfSequencesTokensAndHeadsAreDistinct) {
  Problem p{.h_q = 4, .s_kv = {64, 64}, .s_q = {2, 2}};
  const auto sampler = prepare("normal", p);
  std::set<Row> rows;
  for (int seq : {0, 1}) {
    for (int token : {0, 1}) {
      for (int head = 0; head < 4; ++head) rows.insert(q_row(*sampler, seq, token, head));
    }
  }
  EXPECT_EQ(rows.size(), 16u);
}

TEST(UniformLogits, GivesEveryTokenTheSameLogit) {
  Problem p;
  const auto sampler = prepare("uniform_logits", p);
  for (int token = 0; token < 64; ++token) {
    EXPECT_EQ(logit(p, q_row(*sampler, 0, 0, 3), kv_row(*sampler, 0, token)), 0);
  }
}

// Which tokens stand out for a row. Half of a needle's 12 nats is nine standard deviations of the
// background.
std::set<int> needles_of(const Problem& p, const Sampler& sampler, int seq, int query, int head) {
  std::set<int> tokens;
  const Row q = q_row(sampler, seq, query, head);
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
  std::set<Row> rows;
  for (int head = 0; head < 128; ++head) rows.insert(q_row(*sampler, 0, 0, head));
  EXPECT_EQ(rows.size(), 128u);
}

TEST(Needles, StandTwelveNatsAboveTheRestAtAnyScale) {
  for (const float scale : {1.0f / 24, 1.0f, -0.5f, 1e-3f}) {
    Problem p{.h_q = 1, .s_kv = {300}, .s_q = {1}, .page_size = 64, .sm_scale = scale};
    const auto sampler = prepare("needles", p);
    // bf16 rounds the needle's k by up to 2^-9 of itself.
    EXPECT_NEAR(logit(p, q_row(*sampler, 0, 0, 0), kv_row(*sampler, 0, 299)), 12, 12 * 0x1p-8);
  }
}

TEST(Monotone, LogitsRiseToThirtyNatsAndVStaysInOneToTwo) {
  Problem p{.h_q = 2, .s_kv = {4096}, .s_q = {1}};
  const auto sampler = prepare("monotone", p);
  const Row q = q_row(*sampler, 0, 0, 0);
  double last = -1;
  for (int token = 0; token < 4096; ++token) {
    const Row k = kv_row(*sampler, 0, token);
    const double x = logit(p, q, k);
    EXPECT_GT(x, last);
    last = x;
    for (int column = 0; column < kDV; ++column) {
      ASSERT_GE(decode_bf16(k[column]), 1);
      ASSERT_LT(decode_bf16(k[column]), 2);
    }
  }
  EXPECT_NEAR(last, 30,
              0.01);  // Source: two bf16 dims leave 2^-17 of 30 nats, sm_scale's rounding 2^-24
}

}  // namespace
}  // namespace attest
