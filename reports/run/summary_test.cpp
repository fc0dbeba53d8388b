#include "reports/run/summary.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

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

TEST(Notes, NameTenAndCountTheOthers) {
  std::string text = begin("", 12);
  for (int i = 0; i < 12; ++i)
    text += end(fmt::format("c{:02}", i)) + end(fmt::format("c{:02}", i));
  const Lines notes = notes_of_text(text);
  ASSERT_EQ(notes.size(), 11u);
  EXPECT_EQ(notes[0], "c00 ended more than once; its last end counts");
  EXPECT_EQ(notes[10], "and 2 more cases ended more than once");
}

TEST(Notes, SayThatRunsDoNotBelongTogether) {
  EXPECT_EQ(
      notes_of_text(begin(R"(,"build":"1")") + end("a") + begin(R"(,"build":"2")") + end("b")),
      Lines{"these runs have different builds: '1' and '2'"});
}

}  // namespace
}  // namespace attest
