#include "harness/journal.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

class JournalOf : public testing::Test {
 protected:
  JournalOf() { fs::create_directories(folder_); }
  ~JournalOf() override { fs::remove_all(folder_); }

  std::string path() const { return folder_ + "/results.jsonl"; }
  void write(const std::string& text) { std::ofstream(path(), std::ios::binary) << text; }
  std::string text() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_ = testing::TempDir() + "journal_test_" + std::to_string(getpid());
};

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// A run of two cases, of which the first ended and the second began.
std::string a_run() {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const to = open_memstream(&text, &size);
  const auto reporter = make_jsonl_reporter(to);
  reporter->run_begin({"nightly --tier smoke", "emu:gfx942", "a machine", 2});
  reporter->plan(std::vector<PlannedCase>{{"v1:h=1", "smoke", 1}, {"v1:h=2", "smoke", 1}});
  reporter->case_begin(0, "v1:h=1");
  CaseRecord record{"v1:h=1", {}, 1};
  record.verdict.status = Status::kPassed;
  reporter->case_end(record);
  reporter->case_begin(1, "v1:h=2");
  std::fclose(to);
  std::string made(text, size);
  std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): open_memstream's
  return made;
}

TEST_F(JournalOf, ANewRunIsEmptyAndOfThisFolder) {
  const auto journal = Journal::begin(folder_ + "/deeper");
  ASSERT_TRUE(journal.ok());
  EXPECT_EQ(journal->path(), folder_ + "/deeper/results.jsonl");
  EXPECT_EQ(fs::file_size(journal->path()), 0u);
}

TEST_F(JournalOf, ARunThatIsThereIsNeverWrittenOver) {
  for (const std::string& there :
       {a_run(), std::string("somebody's own text"), a_run().substr(0, a_run().find('\n') + 1)}) {
    write(there);
    const auto journal = Journal::begin(folder_);
    ASSERT_FALSE(journal.ok()) << there;
    EXPECT_EQ(journal.trouble().kind, TroubleKind::kUsage);
    EXPECT_TRUE(says(journal.trouble().text, "--resume")) << journal.trouble().text;
    EXPECT_EQ(text(), there);
  }
}

TEST_F(JournalOf, ARunThatWasKilledBeforeItsFirstLineIsBegunAnew) {
  for (const std::string& there : {std::string(), a_run().substr(0, 60)}) {
    write(there);
    EXPECT_FALSE(Journal::resume(folder_).ok());
    const auto journal = Journal::begin(folder_);
    ASSERT_TRUE(journal.ok()) << journal.trouble().text;
    EXPECT_EQ(text(), "");
  }
}

TEST_F(JournalOf, AResumedRunKnowsWhatEnded) {
  write(a_run());
  const auto journal = Journal::resume(folder_);
  ASSERT_TRUE(journal.ok());
  ASSERT_EQ(journal->before()->cases.size(), 1u);
  EXPECT_EQ(journal->before()->missing, std::vector<std::string>{"v1:h=2"});
  EXPECT_EQ(journal->note(), "");
  std::fputs("more\n", journal->file());
  std::fflush(journal->file());
  EXPECT_EQ(text(), a_run() + "more\n");
}

TEST_F(JournalOf, AResumedRunHasNoTornLine) {
  const std::string whole = a_run();
  const std::size_t first_line = whole.find('\n') + 1;
  for (std::size_t size = first_line; size <= whole.size(); ++size) {
    write(whole.substr(0, size));
    const auto journal = Journal::resume(folder_);
    ASSERT_TRUE(journal.ok()) << size;
    const std::string kept = text();
    ASSERT_EQ(kept.back(), '\n') << size;
    // A line that lacks its end alone is whole; of any other nothing is left.
    const bool is_whole = size == whole.size() || whole[size] == '\n' || whole[size - 1] == '\n';
    const std::size_t end = whole[size - 1] == '\n' ? size : size + 1;
    EXPECT_EQ(kept, whole.substr(0, is_whole ? end : whole.rfind('\n', size - 1) + 1)) << size;
    EXPECT_EQ(journal->note().empty(), is_whole) << size;
    EXPECT_TRUE(journal->before()->notes.empty()) << size;
  }
}

TEST_F(JournalOf, ARunThatIsWrittenIsLockedAndSaysByWhom) {
  write(a_run());
  const auto first = Journal::resume(folder_);
  ASSERT_TRUE(first.ok());
  for (const auto& second : {Journal::resume(folder_), Journal::begin(folder_)}) {
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.trouble().kind, TroubleKind::kUsage);
    EXPECT_TRUE(says(second.trouble().text, "process " + std::to_string(getpid())))
        << second.trouble().text;
  }
}

TEST_F(JournalOf, ACaseThatRanTwiceWhenTheNightlyWasKilledIsNamed) {
  const std::string begin = a_run().substr(0, a_run().find('\n') + 1);
  const std::string runs = "{\"record\":\"case_begin\",\"index\":1,\"token\":\"v1:h=2\"}\n";
  const std::string ends = "{\"record\":\"case_end\",\"token\":\"v1:h=2\",\"status\":\"passed\"}\n";
  const std::string stopped = "{\"record\":\"run_end\",\"seconds\":1}\n";
  const auto named = [&](const std::string& more) {
    write(a_run() + more);
    const auto journal = Journal::resume(folder_);
    EXPECT_TRUE(journal.ok());
    return journal->ends_nightlies();
  };
  EXPECT_EQ(named(""), std::set<std::string>{}) << "once";
  EXPECT_EQ(named(begin + runs), std::set<std::string>{"v1:h=2"});
  EXPECT_EQ(named(begin + runs + stopped), std::set<std::string>{}) << "stopped in order";
  EXPECT_EQ(named(begin + runs + stopped + begin + runs), std::set<std::string>{"v1:h=2"});
  EXPECT_EQ(named(begin + runs + ends), std::set<std::string>{});
}

TEST_F(JournalOf, WhatIsNotThereIsSaid) {
  EXPECT_EQ(Journal::resume(folder_ + "/nowhere").trouble().kind, TroubleKind::kUsage);
  EXPECT_EQ(Journal::begin("/proc/nowhere").trouble().kind, TroubleKind::kInfra);
  ASSERT_EQ(mkfifo(path().c_str(), 0666), 0);
  EXPECT_TRUE(says(Journal::begin(folder_).trouble().text, "no regular file"));
  fs::remove(path());
  write("{\"record\":\"what\"}\n");
  const auto journal = Journal::resume(folder_);
  ASSERT_FALSE(journal.ok());
  EXPECT_TRUE(says(journal.trouble().text, "it holds no run"));
}

}  // namespace
}  // namespace attest
