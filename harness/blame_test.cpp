// Defects planted in each stage by plain arithmetic on a right output, and what blame says of them.
#include "harness/blame.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/blame_merge.hpp"
#include "harness/blame_trial.hpp"
#include "harness/blame_where.hpp"
#include "harness/core/formats.hpp"
#include "harness/core/poison.hpp"

namespace attest {
namespace {

constexpr int kSplits = 6;

std::int64_t partial_at(const BlameTrial& t, int token, int split, int head) {
  return (std::int64_t{token} * t.num_splits + split) * t.problem.h_q + head;
}
// Of the model, where a merge that sees a changed partial must follow.
void merge_again_from(const BlameTrial& t, Output& output, std::int64_t row) {
  std::vector<PartialResult> splits;
  for (int split = 0; split < kSplits; ++split) {
    const std::int64_t at =
        partial_at(t, static_cast<int>(row / 3), split, static_cast<int>(row % 3));
    splits.push_back({std::vector<double>(kDV), std::bit_cast<float>(output.partial_lse[at])});
    for (int d = 0; d < kDV; ++d) {
      splits.back().o[d] = std::bit_cast<float>(output.partial_o[at * kDV + d]);
    }
  }
  const Remerged merged = merge_again(t.contract.arithmetic, splits);
  output.lse[row] = fp32_bits(merged.lse);
  for (int d = 0; d < kDV; ++d) output.o[row * kDV + d] = encode_bf16(merged.o[d]);
}

class BlameOf : public testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(Blame, BlameOf, testing::ValuesIn(kFamilies), [](const auto& info) {
  std::string name = name_of(info.param);
  std::erase(name, ' ');
  return name;
});

TEST_P(BlameOf, ARightOutputIsBlamedForNothing) {
  for (const int splits : {1, kSplits, 40}) {
    const BlameTrial t(splits, GetParam());
    const Blame b = t.blamed(t.output());
    EXPECT_EQ(b.text + b.stage + b.hypothesis, "") << splits;
  }
}

TEST(Blame, RightKernelsOfEveryMergeAndStoreAreBlamedForNothing) {
  for (const Merge merge : {Merge::kSequential, Merge::kMaxFirst, Merge::kDivisionFree}) {
    for (const bool truncates : {false, true}) {
      Contract contract = BlameTrial::short_tiles();
      contract.arithmetic.merge = merge;
      contract.arithmetic.o_truncates = contract.arithmetic.bf16_partials = truncates;
      contract.empty_row = truncates ? EmptyRow::kUnwritten : EmptyRow::kZerosAndMinusInf;
      for (const Family family : {Family::kNormal, Family::kStaircase, Family::kHugeLogits}) {
        const BlameTrial t(kSplits, family, contract);
        EXPECT_EQ(t.blamed(t.output()).text, "") << static_cast<int>(merge) << name_of(family);
      }
    }
  }
}

TEST(Blame, AWrongPartialLseIsScoresAndSoftmax) {
  const BlameTrial t(kSplits);
  Output output = t.output();
  output.partial_lse[partial_at(t, 1, 2, 0)] =
      fp32_bits(0.01 + std::bit_cast<float>(output.partial_lse[partial_at(t, 1, 2, 0)]));
  merge_again_from(t, output, 3);
  const Blame b = t.blamed(output);
  EXPECT_EQ(b.stage, "scores and softmax");
  EXPECT_EQ(b.text,
            "scores and softmax: partial_lse, sequence 0, query token 1, split 2 of 6 (tokens "
            "166..248), head 0; P.V clean, merge clean");
}

TEST(Blame, WrongColumnsOfAPartialAreItsPVAndSaidInBlocks) {
  const BlameTrial t(kSplits);
  Output output = t.output();
  for (int token = 0; token < 2; ++token) {
    for (int head = 0; head < 3; ++head) {
      for (int d = 128; d < 192; ++d) {
        output.partial_o[partial_at(t, token, 5, head) * kDV + d] ^= 0x80000000;
      }
      merge_again_from(t, output, token * 3 + head);
    }
  }
  EXPECT_EQ(t.blamed(output).text,
            "P.V: partial_o, sequence 0, split 5 of 6 (tokens 415..499), all heads, columns "
            "128-191; scores and softmax clean, merge clean");
}

TEST(Blame, AWrongMergeOfRightPartialsIsTheMerges) {
  const BlameTrial t(kSplits);
  Output output = t.output();
  for (int row : {1, 4, 7}) {  // head 1
    for (int d = 0; d < kDV; ++d) {
      output.o[row * kDV + d] = encode_bf16(1.03 * decode_bf16(output.o[row * kDV + d]));
    }
  }
  const Blame b = t.blamed(output);
  EXPECT_EQ(b.stage, "merge");
  EXPECT_EQ(b.text, "merge: o, head 1, all columns; scores and softmax clean, P.V clean");
}

TEST(Blame, AWrongLseOfTheMergeIsTheMergesToo) {
  const BlameTrial t(kSplits);
  Output output = t.output();
  output.lse[8] = fp32_bits(std::bit_cast<float>(output.lse[8]) + 1e-4);
  EXPECT_EQ(t.blamed(output).text,
            "merge: lse, sequence 1, query token 0, head 2; scores and softmax clean, P.V clean");
}

TEST(Blame, NamesTheFirstOfTwoBrokenStagesAndMentionsTheOther) {
  const BlameTrial t(kSplits);
  Output output = t.output();
  for (int d = 0; d < kDV; ++d) output.partial_o[partial_at(t, 0, 1, 1) * kDV + d] ^= 0x80000000;
  const Blame b = t.blamed(output);  // the merge did not see that: it was right before
  EXPECT_EQ(b.stage, "P.V");
  EXPECT_NE(b.text.find("scores and softmax clean, merge wrong too"), std::string::npos) << b.text;
}

TEST(Blame, OneSplitHasNoMerge) {
  const BlameTrial t(1);
  Output output = t.output();
  for (int d = 64; d < 130; ++d) output.o[2 * kDV + d] ^= 0x8000;
  EXPECT_EQ(t.blamed(output).text,
            "P.V: o, sequence 0, query token 0, head 2, columns 64-191; scores and softmax clean");
  output = t.output();
  output.lse[2] = fp32_bits(7);
  EXPECT_EQ(t.blamed(output).text,
            "scores and softmax: lse, sequence 0, query token 0, head 2; P.V clean");
}

TEST(Blame, TruncationOfOIsItsLastRoundingAlone) {
  for (const int splits : {1, kSplits}) {
    const BlameTrial t(splits);
    const Blame b = t.blamed(t.output(model::Defect::kTruncatesO));
    EXPECT_EQ(b.stage, "rounding of o");
    EXPECT_EQ(b.hypothesis, "o were truncated");
    EXPECT_NE(b.text.find("P.V clean"), std::string::npos) << b.text;
  }
}

TEST(Blame, OneElementThatNoRoundingExplainsIsNoRounding) {
  const BlameTrial t(kSplits);
  Output output = t.output(model::Defect::kTruncatesO);
  output.o[5] = encode_bf16(1.1 * decode_bf16(output.o[5]));
  const Blame b = t.blamed(output);
  EXPECT_EQ(b.stage, "merge");
  EXPECT_EQ(b.hypothesis, "");
}

TEST(Blame, UnwrittenAndNonFiniteElementsAreCalledSo) {
  const BlameTrial t(kSplits);
  Output output = t.output();
  std::fill_n(output.o.begin() + 3 * kDV, kDV, kPoison16);
  EXPECT_EQ(t.blamed(output).text,
            "merge: o, not written, sequence 0, query token 1, head 0, all columns; scores and "
            "softmax clean, P.V clean");
  output = t.output();
  output.partial_o[partial_at(t, 0, 0, 0) * kDV + 17] = fp32_bits(NAN);
  output.o[17] = 0x7FC0;  // as a merge of it gives
  EXPECT_EQ(t.blamed(output).text,
            "P.V: partial_o, not finite, sequence 0, query token 0, split 0 of 6 (tokens 0..82), "
            "head 0, column 17; scores and softmax clean, merge clean");
  output = t.output();
  output.partial_lse[partial_at(t, 2, 4, 1)] = fp32_bits(0);
  EXPECT_EQ(t.blamed(output).text,
            "scores and softmax: partial_lse, written where nothing belongs, sequence 1, query "
            "token 0, split 4 of 6 (it has no tokens), head 1; P.V clean, merge clean");
}

TEST(Blame, RangesAreCompact) {
  EXPECT_EQ(ranges_text({}), "");
  EXPECT_EQ(ranges_text({false, true}), "1");
  EXPECT_EQ(ranges_text({true, true, true, false, true, false, true, true}), "0-2, 4, 6-7");
}

TEST(Blame, EverySetOfPlacesIsDescribed) {
  Problem problem{.h_q = 16, .s_kv = {16384, 64}, .s_q = {1, 1}};
  const Contract contract;
  const Subject subject{"kernel_x", problem, contract, 16};
  Where where;
  for (int head = 0; head < 12; ++head) {
    for (int column = 128; column < 192; ++column) {
      where.add({.sequence = 0,
                 .query_token = 0,
                 .head = head,
                 .split = 5,
                 .column = column,
                 .row = head},
                Fault::kWrong);
    }
  }
  EXPECT_EQ(where.text(subject),
            "sequence 0, split 5 of 16 (tokens 5120..6143), heads 0-11, columns 128-191");
  where.add({.sequence = 1, .query_token = 0, .head = 15, .split = 0, .column = 511, .row = 31},
            Fault::kNonFinite);
  EXPECT_EQ(where.text(subject), "splits 0, 5 of 16, heads 0-11, 15, columns 128-191, 448-511");
}

}  // namespace
}  // namespace attest
