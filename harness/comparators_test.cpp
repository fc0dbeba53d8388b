// Each rule against lies that its own code would and would not see.
#include "harness/comparators.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "harness/core/formats.hpp"
#include "harness/generate.hpp"
#include "harness/pytorch_attention.hpp"
#include "reference/reference.hpp"
#include "reference/row_view.hpp"

namespace attest {
namespace {

constexpr int kRows = 4;  // enough elements for the share of mismatches

// Expected results of our choice, one split, no data behind them.
struct Fixture {
  Problem problem;
  Contract contract;
  Reference reference;
  Expected& expected = reference.expected;
  Tiers& tiers = reference.tiers;
  Tiers undeclared;
  std::vector<float> magnitude = std::vector<float>(kRows * kDV, 0.8f);
  std::vector<std::uint16_t> pytorch_o;
  Output output;
  std::vector<Score> scores;

  Fixture(const Fixture&) = delete;
  explicit Fixture(double size = 1, int keys = 1000) {
    problem.h_q = kRows;
    problem.s_kv = {keys};
    expected.rows = kRows;
    for (int i = 0; i < kRows * kDV; ++i) {
      // bf16 values of both signs between 0.5 and 1, times `size`
      expected.o.push_back(decode_bf16(encode_bf16((i % 2 ? -1 : 1) * (0.5 + i / 4096.0))) * size);
    }
    expected.lse = {7, 8, 9, 10};
    tiers.t0.o.assign(kRows * kDV, static_cast<float>(1e-3 * size));
    tiers.t0.lse.assign(kRows, 1e-4f);
    undeclared.t1 = tiers.t0;
    output.o.resize(kRows * kDV);
    pytorch_o.resize(kRows * kDV);
    for (int i = 0; i < kRows * kDV; ++i) output.o[i] = pytorch_o[i] = encode_bf16(expected.o[i]);
    for (double lse : expected.lse) output.lse.push_back(std::bit_cast<std::uint32_t>(float(lse)));
  }

