#include "reports/history/history_text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "reports/history/dates.hpp"

namespace attest {
namespace {

TrendLine line() {
  TrendLine line{"mla_decode emu:gfx942 lse", {}, {2}};
  for (const double level : {0.4, 0.4, 0.6, 0.6}) {
    TrendPoint point{"r", "2026-11-14T02:00:00Z", level < 0.5 ? "old" : "new"};
    point.cases = 88;
    point.median = level, point.p99 = 0.75, point.largest = 0.9;
    line.points.push_back(point);
  }
  return line;
}

Trend trend() {
  BucketLife open;
  open.bucket = "merge.wrong.all.k";
  open.first_seen = "2026-11-02T02:00:00Z", open.last_seen = "2026-11-14T02:00:00Z";
  open.runs_seen = 3, open.cases = 12, open.flaky_rate = 0.25, open.seconds_to_first = 4;
  open.example = "v1:k=mla_decode";
  BucketLife closed = open;
  closed.bucket = "scores.wrong.all.k", closed.runs_since = 5, closed.flaky_rate = 0;
  return {{line()}, {open, closed}};
}

std::vector<KeptRun> runs() {
  KeptRun run;
  run.run = "r", run.started = "2026-11-30T02:00:00Z", run.command = "nightly --tier smoke";
  run.shard = "2/4", run.device = "emu:gfx942", run.build = "0.1.0", run.seconds = 12;
  for (int i = 0; i < 88; ++i) run.tally.add(Status::kPassed);
  return {run};
}

TEST(HistoryText, TellsRunsTrendsInWordsAndTheAgeOfBuckets) {
  EXPECT_EQ(
      history_as_text(runs(), trend()),
      "1 run, the newest last\n"
      "  2026-11-30T02:00:00Z  emu:gfx942  nightly --tier smoke, shard 2/4  passed 88  12 s  "
      "0.1.0\n"
      "error / bound: quantiles over cases of each case's largest\n"
      "  mla_decode emu:gfx942 lse                 4 runs of the same 88 cases; newest: median "
      "0.6, p99 0.75, largest 0.9\n"
      "    changed on 2026-11-14: median 0.4 -> 0.6 (1.5x), p99 0.75 -> 0.75 (1x); build old "
      "-> new\n"
      "buckets, 1 open of 2\n"
      "  open    merge.wrong.all.k  12 cases in 3 runs, first 2026-11-02, 28 days ago, last "
      "2026-11-14; 25 % flaky; first case after 4.0 s\n"
      "          ./attest repro 'v1:k=mla_decode'\n"
      "  closed  scores.wrong.all.k  12 cases in 3 runs, first 2026-11-02, last 2026-11-14, "
      "not in 5 runs of its cases since; first case after 4.0 s\n");
  EXPECT_EQ(history_as_text({}, {}), "no runs yet\n");
}

TEST(HistoryText, TellsWhatBrokeAndWhatItDoesNotKnow) {
  Trend trend{{line()}, {}};
  TrendPoint& newest = trend.lines[0].points.back();
  newest.failed = 7, newest.largest = std::numeric_limits<double>::infinity();
  trend.lines[0].points[2].p99 = newest.p99 = newest.largest;
  BucketLife open;
  open.bucket = "b", open.cases = open.runs_seen = 1;
  trend.buckets = {open};
  std::vector<KeptRun> unknown = runs();
  unknown[0].started.clear();
  const std::string text = history_as_text(unknown, trend);
  for (const char* part :
       {"newest: 7 of 88 failed, median 0.6, p99 inf, largest inf\n",
        "median 0.4 -> 0.6 (1.5x), p99 0.75 -> inf; build", "  unknown               emu:gfx942",
        "1 case in 1 run, first unknown, last unknown;"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const auto json = nlohmann::json::parse(history_as_json(unknown, trend));
  EXPECT_EQ(json["lines"][0]["points"][3]["largest"], "inf");
}

TEST(HistoryText, HasAllOfItInJson) {
  const auto json = nlohmann::json::parse(history_as_json(runs(), trend()));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["runs"][0]["tally"]["passed"], 88);
  EXPECT_EQ(json["lines"][0]["points"].size(), 4u);
  EXPECT_EQ(json["lines"][0]["changes"][0], 2);
  EXPECT_EQ(json["buckets"][1]["runs_since"], 5);
}

TEST(HistoryText, FindsAFamilyByAGlobOrAWord) {
  EXPECT_TRUE(is_family(line(), "*lse"));
  EXPECT_TRUE(is_family(line(), "mla_decode emu*"));
  EXPECT_TRUE(is_family(line(), "lse"));
  EXPECT_FALSE(is_family(line(), "ls"));
  EXPECT_FALSE(is_family(line(), "*o"));
}

TEST(HistoryText, CountsHoursOverMonthsAndLeapYears) {
  EXPECT_EQ(hours_between("2026-11-30T23:30:00Z", "2026-12-01T01:29:59Z"), 1);
  EXPECT_EQ(hours_between("2028-02-28T00:00:00Z", "2028-03-01T00:00:00Z"), 48);
  EXPECT_EQ(hours_between("2028-03-01T00:00:00Z", "2028-02-28T00:00:00Z"), -1);
  EXPECT_EQ(hours_between("", "2028-03-01T00:00:00Z"), -1);
  EXPECT_EQ(hours_between("2028-13-01T00:00:00Z", "2028-03-01T00:00:00Z"), -1);
}

}  // namespace
}  // namespace attest
