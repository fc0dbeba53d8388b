#include "harness/plan.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "fuzz/problems/cost.hpp"
#include "fuzz/problems/suites.hpp"
#include "harness/core/kernel.hpp"
#include "harness/selection.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

// Tests are deterministic: the same plans each time, unless RC_PARAMS says otherwise.
[[maybe_unused]] const int kFixedSeed = setenv("RC_PARAMS", "seed=20 max_success=300", 0);

const std::string kCorpus = ATTEST_SOURCE_DIR "/fuzz/corpus";
const std::string kKills = ATTEST_SOURCE_DIR "/fuzz/mutants/kills.txt";

std::vector<PlannedCase> plan_of(const PlanRequest& request) {
  auto plan = make_plan(request);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.trouble().text);
  return plan.ok() ? *plan : std::vector<PlannedCase>{};
}

std::vector<std::string> tokens_of(const std::vector<PlannedCase>& plan) {
  std::vector<std::string> tokens;
  for (const PlannedCase& one : plan) tokens.push_back(one.token);
  return tokens;
}

double work_ms(const std::vector<PlannedCase>& plan) {
  return std::accumulate(plan.begin(), plan.end(), 0.0,
                         [](double sum, const PlannedCase& one) { return sum + one.cost_ms; });
}

std::string trouble_of(const PlanRequest& request) {
  const auto plan = make_plan(request);
  if (plan.ok()) return "";
  EXPECT_EQ(plan.trouble().kind, TroubleKind::kUsage);
  return plan.trouble().text;
}

class PlanTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/corpus");
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string put(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  const std::string folder_ = testing::TempDir() + "attest_plan_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(PlanTest, OfSmokeIsTheSuiteInItsOrder) {
  const auto plan = plan_of({.tier = "smoke", .corpus = kCorpus, .kills = kKills});
  const auto suite = find_suite("smoke")->tokens;
  EXPECT_EQ(tokens_of(plan), std::vector<std::string>(suite.begin(), suite.end()));
  for (const PlannedCase& one : plan) EXPECT_EQ(one.phase, "smoke");
}

TEST_F(PlanTest, RunsWhatIsKnownToFailFirstThenEachPhaseAfterTheOther) {
  const std::string in_corpus = "v1:k=mla_decode:h=3:s=65", in_ledger = "v1:k=mla_decode:h=5:s=66";
  const std::string known = " issue=https://host/7 expires=9999-12-31\n";
  const std::string ledger =
      put("ledger", "tolerated bucket=* token=" + in_ledger + known +
                        "tolerated bucket=* token=*s=67*" + known +
                        "quarantined token=v1:k=mla_decode:h=7:s=68" + known);
  put("corpus/mla_decode.tokens", in_corpus + "\n" + in_ledger + "\nv1:k=mla_decode:h=1\n");
  const std::string kills =
      put("kills",
          "a bucket v1:k=mla_decode:h=9:s=4000\nb bucket v1:k=mla_decode:h=9:s=1\n"
          "c bucket v1:k=mla_decode:h=9:s=1\nd bucket v1:k=aiter_bf16_gqa16:splits=2\n");
  const auto plan =
      plan_of({.tier = "full", .ledger = ledger, .corpus = folder_ + "/corpus", .kills = kills});
  std::vector<std::string> phases;
  std::set<std::string> tokens;
  for (const PlannedCase& one : plan) {
    if (phases.empty() || phases.back() != one.phase) phases.push_back(one.phase);
    EXPECT_TRUE(tokens.insert(one.token).second) << one.token << " is there twice";
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"ledger", "corpus", "smoke", "killers", "rest"}));
  EXPECT_EQ(plan[0].token, in_ledger);
  EXPECT_EQ(plan[1].token, in_corpus);
  EXPECT_EQ(plan[2].token, "v1:k=mla_decode:h=1");  // of smoke, too, but the corpus is first
  const std::size_t killers = 2 + find_suite("smoke")->tokens.size();
  EXPECT_EQ(plan[killers].token, "v1:k=mla_decode:h=9:s=1");  // cheapest first
  EXPECT_EQ(plan[killers + 1].token, "v1:k=mla_decode:h=9:s=4000");
  EXPECT_EQ(plan[killers + 2].phase, "rest");
}

