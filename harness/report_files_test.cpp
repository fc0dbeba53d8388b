#include "harness/report_files.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/core/part_file.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ReportFiles : public testing::Test {
 protected:
  ReportFiles() { fs::create_directories(folder_); }
  ~ReportFiles() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

 private:
  fs::path folder_ = fs::path(testing::TempDir()) /
                     ("report_files_" + std::to_string(getpid()) +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ReportFiles, AreWrittenWholeAndLeaveNothingBeside) {
  ASSERT_TRUE(write_whole_file(path("r"), "one").ok());
  ASSERT_TRUE(write_whole_file(path("r"), "two").ok());
  EXPECT_EQ(text_of(path("r")), "two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReportFiles, AreWhatTheyWereWhereTheNewOneCannotBeWritten) {
  // Its part, which is to stand beside it, would have a name that no file can have.
  const std::string file = path(std::string(255, 'r').c_str());
  std::ofstream(file) << "one";
  const Outcome written = write_whole_file(file, "two");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.trouble().kind, TroubleKind::kInfra);
  EXPECT_TRUE(written.trouble().text.starts_with(file + ": ")) << written.trouble().text;
  EXPECT_EQ(text_of(file), "one");
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReportFiles, OfWhichAnotherIsBeingWrittenLeaveThatOneAlone) {
  const auto others = new_part_file(path("r"));
  ASSERT_TRUE(others.ok());
  std::ofstream(*others) << "half";
  ASSERT_TRUE(write_whole_file(path("r"), "one").ok());
  EXPECT_EQ(text_of(path("r")), "one");
  EXPECT_EQ(text_of(*others), "half");
  ASSERT_TRUE(put_in_place(*others, path("r")).ok());
  EXPECT_EQ(text_of(path("r")), "half");
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReportFiles, OfManyProcessesAtOnceAreOneWholeFile) {
  const std::string texts[] = {std::string(1 << 20, 'a'), std::string(1 << 10, 'b'), "c"};
  std::vector<pid_t> children;
  for (const std::string& text : texts) {
    children.push_back(fork());
    if (children.back() == 0) {
      bool ok = true;
      for (int i = 0; i < 20; ++i) ok &= write_whole_file(path("r"), text).ok();
      _exit(ok ? 0 : 1);
    }
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_NE(std::find(std::begin(texts), std::end(texts), text_of(path("r"))), std::end(texts));
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReportFiles, BehindALinkAreReplacedAndTheLinkIsKept) {
  ASSERT_TRUE(write_whole_file(path("r"), "one").ok());
  fs::create_symlink("r", path("link"));
  ASSERT_TRUE(write_whole_file(path("link"), "two").ok());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text_of(path("r")), "two");
}

TEST_F(ReportFiles, WhichAreDevicesStaySo) {
  ASSERT_TRUE(write_whole_file("/dev/null", "text").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_FALSE(write_whole_file("/dev/full", "text").ok());
}

TEST_F(ReportFiles, OfAnEarlierRunAreGoneAndUnwritableOnesKnownBeforeTheRun) {
  EXPECT_TRUE(clear_file(path("r")).ok());
  EXPECT_EQ(files(), 0u);
  EXPECT_FALSE(clear_file(path("nowhere/r")).ok());
  ASSERT_TRUE(write_whole_file(path("r"), "one").ok());
  EXPECT_TRUE(clear_file(path("r")).ok());
  EXPECT_EQ(files(), 0u);
}

TEST_F(ReportFiles, OfAFolderAreOneAFormatThatHasOne) {
  const auto results = parse_results(R"({"record":"run_begin","cases":0})"
                                     "\n",
                                     "r");
  ASSERT_TRUE(results.ok());
  std::size_t expected = 0;
  for (const ReportFormat& format : all_report_formats()) expected += !format.file.empty();
  EXPECT_GT(expected, 2u);
  ASSERT_TRUE(write_report_files(*results, {}, path("a/b")).ok());
  for (const ReportFormat& format : all_report_formats()) {
    if (format.file.empty()) continue;
    EXPECT_EQ(text_of(path("a/b") + "/" + std::string(format.file)), format.render(*results, {}));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(path("a/b")), fs::directory_iterator()),
            static_cast<std::ptrdiff_t>(expected));
}

}  // namespace
}  // namespace attest
