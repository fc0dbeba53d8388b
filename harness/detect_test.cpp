// The table of detections: what its cells mean, what makes a hole, and that a small real one is
// right.
#include "harness/detect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/comparators.hpp"
#include "harness/core/kernel.hpp"
#include "harness/detect_report.hpp"
#include "harness/generate.hpp"
#include "harness/judge.hpp"
#include "reference/reference.hpp"

namespace attest {
namespace {

std::size_t comparator_of(std::string_view name) {
  const auto all = all_comparators();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Comparator& c) { return c.name == name; });
  EXPECT_NE(found, all.end()) << name;
  return found - all.begin();
}

std::size_t index_of(model::Defect defect) { return static_cast<std::size_t>(defect) - 1; }

// Every comparator sees every defect and accepts the correct kernel.
DetectCase perfect(std::string distribution, int length) {
  DetectCase c{std::move(distribution), length, 1, {}, {}};
  c.correct.assign(all_comparators().size(), Cell::kNoEffect);
  c.defects.assign(planted_defects().size(),
                   std::vector<Cell>(all_comparators().size(), Cell::kCaught));
  return c;
}

void set_defect(DetectCase& c, model::Defect defect, Cell cell) {
  std::fill(c.defects[index_of(defect)].begin(), c.defects[index_of(defect)].end(), cell);
}

constexpr auto kSome = model::Defect::kWrongPage;

TEST(DetectHoles, AreDefectsThatNoDistributionShowsAtALength) {
  Detection detection{{perfect("a", 64), perfect("a", 256), perfect("b", 64), perfect("b", 256)}};
  EXPECT_TRUE(detect_holes(detection).empty());
  set_defect(detection.cases[1], kSome, Cell::kMissed);  // b still shows it
  EXPECT_TRUE(detect_holes(detection).empty());
  set_defect(detection.cases[3], kSome, Cell::kMissed);
  ASSERT_EQ(detect_holes(detection).size(), 1u);
  EXPECT_EQ(detect_holes(detection)[0],
            "MISSED at 256 tokens by every distribution: reads one wrong page");
  set_defect(detection.cases[3], kSome, Cell::kNoEffect);  // it still has one on a
  EXPECT_EQ(detect_holes(detection).size(), 1u);
  set_defect(detection.cases[1], kSome, Cell::kNoEffect);
  EXPECT_TRUE(detect_holes(detection).empty());
}

TEST(DetectHoles, AreFalseAlarmsOfOursAndNotOfOthers) {
  Detection detection{{perfect("a", 64)}};
  detection.cases[0].correct[comparator_of("FlashMLA")] = Cell::kFalseAlarm;
  EXPECT_TRUE(detect_holes(detection).empty());
  detection.cases[0].correct[comparator_of("T0 o")] = Cell::kFalseAlarm;
  ASSERT_EQ(detect_holes(detection).size(), 1u);
  EXPECT_EQ(detect_holes(detection)[0], "FALSE ALARM of T0 o on a at 64 tokens");
}

TEST(DetectReport, CountsWhatIsMissedOnTheFirstDistributionAndOnAll) {
  Detection detection{{perfect("a", 64), perfect("b", 64)}};
  const std::size_t k = comparator_of("allclose 1e-2");
  detection.cases[0].defects[index_of(kSome)][k] = Cell::kMissed;
  detection.cases[0].defects[index_of(model::Defect::kZeros)][k] = Cell::kMissed;
  detection.cases[1].defects[index_of(kSome)][k] = Cell::kMissed;
  const std::string text = detect_markdown(detection, "attest detect");
  const auto defects = planted_defects().size();
  EXPECT_NE(text.find("| 64 | " + std::to_string(defects) + " | 2 | 0 |"), std::string::npos);
  EXPECT_NE(text.find("| 64 | " + std::to_string(defects) + " | 1 | 0 |"), std::string::npos);
  detection.cases[1].correct[k] = Cell::kFalseAlarm;
  EXPECT_NE(detect_markdown(detection, "").find("| 1 (F in 1) | 0 |"), std::string::npos);
  EXPECT_NE(detect_markdown(detection, "").find("- allclose 1e-2: b at 64\n"), std::string::npos);
}

TEST(DetectReport, SaysMissedInTheRowOfTheDefect) {
  Detection detection{{perfect("a", 64)}};
  set_defect(detection.cases[0], kSome, Cell::kMissed);
  const std::string text = detect_markdown(detection, "attest detect");
  EXPECT_NE(text.find("| reads one wrong page | **MISSED**, 0 of 1 |"), std::string::npos);
  EXPECT_NE(text.find("## Holes"), std::string::npos);
}

// ---- real runs ----

DetectOptions small_options(int threads) {
  return {.distributions = {"normal", "needles"}, .lengths = {64, 1024}, .threads = threads};
}

TEST(Detect, DoesNotDependOnThreads) {
  const auto one = detect(small_options(1), {}), two = detect(small_options(2), {});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(detect_json(*one, ""), detect_json(*two, ""));
  DetectOptions other = small_options(1);
  other.seed = {1};
  const auto seeded = detect(other, {});
  ASSERT_TRUE(seeded.ok());
  EXPECT_EQ(seeded->cases.size(), 4u);
}