TEST_F(PlanTest, OfTheShippedFilesHoldsEveryCaseOfATierThatIsSmaller) {
  std::set<std::string> before;
  for (const PlanTier& tier : plan_tiers()) {
    const auto plan = plan_of({.tier = std::string{tier.name}, .corpus = kCorpus, .kills = kKills});
    std::set<std::string> now;
    for (const PlannedCase& one : plan) now.insert(one.token);
    EXPECT_GT(now.size(), before.size()) << tier.name;
    EXPECT_TRUE(std::includes(now.begin(), now.end(), before.begin(), before.end())) << tier.name;
    before = std::move(now);
  }
  for (const char* name : {"smoke", "trajectories", "ragged", "prefix_boundary"}) {
    for (const std::string_view token : find_suite(name)->tokens) {
      EXPECT_TRUE(before.contains(std::string{token})) << token;
    }
  }
}

TEST_F(PlanTest, HasTheSameCasesWhateverWasMeasured) {
  PlanRequest request{.tier = "nightly", .corpus = kCorpus, .kills = kKills};
  auto unmeasured = tokens_of(plan_of(request));
  for (const std::string& token : unmeasured) request.costs[token] = 1e6;
  auto measured = tokens_of(plan_of(request));
  EXPECT_NE(measured, unmeasured);  // in another order
  std::sort(measured.begin(), measured.end());
  std::sort(unmeasured.begin(), unmeasured.end());
  EXPECT_EQ(measured, unmeasured);
}

TEST_F(PlanTest, WithoutAFolderOfFailuresThatWereKeptHasNone) {
  const auto plan = plan_of({.tier = "nightly", .corpus = folder_ + "/nowhere", .kills = kKills});
  EXPECT_EQ(plan.front().phase, "smoke");
}

TEST_F(PlanTest, OfWhatCannotBeReadIsUsageThatSaysWhere) {
  EXPECT_EQ(trouble_of({.tier = "nope"}),
            "there is no tier 'nope'; there are: smoke, nightly, full");
  EXPECT_NE(trouble_of({.ledger = "nowhere"}).find("nowhere"), std::string::npos);
  EXPECT_NE(trouble_of({.tier = "full", .kills = "nowhere"}).find("nowhere cannot be read"),
            std::string::npos);
  put("corpus/x.tokens", "v1:k=mla_decode\nv1:k=nope\n");
  EXPECT_NE(trouble_of({.tier = "full", .corpus = folder_ + "/corpus"})
                .find("/corpus/x.tokens:2: there is no kernel 'nope'"),
            std::string::npos);
  const std::string kills = put("kills", "a_mutant bucket v1:k=nope\n");
  EXPECT_NE(trouble_of({.tier = "full", .kills = kills})
                .find("/kills, the line of a_mutant: there is no kernel 'nope'"),
            std::string::npos);
  const std::string ledger =
      put("ledger", "\ntolerated bucket=* token=v1:k=nope issue=https://h/1 expires=9999-12-31\n");
  EXPECT_NE(trouble_of({.ledger = ledger}).find("/ledger:2: there is no kernel 'nope'"),
            std::string::npos);
}

TEST_F(PlanTest, OfShardsIsThePlanCutIntoPartsThatKeepItsOrder) {
  PlanRequest request{.tier = "full", .corpus = kCorpus, .kills = kKills};
  request.costs = {{"v1:k=mla_decode:h=1", 25.0}, {"v1:k=mla_decode:h=17:s=1", 3.0}};
  const auto whole = tokens_of(plan_of(request));
  std::multiset<std::string> parts;
  for (int i = 0; i < 5; ++i) {
    request.shard = {i, 5};
    const auto part = tokens_of(plan_of(request));
    EXPECT_EQ(part, tokens_of(plan_of(request)));  // each time
    auto at = whole.begin();
    for (const std::string& token : part) {
      at = std::find(at, whole.end(), token);
      ASSERT_NE(at, whole.end()) << token << " is out of order in shard " << i;
    }
    parts.insert(part.begin(), part.end());
  }
  EXPECT_EQ(parts, std::multiset<std::string>(whole.begin(), whole.end()));
}

std::vector<PlannedCase> any_plan() {
  std::vector<PlannedCase> plan(*rc::gen::inRange<std::size_t>(0, 60));
  for (std::size_t i = 0; i < plan.size(); ++i) {
    // Ties are what goes wrong: half of the costs are one of three.
    const double cost_ms =
        *rc::gen::arbitrary<bool>() ? *rc::gen::element(0.0, 1.0, 7.0) : *rc::gen::inRange(0, 5000);
    plan[i] = {"token" + std::to_string(i), i % 3 == 0 ? "a" : "b", cost_ms};
  }
  return plan;
}

