#include "harness/command_golden.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "golden/golden_file.hpp"
#include "harness/ledger.hpp"

namespace attest {
namespace {

struct Answer {
  int code = -1;
  std::string out, err;
  bool says(std::string_view part) const { return (out + err).find(part) != std::string::npos; }
};

Answer golden(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"attest", "golden"});
  std::vector<const char*> words;
  for (const std::string& word : arguments) words.push_back(word.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Answer answer;
  answer.code = run_command_line(static_cast<int>(words.size()), words.data());
  std::fflush(stdout);
  answer.out = testing::internal::GetCapturedStdout();
  answer.err = testing::internal::GetCapturedStderr();
  return answer;
}

constexpr const char* kA = "v1:k=mla_decode:h=2:s=30:splits=1";
constexpr const char* kB = "v1:k=mla_decode:h=1:s=0,17:page=16:splits=2:dist=needles";

class GoldenCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    const Answer made = golden({"generate", kA, kB, "--out", path_});
    ASSERT_EQ(made.code, 0) << made.err;
    ASSERT_TRUE(made.says("new; 2 cases, 4 rows")) << made.out;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // As if the file came from an older attest, which had made its first case otherwise.
  void make_older(const std::function<void(GoldenCase&)>& edit) const {
    auto file = read_golden(path_);
    ASSERT_TRUE(file.ok());
    for (GoldenCase& c : file->cases) {
      if (c.token == kA) edit(c);
    }
    ASSERT_TRUE(write_golden(*file, path_).ok());
  }
  Answer again(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"generate", kA, kB, "--out", path_});
    return golden(std::move(more));
  }
  // The change is refused without a reason and for a wrong one, and the file stays; then it is
  // taken.
  void expect_reason(const std::string& what, std::vector<std::string> reasons,
                     const std::string& wrong) const {
    const std::string before = bytes();
    const Answer none = again();
    EXPECT_EQ(none.code, 2);
    EXPECT_TRUE(none.says(what)) << none.err;
    EXPECT_TRUE(none.says("It is left as it is")) << none.err;
    std::string command =
        std::string("./attest golden generate ") + kA + " " + kB + " --out " + path_;
    std::vector<std::string> options;
    for (const std::string& reason : reasons) {
      command += " --reason " + reason;
      options.insert(options.end(), {"--reason", reason});
    }
    EXPECT_TRUE(none.says(command + "\n")) << none.err;
    const Answer other = again({"--reason", wrong});
    EXPECT_EQ(other.code, 2);
    EXPECT_TRUE(other.says("for another reason than --reason " + wrong)) << other.err;
    EXPECT_EQ(bytes(), before);
    const Answer taken = again(options);
    EXPECT_EQ(taken.code, 0) << taken.err;
    EXPECT_NE(bytes(), before);
    EXPECT_TRUE(golden({"info", path_}).says("last regeneration: " + reasons[0]));
    EXPECT_EQ(again().code, 0);
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  (std::string("attest_golden_command_") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::string path_ = (folder_ / "a.h5").string();
};

TEST_F(GoldenCommand, GenerateLeavesAFileOfTheSameContentAlone) {
  const std::string before = bytes();
  const Answer same = again();
  EXPECT_EQ(same.code, 0);
  EXPECT_TRUE(same.says("unchanged; 2 cases")) << same.out;
  EXPECT_EQ(bytes(), before);
  const std::string other = (folder_ / "b.h5").string();
  EXPECT_EQ(golden({"generate", kB, kA, "--out", other}).code, 0);
  EXPECT_EQ(golden({"diff", path_, other}).code, 0);
}

TEST_F(GoldenCommand, ABetterReferenceNeedsThatReason) {
  make_older([](GoldenCase& c) { c.o_lo[3] += 0.5 * c.error * c.sum_a_abs_v[3]; });
  expect_reason("IMPROVED  " + std::string(kA) + "  values: o by up to", {"reference"}, "input");
}

TEST_F(GoldenCommand, OtherValuesNeedTheReasonReference) {
  make_older([](GoldenCase& c) { c.lse_hi[1] += 1e-3; });
  expect_reason("CHANGED   " + std::string(kA) + "  values: lse by up to", {"reference"}, "format");
}

TEST_F(GoldenCommand, OtherInputsNeedTheReasonInput) {
  make_older([](GoldenCase& c) { c.digest_q[0] ^= 1, c.lse_hi[1] += 1; });
  expect_reason("inputs, values: q moved", {"input"}, "reference");
}

TEST_F(GoldenCommand, AnotherContractNeedsThatReasonAndNamesTheField) {
  make_older([](GoldenCase& c) { c.contract.replace(c.contract.find("p_bits=8"), 8, "p_bits=9"); });
  expect_reason("contract: p_bits 9 -> 8", {"contract"}, "input");
}

TEST_F(GoldenCommand, SeveralCausesNeedEachOfTheirReasons) {
  make_older([](GoldenCase& c) {
    c.contract.replace(c.contract.find("p_bits=8"), 8, "p_bits=9");
    c.lse_hi[1] += 1;
  });
  expect_reason("contract, values", {"contract", "reference"}, "contract");
}

TEST_F(GoldenCommand, CasesThatComeAndGoNeedTheReasonInput) {
  const std::string before = bytes();
  const Answer fewer = golden({"generate", kA, "--out", path_});
  EXPECT_EQ(fewer.code, 2);
  EXPECT_TRUE(fewer.says(std::string(kB) + "  removed")) << fewer.err;
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(golden({"generate", kA, "--out", path_, "--reason", "input"}).code, 0);
  EXPECT_TRUE(golden({"info", path_}).says("removed 1"));
}

TEST_F(GoldenCommand, HashesInPlaceOfValuesNeedTheReasonFormat) {
  EXPECT_EQ(again({"--hashes-only"}).code, 2);
  const Answer taken = again({"--hashes-only", "--reason", "format"});
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_EQ(golden({"verify", path_, "--all"}).code, 0);
}

TEST_F(GoldenCommand, DiffHasTheExitCodesOfH5diff) {
  const std::string old = (folder_ / "old.h5").string();
  std::filesystem::copy_file(path_, old);
  EXPECT_EQ(golden({"diff", old, path_}).code, 0);
  make_older([](GoldenCase& c) { c.error *= 0.5; });
  const Answer improved = golden({"diff", old, path_});
  EXPECT_EQ(improved.code, 1);
  EXPECT_TRUE(improved.says("1 same, 1 improved, 0 changed")) << improved.out;
  const auto told = nlohmann::json::parse(golden({"diff", old, path_, "--json"}).out);
  EXPECT_EQ(told["improved"], 1);
  EXPECT_EQ(told["cases"].size(), 2u);
  EXPECT_EQ(golden({"diff", old, (folder_ / "none.h5").string()}).code, 2);
  EXPECT_EQ(golden({"diff", old}).code, 2);
}

TEST_F(GoldenCommand, VerifyNamesWhatDisagreesAndFailsWithOne) {
  make_older([](GoldenCase& c) { c.lse_hi[1] += 1e-3; });
  const Answer wrong = golden({"verify", path_, "--all"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_TRUE(wrong.says("DISAGREES  " + std::string(kA) + "  row 1, lse: ")) << wrong.out;
  const auto told = nlohmann::json::parse(golden({"verify", path_, "--all", "--json"}).out);
  EXPECT_EQ(told["disagreements"].size(), 1u);
}

TEST_F(GoldenCommand, AFileWithoutACaseProvesTooLittle) {
  ASSERT_TRUE(write_golden({"first", "", {}}, path_).ok());
  const Answer nothing = golden({"verify", path_, "--all"});
  EXPECT_EQ(nothing.code, 5);
  EXPECT_TRUE(nothing.says("proves nothing")) << nothing.out;
  EXPECT_FALSE(nothing.says("agrees")) << nothing.out;
}

TEST_F(GoldenCommand, VerifySaysTheSeedOfItsSample) {
  EXPECT_TRUE(golden({"verify", path_, "--seed", "7"}).says("--seed 7\n"));
  const auto told = nlohmann::json::parse(golden({"verify", path_, "--json"}).out);
  EXPECT_GT(told["seed"].get<std::uint64_t>(), 20260000u);
  EXPECT_EQ(told["rows_by_digits"], 2);
}

TEST_F(GoldenCommand, TheSeedOfADayIsTheSameInEveryTimeZone) {
  const auto seed_in = [&](const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
    return nlohmann::json::parse(golden({"verify", path_, "--json"}).out)["seed"];
  };
  const Date before = today();
  const auto east = seed_in("EAST-14"), west = seed_in("WEST+12");  // 26 hours apart
  unsetenv("TZ");
  tzset();
  if (today() != before) GTEST_SKIP() << "a day ended";
  EXPECT_EQ(east, west);
}

TEST_F(GoldenCommand, ADamagedFileIsNamedByEveryVerb) {
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  const std::string before = bytes();
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"verify", path_},
                                             {"info", path_},
                                             {"diff", path_, path_},
                                             {"generate", kA, "--out", path_}}) {
    const Answer answer = golden(words);
    EXPECT_EQ(answer.code, 2) << words[0];
    EXPECT_TRUE(answer.says(path_ + ": ")) << answer.err;
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  }
  EXPECT_EQ(bytes(), before);
}

}  // namespace
}  // namespace attest
