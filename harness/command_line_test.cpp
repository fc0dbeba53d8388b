#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/distributions/distribution.hpp"
#include "fuzz/problems/suites.hpp"
#include "fuzz/properties/property.hpp"
#include "harness/commands.hpp"
#include "harness/core/kernel.hpp"
#include "harness/corpus.hpp"
#include "harness/device/device_list.hpp"
#include "harness/runner.hpp"

namespace attest {
namespace {

struct Answer {
  int code = -1;
  std::string out, err;
};

Answer attest_says(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "attest");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Answer answer;
  answer.code = run_command_line(static_cast<int>(arguments.size()), arguments.data());
  std::fflush(stdout);
  answer.out = testing::internal::GetCapturedStdout();
  answer.err = testing::internal::GetCapturedStderr();
  return answer;
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(CommandLine, WithoutACommandIsAUsageError) {
  EXPECT_EQ(attest_says({}).code, 2);
  EXPECT_EQ(attest_says({"frobnicate"}).code, 2);
  EXPECT_EQ(attest_says({"run", "--nonsense"}).code, 2);
  EXPECT_EQ(attest_says({"run", "--threads", "0"}).code, 2);
  EXPECT_EQ(attest_says({"--help"}).code, 0);
}

TEST(CommandLine, MalformedTokenIsAUsageErrorThatNamesTheKey) {
  for (const char* command : {"run", "repro"}) {
    const Answer answer = attest_says({command, "v1:k=mla_decode:spilts=4"});
    EXPECT_EQ(answer.code, 2);
    EXPECT_TRUE(says(answer.err, "the nearest is 'splits'")) << answer.err;
    EXPECT_EQ(answer.out, "");
  }
}

TEST(CommandLine, UnknownNamesAreUsageErrorsThatListTheKnownOnes) {
  EXPECT_TRUE(says(attest_says({"run", "v1:k=mla_decod"}).err, "there are: mla_decode"));
  EXPECT_EQ(attest_says({"run", "v1:k=mla_decod"}).code, 2);
  EXPECT_TRUE(says(attest_says({"run", "v1:dist=flat"}).err, "there are: normal, small_normal"));
  EXPECT_TRUE(says(attest_says({"run", "v1:prop=symmetry"}).err, "there are: oracle, memory"));
  EXPECT_EQ(attest_says({"run", "v1:prop=symmetry"}).code, 2);
  EXPECT_TRUE(says(attest_says({"run", "--suite", "smoky"}).err, "there are: smoke, ragged"));
  EXPECT_EQ(attest_says({"nightly", "--tier", "hourly"}).code, 2);
  const Answer detect = attest_says({"detect", "--length", "64", "--distribution", "flat"});
  EXPECT_EQ(detect.code, 2);
  EXPECT_TRUE(says(detect.err, "there are: normal, small_normal")) << detect.err;
}

TEST(CommandLine, SelectingNothingIsNotGreen) {
  EXPECT_EQ(attest_says({"run"}).code, 5);
  EXPECT_EQ(attest_says({"run", "--suite", "smoke", "--match", "h=77"}).code, 5);
}

TEST(CommandLine, UnknownDeviceIsInfrastructureAndSaysWhichThereAre) {
  const Answer answer = attest_says({"run", "v1:k=mla_decode", "--device", "emu:gfx1"});
  EXPECT_EQ(answer.code, 4);
  EXPECT_TRUE(says(answer.err, "emu:gfx1")) << answer.err;
  EXPECT_TRUE(says(answer.err, "emu:gfx942")) << answer.err;
}

TEST(CommandLine, MissingCodeObjectIsInfrastructureAndNamesTheFile) {
  const Answer answer = attest_says({"run", "v1:k=mla_decode", "--code-objects", "/nonexistent"});
  EXPECT_EQ(answer.code, 4);
  EXPECT_TRUE(says(answer.out, "/nonexistent/mla_decode.gfx942.co")) << answer.out;
}

TEST(CommandLine, UnwritableResultsAreInfrastructure) {
  const Answer answer = attest_says({"nightly", "--out", "/proc/nowhere"});
  EXPECT_EQ(answer.code, 4);
  EXPECT_TRUE(says(answer.err, "/proc/nowhere")) << answer.err;
}

TEST(List, NamesEveryKernelDeviceSuiteAndDistribution) {
  const Answer answer = attest_says({"list", "--json"});
  EXPECT_EQ(answer.code, 0);
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["kernels"].size(), all_kernels().size() + external_kernels().size());
  EXPECT_EQ(json["devices"].size(), list_devices().size());
  EXPECT_EQ(json["suites"].size(), all_suites().size());
  EXPECT_EQ(json["distributions"].size(), all_distributions().size());
  EXPECT_EQ(json["properties"].size(), all_properties().size() + 1);  // and the oracle
  EXPECT_TRUE(says(attest_says({"list"}).out, "prefix_boundary"));
}

TEST(List, OfAPlanHasEachCaseInOneShard) {
  const auto tokens = [](const char* shards) {
    const Answer answer = attest_says({"list", "--plan", shards, "--tier", "full", "--json"});
    std::vector<std::string> all;
    for (const auto& shard : nlohmann::json::parse(answer.out)["shards"]) {
      for (const auto& one : shard["cases"]) all.push_back(one["token"]);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto whole = tokens("1");
  EXPECT_EQ(tokens("3"), whole);
  EXPECT_EQ(tokens("400"), whole);  // more shards than cases
  const Answer text = attest_says({"list", "--plan", "2"});
  EXPECT_TRUE(says(text.out, "tier smoke: 88 cases, about "));
  EXPECT_TRUE(says(text.out, "\n      2/2 "));
}

TEST(Doctor, ReportsTheDeviceAndItsCodeObjects) {
  const Answer missing = attest_says({"doctor", "--code-objects", "/nonexistent"});
  EXPECT_EQ(missing.code, 4);
  EXPECT_TRUE(says(missing.out, "MISSING   mla_decode for gfx942: /nonexistent/")) << missing.out;
  const auto json = nlohmann::json::parse(attest_says({"doctor", "--json"}).out);
  EXPECT_TRUE(json.contains("complete"));
}

TEST(Match, TakesAGlobOverTheTokenOrAPartOfIt) {
  const auto count = [](const char* match) { return select_cases({{}, {}, match})->size(); };
  EXPECT_EQ(count("prefix=308736"), 2u);
  EXPECT_EQ(count("v1:*prefix=308736*needles*"), 1u);
  EXPECT_EQ(count("prefix=308736*"), 0u);  // a glob speaks of the whole token
}

TEST(Selection, TakesEachCaseOnce) {
  const auto cases = select_cases({{"v1:h=5", "v1:k=mla_decode:h=5", "v1:h=6"}, {}, {}});
  ASSERT_TRUE(cases.ok());
  EXPECT_EQ(cases->size(), 2u);
}

TEST(Explain, RunsNoKernelAndShowsTiersRowsVisibilityAndStrawmen) {
  const Answer answer = attest_says({"explain", "v1:k=mla_decode:h=3:s=300:splits=3:dist=needles",
                                     "--unit", "cdna3", "--code-objects", "/nonexistent"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  for (const char* part : {"matrix unit cdna3", "T0    partial_lse", "loosest rows",
                           "T2p of o there:", "repeated scores", " of 64 tokens, ", "3 of 3 splits",
                           "another head's row   rejected", "last token dropped   rejected"}) {
    EXPECT_TRUE(says(answer.out, part)) << part << "\n" << answer.out;
  }
}

TEST(Explain, PrintsJsonAloneOnRequest) {
  const Answer answer = attest_says(
      {"explain", "v1:k=mla_decode:h=2:s=0,1:splits=1:scale=0", "--unit", "fma", "--json"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["matrix_unit"], "fma");
  EXPECT_EQ(json["tokens"]["looked_at"], 1);
  EXPECT_EQ(json["strawmen"][1]["name"], "poison left");
  EXPECT_EQ(json["strawmen"][1]["rejected"], true);
  EXPECT_EQ(json["strawmen"][2]["differs"], false);  // both heads see the same token
}

TEST(Explain, ShowsTheContractOfTheBuildThatTheUnitRuns) {
  EXPECT_TRUE(says(attest_says({"explain", "v1:k=mla_decode:h=1", "--unit", "hopper"}).out,
                   "matrix unit hopper, P to 8 bits, tiles of 64 tokens"));
  EXPECT_TRUE(says(attest_says({"explain", "v1:k=mla_decode:h=1"}).out, "tiles of 16 tokens"));
}

TEST(Explain, RefusesAUnitThatThereIsNot) {
  const Answer answer = attest_says({"explain", "v1:k=mla_decode", "--unit", "cdna7"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_TRUE(says(answer.err, "there are: fma, cdna1")) << answer.err;
  EXPECT_EQ(attest_says({"explain", "v1:k=mla_decode", "--device", "toaster"}).code, 4);
  EXPECT_EQ(attest_says({"explain", "nonsense"}).code, 2);
}

// From here on: the real kernel, on the real emulator.
TEST(Run, PassesASmallCaseOnTheEmulator) {
  const Answer answer =
      attest_says({"run", "v1:k=mla_decode:h=5:s=100,0,65:page=16:splits=2:dist=needles"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_TRUE(answer.out.starts_with("passed   v1:k=mla_decode:h=5")) << answer.out;
  EXPECT_TRUE(says(answer.out, "1 of 1 cases: passed 1")) << answer.out;
}

TEST(Run, PassesTheCorpusOfTheTreeWhoseTokensAreCanonical) {
  const Answer answer = attest_says({"run", "--corpus", ATTEST_SOURCE_DIR "/fuzz/corpus"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  const auto cases = read_corpus(ATTEST_SOURCE_DIR "/fuzz/corpus");
  std::ifstream file(ATTEST_SOURCE_DIR "/fuzz/corpus/mla_decode.tokens");
  std::ostringstream text;
  text << file.rdbuf();
  for (const CorpusCase& one : *cases) {
    if (one.c.kernel != "mla_decode") continue;
    EXPECT_TRUE(says(text.str(), "\n" + to_token(one.c) + "  # ")) << to_token(one.c);
  }
}

TEST(Repro, ShowsStagesWorstElementsAndTerms) {
  const Answer answer = attest_says({"repro", "v1:k=mla_decode:h=5:s=200:splits=2"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  for (const char* part : {"kernel      mla_decode", "splits      2", "execute ", "reference ",
                           "partial_lse", "T2p there:", "visible     100 % of tokens",
                           "strawmen    zeros, poison left", "verdict     passed"}) {
    EXPECT_TRUE(says(answer.out, part)) << part << "\n" << answer.out;
  }
}

TEST(Run, ExitsWithFiveForACaseThatCouldNotHaveFailed) {
  // At this scale one token of 4096 has all the weight, and it is none of those looked at.
  const Answer answer = attest_says({"run", "v1:k=mla_decode:h=1:s=4096:splits=1:scale=10"});
  EXPECT_EQ(answer.code, 5) << answer.out << answer.err;
  EXPECT_TRUE(says(answer.out, "the loss of no token would be noticed")) << answer.out;
  EXPECT_TRUE(says(answer.out, "sees 0 % tokens")) << answer.out;
}

TEST(Run, WritesJsonLinesOnRequest) {
  const Answer answer = attest_says({"run", "--json", "v1:k=mla_decode:h=1"});
  std::istringstream lines(answer.out);
  std::vector<std::string> records;
  for (std::string line; std::getline(lines, line);) {
    records.push_back(nlohmann::json::parse(line)["record"]);
  }
  EXPECT_EQ(records, (std::vector<std::string>{"run_begin", "case_begin", "case_end", "run_end"}));
}

TEST(Suites, AreTakenByTheirKernels) {
  for (const Suite& suite : all_suites()) {
    const auto cases = select_cases({{}, {std::string{suite.name}}, {}});
    ASSERT_TRUE(cases.ok());
    for (const Case& c : *cases) {
      const std::string why = find_kernel(c.kernel)->why_unsupported(c.problem);
      EXPECT_TRUE(why.empty() || (suite.only_by_name && says(why, "--code-object")))
          << to_token(c) << ": " << why;
    }
  }
}

TEST(CommandLine, SoundnessSaysWhatItHeldAndTheSameRunAgain) {
  const Answer all = attest_says({"soundness", "--runs", "12", "--seed", "5", "--max-length", "64",
                                  "--threads", "2", "--json"});
  EXPECT_EQ(all.code, 0) << all.err;
  const auto json = nlohmann::json::parse(all.out);
  EXPECT_EQ(json["all"]["runs"], 12);
  EXPECT_EQ(json["violations"], 0);
  EXPECT_LE(json["all"]["o"]["T0"], 1);
  std::int64_t elements = 0;
  for (int first = 0; first < 12; ++first) {
    const std::string index = std::to_string(first);
    const Answer one = attest_says({"soundness", "--runs", "1", "--first", index.c_str(), "--seed",
                                    "5", "--max-length", "64", "--json"});
    elements += nlohmann::json::parse(one.out)["all"]["elements"].get<std::int64_t>();
  }
  EXPECT_EQ(elements, json["all"]["elements"]);
  EXPECT_EQ(attest_says({"soundness", "--runs", "0"}).code, 2);
  EXPECT_EQ(attest_says({"soundness", "--out", "/nonexistent/a.md", "--runs", "1"}).code, 4);
}

TEST(CommandLine, InterruptedTablesAreIncompleteAndWriteNoFile) {
  const std::string path = testing::TempDir() + "attest_interrupted.md";
  std::filesystem::remove(path);
  stop_requested = true;
  const Answer soundness = attest_says({"soundness", "--runs", "9", "--out", path.c_str()});
  const Answer detect = attest_says({"detect", "--length", "64", "--out", path.c_str()});
  stop_requested = false;
  EXPECT_EQ(soundness.code, 3);
  EXPECT_TRUE(says(soundness.err, "stopped after 0 of 9 runs")) << soundness.err;
  EXPECT_EQ(detect.code, 3);
  EXPECT_TRUE(says(detect.err, "stopped after 0 of ")) << detect.err;
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace attest
