// What a history makes of its runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "reports/history/history_testing.hpp"
#include "reports/history/trend_of.hpp"

namespace attest {
namespace {

using test_runs::case_of;
using test_runs::cases_of;
using test_runs::run_of;
using test_runs::token_of;

class TrendTest : public test_runs::HistoryTest {};

TEST_F(TrendTest, GivesTheQuantilesOfEachTensor) {
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

// A kernel that breaks must not look better for it.
TEST_F(TrendTest, RanksWhatFailedWithoutANumberLast) {
  std::vector<CaseRecord> cases = cases_of(5, 0.5);
  cases.push_back(case_of(token_of(90), std::numeric_limits<double>::infinity(), Status::kFailed,
                          "o.nan.all.mla_decode"));
  cases.push_back(case_of(token_of(91), std::nan(""), Status::kFailed, "o.nan.all.mla_decode"));
  add(run_of(0, cases));
  const TrendPoint point = open().trend()->lines.at(1).points.at(0);
  EXPECT_EQ(point.cases, 7);
  EXPECT_EQ(point.failed, 2);
  EXPECT_DOUBLE_EQ(point.median, 0.55);  // of seven the fourth
  EXPECT_EQ(point.p90, std::numeric_limits<double>::infinity());
  EXPECT_EQ(point.largest, std::numeric_limits<double>::infinity());
}

TEST_F(TrendTest, RanksWhatCrashedLastInTheTensorsThatItHas) {
  std::vector<CaseRecord> cases = cases_of(4, 0.5);
  cases[0].verdict.worst[0].tensor = "partial_o";
  cases[1].verdict.worst[0].tensor = "partial_o";
  add(run_of(0, cases));
  cases[0] = case_of(token_of(0), 0, Status::kCrashed, "c");
  cases[0].verdict.worst.clear();
  cases[3] = case_of(token_of(3), 0, Status::kHung, "h");
  cases[3].verdict.worst.clear();
  add(run_of(1, cases));
  std::map<std::string, double> largest;
  const auto trend = open().trend();
  for (const TrendLine& line : trend->lines) {
    ASSERT_EQ(line.points.size(), 2u);
    EXPECT_LT(line.points[0].largest, 1);
    EXPECT_EQ(line.points[1].failed, 2);
    EXPECT_EQ(line.points[1].largest, std::numeric_limits<double>::infinity()) << line.family;
    largest[line.family] = line.points[1].median;
  }
  // One of its two cases hung in lse and one crashed in partial_o; two of the four in o.
  EXPECT_LT(largest.at("mla_decode emu:gfx942 lse"), 1);
  EXPECT_LT(largest.at("mla_decode emu:gfx942 partial_o"), 1);
  EXPECT_LT(largest.at("mla_decode emu:gfx942 o"), 1);
}

TEST_F(TrendTest, MarksTheNightOnWhichTheKernelBroke) {
  for (int night = 0; night < 24; ++night) {
    std::vector<CaseRecord> cases = cases_of(20, 0.4);
    for (CaseRecord& record : cases) {
      if (night < 14) continue;
      record.verdict.status = Status::kFailed;
      for (Worst& worst : record.verdict.worst) worst.ratio = std::nan("");
    }
    add(run_of(night, cases));
  }
  EXPECT_EQ(open().trend()->lines.at(1).changes, std::vector{14});
}

TEST_F(TrendTest, HasNoPointOfATensorThatNoCaseHasAnyMore) {
  std::vector<CaseRecord> cases = cases_of(4);
  add(run_of(0, cases));
  for (CaseRecord& record : cases) record.verdict.worst.pop_back();
  add(run_of(1, cases));
  EXPECT_EQ(open().trend()->lines.at(0).points.size(), 2u);
  EXPECT_EQ(open().trend()->lines.at(1).points.size(), 1u);
}

TEST_F(TrendTest, MarksTheNightOnWhichTheLevelChanged) {
  for (int night = 0; night < 24; ++night) add(run_of(night, cases_of(20, night < 14 ? 0.4 : 0.6)));
  const auto trend = open().trend();
  EXPECT_EQ(trend->lines.at(1).points.size(), 24u);
  EXPECT_EQ(trend->lines.at(1).changes, std::vector{14});
  EXPECT_EQ(open().trend(10)->lines.at(1).points.size(), 10u);
  EXPECT_EQ(open().trend(10)->lines.at(1).points.front().started, "2026-01-15T02:00:00Z");
}

TEST_F(TrendTest, MarksATailThatMovedThoughTheMiddleDidNot) {
  for (int night = 0; night < 24; ++night) {
    std::vector<CaseRecord> cases = cases_of(20, 0.4);
    if (night >= 14) cases.back() = case_of(token_of(19), 0.9);
    add(run_of(night, cases));
  }
  EXPECT_EQ(open().trend()->lines.at(1).changes, std::vector{14});
}

TEST_F(TrendTest, HasPointsOverTheSameCasesOnly) {
  add(run_of(0, cases_of(20)));
  add(run_of(1, cases_of(24)));               // the suite grew
  add(run_of(2, {case_of(token_of(3), 5)}));  // one case by hand
  const TrendLine line = open().trend()->lines.at(1);
  ASSERT_EQ(line.points.size(), 2u);
  for (const TrendPoint& point : line.points) EXPECT_EQ(point.cases, 20);
  EXPECT_LT(line.points[1].largest, 1);
}

TEST_F(TrendTest, MakesOnePointOfTheShardsOfANight) {
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

TEST_F(TrendTest, TellsTheLifeOfABucket) {
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

}  // namespace
}  // namespace attest
