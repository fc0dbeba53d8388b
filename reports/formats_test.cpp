// What all formats say alike.
#include <gtest/gtest.h>

#include <map>

#include "reports/formats_testing.hpp"
#include "reports/run/summary.hpp"

namespace attest {
namespace {

CaseRecord drawn(Status status) {
  const std::string token = fmt::format("v1:k=mla_decode:seed={}", 10 + static_cast<int>(status));
  CaseRecord record = case_of(token, status, "it could not have failed");
  record.phase = "fuzz";
  return record;
}

const CaseRecord kPass = case_of("v1:k=mla_decode:seed=1", Status::kPassed);

// Of each exit code at least one; of each status one, alone and beside a pass.
std::vector<Results> runs() {
  std::vector<Results> all = {run_of({}), run_of({kPass}), run_of({kPass}, 2), approved_run()};
  for (int s = 0; s <= static_cast<int>(Status::kXpass); ++s) {
    const auto status = static_cast<Status>(s);
    const CaseRecord planned = case_of("v1:k=mla_decode:seed=2", status, "why", "a.b.c.d");
    all.push_back(run_of({planned}));
    all.push_back(run_of({kPass, planned}));
    all.push_back(run_of({kPass, drawn(status)}, 1));
    all.push_back(run_of({drawn(status)}, 0));
  }
  return all;
}

std::string rendered(const char* format, const Results& results) {
  return find_report_format(format)->render(results, {});
}

TEST(Formats, SayTheExitCodeOfTheRun) {
  const std::map<std::string_view, std::string_view> texts = {
      {"console", ""},  // the process says it
      {"html", "Exit code <b>{}</b>"},
      {"jsonl", "\"exit_code\":{},"},
      {"junit", "<property name=\"exit_code\" value=\"{}\"/>"},
      {"markdown", "(exit code {})"},
      {"sarif", "\"exitCode\": {},"}};
  for (const Results& results : runs()) {
    const int code = run_exit_code(results);
    for (const ReportFormat& format : all_report_formats()) {
      const std::string text = fmt::format(fmt::runtime(texts.at(format.name)), code);
      EXPECT_NE(format.render(results, {}).find(text), std::string::npos)
          << format.name << " of " << tally_text(results.tally) << ": " << text;
    }
  }
}

// A result or notification that a reader takes for bad news.
bool is_red(const Json& list) {
  for (const Json& one : list) {
    if (one["level"] != "note") return true;
  }
  return false;
}

TEST(Formats, AreGreenWhereTheExitCodeIsAndNowhereElse) {
  for (const Results& results : runs()) {
    const bool green = run_exit_code(results) == 0;
    const std::string what = tally_text(results.tally);
    EXPECT_EQ(count_of(rendered("junit", results), "failures=\"0\" errors=\"0\"") > 0, green)
        << what;
    EXPECT_EQ(count_of(rendered("markdown", results), "## ✅") > 0, green) << what;
    EXPECT_EQ(count_of(rendered("html", results), "class=\"verdict good\"") > 0, green) << what;
    const Json run = Json::parse(rendered("sarif", results))["runs"][0];
    const Json& invocation = run["invocations"][0];
    EXPECT_EQ(!is_red(run["results"]) && !is_red(invocation["toolExecutionNotifications"]), green)
        << what;
    EXPECT_TRUE(invocation["executionSuccessful"] == true || !green) << what;
  }
}

TEST(Formats, TakeWhatWasDrawnAndShowsNothingForNoFinding) {
  const Results results = run_of({kPass, drawn(Status::kVacuous), drawn(Status::kSkipped)}, 1);
  EXPECT_EQ(run_exit_code(results), 0);
  EXPECT_TRUE(findings_of(results).empty());
  EXPECT_EQ(count_of(rendered("junit", results), "<skipped "), 2u);
  EXPECT_NE(rendered("html", results).find(">1 of 3 cases passed, none failed<"),
            std::string::npos);
  EXPECT_NE(proof_of(results).find("1 case drawn beside the plan could not have failed"),
            std::string::npos);
}

TEST(Formats, ForPeopleHaveNoCharacterThatATerminalObeys) {
  // An escape, the one byte that means the same, and what turns the direction of reading.
  const std::string evil = "\x1b[2J\u009b31m\u202e\u2066";
  Results results = run_of({case_of("v1:k=" + evil, Status::kFailed, evil, evil)});
  Verdict& verdict = results.cases[0].verdict;
  verdict.remarks = {evil};
  verdict.blame = verdict.source = verdict.contract = verdict.broken_tier = evil;
  verdict.worst.resize(1);
  verdict.worst[0].tensor = verdict.worst[0].tier = evil;
  verdict.worst[0].terms = {{evil, 1}};
  verdict.fault_maps = {{evil, evil, evil, 1, 1, 1, 1, {1}}};
  results.cases.push_back(case_of("v1:k=mla_decode", Status::kFailed, "plain", "a.b.c.d"));
  RunHeader& header = results.runs[0];
  header.command = header.device = header.machine = header.repro_options = evil;
  header.run = header.started = header.build = header.shard = header.bounds = evil;
  results.notes = results.missing = results.twice = {evil};
  Results otherwise = results;
  otherwise.runs[0].again = evil;
  for (const Results& run : {results, otherwise}) {
    for (const ReportFormat& format : all_report_formats()) {
      if (format.name == "jsonl") continue;  // is the run as it is
      const std::string text = format.render(run, {});
      for (const char* obeyed : {"\x1b", "\u009b", "\u202e", "\u2066"}) {
        EXPECT_EQ(text.find(obeyed), std::string::npos) << format.name;
      }
    }
  }
}

TEST(Formats, GiveNoCommandWithWhichAShellWouldDoMore) {
  const Results results =
      run_of({case_of("v1:k=x';touch x;echo '", Status::kFailed, "why", "a.b.c.d")});
  ASSERT_EQ(see_again(results, results.cases[0]), "");
  for (const char* format : {"console", "html", "junit", "markdown", "sarif"}) {
    const std::string text = rendered(format, results);
    EXPECT_NE(text.find("no command is given, as a shell would run a part of its text"),
              std::string::npos)
        << format;
    EXPECT_EQ(text.find("./attest repro"), std::string::npos) << format;
    EXPECT_EQ(text.find("<button type=\"button\" class=\"copy\""), std::string::npos) << format;
  }
}

}  // namespace
}  // namespace attest