  void set_o(int i, double value) { output.o[i] = encode_bf16(value); }
  void set_lse(int i, double value) {
    output.lse[i] = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  bool accepts(std::string_view name) const {
    const Subject subject{"kernel_x", problem, contract};
    const Yardstick yardstick{subject, reference, undeclared, magnitude, pytorch_o};
    for (const Comparator& comparator : all_comparators()) {
      if (comparator.name != name) continue;
      if (comparator.has_rule != nullptr && !comparator.has_rule(yardstick)) return true;
      return comparator.accepts(yardstick, {output, scores});
    }
    ADD_FAILURE() << "no comparator " << name;
    return false;
  }
};

TEST(Comparators, AllAcceptTheExpectedResultAndSayWhereTheyComeFrom) {
  const Fixture right;
  for (const Comparator& comparator : all_comparators()) {
    EXPECT_TRUE(right.accepts(comparator.name)) << comparator.name;
    EXPECT_FALSE(comparator.source.empty());
  }
  EXPECT_EQ(all_comparators().back().name, "attest");
}

TEST(Comparators, NoneAcceptsANanOfAnyPayload) {
  // Those that do not look at the elements of o, let one fail, or have no rule without a schedule.
  const std::set<std::string_view> blind = {"lse",       "partials", "scores",   "T2p o",
                                            "T2p o+lse", "mismatch", "aiter 5 %"};
  for (const std::uint16_t payload : {0x7fc0, 0xffff, 0x7f81}) {
    Fixture wrong;
    wrong.output.o[3] = payload;
    for (const Comparator& comparator : all_comparators()) {
      if (blind.contains(comparator.name)) continue;
      EXPECT_FALSE(wrong.accepts(comparator.name)) << comparator.name;
    }
    EXPECT_TRUE(wrong.accepts("aiter 5 %"));  // one of 2048
  }
}

TEST(Comparators, AllcloseAllowsItsTwoTolerancesTogether) {
  Fixture at;
  at.set_o(0, 0.51171875);  // 0.5 + 1e-2 + 1e-2 * 0.5 = 0.515; bf16 steps by 0.0039 here
  EXPECT_TRUE(at.accepts("allclose 1e-2"));
  at.set_o(0, 0.515625);
  EXPECT_FALSE(at.accepts("allclose 1e-2"));
  EXPECT_TRUE(at.accepts("allclose 2e-2"));
  at.set_o(0, 0.53125);  // beyond 0.53
  EXPECT_FALSE(at.accepts("allclose 2e-2"));
  Fixture lse;
  lse.set_lse(0, 99);
  EXPECT_TRUE(lse.accepts("allclose 1e-2"));  // it looks at o alone
}

TEST(Comparators, AiterLetsFivePercentFailAndNoMore) {
  Fixture at;
  for (int i = 0; i < 102; ++i) at.set_o(i, 1e30);  // 5 % of 2048 is 102.4
  EXPECT_TRUE(at.accepts("aiter 5 %"));
  at.set_o(102, 1e30);
  EXPECT_FALSE(at.accepts("aiter 5 %"));
  Fixture infinite;  // the tolerance that scales with an infinite output does not hold it
  for (int i = 0; i < 103; ++i) infinite.output.o[i] = 0x7f80;
  EXPECT_FALSE(infinite.accepts("aiter 5 %"));
  Fixture lse;
  for (int row = 0; row < 4; ++row) lse.set_lse(row, 7.2);
  EXPECT_FALSE(lse.accepts("aiter 5 %"));
}

// Of equal errors e with random signs the cosine difference is e^2 / 2 (relative): the limits are
// relative errors of 4.5e-3 and 3.2e-3.
TEST(Comparators, CosineSeesARelativeErrorOfTheWholeTensor) {
  const auto accepts = [](std::string_view name, double relative) {
    Fixture at;
    for (int i = 0; i < kRows * kDV; ++i) {
      at.expected.o[i] = decode_bf16(at.output.o[i]) * (1 + (i % 4 < 2 ? 1 : -1) * relative);
    }
    return at.accepts(name);
  };
  EXPECT_TRUE(accepts("cosine 5e-6", 3.0e-3));
  EXPECT_FALSE(accepts("cosine 5e-6", 3.4e-3));
  EXPECT_TRUE(accepts("cosine 1e-5", 4.3e-3));
  EXPECT_FALSE(accepts("cosine 1e-5", 4.7e-3));
  Fixture lse;
  lse.set_lse(0, 7.1);
  EXPECT_FALSE(lse.accepts("cosine 1e-5"));
}

TEST(Comparators, BenchdnnAcceptsZerosFromFifteenKeysOn) {
  for (const int keys : {14, 15}) {
    Fixture zeros(1, keys);
    for (std::uint16_t& o : zeros.output.o) o = 0;
    zeros.magnitude.assign(kRows * kDV, 1.0f);
    EXPECT_EQ(zeros.accepts("benchdnn"), keys == 15) << keys;
  }
}

TEST(Comparators, BenchdnnTakesTheLooserOfItsTwoLegs) {
  Fixture at(1, 1);  // relative leg: 8 * 2 * 2^-7 = 0.125; absolute leg: 2^-7 * 0.8
  at.set_o(0, 0.5 * 1.11);
  EXPECT_TRUE(at.accepts("benchdnn"));
  at.set_o(0, 0.5 * 1.14);
  EXPECT_FALSE(at.accepts("benchdnn"));
  Fixture small(1e-3,
                1);  // sizes 5e-4..1e-3: the absolute leg, 6e-3, holds what the relative does not
  small.set_o(0, 5e-3);
  EXPECT_TRUE(small.accepts("benchdnn"));
  small.set_o(0, 8e-3);
  EXPECT_FALSE(small.accepts("benchdnn"));
}

TEST(Comparators, FlashMlaNeedsOneOfTwoLimitsAndItsOwnOfLse) {
  Fixture at;
  at.set_o(0, 0.5 * (1 + 1.9 / 128));
  EXPECT_TRUE(at.accepts("FlashMLA"));
  at.set_o(0, 0.5 * (1 + 2.6 / 128));
  EXPECT_FALSE(at.accepts("FlashMLA"));
  Fixture small(1e-4);  // every error of this size is below 8e-4
  small.set_o(0, 5e-4);
  EXPECT_FALSE(small.accepts("FlashMLA"));  // but the cosine sees it
  Fixture lse;
  lse.set_lse(0, 7 * (1 + 7.0 / 65536));
  EXPECT_TRUE(lse.accepts("FlashMLA"));
  lse.set_lse(0, 7 * (1 + 9.0 / 65536));
  EXPECT_FALSE(lse.accepts("FlashMLA"));
}

TEST(Comparators, FlashAttentionDoublesTheErrorOfPytorch) {
  Fixture at;
  at.pytorch_o[7] = encode_bf16(at.expected.o[7] - 0.0625);
  at.set_o(0, 0.5 + 0.125);
  EXPECT_TRUE(at.accepts("FlashAttn 2x"));
  at.set_o(0, 0.5 + 0.1328125);
  EXPECT_FALSE(at.accepts("FlashAttn 2x"));
}

TEST(Comparators, OursJudgeEachTensorByItsOwnGate) {
  Fixture o, lse, score;
  o.set_o(0, 0.5 + 0.01);
  EXPECT_FALSE(o.accepts("T0 o"));
  EXPECT_FALSE(o.accepts("attest"));
  EXPECT_TRUE(o.accepts("lse"));
  lse.set_lse(0, 7.001);
  EXPECT_TRUE(lse.accepts("T0 o"));
  EXPECT_FALSE(lse.accepts("lse"));
  EXPECT_FALSE(lse.accepts("T1 o+lse"));
  EXPECT_FALSE(lse.accepts("attest"));
  score.tiers.t2 = score.tiers.t2p = score.tiers.t0;
  score.scores.push_back({.filter = "tile", .z = -12});
  EXPECT_TRUE(score.accepts("scores"));
  score.scores[0].z = -12.5;
  EXPECT_TRUE(score.accepts("lse"));
  EXPECT_FALSE(score.accepts("scores"));
  EXPECT_FALSE(score.accepts("attest"));
  score.scores[0].z = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(score.accepts("scores"));
}

TEST(Comparators, OursJudgeAboutTheShiftedValueOfT2p) {
  Fixture at;
  at.tiers.t2 = at.tiers.t2p = at.tiers.t0;
  at.tiers.p_shift.o.assign(kRows * kDV, 3e-3f);
  at.tiers.p_shift.lse.assign(kRows, 0);
  at.tiers.t2p.o.assign(kRows * kDV, 1e-6f);
  EXPECT_FALSE(at.accepts("mismatch"));
  EXPECT_FALSE(at.accepts("T2p o"));  // the unshifted value is 3e-3 away
  for (int i = 0; i < kRows * kDV; ++i) at.set_o(i, at.expected.o[i] + 3e-3);
  EXPECT_TRUE(at.accepts("T2p o"));
  EXPECT_TRUE(at.accepts("mismatch"));
}

TEST(Comparators, OursSuspectAnOutputWithinEveryGateWhoseBitsAreNotTheEmulatedOnes) {
  Fixture at;
  at.tiers.t0.o.assign(kRows * kDV, 3e-3f);
  at.tiers.t2 = at.tiers.t2p = at.tiers.t0;
  at.tiers.t2p.o.assign(kRows * kDV, 4e-4f);
  at.tiers.p_shift.o.assign(kRows * kDV, 1.85e-3f);  // of half an ulp of 1.95e-3
  at.tiers.p_shift.lse.assign(kRows, 0);
  std::fill_n(at.tiers.p_shift.o.begin(), 16, 0.0f);  // bf16 steps by half as much below 0.5
  EXPECT_TRUE(at.accepts("attest"));
  for (int i = 16; i < kRows * kDV; ++i) at.set_o(i, at.expected.o[i] + 0x1p-8);
  EXPECT_TRUE(at.accepts("T0 o"));
  EXPECT_TRUE(at.accepts("T2p o"));
  EXPECT_FALSE(at.accepts("mismatch"));
  EXPECT_FALSE(at.accepts("attest"));
}

// -------- partials: [rows, splits] against [tokens, splits, heads]

TEST(Comparators, OursFindAWrongPartialOfAnyHeadAndSplitAndSkipEmptySplits) {
  Fixture at(1, 128);  // two splits of 64 tokens, and an empty one
  const std::size_t rows = kRows, splits = 3;
  at.expected.num_splits = 3;
  for (std::size_t i = 0; i < rows * splits; ++i) {
    const bool empty = i % splits == 2;
    at.expected.partial_lse.push_back(empty ? -std::numeric_limits<double>::infinity() : double(i));
    at.expected.partial_o.insert(at.expected.partial_o.end(), kDV, double(i));
  }
  at.tiers.t0.partial_lse.assign(rows * splits, 1e-3f);
  at.tiers.t0.partial_o.assign(rows * splits * kDV, 1e-3f);
  at.output.partial_lse.assign(rows * splits, 0x7fc00000);
  at.output.partial_o.assign(rows * splits * kDV, 0x7fc00000);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t split = 0; split < 2; ++split) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(row * splits + split));
      at.output.partial_lse[split * rows + row] = bits;
      std::fill_n(at.output.partial_o.begin() + (split * rows + row) * kDV, kDV, bits);
    }
  }
  const Subject subject{"kernel_x", at.problem, at.contract, 3};
  const Yardstick yardstick{subject, at.reference, at.undeclared, {}, {}};
  const Comparator* partials = nullptr;
  for (const Comparator& comparator : all_comparators()) {
    if (comparator.name == "partials") partials = &comparator;
  }
  ASSERT_NE(partials, nullptr);
  EXPECT_TRUE(partials->accepts(yardstick, {at.output, {}}));
  Output wrong = at.output;
  wrong.partial_o[(rows + 1) * kDV + 511] =
      std::bit_cast<std::uint32_t>(4.01f);  // split 1 of head 1
  EXPECT_FALSE(partials->accepts(yardstick, {wrong, {}}));
  wrong = at.output;
  std::swap(wrong.partial_lse[0], wrong.partial_lse[1]);
  EXPECT_FALSE(partials->accepts(yardstick, {wrong, {}}));
}

