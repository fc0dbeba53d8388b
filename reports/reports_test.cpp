#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/format.hpp"

namespace attest {
namespace {

class File {
 public:
  File() : file_(std::tmpfile()) {}
  ~File() { std::fclose(file_); }
  std::FILE* get() { return file_; }
  std::string text() {
    std::string content(static_cast<std::size_t>(std::ftell(file_)), '\0');
    std::rewind(file_);
    EXPECT_EQ(std::fread(content.data(), 1, content.size(), file_), content.size());
    return content;
  }

 private:
  std::FILE* file_;
};

CaseRecord failed_case() {
  CaseRecord record{"v1:k=mla_decode:h=1", {}, 12};
  record.verdict.status = Status::kFailed;
  record.verdict.reason = "o is \xff wrong";  // a byte that is no UTF-8
  record.verdict.bucket = "merge.wrong.scattered.mla_decode";
  record.verdict.checked = 513;
  record.verdict.broken_tier = "T2";
  record.verdict.blame = "the merge, split 3";
  Worst worst{.tensor = "o", .tier = "T2", .sequence = 1, .terms = {{"P rounded to bf16", 0.5}}};
  worst.ratio = std::numeric_limits<double>::infinity();
  worst.actual = std::nan("");
  record.verdict.worst = {worst};
  return record;
}

CaseRecord passed_case() {
  CaseRecord record{"v1:k=mla_decode", {}, 3};
  record.verdict.status = Status::kPassed;
  Evidence& evidence = record.verdict.evidence;
  evidence.tokens_visible = 0.999;
  evidence.pages_visible = 0.5;
  evidence.smallest_weight_seen = 1e-6;
  evidence.logit_min = -std::numeric_limits<double>::infinity();
  evidence.strawmen = {"zeros"};
  evidence.scores = {
      {.filter = "tile", .z = 3, .sequence = 1, .token_begin = 64, .token_end = 128}};
  return record;
}

void report(Reporter& reporter) {
  Tally tally;
  reporter.run_begin({"run", "emu:gfx942", "a machine", 2});
  for (const CaseRecord& record : {passed_case(), failed_case()}) {
    reporter.case_begin(tally.total(), record.token);
    reporter.case_end(record);
    tally.add(record.verdict.status);
  }
  reporter.run_end(tally, 1.5);
  EXPECT_EQ(reporter.trouble(), "");
}

TEST(JsonLines, AreParsableAndTellTheWholeStoryInOrder) {
  File file;
  report(*make_jsonl_reporter(file.get()));
  std::istringstream lines(file.text());
  std::vector<nlohmann::json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(records.size(), 6u);
  const char* kinds[] = {"run_begin",  "case_begin", "case_end",
                         "case_begin", "case_end",   "run_end"};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(records[i]["record"], kinds[i]);
  EXPECT_EQ(records[4]["status"], "failed");
  EXPECT_EQ(records[4]["token"], records[3]["token"]);
  EXPECT_EQ(records[4]["worst"][0]["ratio"], "inf");
  EXPECT_EQ(records[4]["worst"][0]["actual"], "nan");
  EXPECT_EQ(records[4]["worst"][0]["terms"][0]["name"], "P rounded to bf16");
  EXPECT_EQ(records[5]["exit_code"], 1);
  EXPECT_EQ(records[5]["tally"]["passed"], 1);
}

TEST(JsonLines, HoldTheEvidenceTheTierAndTheBlame) {
  File file;
  report(*make_jsonl_reporter(file.get()));
  std::istringstream lines(file.text());
  std::vector<nlohmann::json> ends;
  for (std::string line; std::getline(lines, line);) {
    if (const auto record = nlohmann::json::parse(line); record["record"] == "case_end")
      ends.push_back(record);
  }
  ASSERT_EQ(ends.size(), 2u);
  const auto& evidence = ends[0]["evidence"];
  EXPECT_EQ(evidence["tokens_visible"], 0.999);
  EXPECT_EQ(evidence["pages_visible"], 0.5);
  EXPECT_TRUE(evidence["splits_visible"].is_null());
  EXPECT_EQ(evidence["smallest_weight_seen"], 1e-6);
  EXPECT_EQ(evidence["logit_min"], "-inf");
  EXPECT_EQ(evidence["strawmen"], nlohmann::json({"zeros"}));
  EXPECT_EQ(evidence["scores"][0]["token_begin"], 64);
  EXPECT_EQ(ends[0]["broken_tier"], "");
  EXPECT_EQ(ends[1]["broken_tier"], "T2");
  EXPECT_EQ(ends[1]["blame"], "the merge, split 3");
  EXPECT_EQ(ends[1]["worst"][0]["tier"], "T2");
}

TEST(JsonLines, HaveCaseBeginOnDiskBeforeTheCaseRuns) {
  const std::string path = testing::TempDir() + "attest_case_begin.jsonl";
  std::FILE* const file = std::fopen(path.c_str(), "w");
  const auto reporter = make_jsonl_reporter(file);
  reporter->case_begin(0, "v1:k=mla_decode");
  EXPECT_GT(std::filesystem::file_size(path), 0u);  // without a close
  std::fclose(file);
}

TEST(JsonLines, SayWhenTheDiskIsFull) {
  std::FILE* const full = std::fopen("/dev/full", "w");
  if (full == nullptr) GTEST_SKIP() << "no /dev/full";
  const auto reporter = make_jsonl_reporter(full);
  reporter->case_begin(0, "v1:k=mla_decode");
  EXPECT_EQ(reporter->trouble(), "No space left on device");
  std::fclose(full);
}

TEST(Console, PrintsALineACaseAndTheCommandToSeeAFailureAgain) {
  File file;
  report(*make_console_reporter(file.get()));
  const std::string text = file.text();
  for (const char* part :
       {"passed   v1:k=mla_decode  sees 99 % tokens  3 ms\n", "blame the merge, split 3\n",
        "failed   v1:k=mla_decode:h=1  ratio inf in o  12 ms\n",
        "bucket merge.wrong.scattered.mla_decode\n",
        "see it again: ./attest repro 'v1:k=mla_decode:h=1'\n",
        "2 of 2 cases: passed 1, failed 1; 513 elements judged in 1.5 s\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(ReportFormats, EachFileIsInTheCatalogue) {
  std::set<std::string> files, listed;
  for (const auto& entry : std::filesystem::directory_iterator(ATTEST_SOURCE_DIR "/reports")) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() == ".cpp" && stem != "catalog" && !stem.ends_with("_test"))
      files.insert(stem);
  }
  for (const ReportFormat& format : all_report_formats()) listed.insert(std::string{format.name});
  EXPECT_EQ(files, listed);
}

TEST(TallyText, NamesWhatIsNotZero) {
  Tally tally;
  EXPECT_EQ(tally_text(tally), "no case ran");
  tally.add(Status::kHung);
  tally.interrupted = true;
  EXPECT_EQ(tally_text(tally), "hung 1, interrupted");
}

}  // namespace
}  // namespace attest
