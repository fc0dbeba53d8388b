#include "harness/selftest.hpp"

#include <gtest/gtest.h>

namespace attest {
namespace {

Trial trial(std::string name, std::string bug_class, bool killed, double seconds = 0) {
  Trial t;
  t.name = std::move(name);
  t.bug_class = std::move(bug_class);
  t.is_benign = t.bug_class == "BENIGN";
  t.killed = killed;
  t.found.bucket = "stage1.wrong.row.mla_decode";
  t.found.seconds = seconds;
  t.found.smallest.problem.s_kv = {17};
  t.result.shares[{"oracle", "needles"}] = {3, killed ? 1 : 0};
  t.result.shares[{"oracle", "normal"}] = {7, killed ? 3 : 0};
  return t;
}

const std::vector<Trial>& trials() {
  static const std::vector<Trial> all = {
      trial("drops_a_token", "PAGE", true, 2), trial("old_plan", "GRAPH", true, 8),
      trial("zeros", "CHEAT", true, 1),        trial("sleeps", "HANG", false),
      trial("other_order", "BENIGN", false),   trial("other_grid", "BENIGN", true)};
  return all;
}

TEST(Selftest, CountsCheatsAsDefectsAndBenignOnesApart) {
  const SelftestSummary s = summary_of(trials());
  EXPECT_EQ(s.defects, 4);
  EXPECT_EQ(s.killed, 3);
  EXPECT_EQ(s.survivors, 1);
  EXPECT_DOUBLE_EQ(s.score(), 0.75);
  EXPECT_EQ(s.benign, 2);
  EXPECT_EQ(s.false_alarms, 1);
  EXPECT_DOUBLE_EQ(s.median_kill_seconds, 2);
}

TEST(Selftest, TakesWhatCouldNotBeBuiltForNoKill) {
  std::vector<Trial> one = {trial("broken", "PAGE", false)};
  one[0].trouble = "clang says no";
  const SelftestSummary s = summary_of(one);
  EXPECT_EQ(s.troubled, 1);
  EXPECT_EQ(s.survivors, 0);
  EXPECT_EQ(s.killed, 0);
  EXPECT_DOUBLE_EQ(s.score(), 0);
}

TEST(Selftest, CountsWhatTheTargetDoesNotCompileNeitherAsASurvivorNorAsBenign) {
  std::vector<Trial> all = trials();
  all[3].is_absent = all[4].is_absent = true;  // a survivor, and a benign one
  const SelftestSummary s = summary_of(all);
  EXPECT_EQ(s.absent, 2);
  EXPECT_EQ(s.defects, 3);
  EXPECT_EQ(s.survivors, 0);
  EXPECT_EQ(s.benign, 1);
  EXPECT_DOUBLE_EQ(s.score(), 1);
  const std::string page = selftest_markdown(all, {}, "attest selftest", "a machine");
  EXPECT_NE(page.find("## Survivors\nnone"), std::string::npos) << page;
  const auto at = page.find("## Not in this build");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(page.find("- sleeps", at), page.find("- ", at));
}

TEST(Selftest, CountsTheShrunkCasesThatAreSmallAndNamesTheOthers) {
  std::vector<Trial> all = trials();
  all[0].found.smallest.problem.h_q = 33;
  all[0].found.shrink_seconds = 7;
  const SelftestSummary s = summary_of(all);
  EXPECT_EQ(s.small, 2);
  EXPECT_DOUBLE_EQ(s.longest_shrink_seconds, 7);
  const std::string page = selftest_markdown(all, {}, "attest selftest", "a machine");
  const auto at = page.find("## Shrunk to more");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(page.find("- drops_a_token", at), page.find("- ", at));
}

TEST(Selftest, NamesSurvivorsAndFalseAlarmsOnItsPage) {
  const std::string page = selftest_markdown(trials(), {}, "attest selftest", "a machine");
  EXPECT_NE(page.find("3 of 4 defects and cheats killed (75.0 %)"), std::string::npos);
  EXPECT_NE(page.find("## Survivors\n- sleeps"), std::string::npos);
  EXPECT_NE(page.find("## False alarms\n- other_grid"), std::string::npos);
  EXPECT_NE(page.find("| drops_a_token | 4/10 |"), std::string::npos);
  EXPECT_NE(page.find("| drops_a_token | 1/3 | 3/7 |"), std::string::npos);
  EXPECT_NE(page.find("| oracle | 3 | 3 |"), std::string::npos) << page;
}

TEST(Selftest, RenewsTheKillsOfItsMutantsAndKeepsTheOthers) {
  const std::vector<Kill> old = {{"old_plan", "x.x.x.x", "v1:k=mla_decode"},
                                 {"another", "y.y.y.y", "v1:k=mla_decode"}};
  const std::vector<Kill> all = renewed(old, kills_of(trials()));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].mutant, "another");
  EXPECT_EQ(all[0].bucket, "y.y.y.y");
  EXPECT_EQ(all[2].mutant, "old_plan");
  EXPECT_EQ(all[2].bucket, "stage1.wrong.row.mla_decode");
}

TEST(Selftest, KeepsTheTokensOfKilledDefectsAlone) {
  const std::string text = to_text(kills_of(trials()));
  EXPECT_NE(text.find("drops_a_token stage1.wrong.row.mla_decode v1:k=mla_decode:s=17\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("sleeps"), std::string::npos);
  EXPECT_EQ(text.find("other_grid"), std::string::npos);
}

}  // namespace
}  // namespace attest
