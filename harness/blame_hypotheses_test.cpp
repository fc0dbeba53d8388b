// What a kernel with a planted defect behaves like, in words; and that nothing is said where
// nothing fits.
#include "harness/blame_hypotheses.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/blame_trial.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

using model::Defect;
constexpr int kSplits = 6;

struct Named {
  Defect defect;
  const char *stage, *hypothesis;
};
constexpr const char *const kScores = "scores and softmax", *const kValues = "P.V",
                            *const kMerge = "merge";

void expect_named(const BlameTrial& t, const Named& named) {
  const Blame b = t.blamed(t.output(named.defect));
  EXPECT_EQ(b.stage, named.stage) << model::name_of(named.defect) << ": " << b.text;
  EXPECT_EQ(b.hypothesis, named.hypothesis) << model::name_of(named.defect) << ": " << b.text;
}

constexpr Named kOnNormalData[] = {
    {Defect::kDropFirstToken, kScores, "the first token were not there"},
    {Defect::kDropLastToken, kScores, "the last token were not there"},
    {Defect::kDropLastTile, kScores, "the last tile were not there"},
    {Defect::kCountFirstTokenTwice, kScores, "the first token counted twice"},
    {Defect::kMaskOffByOne, kScores, "each split ended a token late"},
    {Defect::kScaleOfLatentDims, kScores, "the scale were 1/sqrt(512)"},
    {Defect::kSkipRope, kScores, "the RoPE part were left out of q.k"},
    {Defect::kIgnoresScores, kScores, "q.k were not there"},
    {Defect::kNextHeadsQInOneSplit, kScores,
     "heads were shifted by one: q is the next head's, in split 3"},
    {Defect::kOneSplitsLseInBaseTwo, kScores, "partial_lse were in base 2, in split 3"},
    {Defect::kSkipRescaleOfL, kScores, "l were not rescaled when the running max moves"},
    {Defect::kSkipRescaleOfO, kValues, "o were not rescaled when the running max moves"},
    {Defect::kVOfNextToken, kValues, "V were the next token's"},
    {Defect::kRoundsPToFp8, kValues, "P were rounded to fp8 e4m3"},
    {Defect::kDropSplit, kMerge, "split 3 were not there"},
    {Defect::kAveragesSplits, kMerge, "splits were averaged"},
    {Defect::kLseInBaseTwo, kMerge, "lse were in base 2"},
    {Defect::kStoresLseInBf16, kMerge, "lse were rounded to bf16"},
    {Defect::kTruncatesO, "rounding of o", "o were truncated"},
    // What no hypothesis describes.
    {Defect::kWrongPage, kScores, ""},
    {Defect::kStaleToken, kScores, ""},
    {Defect::kScaleOnePercentOff, kScores, ""},
    {Defect::kTokenScaledTwice, kScores, ""},
    {Defect::kOneSplitsLseOff, kScores, ""},
    {Defect::kRescalesOTwice, kValues, ""},
    {Defect::kRescaleFivePercentOff, kValues, ""},
    {Defect::kSwapsTwoDims, kMerge, ""},
    {Defect::kHeadsSwapped, kMerge, ""},
    {Defect::kNanOfEmptySplit, kMerge, ""},
    {Defect::kZeros, kMerge, ""},
};

TEST(Hypotheses, NameWhatEachDefectOfASplitKernelIs) {
  const BlameTrial t(kSplits);
  for (const Named& named : kOnNormalData) expect_named(t, named);
}

TEST(Hypotheses, NameTheSameOfAKernelWithOneSplit) {
  const BlameTrial t(1);
  for (Named named : kOnNormalData) {
    const bool of_merge = named.stage == kMerge;
    if (!model::applies(named.defect, t.problem, t.contract, 1)) continue;
    if (named.defect == Defect::kNextHeadsQInOneSplit) continue;  // swaps, where all is one split
    if (named.defect == Defect::kMaskOffByOne) named.hypothesis = "the mask showed one token more";
    if (of_merge) continue;  // with one split it is a stage of its own
    expect_named(t, named);
  }
  expect_named(t, {Defect::kLseInBaseTwo, kScores, "lse were in base 2"});
  expect_named(t, {Defect::kStoresLseInBf16, kScores, "lse were rounded to bf16"});
}

