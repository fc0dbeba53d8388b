#include "reports/run/results.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "reports/format.hpp"
#include "reports/run/phases.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

constexpr const char* kPassing = "v1:k=mla_decode";
constexpr const char* kFailing = "v1:k=mla_decode:h=1:s=300,4096:dist=needles";

CaseRecord passing() {
  CaseRecord record{kPassing, {}, 3};
  record.verdict.status = Status::kPassed;
  record.phase = "smoke";
  return record;
}

// A value in every field.
CaseRecord failing() {
  CaseRecord record{kFailing, {}, 12.5, "v1:k=mla_decode:h=1:s=300,4096:dist=needles:sched=7"};
  record.phase = "corpus";
  record.at_s = 1.25;
  record.tries = 2;
  Verdict& v = record.verdict;
  v.status = Status::kFailed;
  v.reason = "o is wrong";
  v.bucket = "merge.wrong.scattered.mla_decode";
  v.checked = 513;
  v.wrong = 7;
  v.broken_tier = "T2";
  v.remarks = {"a remark"};
  v.blame = "merge";
  v.source = "kernels/mla_decode/stage2.hpp:88";
  v.schedules = 3;
  v.contract = "p_bits=8";
  v.kernel_ms = 0.5;
  Worst worst{.tensor = "o", .tier = "T2", .sequence = 1, .terms = {{"P rounded to bf16", 0.5}}};
  worst.ratio = std::numeric_limits<double>::infinity();
  worst.actual = std::nan("");
  worst.actual_bits = 0x7fc0;
  v.worst = {worst, worst};
  v.worst[1].tensor = "lse", v.worst[1].ratio = 0.3;
  v.evidence.tokens_visible = 0.1;  // no double: 17 digits must be written
  v.evidence.strawmen = {"zeros"};
  v.evidence.scores = {{.filter = "tile", .z = 3, .token_begin = 64, .token_end = 128}};
  Spread spread;
  spread.tensor = "lse";
  spread.sampled = 3;
  spread.by_ratio[5] = 3;
  spread.by_ulp[17] = 3;
  spread.bound_median = 0.1;
  v.spreads = {spread};
  v.fault_maps = {{"o", "row", "column", 1, 64, 1, 8, {0, 0, 7, 0, 0, 0, 0, 0}}};
  return record;
}

RunHeader header(const std::string& shard = "", std::int64_t cases = 2) {
  RunHeader h{"nightly --tier smoke", "emu:gfx942", "a CPU", cases, " --check"};
  h.run = "00000000000000aa";
  h.started = "2026-11-30T02:00:00Z";
  h.build = "0.1.0";
  h.bounds = "1";
  h.shard = shard;
  return h;
}

// What a run writes that ends `cases` of `planned`.
std::string lines_of(const RunHeader& h, const std::vector<PlannedCase>& planned,
                     const std::vector<CaseRecord>& cases) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const file = open_memstream(&text, &size);
  {
    const auto reporter = make_jsonl_reporter(file);
    reporter->run_begin(h);
    if (!planned.empty()) reporter->plan(planned);
    Tally tally;
    for (const CaseRecord& record : cases) {
      reporter->case_begin(tally.total(), record.planned_token());
      reporter->case_end(record);
      tally.add(record.verdict.status);
    }
    reporter->run_end(tally, 2.5);
  }
  std::fclose(file);
  std::string made(text, size);
  std::free(text);
  return made;
}

std::vector<PlannedCase> both() {
  return {{kPassing, "smoke", 3}, {failing().planned_token(), "corpus", 12}};
}

TEST(Results, HoldWhatTheReporterWrote) {
  const auto results = parse_results(lines_of(header(), both(), {passing(), failing()}), "r");
  ASSERT_TRUE(results.ok()) << results.trouble().text;
  ASSERT_EQ(results->cases.size(), 2u);
  // The same record, field for field: what is written of it is.
  EXPECT_EQ(to_json(results->cases[0]).dump(), to_json(passing()).dump());
  EXPECT_EQ(to_json(results->cases[1]).dump(), to_json(failing()).dump());
  EXPECT_TRUE(std::isnan(results->cases[1].verdict.worst[0].actual));
  EXPECT_EQ(results->cases[1].verdict.evidence.splits_visible, -1);
  EXPECT_EQ(to_json(results->header()).dump(), to_json(header()).dump());
  EXPECT_EQ(results->planned[1].phase, "corpus");
  EXPECT_EQ(results->tally.passed, 1);
  EXPECT_EQ(results->tally.failed, 1);
  EXPECT_FALSE(results->tally.interrupted);
  EXPECT_EQ(results->seconds, 2.5);
  EXPECT_TRUE(results->missing.empty() && results->twice.empty() && results->notes.empty());
}

