// The judge is fed lies. Each test takes an output that is right, tells one lie, and says which
// verdict must follow.
#include "harness/judge.hpp"

#include <gtest/gtest.h>

#include "harness/judge_trial.hpp"

namespace attest {
namespace {

void expect_failure(const Verdict& verdict, std::string_view bucket, std::string_view says) {
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_EQ(verdict.bucket, bucket) << verdict.reason;
  EXPECT_NE(verdict.reason.find(says), std::string::npos) << verdict.reason;
  EXPECT_GT(verdict.wrong, 0);
}

TEST(Judge, PassesARightOutputOfEveryShape) {
  for (const int splits : {1, 3, 64}) {
    for (const bool bf16_partials : {false, true}) {
      for (const EmptyRow rule : {EmptyRow::kZerosAndMinusInf, EmptyRow::kUnwritten}) {
        const Verdict verdict = Trial(splits, bf16_partials, rule).judged();
        EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
        EXPECT_EQ(verdict.wrong, 0);
        EXPECT_TRUE(verdict.reason.empty());
        EXPECT_EQ(verdict.worst.size(), splits > 1 ? 4u : 2u);
        for (const Worst& worst : verdict.worst) EXPECT_LE(worst.ratio, 1) << worst.tensor;
      }
    }
  }
}

TEST(Judge, CountsEveryElementItJudged) {
  const Verdict verdict = Trial(3).judged();
  // 24 rows of o and lse. Partials: 8 rows with 3 live splits, 16 with 3 slots; of those the 8
  // unseen rows of sequence 2 have a live split whose partial o is free.
  EXPECT_EQ(verdict.checked, 24 * 513 + 24 * 3 + (24 * 3 - 8) * 512);
}

TEST(Judge, RejectsOneElementOneUlpOutside) {
  Trial trial;
  auto& bits = trial.output.o[5 * kDV + 17];
  bits = encode_bf16(trial.expected.o[5 * kDV + 17] + trial.bound.o[5 * kDV + 17]) + 1;
  if (trial.expected.o[5 * kDV + 17] < 0) {
    bits = encode_bf16(trial.expected.o[5 * kDV + 17] - trial.bound.o[5 * kDV + 17]) + 1;
  }
  const Verdict verdict = trial.judged();
  expect_failure(verdict, "merge.wrong.scattered.kernel_x",
                 "o wrong at sequence 0, query token 1, head 1, column 17");
  EXPECT_EQ(verdict.wrong, 1);
}

TEST(Judge, RejectsNanOfAnyPayloadAsTheFirstByPosition) {
  for (const std::uint16_t nan : {0x7fc0, 0xffff, 0x7f81, 0x7fda}) {
    Trial trial;
    trial.output.o[3 * kDV + 100] = nan;
    trial.output.o[2 * kDV + 7] = 0x4000;  // wrong as well, and earlier
    trial.output.o[6 * kDV + 1] = nan;
    expect_failure(trial.judged(), "merge.nan.head.kernel_x",
                   "o nan at sequence 0, query token 0, head 3, column 100");
  }
}

TEST(Judge, RejectsInfWhereFiniteIsExpected) {
  Trial trial;
  trial.output.o[0] = 0xff80;
  expect_failure(trial.judged(), "merge.inf.head.kernel_x", "actual -inf");
}

TEST(Judge, NamesAnUnwrittenRow) {
  Trial trial;
  std::fill_n(trial.output.o.begin() + 6 * kDV, kDV, kPoison16);
  expect_failure(
      trial.judged(), "stage2.unwritten.head.kernel_x",
      "o unwritten at sequence 0, query token 1, head 2, column 0: still holds the poison 0x7fdb");
}

TEST(Judge, SeesTheHeadWhoseRowsAreAnothers) {
  Trial trial;
  for (int token = 0; token < 2; ++token) {
    for (int d = 0; d < kDV; ++d) {
      trial.output.o[(token * 4 + 3) * kDV + d] = trial.output.o[(token * 4 + 2) * kDV + d];
    }
  }
  expect_failure(trial.judged(), "merge.wrong.scattered.kernel_x", "head 3");
}

TEST(Judge, NamesTheColumnsOfOneTile) {
  Trial trial;
  for (int row = 0; row < 8; ++row) {
    for (int d = 128; d < 192; ++d) trial.output.o[row * kDV + d] ^= 0x8000;
  }
  expect_failure(trial.judged(), "merge.wrong.columns.kernel_x", "512 of ");
}

TEST(Judge, BlamesStageOneForAWrongSplitEvenWhenTheOutputIsWrongToo) {
  Trial trial;
  for (int token = 0; token < 2; ++token) {
    for (int head = 0; head < 4; ++head) {
      trial.output.partial_lse[trial.stored(token, 1, head)] ^= 0x80000000;
      trial.output.lse[token * 4 + head] ^= 0x80000000;
    }
  }
  expect_failure(trial.judged(), "scores.wrong.lse.kernel_x", "partial_lse wrong at sequence 0");
}

TEST(Judge, JudgesBf16PartialsByTheirOwnFormat) {
  Trial trial(3, true);
  auto& bits = trial.output.partial_o[trial.stored(1, 2, 3) * kDV + 5];
  bits = bits == 0 ? 0x4000 : bits ^ 0x8000;
  expect_failure(trial.judged(), "values.wrong.scattered.kernel_x",
                 "partial_o wrong at sequence 0, query token 1, head 3, split 2, column 5");
}

TEST(Judge, RejectsAWriteIntoADeadSplit) {
  Trial trial;
  trial.output.partial_o[trial.stored(5, 1, 0) * kDV + 9] = 0;
  expect_failure(trial.judged(), "stage1.overwritten.head.kernel_x",
                 "partial_o overwritten at sequence 2, query token 2, head 0, split 1, column 9");
  Trial other;
  other.output.partial_lse[other.stored(2, 0, 3)] = 0xff800000;
  expect_failure(other.judged(), "stage1.overwritten.lse.kernel_x",
                 "partial_lse overwritten at sequence 1");
}

TEST(Judge, LeavesThePartialOfASplitWithoutVisibleTokensFreeButNotItsLse) {
  Trial trial;
  trial.output.partial_o[trial.stored(3, 0, 1) * kDV] = 0x7fc00000;
  EXPECT_EQ(trial.judged().status, Status::kPassed);
  trial.output.partial_lse[trial.stored(3, 0, 1)] = fp32(-1e30);
  expect_failure(trial.judged(), "scores.wrong.lse.kernel_x", "expected -inf");
  trial.output.partial_lse[trial.stored(3, 0, 1)] = kPoison32;
  expect_failure(trial.judged(), "stage1.unwritten.lse.kernel_x", "partial_lse unwritten");
}

TEST(Judge, TakesMinusZeroInARowThatSeesNothingButNoOtherNumber) {
  Trial trial;
  trial.output.o[8 * kDV] = 0x8000;
  EXPECT_EQ(trial.judged().status, Status::kPassed);
  trial.output.o[8 * kDV] = 0x0001;
  expect_failure(trial.judged(), "merge.wrong.scattered.kernel_x", "sequence 1");
}

TEST(Judge, RejectsAFiniteLseOfARowThatSeesNothing) {
  Trial trial;
  trial.output.lse[8] = 0;
  expect_failure(trial.judged(), "merge.wrong.lse.kernel_x", "lse wrong at sequence 1");
}

TEST(Judge, RejectsMinusInfLseOfARowThatSeesTokens) {
  Trial trial;
  trial.output.lse[1] = 0xff800000;
  expect_failure(trial.judged(), "merge.wrong.lse.kernel_x", "lse wrong");
}

TEST(Judge, RejectsAWriteWhereTheContractLeavesEmptyRowsUnwritten) {
  Trial trial(3, false, EmptyRow::kUnwritten);
  trial.output.o[8 * kDV + 3] = 0;
  expect_failure(trial.judged(), "stage2.overwritten.head.kernel_x", "nothing is written");
}

TEST(Judge, RejectsUnderANanBound) {
  Trial trial;
  trial.bound.o[40] = static_cast<float>(kNan);
  expect_failure(trial.judged(), "merge.wrong.scattered.kernel_x", "ratio inf");
}

TEST(Judge, CallsAnInfiniteBoundVacuous) {
  Trial trial;
  trial.bound.lse[2] = static_cast<float>(kInfinity);
  const Verdict verdict = trial.judged();
  EXPECT_EQ(verdict.status, Status::kVacuous);
  EXPECT_NE(verdict.reason.find("infinite"), std::string::npos);
}

TEST(Judge, FailsForDamageEvenWhenTheNumbersAreRight) {
  Trial trial;
  trial.output.damage = {"wrote outside o: after it, byte 2"};
  const Verdict verdict = trial.judged();
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_EQ(verdict.bucket, "memory.oob.o.kernel_x");
  EXPECT_NE(verdict.reason.find("wrote outside o"), std::string::npos);
}

TEST(Judge, SaysActualAndExpectedInDecimalAndHexAndTheLargestTerm) {
  Trial trial;
  trial.expected.lse[4] = 1.5;
  trial.output.lse[4] = fp32(2);
  const Verdict verdict = trial.judged([](const Worst& worst) {
    EXPECT_EQ(worst.tensor, "lse");
    return std::vector<BoundTerm>{{"logit rounding", 7e-4}, {"log", 1e-7}};
  });
  for (const char* text :
       {"kernel_x: lse wrong", "query token 1, head 0", "actual 2 (0x40000000)",
        "expected 1.5 (0x3fc00000)", "error 0.5", "ratio 500", "1 of 24 elements",
        "beyond T0 (worst case of the contract)", "largest term of T0: logit rounding (0.0007)"}) {
    EXPECT_NE(verdict.reason.find(text), std::string::npos) << text << "\n" << verdict.reason;
  }
}

TEST(Judge, RejectsAnOutputThatNobodyWrote) {
  Trial trial;
  std::fill(trial.output.o.begin(), trial.output.o.end(), kPoison16);
  expect_failure(trial.judged(), "stage2.unwritten.all.kernel_x", "12288 of 12288");
}

TEST(Judge, RejectsZerosAndShuffledHeads) {
  Trial zeros;
  std::fill(zeros.output.o.begin(), zeros.output.o.begin() + 8 * kDV, std::uint16_t{0});
  EXPECT_EQ(zeros.judged().status, Status::kFailed);
  Trial shuffled;
  std::swap_ranges(shuffled.output.lse.begin(), shuffled.output.lse.begin() + 1,
                   shuffled.output.lse.begin() + 1);
  EXPECT_EQ(shuffled.judged().status, Status::kFailed);
}

}  // namespace
}  // namespace attest