// The tiers that repeat the rounding of P see what T0 cannot.
TEST(Hypotheses, NameRoundingsThatT2Sees) {
  const BlameTrial t(kSplits);
  ASSERT_FALSE(t.wanted.tiers.t2.empty());
  expect_named(t, {Defect::kTruncatesP, kValues, "P were truncated"});
  expect_named(t, {Defect::kStoresPartialsInBf16, kValues, "partial_o were bf16"});
  expect_named(t, {Defect::kNoMaxSubtraction, kValues, "no max were subtracted"});
  expect_named(t, {Defect::kAccumulatesOInBf16, kValues, ""});
  expect_named(BlameTrial(1), {Defect::kTruncatesP, kValues, "P were truncated"});
}

TEST(Hypotheses, NameADenominatorThatSumsRoundedP) {
  const BlameTrial t(kSplits, Family::kPositiveV);
  Contract other = t.contract;
  other.arithmetic.l_from_rounded_p = true;
  EXPECT_EQ(t.blamed(t.output_under(other)).hypothesis, "the denominator summed rounded P");
}

TEST(Hypotheses, NameAScaleByItsDimensions) {
  BlameTrial t(kSplits);
  for (const int dims : {192, 512}) {
    Problem other = t.problem;
    other.sm_scale = 1 / std::sqrt(static_cast<float>(dims));
    const auto run = model::run_model(other, t.inputs, t.contract, {.num_splits = kSplits});
    EXPECT_EQ(t.blamed(run->output).hypothesis,
              "the scale were 1/sqrt(" + std::to_string(dims) + ")");
  }
}

TEST(Hypotheses, NameHeadsShiftedByOneInTheOutput) {
  const BlameTrial t(kSplits);
  const Output right = t.output();
  Output output = right;
  for (int row = 0; row < 9; ++row) {
    const int from = row / 3 * 3 + (row + 1) % 3;
    output.lse[row] = right.lse[from];
    std::copy_n(right.o.begin() + from * kDV, kDV, output.o.begin() + row * kDV);
  }
  EXPECT_EQ(t.blamed(output).hypothesis,
            "heads were shifted by one: lse and o are the next head's");
}

// A kernel that truncates P, with one element wrong beyond that.
TEST(Hypotheses, MustExplainEveryElement) {
  const BlameTrial t(kSplits);
  Output output = t.output(Defect::kDropLastToken);
  ASSERT_NE(t.blamed(output).hypothesis, "");
  for (int row = 0; row < 9; ++row) output.o[row * kDV + 11] ^= 0x8000;
  EXPECT_EQ(t.blamed(output).hypothesis, "");
}

// With equal logits and one tile a split, a lost tile is a lost split's worth: two explanations of
// one thing are none.
TEST(Hypotheses, TwoThatFitEquallyAreNone) {
  BlameTrial t(1, Family::kAllEqual);
  // V constant too: which token is gone cannot be seen.
  auto* const kv = t.inputs.kv.data<std::uint16_t>();
  for (const int page : t.inputs.used_pages) {
    for (int i = 0; i < t.problem.page_size * kDQk; ++i) {
      if (i % kDQk < kDV)
        kv[std::int64_t{page} * t.problem.page_size * kDQk + i] = encode_bf16(1.5);
    }
  }
  t.wanted = std::move(*reference(t.problem, t.inputs, t.contract, 1, {}));
  EXPECT_EQ(t.blamed(t.output()).text, "");
  const Blame b = t.blamed(t.output(Defect::kDropLastToken));
  EXPECT_EQ(b.stage, kScores);
  EXPECT_EQ(b.hypothesis, "") << b.text;
}

}  // namespace
}  // namespace attest