TEST(Results, OfAFileCutAnywhereHoldEachCaseWhoseLineIsWhole) {
  const std::string text = lines_of(header(), both(), {passing(), failing()});
  for (std::size_t size = text.find('\n') + 1; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    const auto results = parse_results(cut, "r");
    ASSERT_TRUE(results.ok());
    // The last line may lack its newline and be whole all the same.
    std::size_t ended = 0;
    for (std::size_t at = 0; (at = cut.find("case_end", at)) != std::string::npos; ++at) {
      const std::size_t end = cut.find('\n', at);
      ended += end != std::string::npos || Json::accept(cut.substr(cut.rfind('\n') + 1));
    }
    EXPECT_EQ(results->cases.size(), ended) << size;
    EXPECT_EQ(results->tally.interrupted, ended < 2) << size;
  }
}

TEST(Results, OfShardsAreThoseOfTheWholeRun) {
  const std::string text = lines_of(header("1/2", 1), {both()[0]}, {passing()}) +
                           lines_of(header("2/2", 1), {both()[1]}, {failing()});
  const auto results = parse_results(text, "r");
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->runs.size(), 2u);
  EXPECT_EQ(results->planned.size(), 2u);
  EXPECT_EQ(results->tally.total(), 2);
  EXPECT_EQ(results->seconds, 5);
}

TEST(Results, NameWhatIsMissingAndWhatHadBegun) {
  std::string text = lines_of(header(), both(), {passing()});
  text = text.substr(0, text.rfind("{\"record\":\"run_end\""));
  text += R"({"record":"case_begin","index":1,"token":")" + failing().planned_token() + "\"}\n";
  const auto results = parse_results(text, "r");
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->missing, std::vector{failing().planned_token()});
  EXPECT_EQ(results->begun, results->missing);
  EXPECT_EQ(exit_code(results->tally), 3);
}

TEST(Results, NameACaseThatEndedTwiceAndKeepTheWorstOfItsEnds) {
  CaseRecord again = passing();
  for (const Status worse : {Status::kFailed, Status::kInfra, Status::kVacuous}) {
    again.verdict.status = worse;
    for (const auto& ends : {std::vector{passing(), again}, std::vector{again, passing()}}) {
      const auto results = parse_results(lines_of(header("", 1), {both()[0]}, ends), "r");
      ASSERT_TRUE(results.ok());
      EXPECT_EQ(results->twice, std::vector<std::string>{kPassing});
      ASSERT_EQ(results->cases.size(), 1u);
      EXPECT_EQ(results->cases[0].verdict.status, worse);
    }
  }
}

TEST(Results, OfSomeShardsWithoutTheOthersAreIncomplete) {
  const std::string first = lines_of(header("1/3", 1), {both()[0]}, {passing()});
  const std::string third = lines_of(header("3/3", 0), {}, {});
  const auto two = parse_results(first + third, "r");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->absent, std::vector<std::string>{"2/3"});
  EXPECT_EQ(run_exit_code(*two), 3);
  EXPECT_EQ(two->notes.back(), "only 2 of 3 parts of the plan are here: 2/3 is not");
  // One that nobody calls the whole.
  const auto alone = parse_results(first, "r");
  EXPECT_EQ(alone->absent, (std::vector<std::string>{"2/3", "3/3"}));
  EXPECT_EQ(run_exit_code(*alone), 0);
}

TEST(Results, OfRunsThatAreNoPartsOfOneAreRefused) {
  const RunHeader first = header("1/2", 1);
  for (const auto& change : std::vector<void (*)(RunHeader&)>{
           [](RunHeader& h) { h.device = "cuda:0"; }, [](RunHeader& h) { h.build = "0.2.0"; },
           [](RunHeader& h) { h.bounds = "2"; }, [](RunHeader& h) { h.plan = "9 cases 77"; }}) {
    RunHeader second = header("2/2", 1);
    change(second);
    const auto results = parse_results(
        lines_of(first, {both()[0]}, {passing()}) + lines_of(second, {both()[1]}, {failing()}),
        "r");
    ASSERT_FALSE(results.ok());
    EXPECT_EQ(results.trouble().kind, TroubleKind::kUsage);
    EXPECT_NE(results.trouble().text.find("no parts of one: they have different"),
              std::string::npos);
  }
}

TEST(Results, MissAPlanThatIsDamagedWhateverWasDrawnBesideIt) {
  CaseRecord drawn = passing();
  drawn.phase = "fuzz";
  const auto results = parse_results(lines_of(header("", 1), {}, {drawn}), "r");
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(run_exit_code(*results), 3);
}

