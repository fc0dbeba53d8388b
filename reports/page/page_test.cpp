#include "reports/page/page.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "reports/formats_testing.hpp"
#include "reports/run/phases.hpp"
#include "reports/run/summary.hpp"

namespace attest {
namespace {

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>";

Results run_of(const std::vector<Status>& statuses) {
  std::vector<CaseRecord> records;
  for (const Status status : statuses) {
    const std::string token = fmt::format("v1:k=mla_decode:seed={}", records.size());
    const bool passed = status == Status::kPassed;
    records.push_back(case_of(token, status, passed ? "" : "a reason",
                              passed ? "" : "merge.wrong.scattered.mla_decode"));
  }
  return run_of(records);
}

nlohmann::json data_of(const Results& results, const Trend& trend = {}) {
  return nlohmann::json::parse(page::data_json(results, trend));
}

TEST(Page, SaysTheVerdictFirstThenEachBucketThenTheRest) {
  const Results results = approved_run();
  const std::string html = render_html(results, {});
  std::size_t last = 0;
  for (const char* id :
       {"verdict", "buckets", "matrix", "histograms", "visibility", "trend", "cases"}) {
    const std::size_t at = html.find(fmt::format("<section id=\"{}\"", id));
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_GT(at, last) << id;
    last = at;
  }
  EXPECT_NE(html.find("Exit code <b>1</b>"), std::string::npos);
  EXPECT_GT(findings_of(results).size(), 3u);
  for (const Finding& bucket : findings_of(results)) {
    EXPECT_EQ(count_of(html, fmt::format("data-bucket=\"{}\"", bucket.bucket)), 1u);
    EXPECT_NE(html.find(fmt::format("data-copy=\"{}\"",
                                    page::escaped(see_again(results, *bucket.example)))),
              std::string::npos);
  }
}

TEST(Page, LoadsNothing) {
  const std::string html = render_html(approved_run(), {});
  const std::regex loads(R"(\s(src|href|action|data)\s*=\s*["']?\s*(https?:|//|file:))");
  EXPECT_FALSE(std::regex_search(html, loads));
  for (const char* part : {"<link rel=\"stylesheet", "@import", "url(", "sourceMappingURL"}) {
    EXPECT_EQ(html.find(part), std::string::npos) << part;
  }
}

TEST(Page, KeepsTheLicenceOfTheLibraryThatItHolds) {
  EXPECT_NE(page::kChartLibrary.find("Chart.js v3"), std::string::npos);
  EXPECT_NE(page::kChartLibrary.find("MIT License"), std::string::npos);
}

TEST(Page, TakesNoTextOfARunForHtml) {
  Results results = run_of({Status::kFailed, Status::kPassed});
  const std::string plain = render_html(results, {});
  for (CaseRecord& record : results.cases) {
    record.token += kHostile;
    record.verdict.reason = record.verdict.blame = record.verdict.source = kHostile;
    record.verdict.contract = record.phase = kHostile;
    record.verdict.worst = {Worst{.tensor = kHostile, .tier = kHostile, .terms = {{kHostile, 1}}}};
    record.verdict.fault_maps = {{kHostile, kHostile, kHostile, 1, 1, 1, 1, {1}}};
  }
  results.cases[0].verdict.bucket = kHostile;
  RunHeader& header = results.runs[0];
  header.command = header.device = header.machine = header.repro_options = kHostile;
  header.started = header.build = header.bounds = header.shard = kHostile;
  results.notes = results.missing = results.twice = {kHostile};
  Trend trend;
  trend.lines = {{kHostile, {{kHostile, kHostile, kHostile}}, {}}};
  BucketLife life;
  life.bucket = life.first_seen = life.example = kHostile;
  trend.buckets = {life};
  const std::string html = render_html(results, trend);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(count_of(html, "</script"), count_of(plain, "</script"));
  EXPECT_GT(count_of(html, "&lt;/script&gt;&lt;img"), 10u);
  EXPECT_GT(count_of(html, "\\u003c/script>"), 10u);
}

TEST(Page, DoesNotFillInWhatATokenHoldsOfItsTemplate) {
  Results results = run_of({Status::kFailed});
  results.cases[0].token = "{{script}}";
  EXPECT_GE(count_of(render_html(results, {}), "{{script}}"), 2u);
}

TEST(Page, HoldsBytesThatAreNoUtf8AndLineEndsOfJavaScript) {
  Results results = run_of({Status::kFailed});
  results.cases[0].verdict.reason = "\xff and \u2028 and \u2029";
  const std::string json = page::data_json(results, {});
  EXPECT_EQ(json.find("\u2028"), std::string::npos);
  EXPECT_EQ(json.find("\u2029"), std::string::npos);
  EXPECT_EQ(data_of(results)["cases"][0][13][0], "\ufffd and \u2028 and \u2029");
}

TEST(Page, ShowsNoCharacterThatTurnsOrHidesOthers) {
  Results results = run_of({Status::kFailed});
  Verdict& v = results.cases[0].verdict;
  v.reason = v.blame = v.source = "\u202egnorw \x1b[31m";
  const std::string html = render_html(results, {});
  EXPECT_EQ(html.find("\u202e"), std::string::npos);
  EXPECT_EQ(html.find('\x1b'), std::string::npos);
  EXPECT_NE(html.find("\ufffdgnorw"), std::string::npos);
}

TEST(Page, HasACardForWhatHasNoBucketToo) {
  Results results = run_of({Status::kInfra});
  results.cases[0].verdict.bucket.clear();
  EXPECT_NE(page::buckets_html(results).find("data-bucket=\"infra.mla_decode\""),
            std::string::npos);
  const auto data = data_of(results);
  EXPECT_EQ(data["words"][data["cases"][0][11].get<std::size_t>()], "infra.mla_decode");
}

TEST(Page, HeadlinesSayWhatTheExitCodeMeans) {
  const auto headline = [](const std::vector<Status>& statuses) {
    return page::headline(run_of(statuses));
  };
  EXPECT_EQ(headline({Status::kPassed, Status::kPassed}), "All 2 cases passed");
  EXPECT_EQ(headline({Status::kPassed, Status::kXfail}), "1 of 2 cases passed, none failed");
  EXPECT_EQ(headline({Status::kPassed, Status::kFailed, Status::kHung, Status::kInfra}),
            "1 failed, 1 hung of 4 cases");
  EXPECT_EQ(headline({Status::kInfra, Status::kPassed}), "No verdict on 1 of 2 cases");
  EXPECT_EQ(headline({Status::kVacuous, Status::kPassed}),
            "Nothing failed, but 1 of 2 cases prove too little");
  // What fuzz drew beside the plan may be vacuous: it takes nothing from what the plan shows.
  Results drawn = run_of({Status::kPassed, Status::kVacuous});
  drawn.cases[1].phase = kDrawnPhase;
  EXPECT_EQ(page::headline(drawn), "1 of 2 cases passed, none failed");
  EXPECT_EQ(headline({}), "Nothing passed, so nothing is shown");
  Results stopped = run_of({Status::kPassed});
  stopped.tally.interrupted = true;
  stopped.missing = {"v1:k=mla_decode"};
  EXPECT_EQ(page::headline(stopped), "Incomplete: 1 of 2 cases ended");
  EXPECT_NE(page::verdict_html(stopped).find("1 case did not end"), std::string::npos);
  stopped.runs[0].cases = 88;  // whose plan was lost
  EXPECT_EQ(page::headline(stopped), "Incomplete: 1 of 88 cases ended");
}

TEST(Page, TellsEachStatusByAWordAndAShapeOfItsOwn) {
  std::set<std::string_view> shapes;
  for (int s = 0; s <= static_cast<int>(Status::kXpass); ++s) {
    const auto status = static_cast<Status>(s);
    EXPECT_TRUE(shapes.insert(page::shape_of(status)).second) << to_string(status);
    const std::string html = page::status_html(status, 3);
    EXPECT_NE(html.find(fmt::format("</b> {}</span>", to_string(status))), std::string::npos);
  }
}

TEST(HeatMap, NamesHeadsAndColumnsAndHoldsEachCountAsANumber) {
  CaseRecord record;
  record.token = "v1:k=mla_decode:h=12";
  // 12 rows in blocks of 2, the last two columns' blocks of the last rows' block wrong.
  FaultMap map{"o", "row", "column", 2, 64, 6, 2, std::vector<std::int64_t>(12)};
  map.counts[10] = 7, map.counts[11] = 128;
  const std::string html = page::heat_map_html(map, record);
  for (const char* part : {"<code>o</code>: 135 wrong", "2 rows \u00d7 64 columns a cell",
                           ">q 0 h 0\u20139</th>", ">none</td>", ">q 0 h 10\u201311</th>",
                           ">64\u2013127</th>", "class=\"h1\">7</td>", "class=\"h4\">128</td>"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part << "\n" << html;
  }
  EXPECT_EQ(count_of(html, "<tr>"), 3u);  // the head, the empty rows as one, the last
}

TEST(HeatMap, OfOtherThanItsSizeIsLeftOut) {
  FaultMap map{"o", "row", "column", 2, 64, 6, 2, {1}};
  EXPECT_EQ(page::heat_map_html(map, {}), "");
  map.rows = -1;
  EXPECT_EQ(page::heat_map_html(map, {}), "");
  EXPECT_EQ(page::heat_map_html({}, {}), "");
}

TEST(PageData, HoldsEachCaseAndTheSumOfTheSpreads) {
  Results results = run_of({Status::kPassed, Status::kPassed});
  for (CaseRecord& record : results.cases) {
    Spread spread;
    spread.tensor = "lse";
    spread.sampled = 3;
    spread.by_ratio[12] = 3;
    spread.by_ulp[1] = 2;
    record.verdict.spreads = {spread};
    Worst worst;
    worst.tensor = "lse";
    worst.ratio = 0.25;
    record.verdict.worst = {worst};
  }
  const auto data = data_of(results);
  ASSERT_EQ(data["cases"].size(), 2u);
  EXPECT_EQ(data["cases"][1][0], "v1:k=mla_decode:seed=1");
  EXPECT_EQ(data["cases"][1][5], 0.25);
  EXPECT_EQ(data["cases"][1][6], -1);
  ASSERT_EQ(data["spreads"].size(), 1u);
  EXPECT_EQ(data["spreads"][0][2], 6);
  EXPECT_EQ(data["spreads"][0][3][12], 6);
  EXPECT_EQ(data["spreads"][0][4][1], 4);
}

TEST(PageData, OfALargeRunKeepsTheDetailsOfWhatDidNotPassAndFewOthers) {
  std::vector<Status> statuses(20000, Status::kPassed);
  statuses.back() = Status::kFailed;
  const auto data = data_of(run_of(statuses));
  EXPECT_EQ(data["cases"].size(), 20000u);
  EXPECT_EQ(data["cases"][19999].size(), 14u);
  EXPECT_EQ(data["cases"][0].size(), 14u);
  EXPECT_EQ(data["cases"][19998].size(), 13u);
}

TEST(Page, IsSmall) {
  // As large as a smoke run: each with all that a pass of the approved journal has.
  const Results whole = approved_run();
  Results results;
  results.runs = whole.runs;
  for (int i = 0; i < 88; ++i) results.cases.push_back(whole.cases.front());
  EXPECT_LT(render_html(results, {}).size(), 600'000u);
  for (int i = 0; i < 20'000; ++i) results.cases.push_back(whole.cases.front());
  EXPECT_LT(render_html(results, {}).size(), 6'000'000u);
}

}  // namespace
}  // namespace attest