RC_GTEST_PROP(PartOf, IsInOneShardAloneInOrderAndNoShardHasMoreThanTheBound, ()) {
  const auto plan = any_plan();
  const int count = *rc::gen::inRange(1, 12);
  double longest_ms = 0;
  for (const PlannedCase& one : plan) longest_ms = std::max(longest_ms, one.cost_ms);
  std::map<std::string, int> times;
  for (int i = 0; i < count; ++i) {
    const auto part = part_of(plan, {i, count});
    RC_ASSERT(tokens_of(part) == tokens_of(part_of(plan, {i, count})));
    for (const PlannedCase& one : part) ++times[one.token];
    const auto place = [&](const PlannedCase& one) { return std::stoi(one.token.substr(5)); };
    RC_ASSERT(std::is_sorted(part.begin(), part.end(),
                             [&](const auto& a, const auto& b) { return place(a) < place(b); }));
    const double most_ms = work_ms(plan) / count + (1 - 1.0 / count) * longest_ms;
    RC_ASSERT(work_ms(part) <= most_ms * (1 + 1e-12));  // sums of doubles
  }
  RC_ASSERT(times.size() == plan.size());
  for (const auto& [token, n] : times) RC_ASSERT(n == 1);
}

RC_GTEST_PROP(PartOf, DoesNotDependOnTheOrderOfThePlan, ()) {
  auto plan = any_plan();
  const int count = *rc::gen::inRange(1, 12);
  const int index = *rc::gen::inRange(0, count);
  auto part = tokens_of(part_of(plan, {index, count}));
  std::reverse(plan.begin(), plan.end());
  auto reversed = tokens_of(part_of(plan, {index, count}));
  std::reverse(reversed.begin(), reversed.end());
  RC_ASSERT(part == reversed);
}

TEST(PartOf, TakesTheCostliestFirstAndTheFirstOfEqualShards) {
  const std::vector<PlannedCase> plan = {
      {"a", "", 1}, {"b", "", 1}, {"c", "", 4}, {"d", "", 1}, {"e", "", 1}};
  EXPECT_EQ(tokens_of(part_of(plan, {0, 2})), (std::vector<std::string>{"c"}));
  EXPECT_EQ(tokens_of(part_of(plan, {1, 2})), (std::vector<std::string>{"a", "b", "d", "e"}));
  const std::vector<PlannedCase> equal = {{"b", "", 0}, {"a", "", 0}};
  EXPECT_EQ(tokens_of(part_of(equal, {0, 2})), (std::vector<std::string>{"b", "a"}));
}

double modelled_ms(const char* token) {
  const Case c = *known_case(token);
  return cost_ms(c.problem, *find_kernel(c.kernel));
}
double ms_of(const CostModel& costs, const char* token) { return costs.ms(*known_case(token)); }

const char* const kOne = "v1:k=mla_decode:h=1";
const char* const kOther = "v1:k=mla_decode:h=4:s=999";
const char* const kOtherKernel = "v1:k=mla_decode_bf16_partials:h=4:s=999";

TEST(CostModel, TakesWhatWasMeasuredOverTheModel) {
  EXPECT_EQ(ms_of(CostModel({{kOne, 12.5}}), kOne), 12.5);
  EXPECT_DOUBLE_EQ(ms_of(CostModel(), kOne), modelled_ms(kOne));
}

TEST(CostModel, ScalesTheModelByTheMedianOfItsKernelAndOfAllWhereNothingOfItWasMeasured) {
  Costs costs;
  const char* const tokens[] = {"v1:k=mla_decode:h=1", "v1:k=mla_decode:h=2",
                                "v1:k=mla_decode:h=3"};
  const double factors[] = {0.5, 3, 100};  // one that was held up says nothing
  for (int i = 0; i < 3; ++i) costs[tokens[i]] = factors[i] * modelled_ms(tokens[i]);
  EXPECT_DOUBLE_EQ(ms_of(CostModel(costs), kOther), 3 * modelled_ms(kOther));
  EXPECT_DOUBLE_EQ(ms_of(CostModel(costs), kOtherKernel), 3 * modelled_ms(kOtherKernel));
  const char* const measured = "v1:k=mla_decode_bf16_partials:h=1";
  costs[measured] = 2 * modelled_ms(measured);
  EXPECT_DOUBLE_EQ(ms_of(CostModel(costs), kOtherKernel), 2 * modelled_ms(kOtherKernel));
  EXPECT_DOUBLE_EQ(ms_of(CostModel(costs), kOther), 3 * modelled_ms(kOther));
}

