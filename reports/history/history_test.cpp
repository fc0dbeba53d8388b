#include "reports/history/history.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "reports/history/history_testing.hpp"
#include "reports/history/migrations.hpp"
#include "reports/history/sqlite.hpp"
#include "reports/history/test_runs.hpp"
#include "reports/run/phases.hpp"

namespace attest {
namespace {

using test_runs::case_of;
using test_runs::cases_of;
using test_runs::run_of;
using test_runs::token_of;

using HistoryTest = test_runs::HistoryTest;

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
  EXPECT_EQ(open().costs("emu:gfx942", "", "")->at(token_of(0)), 20);
}

TEST_F(HistoryTest, TakesShardsOfARunOneByOneAndRemembersThatOneWasCutShort) {
  Results first = run_of(0, {case_of("a", 0.5)}), second = run_of(0, {case_of("b", 0.5)});
  first.runs[0].shard = "1/2", second.runs[0].shard = "2/2";
  first.tally.interrupted = true;
  add(first);
  EXPECT_EQ(open().runs(1)->front().shard, "1/2");
  add(second);
  EXPECT_EQ(open().runs(1)->front().tally.passed, 2);
  EXPECT_EQ(open().runs(1)->front().shard, "");
  EXPECT_TRUE(open().runs(1)->front().tally.interrupted);
  Results resumed = run_of(0, {case_of("a", 0.5), case_of("c", 0.5)});
  resumed.runs[0].shard = "1/2";
  add(resumed);
  EXPECT_FALSE(open().runs(1)->front().tally.interrupted);
}

TEST_F(HistoryTest, AddsUpWhatShardsDrewAndTakesOfOneThatWasResumedTheMost) {
  for (const auto& [shard, drawn] :
       std::vector<std::pair<const char*, int>>{{"1/2", 10}, {"2/2", 5}, {"1/2", 30}, {"2/2", 5}}) {
    Results results = run_of(0, cases_of(drawn));
    for (CaseRecord& record : results.cases) record.phase = kDrawnPhase;
    results.runs[0].shard = shard;
    add(results);
  }
  EXPECT_EQ(open().runs(1)->front().tally.passed, 35);
}

TEST_F(HistoryTest, MissesAShardThatNeverCame) {
  for (const char* shard : {"1/3", "3/3", "2/3"}) {
    Results results = run_of(0, {case_of(shard, 0.5)});
    results.runs[0].shard = shard;
    add(results);
    const KeptRun kept = open().runs(1)->front();
    if (std::string(shard) == "3/3") EXPECT_EQ(kept.shard, "1/3 3/3");
    EXPECT_EQ(kept.tally.interrupted, kept.tally.passed == 2);
  }
  EXPECT_EQ(open().runs(1)->front().shard, "");
}

TEST_F(HistoryTest, RefusesResultsOfSeveralRuns) {
  Results results = run_of(0, cases_of(1));
  results.runs.push_back(run_of(1, {}).runs[0]);
  const Outcome added = open().add(results);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.trouble().kind, TroubleKind::kUsage);
}

TEST_F(HistoryTest, LosesNothingForATimeThatIsNoNumber) {
  Results results = run_of(0, {case_of("a", 2, Status::kFailed, "x.y.z.k")});
  results.cases[0].total_ms = results.cases[0].at_s = std::nan("");
  results.cases[0].verdict.kernel_ms = std::numeric_limits<double>::infinity();
  results.seconds = std::nan("");
  add(results);
  EXPECT_EQ(open().runs(1)->front().tally.failed, 1);
  EXPECT_EQ(open().trend()->buckets.size(), 1u);
  EXPECT_EQ(open().costs("emu:gfx942", "", "")->at("a"), 0);
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
  const auto costs = open().costs("emu:gfx942", "", "");
  EXPECT_EQ(costs->at("a"), 40);
  EXPECT_FALSE(costs->contains("b"));  // the machine's trouble is no cost
  EXPECT_EQ(open().costs("cuda:0", "", "")->at("a"), 20);
  EXPECT_TRUE(open().costs("hip:0", "", "")->empty());
}

