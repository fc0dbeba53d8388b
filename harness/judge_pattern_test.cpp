// Which bucket a failure gets: one, whatever part of its elements the data lets show.
#include <gtest/gtest.h>

#include "harness/judge_trial.hpp"

namespace attest {
namespace {

// Rows of the trial: 0..7 are sequence 0, two query tokens that see 299 and 300 tokens; 8..11 the
// empty sequence; 12..19 query tokens of sequence 2 that see none; 20..23 the one that sees one.
constexpr int kHeads = 4;

std::string bucket_of(const Trial& trial) {
  const Verdict verdict = trial.judged();
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_TRUE(verdict.bucket.ends_with(".kernel_x")) << verdict.bucket;
  return verdict.bucket.substr(0, verdict.bucket.rfind('.'));
}

void set_row(Trial& trial, int row, std::uint16_t bits) {
  std::fill_n(trial.output.o.begin() + row * kDV, kDV, bits);
}

TEST(Pattern, OfWrongNumbersIsTheSameWhateverShareOfThemShows) {
  const Stream stream = stream_of(Seed{3}, Tensor::kPlan, 1);
  for (const double share : {0.001, 0.01, 0.37, 0.9, 1.0}) {
    Trial trial;
    for (std::size_t i = 0; i < 8 * kDV; ++i) {
      if (stream.uniform(i) < share) trial.output.o[i] ^= 0x8000;
    }
    trial.output.o[7 * kDV] ^= 0x8000;  // one at least, in a query token that sees all
    if (share == 1.0) trial.output.o[7 * kDV] ^= 0x8000;
    EXPECT_EQ(bucket_of(trial), "merge.wrong.scattered") << share;
  }
}

TEST(Pattern, IsTheSameForOneHeadAndOneSequenceAsForMany) {
  for (const std::vector<int>& rows :
       {std::vector<int>{4}, {4, 5, 6, 7}, {4, 20}, {4, 5, 20, 21}}) {
    Trial trial;
    for (const int row : rows) {
      for (int d = 0; d < kDV; ++d) trial.output.o[row * kDV + d] ^= 0x8000;
    }
    EXPECT_EQ(bucket_of(trial), "merge.wrong.scattered");
  }
}

TEST(Pattern, IsColumnsOnlyWhereFewBlocksHoldTooManyForChance) {
  const auto wrong_in = [](int begin, int end) {
    Trial trial;
    for (int d = begin; d < end; ++d) trial.output.o[7 * kDV + d] = bf16(9);
    return bucket_of(trial);
  };
  EXPECT_EQ(wrong_in(64, 96), "merge.wrong.columns");
  EXPECT_EQ(wrong_in(64, 95), "merge.wrong.scattered");
  EXPECT_EQ(wrong_in(256, 512), "merge.wrong.columns");
  EXPECT_EQ(wrong_in(255, 512), "merge.wrong.scattered");
}

TEST(Pattern, IsCausalWhereOnlyQueryTokensBehindTheDiagonalAreWrong) {
  Trial trial;
  trial.output.o[1 * kDV] ^= 0x8000;  // one element of o may as well be chance
  EXPECT_EQ(bucket_of(trial), "merge.wrong.scattered");
  trial.output.lse[1] ^= 0x80000000;
  EXPECT_EQ(bucket_of(trial), "merge.wrong.causal");
  trial.output.o[5 * kDV] ^= 0x8000;
  EXPECT_EQ(bucket_of(trial), "merge.wrong.scattered");
}

TEST(Pattern, IsEmptyWhereOnlyRowsWithoutTokensAreFaultyInAllHeads) {
  Trial trial;
  for (int row = 8; row < 20; ++row) trial.output.o[row * kDV] = 0x7fc0;
  EXPECT_EQ(bucket_of(trial), "merge.nan.empty");
  Trial other = Trial();
  for (int row = 8; row < 16; ++row) other.output.o[row * kDV] = 0x7fc0;
  EXPECT_EQ(bucket_of(other), "merge.nan.empty");
  other.output.o[16 * kDV] = 0x7fc0;
  EXPECT_EQ(bucket_of(other), "merge.nan.head");
  Trial more = Trial();
  for (int row = 8; row < 24; ++row) more.output.o[row * kDV] = 0x7fc0;
  EXPECT_EQ(bucket_of(more), "merge.nan.all");
  Trial splits;  // of sequence 2, whose one live split shows two query tokens nothing
  for (int token = 3; token < 5; ++token) {
    for (int head = 0; head < kHeads; ++head) {
      splits.output.partial_lse[splits.stored(token, 0, head)] = fp32(0);
    }
  }
  EXPECT_EQ(bucket_of(splits), "scores.wrong.empty");
}

TEST(Pattern, IsHeadWhereHeadsOfOneQueryTokenDiffer) {
  Trial trial;
  for (const int row : {3, 7, 23}) set_row(trial, row, kPoison16);
  EXPECT_EQ(bucket_of(trial), "stage2.unwritten.head");
  for (int row = 4; row < 8; ++row) set_row(trial, row, kPoison16);
  EXPECT_EQ(bucket_of(trial), "stage2.unwritten.head");
  Trial all;
  for (int row = 4; row < 8; ++row) set_row(all, row, kPoison16);
  EXPECT_EQ(bucket_of(all), "stage2.unwritten.all");
}

TEST(Kind, IsZeroOnlyWhereEverythingThatIsWrongIsZero) {
  Trial trial;
  for (const int row : {2, 6}) set_row(trial, row, 0);
  trial.output.o[2 * kDV + 5] = 0x8000;  // -0
  EXPECT_EQ(bucket_of(trial), "stage2.zero.scattered");
  trial.output.lse[6] = 0;
  EXPECT_EQ(bucket_of(trial), "stage2.zero.scattered");
  trial.output.lse[6] = 0xff800000;  // it says that it saw no token, and is consistent
  EXPECT_EQ(bucket_of(trial), "merge.wrong.scattered");
}

TEST(Kind, OfTheFirstStageHidesThoseBehindIt) {
  Trial trial;
  trial.output.o[6 * kDV] = kPoison16;
  trial.output.partial_o[trial.stored(1, 0, 2) * kDV] = fp32(9);
  EXPECT_EQ(bucket_of(trial), "values.wrong.scattered");
  trial.output.partial_lse[trial.stored(1, 0, 3)] = 0x7fc00000;
  EXPECT_EQ(bucket_of(trial), "scores.nan.lse");
  trial.output.partial_o[trial.stored(1, 1, 3) * kDV] = kPoison32;
  EXPECT_EQ(bucket_of(trial), "stage1.unwritten.head");
}

TEST(Stage, OfALoneSplitIsScoresWhereLseIsWrongAndElseValues) {
  Trial trial(1);
  trial.output.o[7 * kDV] ^= 0x8000;
  EXPECT_EQ(bucket_of(trial), "values.wrong.scattered");
  trial.output.lse[7] ^= 0x80000000;
  EXPECT_EQ(bucket_of(trial), "scores.wrong.scattered");
  set_row(trial, 7, kPoison16);
  EXPECT_EQ(bucket_of(trial), "stage1.unwritten.head");
}

}  // namespace
}  // namespace attest
