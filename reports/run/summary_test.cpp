#include "reports/run/summary.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "reports/formats_testing.hpp"
#include "reports/run/text.hpp"

namespace attest {
namespace {

std::string begin(const std::string& more = "", int cases = 1) {
  return fmt::format(R"({{"record":"run_begin","device":"emu:gfx942","cases":{}{}}})", cases,
                     more) +
         "\n";
}

std::string end(const std::string& token) {
  return R"({"record":"case_end","token":")" + token + R"(","status":"passed"})" + "\n";
}

std::vector<std::string> notes_of_text(const std::string& text) {
  const auto results = parse_results(text, "r");
  EXPECT_TRUE(results.ok());
  return notes_of(*results);
}

using Lines = std::vector<std::string>;

TEST(Notes, OfAWholeRunAreNone) { EXPECT_EQ(notes_of_text(begin() + end("a")), Lines{}); }

TEST(Notes, NameMissingCasesThoseThatHadBegunFirst) {
  const std::string plan =
      R"({"record":"plan","cases":[{"token":"a"},{"token":"b"},{"token":"c"}]})"
      "\n";
  const std::string begun = R"({"record":"case_begin","index":1,"token":"c"})"
                            "\n";
  EXPECT_EQ(
      notes_of_text(begin("", 3) + plan + end("a") + begun),
      (Lines{"c did not end; it had begun", "b did not end: it was planned and did not begin"}));
}

TEST(Notes, CountWhatNobodyNames) {
  EXPECT_EQ(notes_of_text(begin("", 3) + end("a")),
            Lines{"2 more cases were announced than are known: the run was stopped, or its plan is "
                  "cut short"});
}

TEST(Notes, SayThatTheJournalIsOfANewerAttest) {
  EXPECT_EQ(
      notes_of_text(begin(R"(,"format":99)") + end("a")),
      Lines{"written by a newer attest (format 99; this one knows 2): what it has more is not "
            "read"});
  EXPECT_EQ(notes_of_text(begin(R"(,"format":1)") + end("a")), Lines{});
}

TEST(Notes, NameTenAndCountTheOthers) {
  std::string text = begin("", 12);
  for (int i = 0; i < 12; ++i)
    text += end(fmt::format("c{:02}", i)) + end(fmt::format("c{:02}", i));
  const Lines notes = notes_of_text(text);
  ASSERT_EQ(notes.size(), 11u);
  EXPECT_EQ(notes[0], "c00 ended more than once; the worst of its ends counts");
  EXPECT_EQ(notes[10], "and 2 more cases ended more than once");
}

TEST(Findings, AreTheGravestFirstAndToldByTheShortestOfTheGravest) {
  const Results results = run_of(
      {case_of("v1:k=k:1", Status::kXfail, "", "b"), case_of("v1:k=k:22", Status::kFailed, "", "b"),
       case_of("v1:k=k:333", Status::kFailed, "", "b"), case_of("v1:k=k:4", Status::kVacuous),
       case_of("v1:k=k:5", Status::kVacuous), case_of("v1:k=k:6", Status::kPassed),
       case_of("v1:k=k:7", Status::kSkipped), case_of("v1:k=k:8", Status::kCrashed, "", "c")});
  const std::vector<Finding> findings = findings_of(results);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].bucket, "b");
  EXPECT_EQ(findings[0].cases.size(), 3u);
  EXPECT_EQ(findings[0].example->token, "v1:k=k:22");
  EXPECT_EQ(findings[1].bucket, "c");
  EXPECT_EQ(findings[2].bucket, "vacuous.k");
  EXPECT_EQ(findings[2].cases.size(), 2u);
}

TEST(Proof, SaysWhatPassedAndWhatThatShows) {
  CaseRecord passed = case_of("v1:k=k", Status::kPassed);
  passed.verdict.checked = 513;
  passed.verdict.evidence.tokens_visible = 0.999;
  EXPECT_EQ(
      proof_of(run_of({passed})),
      "In 1 passed case each of 513 elements is within its bound; each case would have noticed the "
      "loss of at least 99 % of its tokens.");
  passed.verdict.evidence.tokens_visible = 1;
  passed.verdict.evidence.splits_visible = 0.5;
  EXPECT_TRUE(proof_of(run_of({passed}))
                  .ends_with("noticed the loss of any token and of at least 50 % of its splits."));
  EXPECT_EQ(proof_of(run_of({case_of("a", Status::kVacuous), case_of("b", Status::kHung)})),
            "1 case showed a kernel that is wrong. 1 case could not have failed: vacuous. No case "
            "passed.");
}

TEST(StartTime, IsEmptyUnlessItIsATime) {
  Results results = run_of({});
  EXPECT_EQ(start_time_of(results), "2026-11-30T02:00:00Z");
  for (const char* text :
       {"", "yesterday", "2026-11-30", "2026-11-30T02:00:00", "2026-11-30T02:00:00Z ",
        "2026-06-31T02:00:00Z", "2026-13-01T02:00:00Z", "2026-11-30T24:00:00Z",
        "0000-01-01T02:00:00Z", " 026-11-30T02:00:00Z", "2026-11-30T02:00:00z"}) {
    results.runs[0].started = text;
    EXPECT_EQ(start_time_of(results), "") << text;
  }
}

TEST(Text, IsCutBetweenCharacters) {
  for (std::size_t most = 3; most < 9; ++most) {
    const std::string text = cut("größer🚨", most);
    EXPECT_LE(text.size(), most);
    EXPECT_TRUE(Json::accept("\"" + text + "\"")) << text;  // valid UTF-8
  }
  EXPECT_EQ(cut("größer", 8), "größer");
  EXPECT_EQ(cut("größer", 6), "gr…");
}

TEST(Text, ShowsNoCharacterThatATerminalObeys) {
  EXPECT_EQ(visible("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(visible("\x1b[31m\r\x7f"), "\uFFFD[31m\uFFFD\uFFFD");
  EXPECT_EQ(visible("\x9b\x31m \u009b31m"), "\uFFFD1m \uFFFD31m");
  EXPECT_EQ(visible("\u202eabc\u2066 größer 誤差 🚨"), "\uFFFDabc\uFFFD größer 誤差 🚨");
}

}  // namespace
}  // namespace attest
