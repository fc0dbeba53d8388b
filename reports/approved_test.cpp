// Each text format of one run that holds a case of every status, against the file that was looked
// at and approved: approved/.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "reports/formats_testing.hpp"

namespace attest {
namespace {

// "line 3\n  approved: ...\n  now:      ...": the first that differs.
std::string first_difference(const std::string& approved, const std::string& now) {
  std::size_t at = 0, line_begin = 0, line = 1;
  for (; at < approved.size() && at < now.size() && approved[at] == now[at]; ++at) {
    if (now[at] == '\n') ++line, line_begin = at + 1;
  }
  const auto line_of = [&](const std::string& text) {
    return text.substr(line_begin, text.find('\n', line_begin) - line_begin).substr(0, 1000);
  };
  return fmt::format("line {}\n  approved: {}\n  now:      {}", line, line_of(approved),
                     line_of(now));
}

void expect_approved(const std::string& format_name, const std::string& file) {
  const Results results = approved_run();
  ASSERT_EQ(results.cases.size(), 16u);
  const ReportFormat* const format = find_report_format(format_name);
  ASSERT_NE(format, nullptr) << format_name;
  const std::string now = format->render(results, {});
  if (std::getenv("ATTEST_APPROVE") != nullptr) {
    std::ofstream(approved_path(file), std::ios::binary) << now;
    FAIL() << "approved anew; run again without ATTEST_APPROVE";
  }
  const std::string approved = text_of(approved_path(file));
  EXPECT_TRUE(now == approved) << "reports/approved/" << file << ": "
                               << first_difference(approved, now)
                               << "\nTo approve what is written now, look at it after\n"
                                  "  ATTEST_APPROVE=1 ./attest test -R Approved; git diff "
                                  "reports/approved";
}

TEST(Approved, Console) { expect_approved("console", "console.txt"); }
TEST(Approved, Jsonl) { expect_approved("jsonl", "merged.jsonl"); }
TEST(Approved, Junit) { expect_approved("junit", "junit.xml"); }
TEST(Approved, Sarif) { expect_approved("sarif", "report.sarif"); }
TEST(Approved, Markdown) { expect_approved("markdown", "report.md"); }

}  // namespace
}  // namespace attest