// -------- PyTorch's attention

// attention_ref(upcast=False, reorder_ops=True) of one row, as it is written, in fp64 between its
// roundings.
std::vector<std::uint16_t> plain_pytorch(const Problem& problem, const Inputs& inputs, int row) {
  const auto to_bf16 = [](double value) { return double{decode_bf16(encode_bf16(value))}; };
  const RowView view(problem, inputs, row);
  std::vector<double> p;
  double max = -1e30, sum = 0;
  for (int j = 0; j < view.visible(); ++j) {
    double score = 0;
    for (int d = 0; d < kDQk; ++d) score += view.q(d) * to_bf16(view.k(j, d) * problem.sm_scale);
    p.push_back(to_bf16(score));
    max = std::max(max, p.back());
  }
  for (double& x : p) sum += x = std::exp(x - max);
  std::vector<double> o(kDV);
  for (int j = 0; j < view.visible(); ++j) {
    for (int d = 0; d < kDV; ++d) o[d] += to_bf16(p[j] / sum) * view.k(j, d);
  }
  std::vector<std::uint16_t> stored;
  for (const double value : o) stored.push_back(encode_bf16(value));
  return stored;
}

TEST(PytorchAttention, RoundsWherePytorchDoes) {
  Case c;
  c.problem.h_q = 3;
  c.problem.s_kv = {1500, 70};
  c.problem.s_q = {2, 1};
  c.problem.page_size = 16;
  const auto inputs = generate(c, {}, 1);
  ASSERT_TRUE(inputs.ok());
  const auto one = pytorch_attention(c.problem, *inputs, 1);
  const auto two = pytorch_attention(c.problem, *inputs, 2);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->o, two->o);
  EXPECT_EQ(one->magnitude, two->magnitude);
  int same = 0;
  for (int row = 0; row < c.problem.rows(); ++row) {
    const auto plain = plain_pytorch(c.problem, *inputs, row);
    for (int d = 0; d < kDV; ++d) same += one->o[row * kDV + d] == plain[d] ? 1 : 0;
  }
  // A few lie so near to a tie that fp32 sums decide them.
  EXPECT_GE(same, 0.98 * static_cast<double>(one->o.size()));
}

TEST(PytorchAttention, MagnitudeIsTheWeightedSumOfAbsoluteValues) {
  Case c;
  c.problem.h_q = 2;
  c.problem.s_kv = {1100};  // more than one block
  const auto inputs = generate(c, {}, 1);
  ASSERT_TRUE(inputs.ok());
  const auto actual = pytorch_attention(c.problem, *inputs, 1);
  ASSERT_TRUE(actual.ok());
  const RowView row(c.problem, *inputs, 1);
  double sum = 0, first = 0, last = 0;
  for (int j = 0; j < 1100; ++j) {
    double x = 0;
    for (int d = 0; d < kDQk; ++d) x += double{row.q(d)} * row.k(j, d) * c.problem.sm_scale;
    sum += std::exp(x);
    first += std::exp(x) * std::abs(row.k(j, 0));
    last += std::exp(x) * std::abs(row.k(j, 511));
  }
  EXPECT_NEAR(actual->magnitude[kDV], first / sum, 1e-4);
  EXPECT_NEAR(actual->magnitude[kDV + 511], last / sum, 1e-4);
}

}  // namespace
}  // namespace attest
