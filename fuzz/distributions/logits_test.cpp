// The logits that each distribution claims.
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

TEST(Normal, RowsOfSequencesTokensAndHeadsAreDistinct) {
  Problem p{.h_q = 4, .s_kv = {64, 64}, .s_q = {2, 2}};
  const auto sampler = prepare("normal", p);
  std::set<Values> rows;
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

TEST(Monotone, LogitsRiseToThirtyNatsAndVStaysInOneToTwo) {
  Problem p{.h_q = 2, .s_kv = {4096}, .s_q = {1}};
  const auto sampler = prepare("monotone", p);
  const Values q = q_row(*sampler, 0, 0, 0);
  double last = -1;
  for (int token = 0; token < 4096; ++token) {
    const Values k = kv_row(*sampler, 0, token);
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

TEST(Decreasing, LogitsFallFromThirtyNatsToZero) {
  const Problem p{.h_q = 2, .s_kv = {1, 2, 1000}, .s_q = {1, 1, 1}};
  const auto sampler = prepare("decreasing", p);
  for (int seq : {1, 2}) {
    const std::vector<double> x = logits(p, *sampler, seq, 0, 0);
    EXPECT_TRUE(std::is_sorted(x.rbegin(), x.rend()));
    EXPECT_NEAR(x.front(), 30, 0.01);  // Source: as for Monotone
    EXPECT_EQ(x.back(), 0);
  }
}

TEST(Slopes, HaveOneHeightForAllSequencesOfAPrefix) {
  const Problem p{
      .h_q = 1, .s_kv = {64, 1000}, .s_q = {1, 1}, .page_size = 64, .shared_prefix = 64};
  const std::vector<double> x = logits(p, *prepare("monotone", p), 1, 0, 0);
  EXPECT_TRUE(std::is_sorted(x.begin(), x.end()));
  EXPECT_NEAR(x[63], 30.0 * 63 / 999, 0.01);  // Source: as for Monotone
}

// Scores in log2 units as a kernel forms them: the exact q.k in fp32 times fp32(sm_scale * log2 e).
std::vector<float> scores(const Problem& p, const Sampler& sampler, int head) {
  constexpr double kLog2E = 1.4426950408889634074;
  const auto scale = static_cast<float>(p.sm_scale * kLog2E);
  Problem unscaled = p;
  unscaled.sm_scale = 1;
  std::vector<float> result;
  for (double dot : logits(unscaled, sampler, 0, 0, head)) {
    EXPECT_EQ(dot, static_cast<float>(dot));
    result.push_back(static_cast<float>(dot) * scale);
  }
  return result;
}

constexpr int kTile = 16;
std::vector<float> tile_maxima(const std::vector<float>& scores, TokenRange split) {
  std::vector<float> maxima;
  for (int begin = split.begin; begin < split.end; begin += kTile) {
    const int end = std::min(begin + kTile, split.end);
    maxima.push_back(*std::max_element(scores.begin() + begin, scores.begin() + end));
  }
  return maxima;
}

TEST(RescaleSteps, TileMaximaStepByEightLog2UnitsOrAnUlpBeside) {
  for (const float scale : {1.0f / 24, 0.13523379f, 1.0f}) {
    Problem p{.h_q = 3, .s_kv = {2000}, .s_q = {1}, .sm_scale = scale};
    const Walk walk{SplitRule{}, 4, kTile};
    const auto sampler = prepare("rescale_steps", p, walk);
    const std::vector<float> x = scores(p, *sampler, 0);
    int exact = 0, over = 0, under = 0, up = 0, down = 0, maxima_on = 0, maxima_off = 0;
    for (const TokenRange& split : live_splits(walk.split_rule, 2000, 4)) {
      const std::vector<float> maxima = tile_maxima(x, split);
      for (float largest : maxima) ++(std::fmod(largest, 8.0f) == 0 ? maxima_on : maxima_off);
      for (std::size_t t = 1; t < maxima.size(); ++t) {
        const float step = maxima[t] - maxima[t - 1], size = std::abs(step);
        const float whole = 8 * std::round(step / 8);
        EXPECT_NEAR(step, whole, 0x1p-17);  // Source: two maxima, each within 2 ulp of 24 (2^-19)
        if (std::abs(whole) != 8) continue;
        ++(step > 0 ? up : down);
        ++(size > 8 ? over : size < 8 ? under : exact);
      }
      EXPECT_GE(*std::max_element(maxima.begin(), maxima.end()) - maxima[0], 23.9f);
    }
    // A third of them, and all at level 0; fp32 has a q.k for most multiples of 8, if not for all.
    EXPECT_GT(maxima_on, 30) << scale;
    EXPECT_GT(maxima_off, 30) << scale;
    EXPECT_GT(exact, 3) << scale;
    EXPECT_GT(over, 3) << scale;
    EXPECT_GT(under, 3) << scale;
    EXPECT_GT(up, 5) << scale;
    EXPECT_GT(down, 5) << scale;
  }
}

TEST(RescaleSteps, RowsSeeStepsOfEightFourAndSixteen) {
  const Problem p{.h_q = 3, .s_kv = {64}, .s_q = {1}};
  const auto sampler = prepare("rescale_steps", p, {SplitRule{}, 1, kTile});
  const auto climb = [&](int head) {  // over the three steps of four tiles
    const std::vector<float> maxima = tile_maxima(scores(p, *sampler, head), {0, 64});
    return maxima[3] - maxima[0];
  };
  for (const auto& [head, steps] : {std::pair{0, 24.0f}, {1, 12.0f}, {2, 48.0f}}) {
    EXPECT_NEAR(climb(head), steps,
                0x1p-16);  // Source: two maxima, each within 2 ulp of 48 (2^-18)
  }
}

// A lost factor must show: what the last step's peak outweighs by 2^8 must come near it without.
TEST(RescaleSteps, TheLastTokenOutweighsAllTheRest) {
  const Problem p{.h_q = 1, .s_kv = {64}, .s_q = {1}};
  const std::vector<double> x =
      logits(p, *prepare("rescale_steps", p, {SplitRule{}, 1, kTile}), 0, 0, 0);
  double rest = 0;
  for (int token = 0; token < 63; ++token) rest += std::exp(x[token] - x[63]);
  EXPECT_LT(rest, 1);
  EXPECT_GT(rest, 0x1p-8);
}

TEST(HugeLogits, AreOfAThousandToTenThousandNatsAndBothSigns) {
  const Problem p{.h_q = 4, .s_kv = {500}, .s_q = {2}};
  const auto sampler = prepare("huge_logits", p);
  for (int head = 0; head < 4; ++head) {
    const double height = 1000 * std::pow(10, head / 3.0);
    const std::vector<double> x = logits(p, *sampler, 0, 0, head);
    int negative = 0;
    for (double logit : x) {
      // Source: bf16 rounds q by 2^-8 of itself; the spread of 1 nat has 62 dims of at most 4.3^2 /
      // 8; ln 500.
      EXPECT_NEAR(std::abs(logit), height, height * 0x1p-8 + 13);
      negative += logit < 0;
    }
    EXPECT_NEAR(negative, 500 / 8, 30);  // Source: a binomial's four standard deviations
  }
}

TEST(HugeLogits, TheLastTokenOfAQueryWeighsAboutAsMuchAsTheRest) {
  const Problem p{.h_q = 4, .s_kv = {1, 64, 1000}, .s_q = {1, 3, 1}};
  for (const char* name : {"huge_logits", "very_negative"}) {
    const auto sampler = prepare(name, p);
    for (int seq = 1; seq < 3; ++seq) {
      for (int query = 0; query < p.s_q[seq]; ++query) {
        const std::vector<double> x = logits(p, *sampler, seq, query, 0);
        const int last = p.visible(seq, query) - 1;
        double rest = 0;
        for (int token = 0; token < last; ++token) rest += std::exp(x[token] - x[last]);
        EXPECT_LT(rest, 50) << name;  // enough for a lost token to move lse by 0.02
      }
    }
  }
}

TEST(VeryNegative, SplitsLieAsDeepAsTheirRowsKindSays) {
  const Problem p{.h_q = 4, .s_kv = {1000}, .s_q = {1}};
  const Walk walk{SplitRule{}, 5, kTile};
  const auto sampler = prepare("very_negative", p, walk);
  const double kinds[4][2] = {{-1e4, -1e4}, {-1e4, 0}, {0, -1e4}, {0, -110}};
  for (int head = 0; head < 4; ++head) {
    const std::vector<double> x = logits(p, *sampler, 0, 0, head);
    double lse[2] = {};
    for (int split = 0; split < 5; ++split) {
      const double nats = kinds[head][split % 2];
      double sum = 0;
      for (int token = 200 * split; token < 200 * split + 200; ++token) {
        // Source: as for HugeLogits.
        EXPECT_NEAR(x[token], nats, std::abs(nats) * 0x1p-8 + 13);
        sum += std::exp(x[token] - nats);
      }
      lse[split % 2] = nats + std::log(sum);
    }
    if (head > 0) {
      EXPECT_GT(std::abs(lse[0] - lse[1]), 104);
    }
  }
}

TEST(VeryNegative, TilesAlternateWhereThereIsOneSplit) {
  const Problem p{.h_q = 4, .s_kv = {96}, .s_q = {1}};
  const std::vector<double> x =
      logits(p, *prepare("very_negative", p, {SplitRule{}, 1, kTile}), 0, 0, 2);
  for (int token = 0; token < 96; ++token)
    EXPECT_EQ(x[token] < -5000, token / kTile % 2 == 1) << token;
}

TEST(DeepSpread, AllButOneTokenOfEveryOtherTileLieInTheDenormals) {
  const Problem p{.h_q = 2, .s_kv = {1000}, .s_q = {1}};
  for (const int splits : {1, 5}) {
    const auto sampler = prepare("deep_spread", p, {SplitRule{}, splits, kTile});
    const std::vector<double> x = logits(p, *sampler, 0, 0, 1);
    int normal = 0, denormal = 0, zero = 0;
    for (int begin = 0; begin < 1000;) {
      const int end =
          std::min({begin + kTile, 1000, (begin / (1000 / splits) + 1) * (1000 / splits)});
      int top = 0;
      for (int token = begin; token < end; ++token) {
        if (x[token] > -10) {
          ++top;
          continue;
        }
        EXPECT_LE(x[token], -84 + 8);  // Source: 62 normal dims of 1 nat; 8 standard deviations
        EXPECT_GE(x[token], -105 - 8);
        const double log2_units = x[token] / std::log(2.0);
        ++(log2_units >= -126 ? normal : log2_units >= -149 ? denormal : zero);
      }
      const bool odd = splits > 1 ? begin / 200 % 2 == 1 : begin / kTile % 2 == 1;
      if (end < 1000) {
        EXPECT_EQ(top, odd ? 0 : 1) << begin;
      } else {
        EXPECT_GT(x[999], -10);  // the last token, beside the tile's own
      }
      begin = end;
    }
    EXPECT_GT(normal, 50);
    EXPECT_GT(denormal, 300);
    EXPECT_GT(zero, 10);
  }
}

TEST(Sink, StandsAboveEqualOthersByTheFormula) {
  for (const int length : {1, 64, 5000}) {
    const Problem p{.h_q = 2, .s_kv = {length}, .s_q = {1}};
    const std::vector<double> x = logits(p, *prepare("sink", p), 0, 0, 0);
    EXPECT_NEAR(x[0], 3.3 + std::log(length) / 2, 1e-3);  // Source: two bf16 dims leave 2^-16 of it
    for (int token = 1; token < length; ++token) EXPECT_EQ(x[token], 0);
  }
}

double deviation(const std::vector<double>& x) {
  double sum = 0, squares = 0;
  for (double value : x) sum += value, squares += value * value;
  const auto n = static_cast<double>(x.size());
  return std::sqrt(squares / n - sum / n * sum / n);
}

TEST(OrdinaryLogits, HaveTheSpreadThatIsAskedFor) {
  const Problem p{.h_q = 3, .s_kv = {2000}, .s_q = {1}};
  for (const auto& [name, nats] : {std::pair{"ones", 1.0},
                                   {"positive", 1.0},
                                   {"column_scales", 1.0},
                                   {"subnormal", 1.0},
                                   {"small_normal", 0.01},
                                   {"head_distinct", 2.0}}) {
    const std::vector<double> x = logits(p, *prepare(name, p), 0, 0, 1);
    // Source: |q| of 64 dims is off by 9 % (one standard deviation); 48 of the 64 are left in
    // subnormal.
    EXPECT_NEAR(deviation(x) / nats, 1, 0.35) << name;
  }
  const auto wide = prepare("wide_logits", p);
  for (int head = 0; head < 3; ++head) {
    // Source: |q| of 576 dims is off by 3 % (one standard deviation).
    EXPECT_NEAR(deviation(logits(p, *wide, 0, 0, head)) / (2 + head), 1, 0.12);
  }
}

TEST(HeadDistinct, RowsAreOrthogonalAndSequencesRaisedByTheirOwnNats) {
  const Problem p{.h_q = 128, .s_kv = {2000, 2000, 2000}, .s_q = {3, 3, 3}};
  const auto sampler = prepare("head_distinct", p);
  const Values first = q_row(*sampler, 0, 0, 5);
  for (const auto& [token, head] : {std::pair{0, 6}, {0, 127}, {1, 5}, {1, 0}, {2, 5}}) {
    const Values other = q_row(*sampler, 0, token, head);
    double product = 0;
    for (int d = 0; d < kDV; ++d) product += double{decode_bf16(first[d])} * decode_bf16(other[d]);
    EXPECT_EQ(product, 0) << token << " " << head;
  }
  double mean[3] = {};
  for (int seq = 0; seq < 3; ++seq) {
    for (double x : logits(p, *sampler, seq, 0, 1)) mean[seq] += x / 2000;
  }
  // Source: a mean of 2000 logits of 2 nats has a standard deviation of 0.045; two of them, four
  // times.
  for (int seq : {1, 2}) EXPECT_NEAR(mean[seq] - mean[seq - 1], 1, 0.25);
}

TEST(Periodic, RepeatsWithTileAndPage) {
  for (const auto& [page_size, period] : {std::pair{1, 16}, {16, 16}, {64, 16}}) {
    const Problem p{.s_kv = {200}, .s_q = {1}, .page_size = page_size};
    const auto sampler = prepare("periodic", p, {SplitRule{}, 1, kTile});
    for (int token = 0; token + period < 200; ++token) {
      EXPECT_EQ(kv_row(*sampler, 0, token), kv_row(*sampler, 0, token + period));
    }
    std::set<Values> rows;
    for (int token = 0; token < 200; ++token) rows.insert(kv_row(*sampler, 0, token));
    EXPECT_EQ(rows.size(), static_cast<std::size_t>(period));
  }
  const Problem p{.s_kv = {200}, .s_q = {1}, .page_size = 16};  // tiles of 64: pages are the period
  const auto sampler = prepare("periodic", p, {SplitRule{}, 1, 64});
  EXPECT_EQ(kv_row(*sampler, 0, 3), kv_row(*sampler, 0, 19));
}

TEST(TwoClusters, HaveTwoLogitsAndTwoLatentsAHalfEach) {
  const Problem p{.h_q = 2, .s_kv = {1000}, .s_q = {1}};
  const auto sampler = prepare("two_clusters", p);
  const std::vector<double> x = logits(p, *sampler, 0, 0, 1);
  EXPECT_EQ(std::set(x.begin(), x.end()).size(), 2u);
  EXPECT_NEAR(std::count(x.begin(), x.end(), x[0]), 500,
              64);  // Source: a binomial's four deviations
  std::set<Values> latents;
  for (int token = 0; token < 1000; ++token) {
    const Values row = kv_row(*sampler, 0, token);
    latents.emplace(row.begin(), row.begin() + kDV);
  }
  EXPECT_EQ(latents.size(), 2u);
}

}  // namespace
}  // namespace attest
