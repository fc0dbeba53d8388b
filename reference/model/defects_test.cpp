// Every planted defect changes what it says, where it says, and nothing that it does not say.
#include "reference/model/defects.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <string>

#include "reference/model/kernel_model.hpp"
#include "reference/small_inputs.hpp"

namespace attest::model {
namespace {

constexpr int kSplits = 6;

// A sequence with six live splits, and one with two and four empty ones.
Problem problem_of_test() {
  Problem p;
  p.h_q = 3;
  p.s_kv = {500, 150};
  p.s_q = {2, 1};
  p.page_size = 16;
  return p;
}

// That of the real kernel: short tiles, taken in turn by four waves.
Contract contract_of_test() {
  Contract c;
  c.arithmetic.tile_tokens = 16;
  c.arithmetic.waves_per_split = 4;
  return c;
}

std::vector<Defect> all_defects() {
  std::vector<Defect> all;
  for (int i = 1; i <= static_cast<int>(kLastDefect); ++i) all.push_back(static_cast<Defect>(i));
  return all;
}

struct Launch {
  Problem problem = problem_of_test();
  Contract contract = contract_of_test();
  Inputs inputs;
  ModelResult right;

  explicit Launch(Family family) : inputs(std::move(*small_inputs(problem, family, 5))) {
    right = result(Defect::kNone);
  }
  ModelResult result(Defect defect, const ModelResult* from = nullptr) const {
    auto run = run_model(problem, inputs, contract,
                         {.num_splits = kSplits, .defect = defect, .right = from});
    EXPECT_TRUE(run.ok());
    return std::move(*run);
  }
};

bool same_partials(const Output& a, const Output& b) {
  return a.partial_o == b.partial_o && a.partial_lse == b.partial_lse;
}
bool same(const Output& a, const Output& b) {
  return a.o == b.o && a.lse == b.lse && same_partials(a, b);
}

TEST(Defects, EachHasANameOfItsOwnAndAStage) {
  std::set<std::string_view> names;
  for (const Defect defect : all_defects()) {
    EXPECT_TRUE(names.insert(name_of(defect)).second) << name_of(defect);
    EXPECT_TRUE(stage_of(defect) == "stage1" || stage_of(defect) == "stage2") << name_of(defect);
  }
  EXPECT_EQ(stage_of(Defect::kNone), "");
}

// A defect of stage 2 leaves the partials; one of stage 1 shows in them. What a defect does not
// touch may be copied from the right kernel.
TEST(Defects, EachShowsWhereItsStageSaysOnSomeData) {
  std::set<std::string> unseen;
  for (const Defect defect : all_defects()) unseen.insert(std::string(name_of(defect)));
  for (const Family family : kFamilies) {
    const Launch run(family);
    for (const Defect defect : all_defects()) {
      SCOPED_TRACE(std::string(name_of(defect)) + " on " + name_of(family));
      ASSERT_TRUE(applies(defect, run.problem, run.contract, kSplits));
      const ModelResult wrong = run.result(defect), copied = run.result(defect, &run.right);
      EXPECT_TRUE(same(wrong.output, copied.output));
      EXPECT_EQ(same_partials(wrong.output, run.right.output),
                stage_of(defect) == "stage2" || same(wrong.output, run.right.output));
      if (!same(wrong.output, run.right.output)) unseen.erase(std::string(name_of(defect)));
    }
  }
  for (const std::string& name : unseen) ADD_FAILURE() << name << " changes nothing on any data";
}

TEST(Defects, OnesOfOneSplitLeaveTheOthers) {
  const Launch run(Family::kNormal);
  for (const Defect defect : {Defect::kOneSplitsLseOff, Defect::kOneSplitsLseInBaseTwo,
                              Defect::kNextHeadsQInOneSplit, Defect::kTokenScaledTwice}) {
    const ModelResult wrong = run.result(defect);
    int splits = 0;
    for (int split = 0; split < kSplits; ++split) {  // of the first query token: six live ones
      const auto at = split * run.problem.h_q;
      splits += wrong.output.partial_lse[at] != run.right.output.partial_lse[at] ? 1 : 0;
    }
    EXPECT_EQ(splits, 1) << name_of(defect);
  }
}

TEST(Defects, ApplyOnlyWhereTheProblemHasWhatTheyNeed) {
  Problem p;
  p.h_q = 1;
  p.s_kv = {1};
  const Contract c = contract_of_test();
  std::set<Defect> needs;
  for (const Defect defect : all_defects()) {
    if (!applies(defect, p, c, 1)) needs.insert(defect);
  }
  for (const Defect defect :
       {Defect::kDropFirstToken, Defect::kDropLastToken, Defect::kDropLastTile, Defect::kDropSplit,
        Defect::kWrongPage, Defect::kHeadsSwapped, Defect::kAveragesSplits,
        Defect::kNanOfEmptySplit, Defect::kStoresPartialsInBf16, Defect::kMaskOffByOne}) {
    EXPECT_TRUE(needs.contains(defect)) << name_of(defect);
  }
  EXPECT_FALSE(needs.contains(Defect::kZeros));
  Contract declared = c;
  declared.arithmetic.p_truncates = declared.arithmetic.o_truncates = true;
  EXPECT_FALSE(applies(Defect::kTruncatesP, p, declared, 1));  // it is what the contract says
  EXPECT_FALSE(applies(Defect::kTruncatesO, p, declared, 1));
}

TEST(Defects, DroppingTheOnlyTokenOfASplitLeavesItEmptyAndTheRestFinite) {
  Launch run(Family::kNormal);
  run.problem.s_kv = {65, 150};
  run.problem.s_q = {1, 1};
  run.inputs = std::move(*small_inputs(run.problem, Family::kNormal, 5));
  const ModelResult wrong = run.result(Defect::kDropLastToken);  // split 1 holds token 64 alone
  EXPECT_EQ(std::bit_cast<float>(wrong.output.partial_lse[run.problem.h_q]), kNoScore);
  EXPECT_TRUE(std::isfinite(std::bit_cast<float>(wrong.output.lse[0])));
}

}  // namespace
}  // namespace attest::model
