#include "reports/history/history.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

#include "reports/history/migrations.hpp"
#include "reports/history/sqlite.hpp"
#include "reports/history/test_runs.hpp"
#include "reports/history/trend_of.hpp"
#include "reports/run/phases.hpp"

namespace attest {
namespace {

using test_runs::case_of;
using test_runs::cases_of;
using test_runs::run_of;
using test_runs::token_of;

class HistoryTest : public testing::Test {
 protected:
  HistoryTest() { std::filesystem::remove(path_); }
  ~HistoryTest() override { std::filesystem::remove(path_); }

  History open() {
    auto history = History::open(path_);
    EXPECT_TRUE(history.ok()) << history.trouble().text;
    return std::move(*history);
  }
  void add(const Results& results) {
    const Outcome added = open().add(results);
    EXPECT_TRUE(added.ok()) << added.trouble().text;
  }
  std::int64_t number(const char* sql) {
    Sqlite db(path_);
    return db.number(sql);
  }

  std::string path_ = testing::TempDir() + "history_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
};

TEST_F(HistoryTest, KeepsRunsInTheOrderOfTime) {
  add(run_of(1, {case_of("b", 0.5), case_of("c", 2, Status::kFailed, "x.y.z.k")}));
  add(run_of(0, {case_of("b", 0.5)}));
  const auto runs = open().runs(10);
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].started, "2026-01-01T02:00:00Z");
  EXPECT_EQ((*runs)[1].tally.passed, 1);
  EXPECT_EQ((*runs)[1].tally.failed, 1);
  EXPECT_EQ((*runs)[1].build, "0.1.0, code objects 5b1f09aa41c7d2e3");
  EXPECT_EQ(open().runs(1)->front().started, "2026-01-02T02:00:00Z");
}