TEST(Detect, ReadsAsTheCellsSay) {
  const auto detection = detect(small_options(2), {});
  ASSERT_TRUE(detection.ok());
  const std::size_t ours = comparator_of("attest"), loose = comparator_of("allclose 2e-2");
  for (const DetectCase& c : detection->cases) {
    SCOPED_TRACE(c.distribution + " " + std::to_string(c.length));
    EXPECT_EQ(c.num_splits, c.length == 64 ? 2 : 4);
    for (std::size_t k = 0; k < all_comparators().size(); ++k) {
      if (all_comparators()[k].ours) EXPECT_NE(c.correct[k], Cell::kFalseAlarm);
    }
    const auto cell = [&](model::Defect d, std::size_t k) { return c.defects[index_of(d)][k]; };
    for (const auto d : {model::Defect::kZeros, model::Defect::kLseInBaseTwo,
                         model::Defect::kScaleOnePercentOff, model::Defect::kHeadsSwapped}) {
      EXPECT_EQ(cell(d, ours), Cell::kCaught) << model::name_of(d);
    }
    EXPECT_EQ(cell(model::Defect::kLseInBaseTwo, loose), Cell::kMissed);  // o alone
    EXPECT_EQ(cell(model::Defect::kDropSplit, ours),
              c.length == 64 ? Cell::kNoEffect : Cell::kCaught);  // there is one live split
    EXPECT_EQ(cell(model::Defect::kNanOfEmptySplit, ours),
              c.length == 64 ? Cell::kCaught : Cell::kNoEffect);
  }
}

// What the published table says, on what a test has time for.
TEST(Detect, TwoDistributionsShowEveryDefectToOursAndTheUsualToleranceMissesMost) {
  const auto detection = detect(
      {.distributions = {"normal", "very_negative"}, .lengths = {64, 256, 4096}, .threads = 2}, {});
  ASSERT_TRUE(detection.ok());
  for (const std::string& hole : detect_holes(*detection)) ADD_FAILURE() << hole;
  const DetectCase& normal = detection->cases[2];
  ASSERT_EQ(normal.length, 4096);
  const auto missed = [&](std::string_view name) {
    const std::size_t k = comparator_of(name);
    return std::count_if(normal.defects.begin(), normal.defects.end(),
                         [&](const auto& cells) { return cells[k] == Cell::kMissed; });
  };
  EXPECT_EQ(missed("attest"), 0);
  EXPECT_GE(missed("allclose 2e-2"), 20);
  EXPECT_GE(missed("FlashMLA"), 5);
  EXPECT_GT(missed("lse"), 0);  // no gate sees all alone
  EXPECT_GT(missed("partials"), 0);
}

// The last column is the verdict that a user gets.
TEST(Detect, AttestAcceptsWhatTheJudgeDoesNotCallFailedOrSuspect) {
  Case c;
  c.problem.h_q = 4;
  c.problem.s_kv = {700};
  c.problem.num_splits = 4;
  c.problem.page_size = 16;
  const Kernel& kernel = *find_kernel("mla_decode");
  const Contract contract = kernel.contract(c.problem);
  const auto inputs = generate(c, walk_of(kernel, c.problem), 1);
  ASSERT_TRUE(inputs.ok());
  const Subject subject{"mla_decode", c.problem, contract, 4};
  const Tiers undeclared;
  int accepted = 0, rejected = 0;
  for (int i = 0; i <= static_cast<int>(model::kLastDefect); ++i) {
    const auto defect = static_cast<model::Defect>(i);
    if (!model::applies(defect, c.problem, contract, 4)) continue;
    const auto run =
        model::run_model(c.problem, *inputs, contract, {.num_splits = 4, .defect = defect});
    ASSERT_TRUE(run.ok());
    const auto r = reference(c.problem, *inputs, contract, 4, {.observed = {run->output.o}});
    ASSERT_TRUE(r.ok());
    const Yardstick yardstick{subject, *r, undeclared, {}, {}};
    const auto scores = r->scores.empty() ? std::vector<Score>() : r->scores[0];
    const bool accepts = all_comparators().back().accepts(yardstick, {run->output, scores});
    const Verdict verdict = judge(subject, run->output, *r);
    EXPECT_EQ(accepts, verdict.status != Status::kFailed && verdict.status != Status::kSuspect)
        << model::name_of(defect) << ": " << verdict.reason;
    ++(accepts ? accepted : rejected);
  }
  EXPECT_GE(accepted, 1);
  EXPECT_GE(rejected, 20);
}

TEST(Detect, UnknownDistributionIsAUsageError) {
  const auto detection = detect({.distributions = {"nonesuch"}, .lengths = {64}}, {});
  ASSERT_FALSE(detection.ok());
  EXPECT_EQ(detection.trouble().kind, TroubleKind::kUsage);
}

TEST(Detect, SplitsScaleWithTheLength) {
  EXPECT_EQ(splits_for(1), 2);
  EXPECT_EQ(splits_for(256), 2);
  EXPECT_EQ(splits_for(1024), 4);
  EXPECT_EQ(splits_for(16384), 16);
  EXPECT_EQ(splits_for(65536), 64);
  EXPECT_EQ(splits_for(327600), 256);
}

TEST(DetectJson, HoldsACellForEveryComparatorAndDefect) {
  const Detection detection{{perfect("a", 64)}};
  const auto json = nlohmann::json::parse(detect_json(detection, "attest detect --quick"));
  EXPECT_EQ(json["command"], "attest detect --quick");
  EXPECT_EQ(json["comparators"].size(), all_comparators().size());
  EXPECT_EQ(json["cases"][0]["defects"].size(), planted_defects().size());
  EXPECT_EQ(json["cases"][0]["defects"]["writes zeros"],
            std::string(all_comparators().size(), '.'));
}

}  // namespace
}  // namespace attest
