// Score tests on results that a right kernel could give, and on the same with one small defect that
// every element's own bound lets through.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "harness/core/formats.hpp"
#include "reference/reference.hpp"
#include "reference/row_view.hpp"
#include "reference/small_inputs.hpp"

namespace attest {
namespace {

constexpr int kTokens = 4096, kSplits = 4;

struct Trial {
  Problem problem;
  Inputs inputs;
  Contract contract;

  explicit Trial(Family family) {
    problem.h_q = 16;
    problem.s_kv = {100, kTokens};
    problem.s_q = {1, 1};
    inputs = std::move(*small_inputs(problem, family, 3));
    contract.arithmetic.matrix_unit = MatrixUnit::kCdna3Bf16;
    contract.arithmetic.schedule_declared = true;
  }
  Reference run(const std::vector<std::uint16_t>& o) const {
    return std::move(*reference(problem, inputs, contract, kSplits, {.observed = {o}}));
  }
  // What an exact evaluation of the declared arithmetic stores; `change` adds to it before that.
  std::vector<std::uint16_t> stored(
      const Reference& r, const std::function<double(std::int64_t row, int d)>& change) const {
    std::vector<std::uint16_t> o(r.expected.o.size());
    for (std::size_t at = 0; at < o.size(); ++at) {
      const auto row = static_cast<std::int64_t>(at / kDV);
      o[at] = encode_bf16(r.expected.o[at] + r.tiers.p_shift.o[at] +
                          change(row, static_cast<int>(at % kDV)));
    }
    return o;
  }
  std::vector<Score> scores(const std::function<double(std::int64_t row, int d)>& change) const {
    const Reference plain = run(std::vector<std::uint16_t>(problem.rows() * kDV));
    return run(stored(plain, change)).scores.at(0);
  }
  // The share of the row's weight that a token has.
  double weight(const Reference& r, std::int64_t row, int token) const {
    const RowView view(problem, inputs, row);
    double dot = 0;
    for (int d = 0; d < kDQk; ++d) dot += double{view.q(d)} * view.k(token, d);
    return std::exp(problem.sm_scale * dot - r.expected.lse[row]);
  }
};

const Score& find(const std::vector<Score>& scores, const std::string& filter) {
  for (const Score& score : scores) {
    if (score.filter == filter) return score;
  }
  ADD_FAILURE() << "no filter " << filter;
  return scores.front();
}

bool second_sequence(std::int64_t row) { return row >= 16; }

TEST(ScoreTests, AreQuietOnWhatTheDeclaredArithmeticStores) {
  for (const Family family : kFamilies) {
    for (const Score& score : Trial(family).scores([](auto, auto) { return 0.0; }))
      EXPECT_LT(std::fabs(score.z), 3) << name_of(family) << " " << score.filter;
  }
}

// One sigma of the kernel's own noise in every element, of random sign: a right kernel.
TEST(ScoreTests, AreQuietOnIndependentNoise) {
  const Trial trial(Family::kNormal);
  const Reference plain = trial.run(std::vector<std::uint16_t>(trial.problem.rows() * kDV));
  const auto noise = [&](std::int64_t row, int d) {
    const double sign = ((row * kDV + d) * 2654435761u >> 16 & 1) != 0 ? 1 : -1;
    return sign * plain.tiers.t2p.o[row * kDV + d] / 8;
  };
  for (const Score& score : trial.scores(noise)) EXPECT_LT(std::fabs(score.z), 6) << score.filter;
}

TEST(ScoreTests, NameATileThatIsNotThere) {
  const Trial trial(Family::kNormal);
  const Reference r = trial.run(std::vector<std::uint16_t>(trial.problem.rows() * kDV));
  // Tokens 1088 .. 1151: the second tile of the second split of 1024.
  std::vector<double> weight(trial.problem.rows()), value(trial.problem.rows() * kDV);
  for (std::int64_t row = 16; row < trial.problem.rows(); ++row) {
    const RowView view(trial.problem, trial.inputs, row);
    for (int token = 1088; token < 1152; ++token) {
      const double a = trial.weight(r, row, token);
      weight[row] += a;
      for (int d = 0; d < kDV; ++d) value[row * kDV + d] += a * view.k(token, d);
    }
  }
  const auto scores = trial.scores([&](std::int64_t row, int d) {
    return -(value[row * kDV + d] - weight[row] * r.expected.o[row * kDV + d]) / (1 - weight[row]);
  });
  const Score& tile = find(scores, "tile");
  EXPECT_LT(tile.z, -12);
  EXPECT_EQ(tile.sequence, 1);
  EXPECT_EQ(tile.split, 1);
  EXPECT_EQ(tile.token_begin, 1088);
  EXPECT_EQ(tile.token_end, 1152);
}

TEST(ScoreTests, NameASplitThatIsNotThere) {
  const Trial trial(Family::kNormal);
  const Reference r = trial.run(std::vector<std::uint16_t>(trial.problem.rows() * kDV));
  const auto scores = trial.scores([&](std::int64_t row, int d) {
    if (!second_sequence(row)) return 0.0;
    const std::int64_t part = row * kSplits + 2;
    const double a = std::exp(r.expected.partial_lse[part] - r.expected.lse[row]);
    return -a / (1 - a) * (r.expected.partial_o[part * kDV + d] - r.expected.o[row * kDV + d]);
  });
  const Score& split = find(scores, "split");
  EXPECT_LT(split.z, -12);
  EXPECT_EQ(split.sequence, 1);
  EXPECT_EQ(split.split, 2);
}

// Where all scores are equal too: what repeats is the score, not the direction.
TEST(ScoreTests, NameTheLastTokenThatIsNotThere) {
  for (const Family family : {Family::kNormal, Family::kAllEqual}) {
    const Trial trial(family);
    const Reference r = trial.run(std::vector<std::uint16_t>(trial.problem.rows() * kDV));
    const auto scores = trial.scores([&](std::int64_t row, int d) {
      if (!second_sequence(row)) return 0.0;
      const double a = trial.weight(r, row, kTokens - 1);
      const RowView view(trial.problem, trial.inputs, row);
      return -a / (1 - a) * (view.k(kTokens - 1, d) - r.expected.o[row * kDV + d]);
    });
    const Score& token = find(scores, "token");
    EXPECT_LT(token.z, -12);
    EXPECT_EQ(token.token_begin, kTokens - 1) << name_of(family);
  }
}

TEST(ScoreTests, SeeAScaleAndAGainThatAreOffByOneThousandth) {
  const Trial trial(Family::kNormal);
  const Reference r = trial.run(std::vector<std::uint16_t>(trial.problem.rows() * kDV));
  const auto at = [](std::int64_t row, int d) { return row * kDV + d; };
  EXPECT_GT(find(trial.scores(
                     [&](std::int64_t row, int d) { return 1e-3 * r.temperature_o[at(row, d)]; }),
                 "temperature")
                .z,
            12);
  EXPECT_GT(
      find(trial.scores([&](std::int64_t row, int d) { return 1e-3 * r.expected.o[at(row, d)]; }),
           "gain")
          .z,
      12);
}

}  // namespace
}  // namespace attest
