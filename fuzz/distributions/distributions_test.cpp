#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "fuzz/distributions/parts/building_blocks.hpp"
#include "fuzz/distributions/parts/test_rows.hpp"

namespace attest {
namespace {

using test::kv_row;
using test::logit;
using test::prepare;
using test::q_row;
using test::Values;

TEST(Distributions, EachFileIsInTheCatalogue) {
  std::set<std::string> files, listed;
  for (const auto& entry :
       std::filesystem::directory_iterator(ATTEST_SOURCE_DIR "/fuzz/distributions")) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() != ".cpp" || stem == "catalog") continue;
    if (!stem.ends_with("_test")) files.insert(stem);
  }
  for (const Distribution* distribution : all_distributions()) {
    listed.insert(std::string{distribution->name()});
    EXPECT_FALSE(distribution->purpose().empty());
  }
  EXPECT_EQ(files, listed);
  EXPECT_EQ(listed.size(), all_distributions().size());
}

constexpr float kScales[] = {1.0f / 24, 0.044194173f, 0.13523379f, 1,    0,
                             -0.0625f,  1e-3f,        30,          1e6f, 1e-38f};

TEST(Distributions, AllValuesAreFiniteAtAnyScaleAndLength) {
  for (const float scale : kScales) {
    const Problem p{.h_q = 3,
                    .s_kv = {0, 1, 2, 63, 200},
                    .s_q = {1, 8, 1, 3, 2},
                    .page_size = 16,
                    .sm_scale = scale};
    for (const Distribution* distribution : all_distributions()) {
      const auto sampler = distribution->prepare(p, {SplitRule{}, 3, 16}, Seed{1});
      const auto expect_finite = [&](const Values& row) {
        for (std::uint16_t x : row) {
          ASSERT_TRUE(std::isfinite(decode_bf16(x))) << distribution->name() << " " << scale;
        }
      };
      for (int seq = 0; seq < p.b(); ++seq) {
        for (int token = 0; token < p.s_kv[seq]; ++token)
          expect_finite(kv_row(*sampler, seq, token));
        for (int head = 0; head < 3; ++head)
          expect_finite(q_row(*sampler, seq, p.s_q[seq] - 1, head));
      }
    }
  }
}

// A sum of |q k| that leaves fp32 would make every bound infinite: nothing could be wrong.
TEST(Distributions, SumsOfProductsStayInsideFp32) {
  for (const float scale : kScales) {
    const Problem p{.h_q = 4, .s_kv = {70}, .s_q = {1}, .sm_scale = scale};
    for (const Distribution* distribution : all_distributions()) {
      const auto sampler = distribution->prepare(p, {}, Seed{1});
      const Values q = q_row(*sampler, 0, 0, 3), k = kv_row(*sampler, 0, 69);
      double sum = 0;
      for (int i = 0; i < kDQk; ++i) sum += std::abs(double{decode_bf16(q[i])} * decode_bf16(k[i]));
      EXPECT_LT(sum, 0x1p120) << distribution->name() << " " << scale;
    }
  }
}

TEST(Distributions, FillAPrefixThatIsAsLongAsTheShortestSequence) {
  const Problem p{
      .h_q = 2, .s_kv = {64, 64, 300}, .s_q = {1, 2, 1}, .page_size = 16, .shared_prefix = 64};
  for (const Distribution* distribution : all_distributions()) {
    const auto sampler = distribution->prepare(p, {SplitRule{}, 3, 16}, Seed{1});
    for (int seq = 0; seq < 3; ++seq) {
      const std::vector<double> x = test::logits(p, *sampler, seq, 0, 1);
      for (double logit : x) ASSERT_TRUE(std::isfinite(logit)) << distribution->name();
    }
  }
}

TEST(Distributions, TokensDifferFromEachOther) {
  Problem p{.s_kv = {64, 64}, .s_q = {1, 1}};
  for (const Distribution* distribution : all_distributions()) {
    if (distribution->name() == "periodic") continue;  // what it is for
    const auto sampler = distribution->prepare(p, {SplitRule{}, 1, 16}, Seed{1});
    std::set<Values> rows;
    for (int owner : {0, 1}) {
      for (int token = 0; token < 64; ++token) rows.insert(kv_row(*sampler, owner, token));
    }
    EXPECT_EQ(rows.size(), 128u) << distribution->name();
  }
}