TEST(Results, GiveNoCommandThatDoesSomethingElseInAShell) {
  auto results = parse_results(lines_of(header(), {}, {failing()}), "r");
  CaseRecord evil = failing();
  evil.token += "';touch x;echo '";
  EXPECT_EQ(see_again(*results, evil), "");
  results->runs[0].repro_options = " --code-objects 'a b'\\''c' --check";
  EXPECT_NE(see_again(*results, failing()), "");
  for (const char* options :
       {" ;touch x", " $(touch x)", " `x`", " 'a", " \"$x\"", " >x", " #", " \n x"}) {
    results->runs[0].repro_options = options;
    EXPECT_EQ(see_again(*results, failing()), "") << options;
  }
  results->runs[0].again = "./attest judge a.h5 | sh";
  EXPECT_EQ(see_again(*results, failing()), "");
}

TEST(Results, NoteALineThatIsNoRecordAndKeepTheOthers) {
  const auto results = parse_results(lines_of(header(), {}, {passing()}) + "garbage\n" +
                                         R"({"record":"case_end","token":5})" + "\n",
                                     "r");
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->tally.total(), 1);
  ASSERT_EQ(results->notes.size(), 2u);
  EXPECT_EQ(results->notes[0], "r:5: this line is no record of a run; it is left out");
}

TEST(Results, RefuseAFileWithoutARunByItsName) {
  EXPECT_NE(parse_results("{}\n", "x.jsonl").trouble().text.find("x.jsonl"), std::string::npos);
  EXPECT_NE(read_results({"/dev/null"}).trouble().text.find("/dev/null: it holds nothing"),
            std::string::npos);
  const auto none = read_results({"/nowhere/at/all.jsonl"});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.trouble().kind, TroubleKind::kUsage);
  EXPECT_NE(none.trouble().text.find("/nowhere/at/all.jsonl: No such file"), std::string::npos);
}

TEST(Results, GiveBucketsWithTheShortestTokenAsExample) {
  CaseRecord longer = failing();
  longer.token += ":seed=3", longer.planned.clear();
  const auto results = parse_results(lines_of(header(), {}, {longer, failing(), passing()}), "r");
  const auto buckets = buckets_of(*results);
  ASSERT_EQ(buckets.size(), 1u);
  EXPECT_EQ(buckets[0].cases.size(), 2u);
  EXPECT_EQ(buckets[0].example->token, kFailing);
  EXPECT_EQ(see_again(*results, *buckets[0].example),
            std::string("./attest repro '") + kFailing + "' --check");
}

TEST(Results, ThatWereDrawnAndShowNothingDoNotChangeTheExitCode) {
  std::vector<CaseRecord> records = {passing()};
  for (const Status status : {Status::kVacuous, Status::kSkipped, Status::kFailed}) {
    CaseRecord drawn{"v1:h=" + std::to_string(records.size() + 90), {}, 1};
    drawn.phase = kDrawnPhase;
    drawn.verdict.status = status;
    records.push_back(drawn);
  }
  const auto code_of_first = [&](std::size_t count) {
    const auto results = parse_results(lines_of(header("", 1), {{passing().token, "smoke", 1}},
                                                {records.begin(), records.begin() + count}),
                                       "r");
    EXPECT_EQ(results->tally.total(), static_cast<std::int64_t>(count));
    return run_exit_code(*results);
  };
  EXPECT_EQ(code_of_first(1), 0);
  EXPECT_EQ(code_of_first(3), 0);
  EXPECT_EQ(code_of_first(4), 1) << "but a failure does";
  records[1].phase = "rest";
  EXPECT_EQ(code_of_first(2), 5) << "and of the plan each counts";
}

TEST(Results, KnowACaseByItsToken) {
  const CaseFacts facts = facts_of(failing());
  EXPECT_EQ(facts.kernel, "mla_decode");
  EXPECT_EQ(facts.distribution, "needles");
  EXPECT_EQ(facts.longest, 4096);
  CaseRecord later;
  later.token = "v9:k=of_tomorrow:z=1";
  EXPECT_EQ(facts_of(later).kernel, "of_tomorrow");
}

TEST(Results, AsJsonLinesAgainAreTheSame) {
  const auto results = parse_results(lines_of(header(), both(), {passing(), failing()}), "r");
  const auto again = parse_results(render_jsonl(*results, {}), "again");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(render_jsonl(*again, {}), render_jsonl(*results, {}));
  EXPECT_EQ(again->tally.total(), 2);
}

TEST(Results, PrintAsTheConsoleWould) {
  const auto results = parse_results(lines_of(header(), both(), {passing(), failing()}), "r");
  const std::string text = render_console(*results, {});
  EXPECT_NE(text.find("bucket merge.wrong.scattered.mla_decode"), std::string::npos);
  EXPECT_NE(text.find("2 of 2 cases: passed 1, failed 1; 513 elements"), std::string::npos);
}

}  // namespace
}  // namespace attest
