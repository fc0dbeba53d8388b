// A kernel that breaks between two nights: each report of the second night, and the comparison of
// both, must name what broke and a case that shows it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/child_process.hpp"
#include "harness/mutant_build.hpp"
#include "reports/format.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

class PlantedRegression : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / "attest-planted-regression-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // Its exit code; `output_` is what it printed.
  int attest(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ATTEST_PROGRAM);
    const auto end = run_child(arguments, 300);
    EXPECT_TRUE(end.ok() && !end->timed_out) << (end.ok() ? end->output : end.trouble().text);
    if (!end.ok()) return -1;
    output_ = end->output;
    return end->exit_code;
  }

  int nightly(const std::string& name, const std::string& code_objects) {
    return attest({"nightly", "--tier", "smoke", "--out", path(name), "--history",
                   path("history.sqlite"), "--code-objects", code_objects});
  }

  void expect_named(const std::string& text, const BucketCases& bucket, const std::string& where) {
    EXPECT_NE(text.find(bucket.bucket), std::string::npos) << where << " misses " << bucket.bucket;
    EXPECT_NE(text.find(bucket.example->token), std::string::npos)
        << where << " misses " << bucket.example->token;
  }

  std::string folder_, output_;
};

Result<BuiltMutant> broken_kernel() {
  const auto mutants = read_mutants(ATTEST_SOURCE_DIR "/fuzz/mutants");
  if (!mutants.ok()) return mutants.trouble();
  for (const Mutant& mutant : *mutants) {
    if (mutant.name != "drop_last_token") continue;
    return build_mutant(mutant, {.target = "gfx942", .code_objects = ATTEST_CODE_OBJECT_DIR});
  }
  return Trouble{TroubleKind::kUsage, "no mutant drop_last_token"};
}

TEST_F(PlantedRegression, ShowsInEachReportInTheComparisonAndInTheHistory) {
  const auto broken = broken_kernel();
  ASSERT_TRUE(broken.ok()) << broken.trouble().text;
  ASSERT_EQ(nightly("base", ATTEST_CODE_OBJECT_DIR), 0) << output_;
  ASSERT_EQ(nightly("pr", broken->code_objects()), 1) << output_;
  const std::string console = output_;

  const auto results = read_results({path("pr/results.jsonl")});
  ASSERT_TRUE(results.ok()) << results.trouble().text;
  const std::vector<BucketCases> buckets = buckets_of(*results);
  ASSERT_FALSE(buckets.empty());
  for (const BucketCases& bucket : buckets) {
    expect_named(console, bucket, "the console");
    int files = 0;
    for (const ReportFormat& format : all_report_formats()) {
      if (format.file.empty()) continue;
      const std::string name = "pr/" + std::string(format.file);
      expect_named(text_of(path(name)), bucket, name);
      ++files;
    }
    EXPECT_GE(files, 4);  // JUnit, SARIF, Markdown, HTML
    for (const char* format : {"text", "markdown", "json"}) {
      EXPECT_EQ(attest({"compare", path("base"), path("pr"), "--format", format}), 1) << output_;
      expect_named(output_, bucket, std::string("compare as ") + format);
    }
    EXPECT_EQ(attest({"history", "--history", path("history.sqlite")}), 0);
    EXPECT_NE(output_.find(bucket.bucket), std::string::npos) << output_;
  }
}

TEST_F(PlantedRegression, ThatIsRepairedIsNoNews) {
  const auto broken = broken_kernel();
  ASSERT_TRUE(broken.ok()) << broken.trouble().text;
  ASSERT_EQ(nightly("base", broken->code_objects()), 1) << output_;
  ASSERT_EQ(nightly("pr", ATTEST_CODE_OBJECT_DIR), 0) << output_;
  EXPECT_EQ(attest({"compare", path("base"), path("pr")}), 0) << output_;
  EXPECT_EQ(attest({"compare", path("pr"), path("pr")}), 0) << output_;
}

}  // namespace
}  // namespace attest