TEST_F(HistoryTest, AddsOfARunThatIsThereOnlyWhatIsNew) {
  Results part = run_of(0, cases_of(3));
  part.tally.interrupted = true;
  add(part);
  EXPECT_TRUE(open().runs(1)->front().tally.interrupted);
  Results whole = run_of(0, cases_of(5));
  whole.cases[0].total_ms = 99;  // replaces nothing
  add(whole);
  add(whole);
  EXPECT_FALSE(open().runs(1)->front().tally.interrupted);
  EXPECT_EQ(open().runs(1)->front().tally.passed, 5);
  EXPECT_EQ(number("SELECT count(*) FROM runs"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM cases"), 5);
  EXPECT_EQ(number("SELECT count(*) FROM ratios"), 10);
  EXPECT_EQ(open().costs("emu:gfx942")->at(token_of(0)), 20);
}

TEST_F(HistoryTest, TakesShardsOfARunOneByOneAndRemembersThatOneWasCutShort) {
  Results first = run_of(0, {case_of("a", 0.5)}), second = run_of(0, {case_of("b", 0.5)});
  first.tally.interrupted = true;
  add(first);
  add(second);
  EXPECT_EQ(open().runs(1)->front().tally.passed, 2);
  EXPECT_TRUE(open().runs(1)->front().tally.interrupted);
}

TEST_F(HistoryTest, CountsDrawnCasesThatShowNothingAndKeepsThoseThatDo) {
  Results results = run_of(0, cases_of(40));
  for (CaseRecord& record : results.cases) record.phase = kDrawnPhase;
  results.cases.push_back(case_of("found", 3, Status::kFailed, "x.y.z.k"));
  results.cases.back().phase = kDrawnPhase;
  add(results);
  add(results);
  EXPECT_EQ(number("SELECT count(*) FROM cases"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM tokens"), 1);
  EXPECT_EQ(open().runs(1)->front().tally.passed, 40);
  EXPECT_EQ(open().trend()->buckets.size(), 1u);
  EXPECT_TRUE(open().trend()->lines.empty());  // other cases each night: not to be compared
}

TEST_F(HistoryTest, RefusesResultsThatNameNoRun) {
  Results results = run_of(0, cases_of(1));
  results.runs[0].run.clear();
  const Outcome added = open().add(results);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.trouble().kind, TroubleKind::kUsage);
  EXPECT_EQ(number("SELECT count(*) FROM runs"), 0);
}

TEST_F(HistoryTest, GivesTheMedianCostOfTheLastFiveRunsOnThatDevice) {
  for (const auto& [night, ms] : std::vector<std::pair<int, double>>{
           {6, 60}, {0, 1000}, {1, 2000}, {2, 20}, {3, 40}, {4, 30}, {5, 50}}) {
    Results results = run_of(night, {case_of("a", 0.5), case_of("b", 0.5, Status::kInfra)});
    results.cases[0].total_ms = ms;
    add(results);
  }
  Results other = run_of(9, {case_of("a", 0.5)});
  other.runs[0].device = "cuda:0";
  add(other);
  const auto costs = open().costs("emu:gfx942");
  EXPECT_EQ(costs->at("a"), 40);
  EXPECT_FALSE(costs->contains("b"));  // the machine's trouble is no cost
  EXPECT_EQ(open().costs("cuda:0")->at("a"), 20);
  EXPECT_TRUE(open().costs("hip:0")->empty());
}

TEST_F(HistoryTest, GivesTheQuantilesOfEachTensor) {
  std::vector<CaseRecord> cases;
  for (int i = 1; i <= 100; ++i) cases.push_back(case_of(token_of(i), i / 100.0));
  add(run_of(0, cases));
  const auto trend = open().trend();
  ASSERT_EQ(trend->lines.size(), 2u);
  EXPECT_EQ(trend->lines[0].family, "mla_decode emu:gfx942 lse");
  EXPECT_EQ(trend->lines[1].family, "mla_decode emu:gfx942 o");
  const TrendPoint& point = trend->lines[1].points.at(0);
  EXPECT_EQ(point.cases, 100);
  EXPECT_EQ(point.failed, 0);
  EXPECT_EQ(point.median, 0.5);
  EXPECT_EQ(point.p90, 0.9);
  EXPECT_EQ(point.p99, 0.99);
  EXPECT_EQ(point.largest, 1);
}

TEST_F(HistoryTest, CountsRatiosThatAreNoNumberApart) {
  std::vector<CaseRecord> cases = cases_of(5, 0.5);
  cases.push_back(case_of("v1:k=mla_decode:seed=90", std::numeric_limits<double>::infinity(),
                          Status::kFailed, "o.nan.all.mla_decode"));
  cases.push_back(case_of("v1:k=mla_decode:seed=91", std::nan(""), Status::kCrashed, "c"));
  add(run_of(0, cases));
  const TrendPoint point = open().trend()->lines.at(1).points.at(0);
  EXPECT_EQ(point.cases, 7);
  EXPECT_EQ(point.failed, 2);
  EXPECT_DOUBLE_EQ(point.largest, 0.65);  // of the five
}

TEST_F(HistoryTest, MarksTheNightOnWhichTheLevelChanged) {
  for (int night = 0; night < 24; ++night) add(run_of(night, cases_of(20, night < 14 ? 0.4 : 0.6)));
  const auto trend = open().trend();
  EXPECT_EQ(trend->lines.at(1).points.size(), 24u);
  EXPECT_EQ(trend->lines.at(1).changes, std::vector{14});
  EXPECT_EQ(open().trend(10)->lines.at(1).points.size(), 10u);
  EXPECT_EQ(open().trend(10)->lines.at(1).points.front().started, "2026-01-15T02:00:00Z");
}

TEST_F(HistoryTest, MarksATailThatMovedThoughTheMiddleDidNot) {
  for (int night = 0; night < 24; ++night) {
    std::vector<CaseRecord> cases = cases_of(20, 0.4);
    if (night >= 14) cases.back() = case_of(token_of(19), 0.9);
    add(run_of(night, cases));
  }
  EXPECT_EQ(open().trend()->lines.at(1).changes, std::vector{14});
}

TEST_F(HistoryTest, HasPointsOverTheSameCasesOnly) {
  add(run_of(0, cases_of(20)));
  add(run_of(1, cases_of(24)));               // the suite grew
  add(run_of(2, {case_of(token_of(3), 5)}));  // one case by hand
  const TrendLine line = open().trend()->lines.at(1);
  ASSERT_EQ(line.points.size(), 2u);
  for (const TrendPoint& point : line.points) EXPECT_EQ(point.cases, 20);
  EXPECT_LT(line.points[1].largest, 1);
}

TEST_F(HistoryTest, MakesOnePointOfTheShardsOfANight) {
  const std::vector<CaseRecord> all = cases_of(40);
  int run = 0;
  for (int night = 0; night < 6; ++night) {
    for (int shard = 0; shard < 2; ++shard) {
      if (night == 1 && shard == 0) continue;  // that was lost
      // Costs, and so shards, are others each night.
      const auto middle = all.begin() + 20 + night;
      Results results = run_of(
          night, shard == 0 ? std::vector(all.begin(), middle) : std::vector(middle, all.end()));
      results.runs[0].run = std::to_string(run++);
      results.runs[0].shard = fmt::format("{}/2", shard + 1);
      add(results);
    }
  }
  const TrendLine line = open().trend()->lines.at(1);
  ASSERT_EQ(line.points.size(), 5u);
  EXPECT_EQ(line.points[0].cases, 40);
  EXPECT_EQ(line.points[1].started, "2026-01-03T02:00:00Z");
  EXPECT_EQ(open().runs(9)->at(2).shard, "2/2");
}

TEST(ComparableRuns, AreManyOverManyCases) {
  using Sets = std::vector<std::vector<std::int64_t>>;
  EXPECT_TRUE(comparable(Sets{{}, {}}).runs.empty());
  EXPECT_EQ(comparable(Sets{{1, 2, 3, 4}, {}, {1, 2, 3, 4}, {4}}).runs, (std::vector{0, 2}));
  // Others than the leader's do not join, nor what would leave too little in common.
  EXPECT_EQ(comparable(Sets{{5, 6, 7, 8}, {1, 2, 3, 4}}).runs, std::vector{1});
  EXPECT_EQ(comparable(Sets{{2, 3, 4}, {1, 2, 3}, {1, 2, 3, 4}}).runs, (std::vector{1, 2}));
  EXPECT_EQ(comparable(Sets{{1, 2, 3, 9}, {1, 2, 3}, {1, 2, 3, 4}}).cases,
            (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(ComparableRuns, OfANightlyHoldTheWeeklyRunOfALargerTier) {
  std::vector<std::int64_t> nightly(8), weekly(80);
  std::iota(nightly.begin(), nightly.end(), 1);
  std::iota(weekly.begin(), weekly.end(), 1);
  const Comparable same =
      comparable({weekly, nightly, nightly, nightly, nightly, nightly, nightly, weekly});
  EXPECT_EQ(same.runs.size(), 8u);
  EXPECT_EQ(same.cases, nightly);
}

TEST_F(HistoryTest, TellsTheLifeOfABucket) {
  const auto failing = [](const char* token, double at_s, Status status) {
    CaseRecord record = case_of(token, 2, status, "x.y.z.k");
    record.at_s = at_s;
    return record;
  };
  add(run_of(0, {case_of("a", 0.5)}));
  add(run_of(1, {failing("a_longer", 9, Status::kFailed), failing("b", 4, Status::kFlaky)}));
  Results second = run_of(2, {failing("b", 8, Status::kFailed), failing("c", 6, Status::kFailed)});
  second.cases[1].planned = "of_the_plan";
  second.runs[0].repro_options = " --check";
  add(second);
  add(run_of(3, {case_of("a", 0.5)}));
  add(run_of(4, {case_of("b", 0.5)}));
  const auto trend = open().trend();
  ASSERT_EQ(trend->buckets.size(), 1u);
  const BucketLife& life = trend->buckets[0];
  EXPECT_EQ(life.bucket, "x.y.z.k");
  EXPECT_EQ(life.first_seen, "2026-01-02T02:00:00Z");
  EXPECT_EQ(life.last_seen, "2026-01-03T02:00:00Z");
  EXPECT_EQ(life.runs_seen, 2);
  EXPECT_EQ(life.runs_since, 1);  // the run without a case of it knows nothing of it
  EXPECT_EQ(life.cases, 4);
  EXPECT_EQ(life.flaky_rate, 0.25);
  EXPECT_EQ(life.seconds_to_first, 4);  // of 4 and 6
  EXPECT_EQ(life.example, "b");
  EXPECT_EQ(life.repro_options, "");  // of the run that first had this example
}

TEST_F(HistoryTest, RefusesWhatIsNoHistory) {
  std::ofstream(path_) << std::string(5000, 'x');
  const auto text = History::open(path_);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.trouble().kind, TroubleKind::kUsage);
  EXPECT_EQ(text.trouble().text, path_ + ": not a history of attest");

  std::filesystem::remove(path_);
  Sqlite(path_).run("CREATE TABLE songs(title TEXT)");
  const auto songs = History::open(path_);
  ASSERT_FALSE(songs.ok());
  EXPECT_EQ(songs.trouble().kind, TroubleKind::kUsage);
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_master"), 1);  // and leaves it alone
}

TEST_F(HistoryTest, RefusesANewerSchemaAndAFolder) {
  open();
  Sqlite(path_).run("PRAGMA user_version = 1000");
  const auto newer = History::open(path_);
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.trouble().kind, TroubleKind::kUsage);
  EXPECT_NE(newer.trouble().text.find("schema 1000"), std::string::npos);
  const auto folder = History::open(testing::TempDir());
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.trouble().kind, TroubleKind::kInfra);
  const auto nowhere = History::open("/nowhere/at/all.db");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.trouble().kind, TroubleKind::kInfra);
  EXPECT_EQ(nowhere.trouble().text,
            "/nowhere/at/all.db: unable to open database file: No such file or directory");
}

TEST_F(HistoryTest, NamesADamagedFile) {
  add(run_of(0, cases_of(500)));
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    for (int page = 1; page < 12; ++page) {
      file.seekp(page * 4096);
      file << std::string(64, '\xff');
    }
  }
  auto history = History::open(path_);
  const Trouble trouble =
      history.ok() ? history->add(run_of(1, cases_of(500))).trouble() : history.trouble();
  EXPECT_EQ(trouble.kind, TroubleKind::kUsage);
  EXPECT_NE(trouble.text.find(path_ + ": a damaged history"), std::string::npos) << trouble.text;
}

TEST_F(HistoryTest, AnOlderSchemaIsMigratedStepByStepAndKeepsItsRuns) {
  add(run_of(0, cases_of(3)));
  const std::array steps = {history_migrations()[0], "ALTER TABLE runs ADD COLUMN note TEXT",
                            "UPDATE runs SET note = 'migrated'"};
  Sqlite db(path_);
  migrate(db, steps);
  EXPECT_EQ(db.number("PRAGMA user_version"), 3);
  EXPECT_EQ(db.number("SELECT count(*) FROM runs WHERE note = 'migrated'"), 1);
  EXPECT_EQ(db.number("SELECT count(*) FROM cases"), 3);
}

TEST_F(HistoryTest, AMigrationThatFailsLeavesTheSchemaBeforeIt) {
  add(run_of(0, cases_of(3)));
  const std::array steps = {history_migrations()[0], "ALTER TABLE runs ADD COLUMN note TEXT",
                            "CREATE TABLE half(x); INSERT INTO nowhere VALUES(1)"};
  Sqlite db(path_);
  EXPECT_THROW(migrate(db, steps), Trouble);
  EXPECT_EQ(db.number("PRAGMA user_version"), 2);
  EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_master WHERE name = 'half'"), 0);
  EXPECT_EQ(db.number("SELECT count(*) FROM cases"), 3);
}

}  // namespace
}  // namespace attest
