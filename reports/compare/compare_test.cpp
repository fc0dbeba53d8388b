#include "reports/compare/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/compare/compare_text.hpp"
#include "reports/compare/test_pairs.hpp"

namespace attest {
namespace {

using test_pairs::compared;
using test_pairs::eight;
using test_pairs::fail;
using test_pairs::good;
using test_pairs::holds;
using test_pairs::with;
using test_runs::run_of;
using test_runs::token_of;

TEST(Compare, OfTheSameResultsIsEmptyAndSaysSo) {
  const Comparison c = compared(eight(), eight());
  EXPECT_TRUE(c.is_same());
  EXPECT_EQ(c.exit_code(), 0);
  EXPECT_EQ(c.compared, 8);
  EXPECT_TRUE(compared_as_text(c).starts_with("the same\n"));
  EXPECT_TRUE(holds(compared_as_markdown(c), "No case, bound, contract or error / bound changed."));
}

TEST(Compare, TellsANewBucketWithItsSourceAndTheCommandToSeeItAgain) {
  const Comparison c = with([](CaseRecord& record) { fail(record); });
  ASSERT_EQ(c.buckets.size(), 1u);
  EXPECT_EQ(c.buckets[0].fate, BucketFate::kNew);
  EXPECT_EQ(c.buckets[0].pr_cases, 1);
  ASSERT_EQ(c.statuses.size(), 1u);
  EXPECT_TRUE(c.statuses[0].is_worse);
  EXPECT_TRUE(c.ratios.empty());  // of a case with another verdict that says more
  EXPECT_EQ(c.exit_code(), 1);
  const std::string text = compared_as_text(c);
  for (const char* part : {"worse: 1 new bucket, 1 case failed that passed\n",
                           "new          merge.wrong.all.mla_decode  failed  0 -> 1 cases  "
                           "kernels/mla_decode/stage2.hpp:88  v1:k=mla_decode:h=1:s=300:seed=3\n",
                           "  mla_decode: o wrong at head 3\n",
                           "see it again: ./attest repro 'v1:k=mla_decode:h=1:s=300:seed=3'\n",
                           "verdicts     passed -> failed  1 case  v1:"}) {
    EXPECT_TRUE(holds(text, part)) << part << "\n" << text;
  }
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 25);
}

TEST(Compare, TellsAFixedBucketAndWhetherItsCasesRan) {
  std::vector<CaseRecord> base = eight(), pr = eight();
  fail(base[3]);
  const Comparison fixed = compared(base, pr);
  EXPECT_EQ(fixed.buckets.at(0).fate, BucketFate::kFixed);
  EXPECT_EQ(fixed.buckets.at(0).looked_at, 1);
  EXPECT_EQ(fixed.exit_code(), 0);
  EXPECT_TRUE(compared_as_text(fixed).starts_with("nothing is worse\n"));
  pr.erase(pr.begin() + 3);
  const Comparison gone = compared(base, pr);
  EXPECT_TRUE(holds(compared_as_text(gone), "1 -> 0 cases, but PR has a verdict on none of them"));
  EXPECT_EQ(gone.exit_code(), 5);
}

TEST(Compare, BlamesPrForNoBucketThatBaseHas) {
  std::vector<CaseRecord> base = eight(), pr = eight();
  fail(base[3]), fail(pr[3]);
  pr.push_back(good(20));  // an added case that finds the same
  fail(pr.back());
  const Comparison c = compared(base, pr);
  EXPECT_EQ(c.buckets.at(0).fate, BucketFate::kOpen);
  EXPECT_EQ(c.exit_code(), 0);
  EXPECT_FALSE(c.is_same());
  EXPECT_TRUE(
      holds(compared_as_text(c), "still open   merge.wrong.all.mla_decode  failed  1 -> 2"));
}

TEST(Compare, CallsAPassingCaseThatFailsInAnOldBucketWorse) {
  std::vector<CaseRecord> base = eight(), pr = eight();
  fail(base[3]), fail(pr[3]), fail(pr[4]);
  EXPECT_EQ(compared(base, pr).exit_code(), 1);
}

TEST(Compare, ShowsALoosenedBoundFirst) {
  std::vector<CaseRecord> pr = eight();
  for (CaseRecord& record : pr) record.verdict.spreads[1].bound_median *= 2;
  pr[5].verdict.spreads[1].bound_median *= 2;
  pr[6].verdict.spreads[0].bound_median *= 0.5;
  const Comparison c = compared(eight(), pr);
  ASSERT_EQ(c.bounds.size(), 2u);
  EXPECT_TRUE(c.bounds[0].is_looser);
  EXPECT_EQ(c.bounds[0].tensor, "o");
  EXPECT_EQ(c.bounds[0].cases, 8);
  EXPECT_DOUBLE_EQ(c.bounds[0].factor, 4);
  EXPECT_DOUBLE_EQ(c.bounds[0].usual, 2);
  EXPECT_EQ(c.bounds[0].token, token_of(5));
  EXPECT_FALSE(c.bounds[1].is_looser);
  EXPECT_EQ(c.exit_code(), 5);
  EXPECT_EQ(sections_of(c).front().name, "looser");
  EXPECT_TRUE(holds(compared_as_text(c), "looser       mla_decode  o  2x, up to 4x  8 cases"));
}

TEST(Compare, TakesATightenedBoundForNothingWorse) {
  EXPECT_EQ(with([](CaseRecord& r) { r.verdict.spreads[0].bound_median /= 3; }).exit_code(), 0);
}

TEST(Compare, DoesNotTakeRoundingForALoosenedBound) {
  EXPECT_TRUE(with([](CaseRecord& r) { r.verdict.spreads[0].bound_median *= 1 + 1e-9; }).is_same());
}

TEST(Compare, ShowsATensorThatHasNoFiniteBoundAnyMore) {
  const Comparison c = with([](CaseRecord& r) { r.verdict.spreads.pop_back(); });
  ASSERT_EQ(c.bounds.size(), 1u);
  EXPECT_EQ(c.bounds[0].factor, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(holds(compared_as_text(c), "no finite bound"));
}

TEST(Compare, CallsABoundLooserHoweverItIsLost) {
  const auto is_looser = [](const Comparison& c) {
    return c.exit_code() == 5 && c.bounds.size() == 1 && c.bounds[0].is_looser;
  };
  const double nan = std::nan("");
  std::vector<CaseRecord> exact = eight();
  exact[3].verdict.spreads[0].bound_median = 0;
  EXPECT_TRUE(is_looser(compared(exact, eight())));
  EXPECT_FALSE(compared(eight(), exact).bounds.at(0).is_looser);
  EXPECT_TRUE(is_looser(with([&](CaseRecord& r) { r.verdict.spreads[0].bound_median = nan; })));
  EXPECT_EQ(with([](CaseRecord& r) { r.verdict.spreads.clear(); }).bounds.size(), 2u);
  EXPECT_TRUE(is_looser(with([](CaseRecord& r) {
    r.verdict.worst[0].bound *= 1000;  // of one element: the middle one's stays
    r.verdict.worst[0].ratio /= 1000;
  })));
  EXPECT_TRUE(with([](CaseRecord& r) {
                r.verdict.worst[0].bound *= 1000;
                r.verdict.worst[0].head = 5;  // another element
              }).bounds.empty());
}

TEST(Compare, TakesAFixThatIsJudgedByLessForLess) {
  std::vector<CaseRecord> base = eight(), pr = eight();
  fail(base[3]);
  pr[3].verdict.spreads.clear();
  pr[3].verdict.checked = 10;
  const Comparison c = compared(base, pr);
  EXPECT_EQ(c.exit_code(), 5);
  EXPECT_EQ(c.bounds.size(), 2u);
  EXPECT_EQ(c.drops.at(0).what, "elements judged");
}

TEST(Compare, NamesTheFieldsOfAContractThatChangedOnceForAllItsCases) {
  std::vector<CaseRecord> pr = eight();
  for (CaseRecord& r : pr) r.verdict.contract = "matrix_unit=fma p_bits=7 merge=max_first new=1";
  pr[2].verdict.contract = "matrix_unit=cdna3 p_bits=8 merge=max_first";
  const Comparison c = compared(eight(), pr);
  ASSERT_EQ(c.contracts.size(), 2u);
  EXPECT_EQ(c.contracts[0].fields, "p_bits 8 -> 7, new not said -> 1");
  EXPECT_EQ(c.contracts[0].cases, 7);
  EXPECT_EQ(c.contracts[1].fields, "matrix_unit fma -> cdna3");
  EXPECT_EQ(c.exit_code(), 5);
  const Comparison gone = with([](CaseRecord& r) { r.verdict.contract.clear(); });
  EXPECT_EQ(gone.contracts.at(0).fields, "no longer said");
  EXPECT_EQ(gone.exit_code(), 5);
}

TEST(Compare, TellsARatioThatDoubledAndFailsNothingForIt) {
  const Comparison c = with([](CaseRecord& r) { r.verdict.worst[0].ratio *= 2; });
  ASSERT_EQ(c.ratios.size(), 1u);
  EXPECT_EQ(c.ratios[0].tensor, "lse");
  EXPECT_EQ(c.ratios[0].what, "largest");
  EXPECT_DOUBLE_EQ(c.ratios[0].factor(), 2);
  EXPECT_EQ(c.exit_code(), 0);
  EXPECT_TRUE(holds(compared_as_text(c), "error/bound  lse  largest  0.25 -> 0.5  2x"));
}

// The last rounding to bf16 holds the largest of o near 1, whatever else is wrong.
TEST(Compare, SeesTheBulkOfOMoveWhereItsLargestDoesNot) {
  const Comparison c = with([](CaseRecord& r) { r.verdict.spreads[1].ratio_median = 0.25; });
  ASSERT_EQ(c.ratios.size(), 1u);
  EXPECT_EQ(c.ratios[0].what, "median");
  EXPECT_DOUBLE_EQ(c.ratios[0].factor(), 2.5);
}

TEST(Compare, HasNoNewsOfTinyRatios) {
  std::vector<CaseRecord> base = eight(), pr = eight();
  base[3].verdict.worst[0].ratio = 0.001, pr[3].verdict.worst[0].ratio = 0.06;
  EXPECT_TRUE(compared(base, pr).is_same());
  pr[3].verdict.worst[0].ratio = 0.1;
  EXPECT_DOUBLE_EQ(compared(base, pr).ratios.at(0).factor(), 1.6);
}

TEST(Compare, TellsWhatAPassSeesNoMore) {
  const Comparison c = with([](CaseRecord& r) {
    r.verdict.evidence.tokens_visible = 0.2;
    r.verdict.evidence.strawmen = {"zeros"};
    r.verdict.checked = 10;
  });
  ASSERT_EQ(c.drops.size(), 3u);
  EXPECT_EQ(c.drops[0].before, "100 %");
  EXPECT_EQ(c.drops[0].after, "20 %");
  EXPECT_EQ(c.drops[1].after, "1, without: last token dropped");
  EXPECT_EQ(c.drops[2].what, "elements judged");
  EXPECT_EQ(c.exit_code(), 5);
  EXPECT_TRUE(with([](CaseRecord& r) { r.verdict.evidence.tokens_visible = 0.96; }).is_same());
}

TEST(Compare, CallsEachPartOfAPassThatIsGoneLess) {
  const auto lost = [](auto edit) {
    const Comparison c = with(edit);
    return c.exit_code() == 5 && c.drops.size() == 1 ? c.drops[0].what : "not told";
  };
  EXPECT_EQ(lost([](CaseRecord& r) { r.verdict.spreads[0].sampled = 50; }),
            "elements of lse with a finite bound, of a sample");
  EXPECT_EQ(lost([](CaseRecord& r) { r.verdict.worst.pop_back(); }), "o");
  EXPECT_EQ(lost([](CaseRecord& r) { r.verdict.evidence.rows_certified = 0; }),
            "rows of the reference certified");
  EXPECT_EQ(lost([](CaseRecord& r) { r.verdict.schedules = 1; }), "schedules");
  EXPECT_TRUE(with([](CaseRecord& r) { r.verdict.evidence.rows_certified = 1; }).is_same());
}

TEST(Compare, SeesAGateThatDecidesOfNothingAnyMore) {
  std::vector<CaseRecord> pr = eight();
  for (int i = 0; i < 7; ++i) pr[i].verdict.worst[1].tier = "T0";
  EXPECT_TRUE(compared(eight(), pr).is_same());  // which of two decides is chance
  pr[7].verdict.worst[1].tier = "T0";
  const Comparison c = compared(eight(), pr);
  ASSERT_EQ(c.drops.size(), 1u);
  EXPECT_EQ(c.drops[0].what, "mla_decode: o decided by T2p");
  EXPECT_EQ(c.exit_code(), 5);
}

TEST(Compare, TellsWhatAReaderMustKnowOfEachSide) {
  Results base = run_of(0, eight()), pr = run_of(1, eight());
  base.notes = {"base.jsonl:3: cut short"}, pr.notes = {"pr.jsonl:4: no record"};
  const Comparison c = compare(base, "a", pr, "b");
  EXPECT_TRUE(holds(compared_as_text(c), "      note: base.jsonl:3: cut short\nPR"));
  EXPECT_TRUE(holds(compared_as_markdown(c), "- PR: ` pr.jsonl:4: no record `\n"));
  EXPECT_TRUE(holds(compared_as_json(c), "base.jsonl:3: cut short"));
}

TEST(Compare, TellsAddedAndRemovedCasesButForThoseThatAreDrawn) {
  std::vector<CaseRecord> base = eight(), pr = eight();
  pr.push_back(good(20));
  base.push_back(good(21));
  base.push_back(good(22)), base.back().phase = "fuzz";
  pr.push_back(good(23)), pr.back().phase = "fuzz";
  const Comparison c = compared(base, pr);
  EXPECT_EQ(c.added, std::vector{token_of(20)});
  EXPECT_EQ(c.removed, std::vector{token_of(21)});
  EXPECT_EQ(c.exit_code(), 5);
}

TEST(Compare, TellsAnIncompletePrFromOneThatLacksCases) {
  Results base = run_of(0, eight()), pr = run_of(1, eight());
  pr.cases.pop_back();
  pr.missing = {token_of(7)};
  pr.tally.interrupted = true;
  const Comparison c = compare(base, "a", pr, "b");
  EXPECT_EQ(c.unfinished, std::vector{token_of(7)});
  EXPECT_TRUE(c.removed.empty());
  EXPECT_EQ(c.exit_code(), 3);
  const Comparison back = compare(pr, "b", base, "a");
  EXPECT_EQ(back.only_on_pr, std::vector{token_of(7)});
  EXPECT_EQ(back.exit_code(), 5);
  EXPECT_TRUE(compared_as_text(back).starts_with("proves less: compared with a part of BASE\n"));
}

TEST(Compare, TellsAPartOfARunFromTheWhole) {
  Results base = run_of(0, eight()), pr = run_of(1, eight());
  base.absent = {"2/2"};
  EXPECT_EQ(compare(base, "a", pr, "b").exit_code(), 5);
  EXPECT_EQ(compare(pr, "b", base, "a").exit_code(), 3);
  pr.absent = base.absent;  // part by part
  EXPECT_EQ(compare(base, "a", pr, "b").exit_code(), 0);
}

TEST(Compare, OfNothingInCommonProvesTooLittle) {
  EXPECT_EQ(compared({good(1)}, {good(2)}).exit_code(), 5);
}

TEST(Compare, NamesTheRunsDifferencesAndWarnsOfAnotherDevice) {
  Results base = run_of(0, eight()), pr = run_of(1, eight());
  pr.runs[0].device = "cuda:0";
  pr.runs[0].bounds = "2";
  const Comparison c = compare(base, "a", pr, "b");
  EXPECT_EQ(c.about_runs,
            (std::vector<std::string>{
                "device: emu:gfx942 -> cuda:0; numbers may differ for that alone", "bounds: 1 -> 2",
                "build: the same on both sides, 0.1.0, code objects 5b1f09aa41c7d2e3"}));
  EXPECT_EQ(c.exit_code(), 5);
  EXPECT_TRUE(c.is_host_time);
}

TEST(Compare, MeasuresSpeedAndLetsItDecideNothing) {
  std::vector<CaseRecord> pr = eight();
  for (CaseRecord& record : pr) record.verdict.kernel_ms *= 4;
  pr[0].verdict.kernel_ms = 1;
  pr[1].verdict.kernel_ms = 0;  // not measured
  const Comparison c = compared(eight(), pr);
  ASSERT_EQ(c.speed.size(), 1u);
  EXPECT_EQ(c.speed[0].cases, 7);
  EXPECT_NEAR(c.speed[0].ratio, std::pow(4.0, 6.0 / 7) * std::pow(0.5, 1.0 / 7), 1e-12);
  EXPECT_EQ(c.speed[0].slowest.size(), 5u);
  EXPECT_TRUE(c.is_same());
  EXPECT_TRUE(holds(compared_as_text(c), "emulator host time"));
}

}  // namespace
}  // namespace attest