TEST_F(HistoryTest, TakesNoCostsOfOtherOptionsNorOfWhatNeverCameBack) {
  Results plain = run_of(0, {case_of("a", 0.5), case_of("b", 2, Status::kCrashed, "c"),
                             case_of("c", 2, Status::kHung, "h")});
  add(plain);
  Results many = run_of(1, {case_of("a", 0.5)});
  many.runs[0].command += " --schedules 8";
  many.cases[0].total_ms = 160;
  add(many);
  Results checked = run_of(2, {case_of("a", 0.5)});
  checked.runs[0].repro_options = " --check";
  checked.cases[0].total_ms = 90;
  add(checked);
  EXPECT_EQ(*open().costs("emu:gfx942", "nightly --tier smoke", ""), (Costs{{"a", 20}}));
  EXPECT_EQ(open().costs("emu:gfx942", "nightly --tier gate --schedules 8", "")->at("a"), 160);
  EXPECT_EQ(open().costs("emu:gfx942", "", " --check")->at("a"), 90);
  EXPECT_TRUE(open().costs("emu:gfx942", "nightly --schedules 80", "")->empty());
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

TEST_F(HistoryTest, WritesNothingIntoAnEmptyFileThatItReads) {
  std::ofstream(path_).flush();
  EXPECT_TRUE(open().runs(10)->empty());
  EXPECT_TRUE(open().trend()->empty());
  EXPECT_TRUE(open().costs("emu:gfx942", "", "")->empty());
  EXPECT_EQ(std::filesystem::file_size(path_), 0u);
  add(run_of(0, cases_of(1)));
  EXPECT_EQ(open().runs(10)->size(), 1u);
}

TEST_F(HistoryTest, RefusesWhatSqliteTakesForNoFile) {
  for (const char* name : {"", ":memory:", "file:x?mode=memory"}) {
    const auto history = History::open(name);
    ASSERT_FALSE(history.ok()) << name;
    EXPECT_EQ(history.trouble().kind, TroubleKind::kUsage);
  }
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
  const std::array steps = {history_migrations()[0], history_migrations()[1],
                            "ALTER TABLE runs ADD COLUMN note TEXT",
                            "UPDATE runs SET note = 'migrated'"};
  Sqlite db(path_);
  migrate(db, steps);
  EXPECT_EQ(db.number("PRAGMA user_version"), 4);
  EXPECT_EQ(db.number("SELECT count(*) FROM runs WHERE note = 'migrated'"), 1);
  EXPECT_EQ(db.number("SELECT count(*) FROM cases"), 3);
}

TEST_F(HistoryTest, TheFirstSchemaKeepsWhatItsRunsDrew) {
  {
    Sqlite db(path_);
    migrate(db, history_migrations().first(1));
    db.run(
        "INSERT INTO runs VALUES(7, '0000000000000000', 't', 'c', '1/2', 'd', 'm', 'b', '1', '', "
        "1, 1); INSERT INTO drawn VALUES(7, 'passed', 40)");
  }
  EXPECT_EQ(open().runs(1)->front().tally.passed, 40);
  EXPECT_TRUE(open().runs(1)->front().tally.interrupted);
  Results results = run_of(0, cases_of(50));
  for (CaseRecord& record : results.cases) record.phase = kDrawnPhase;
  results.runs[0].shard = "1/2";
  add(results);
  EXPECT_EQ(open().runs(1)->front().tally.passed, 50);
  EXPECT_FALSE(open().runs(1)->front().tally.interrupted);
}

TEST_F(HistoryTest, AMigrationThatFailsLeavesTheSchemaBeforeIt) {
  add(run_of(0, cases_of(3)));
  const std::array steps = {history_migrations()[0], history_migrations()[1],
                            "ALTER TABLE runs ADD COLUMN note TEXT",
                            "CREATE TABLE half(x); INSERT INTO nowhere VALUES(1)"};
  Sqlite db(path_);
  EXPECT_THROW(migrate(db, steps), Trouble);
  EXPECT_EQ(db.number("PRAGMA user_version"), 3);
  EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_master WHERE name = 'half'"), 0);
  EXPECT_EQ(db.number("SELECT count(*) FROM cases"), 3);
}

}  // namespace
}  // namespace attest