TEST(Distributions, HeadsAndQueryTokensDifferFromTheirNeighbours) {
  Problem p{.h_q = 5, .s_kv = {64}, .s_q = {2}};
  for (const Distribution* distribution : all_distributions()) {
    // All q are 0.
    if (distribution->name() == "uniform_logits" || distribution->name() == "census") continue;
    const auto sampler = distribution->prepare(p, {}, Seed{1});
    for (int head = 0; head + 1 < 5; ++head) {
      EXPECT_NE(q_row(*sampler, 0, 0, head), q_row(*sampler, 0, 0, head + 1))
          << distribution->name();
      EXPECT_NE(q_row(*sampler, 0, 0, head), q_row(*sampler, 0, 1, head)) << distribution->name();
    }
  }
}

TEST(Distributions, AnotherSeedIsOtherData) {
  const Problem p{.s_kv = {64}};
  for (const Distribution* distribution : all_distributions()) {
    const auto one = distribution->prepare(p, {}, Seed{1}),
               two = distribution->prepare(p, {}, Seed{2});
    EXPECT_NE(kv_row(*one, 0, 7), kv_row(*two, 0, 7)) << distribution->name();
  }
}

TEST(Distributions, AreBlindToStrawmenThatThereAre) {
  const std::set<std::string_view> known(std::begin(strawman::kAll), std::end(strawman::kAll));
  for (const Distribution* distribution : all_distributions()) {
    for (std::string_view name : distribution->blind_to())
      EXPECT_TRUE(known.contains(name)) << name;
  }
}

// Sum of |q k| in nats.
double magnitude(const Problem& p, Values q, Values k) {
  for (std::uint16_t& x : q) x &= 0x7fff;
  for (std::uint16_t& x : k) x &= 0x7fff;
  return std::abs(logit(p, q, k));
}

TEST(Distributions, PlannedLogitsAreTheSameAtAnyScale) {
  for (const char* name :
       {"wide_logits", "needles", "monotone", "decreasing", "rescale_steps", "huge_logits",
        "very_negative", "deep_spread", "sink", "ones", "positive", "alternating", "column_scales",
        "subnormal", "head_distinct", "one_hot"}) {
    const Walk walk{SplitRule{}, 1, 16};
    const Problem p{.h_q = 4, .s_kv = {80}};
    const auto sampler = prepare(name, p, walk);
    for (const float scale : {0.13523379f, -0.0625f, 1e-3f, 30.0f}) {
      // head_distinct keeps the signs of q.
      if (scale < 0 && name == std::string_view{"head_distinct"}) continue;
      Problem other = p;
      other.sm_scale = scale;
      const auto other_sampler = prepare(name, other, walk);
      for (int head = 0; head < 4; ++head) {
        for (int token = 0; token < 80; ++token) {
          const Values q = q_row(*sampler, 0, 0, head), k = kv_row(*sampler, 0, token);
          const double x =
              logit(other, q_row(*other_sampler, 0, 0, head), kv_row(*other_sampler, 0, token));
          // Source: bf16 rounds q or k by up to 2^-8 of itself, at either scale.
          EXPECT_NEAR(x, logit(p, q, k), 0x1p-7 * magnitude(p, q, k)) << name << " " << scale;
        }
      }
    }
  }
}

// The table in README.md: one row a distribution, in the catalogue's order, with what it is blind
// to.
TEST(Readme, ListsEachDistributionAndWhatItIsBlindTo) {
  std::ifstream file(ATTEST_SOURCE_DIR "/fuzz/distributions/README.md");
  std::vector<std::pair<std::string, std::string>> rows, expected;  // name, blind to
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t blind = line.rfind('|', line.size() - 2) + 2;
    rows.emplace_back(line.substr(3, line.find('`', 3) - 3),
                      line.substr(blind, line.size() - 2 - blind));
  }
  for (const Distribution* distribution : all_distributions()) {
    std::string blind;
    for (std::string_view name : distribution->blind_to()) {
      blind += (blind.empty() ? "" : ", ") + std::string{name};
    }
    expected.emplace_back(distribution->name(), blind.empty() ? "-" : blind);
  }
  EXPECT_EQ(rows, expected);
}

}  // namespace
}  // namespace attest