TEST(Costs, AreOfPlannedTokensThatHadAVerdict) {
  Results results;
  const auto add = [&](const char* token, const char* planned, Status status, double ms) {
    CaseRecord record{.token = token, .verdict = {}, .total_ms = ms, .planned = planned};
    record.verdict.status = status;
    results.cases.push_back(record);
  };
  add("a", "", Status::kPassed, 5);
  add("b:sched=3", "b", Status::kFailed, 7);
  add("c", "", Status::kSkipped, 0);
  add("d", "", Status::kInfra, 1);
  EXPECT_EQ(costs_of(results), (Costs{{"a", 5}, {"b", 7}}));
}

TEST(CostModel, PassesOverTokensThatSayNothingHereAndNumbersThatAreNone) {
  const CostModel costs(
      {{"v1:k=gone:h=1", 5}, {"nonsense", 7}, {kOne, std::nan("")}, {"v1:k=mla_decode:h=2", -1}});
  EXPECT_DOUBLE_EQ(ms_of(costs, kOne), modelled_ms(kOne));
  EXPECT_DOUBLE_EQ(ms_of(costs, kOther), modelled_ms(kOther));
}

TEST(CostModel, CountsEachLaunchOfATrajectoryAndBothOfAProperty) {
  const std::string steps = std::string(kOne) + ":steps=capture.replay100.launch";
  EXPECT_DOUBLE_EQ(ms_of(CostModel(), steps.c_str()), 101 * modelled_ms(kOne));
  const std::string property = std::string(kOne) + ":prop=replay";
  EXPECT_DOUBLE_EQ(ms_of(CostModel(), property.c_str()), 2 * modelled_ms(kOne));
}

TEST(FuzzCase, IsAPureFunctionAndShardsDrawDifferentCases) {
  std::set<std::string> drawn;
  for (std::int64_t index = 0; index < 20; ++index) {
    for (int shard = 0; shard < 3; ++shard) {
      const PlannedCase one = fuzz_case(7, {shard, 3}, index);
      EXPECT_EQ(one.token, fuzz_case(7, {shard, 3}, index).token);
      EXPECT_EQ(one.phase, "fuzz");
      EXPECT_GT(one.cost_ms, 0);
      EXPECT_TRUE(known_case(one.token).ok()) << one.token;
      drawn.insert(one.token);
    }
  }
  EXPECT_EQ(drawn.size(), 60u);
  // What one shard would draw, three draw among them.
  EXPECT_EQ(fuzz_case(7, {2, 3}, 1).token, fuzz_case(7, {}, 5).token);
  EXPECT_NE(fuzz_case(7, {}, 5).token, fuzz_case(8, {}, 5).token);
}

TEST(PlanText, IsOfTheCasesTheirOrderAndTheirCosts) {
  const std::vector<PlannedCase> plan = {{"a", "smoke", 1}, {"b", "smoke", 2}};
  EXPECT_EQ(plan_text(plan), plan_text(plan));
  EXPECT_TRUE(plan_text(plan).starts_with("2 cases "));
  EXPECT_NE(plan_text(plan), plan_text({{"a", "smoke", 1}, {"b", "smoke", 3}}));
  EXPECT_NE(plan_text(plan), plan_text({plan[1], plan[0]}));
  EXPECT_NE(plan_text(plan), plan_text({plan[0]}));
}

TEST(Costs, AreNotThoseOfWhatTheWatchdogEnded) {
  Results results;
  for (const Status status : {Status::kPassed, Status::kFailed, Status::kHung, Status::kCrashed,
                              Status::kInfra, Status::kSkipped}) {
    CaseRecord record{std::string(to_string(status)), {}, 5};
    record.verdict.status = status;
    results.cases.push_back(record);
  }
  const Costs costs = costs_of(results);
  EXPECT_EQ(costs.size(), 2u);
  EXPECT_TRUE(costs.contains("passed") && costs.contains("failed"));
}

}  // namespace
}  // namespace attest
