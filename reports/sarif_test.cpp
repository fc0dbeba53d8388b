#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "harness/core/check_report.hpp"
#include "reports/formats_testing.hpp"

namespace attest {
namespace {

constexpr const char* kToken = "v1:k=mla_decode:h=1";

Json run_json(const Results& results) {
  const Json log = Json::parse(render_sarif(results, {}));
  EXPECT_EQ(log["version"], "2.1.0");
  EXPECT_EQ(log["runs"].size(), 1u);
  return log["runs"][0];
}

CaseRecord failing(const std::string& bucket, const std::string& token = kToken) {
  return case_of(token, Status::kFailed, "it is wrong", bucket);
}

TEST(Sarif, HasOneResultABucketAndItsCases) {
  const Json run = run_json(
      run_of({failing("values.wrong.all.k", "v1:k=mla_decode:h=16"), failing("values.wrong.all.k"),
              failing("merge.nan.all.k", "v1:k=mla_decode:h=2"),
              case_of("v1:k=mla_decode:h=3", Status::kPassed)}));
  ASSERT_EQ(run["results"].size(), 2u);
  const Json& result = run["results"][0];
  EXPECT_EQ(result["ruleId"], "attest/values/wrong");
  EXPECT_EQ(result["occurrenceCount"], 2);
  EXPECT_EQ(result["partialFingerprints"]["attestBucket/v1"], "values.wrong.all.k");
  EXPECT_EQ(result["properties"]["token"], kToken);  // the shorter
  EXPECT_EQ(result["properties"]["repro"], fmt::format("./attest repro '{}'", kToken));
}

TEST(Sarif, LevelsFollowTheExitCode) {
  const std::pair<Status, const char*> levels[] = {
      {Status::kFailed, "error"},    {Status::kCrashed, "error"}, {Status::kHung, "error"},
      {Status::kFlaky, "error"},     {Status::kXpass, "error"},   {Status::kSuspect, "warning"},
      {Status::kVacuous, "warning"}, {Status::kXfail, "note"}};
  for (const auto& [status, level] : levels) {
    const Json run = run_json(run_of({case_of(kToken, status, "why")}));
    ASSERT_EQ(run["results"].size(), 1u) << to_string(status);
    EXPECT_EQ(run["results"][0]["level"], level) << to_string(status);
    EXPECT_EQ(run["results"][0].contains("suppressions"), status == Status::kXfail);
  }
  for (const Status status : {Status::kPassed, Status::kSkipped}) {
    EXPECT_TRUE(run_json(run_of({case_of(kToken, status, "why")}))["results"].empty());
  }
}

TEST(Sarif, OfTheMachineIsANotification) {
  const Json run = run_json(run_of({case_of(kToken, Status::kInfra, "no memory")}));
  EXPECT_TRUE(run["results"].empty());
  const Json& invocation = run["invocations"][0];
  EXPECT_EQ(invocation["exitCode"], 4);
  EXPECT_EQ(invocation["executionSuccessful"], false);
  EXPECT_NE(invocation["toolExecutionNotifications"][0]["message"]["text"].get<std::string>().find(
                "no memory"),
            std::string::npos);
}

TEST(Sarif, OfARunThatFoundAMistakeWasSuccessful) {
  const Json run = run_json(run_of({failing("values.wrong.all.k")}));
  EXPECT_EQ(run["invocations"][0]["exitCode"], 1);
  EXPECT_EQ(run["invocations"][0]["executionSuccessful"], true);
}

TEST(Sarif, SaysWhatOnlyTheExitCodeSays) {
  for (const Results& results : {run_of({case_of(kToken, Status::kSkipped, "why")}), run_of({})}) {
    const Json invocation = run_json(results)["invocations"][0];
    EXPECT_EQ(invocation["exitCode"], 5);
    EXPECT_EQ(invocation["executionSuccessful"], false);
    const Json& notification = invocation["toolExecutionNotifications"][0];
    EXPECT_EQ(notification["level"], "error");
    EXPECT_EQ(notification["message"]["text"], "proves too little. No case passed.");
  }
}

TEST(Sarif, TellsUploadsOfShardsApart) {
  const auto id_of = [](const Results& results) -> std::string {
    return run_json(results)["automationDetails"]["id"];
  };
  Results results = run_of({});
  EXPECT_EQ(id_of(results), "attest nightly --tier smoke on emu:gfx942/00000000000000aa");
  results.runs[0].shard = "2/4";
  EXPECT_EQ(id_of(results),
            "attest nightly --tier smoke on emu:gfx942, shard 2/4/00000000000000aa");
  results.runs.push_back(results.runs[0]);
  results.runs[1].shard = "1/4";  // together they are a whole again
  EXPECT_EQ(id_of(results), "attest nightly --tier smoke on emu:gfx942/00000000000000aa");
}

TEST(Sarif, HasNoStartThatIsNoTime) {
  Results results = run_of({});
  EXPECT_EQ(run_json(results)["invocations"][0]["startTimeUtc"], "2026-11-30T02:00:00Z");
  results.runs[0].started = "yesterday";
  EXPECT_FALSE(run_json(results)["invocations"][0].contains("startTimeUtc"));
}

TEST(Sarif, EachResultHasAPlaceAndARule) {
  const Json run = run_json(approved_run());
  const Json& rules = run["tool"]["driver"]["rules"];
  std::set<std::string> ids;
  for (const Json& rule : rules) {
    EXPECT_TRUE(ids.insert(rule["id"]).second) << rule["id"];
    for (const char* text : {"shortDescription", "fullDescription", "help"}) {
      EXPECT_FALSE(rule[text]["text"].get<std::string>().empty());
    }
  }
  EXPECT_EQ(run["results"].size(), 10u);
  for (const Json& result : run["results"]) {
    EXPECT_EQ(rules[result["ruleIndex"].get<std::size_t>()]["id"], result["ruleId"]);
    const Json& place = result["locations"][0]["physicalLocation"];
    const auto uri = place["artifactLocation"]["uri"].get<std::string>();
    EXPECT_TRUE(uri.starts_with("kernels/")) << uri;
    EXPECT_EQ(uri.find_first_of(" &\\"), std::string::npos) << uri;
    EXPECT_GE(place["region"]["startLine"].get<int>(), 1);
  }
}

TEST(Sarif, PlacesAResultAtTheLineOfItsSource) {
  CaseRecord record = failing("values.wrong.all.k");
  record.verdict.source = "kernels/mla decode/stage2.hpp:88";
  const Json place = run_json(run_of({record}))["results"][0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "kernels/mla%20decode/stage2.hpp");
  EXPECT_EQ(place["region"]["startLine"], 88);
}

TEST(Sarif, PlacesAResultSomewhereWhateverItsSource) {
  for (const char* source : {"", ":", "x:0", "x:99999999999999999999"}) {
    CaseRecord record = failing("values.wrong.all.k");
    record.verdict.source = source;
    const Json place = run_json(run_of({record}))["results"][0]["locations"][0]["physicalLocation"];
    EXPECT_FALSE(place["artifactLocation"]["uri"].get<std::string>().empty()) << source;
    EXPECT_EQ(place["region"]["startLine"], 1) << source;
  }
}

TEST(Sarif, EscapesPlaceholdersAndLinksOfMessages) {
  const Json run =
      run_json(run_of({case_of(kToken, Status::kFailed, "{0} [x](y) v[4:7]", "a.b.c.d")}));
  const auto text = run["results"][0]["message"]["text"].get<std::string>();
  EXPECT_TRUE(text.starts_with("{{0}} [x] (y) v[4:7]\n")) << text;
}

TEST(Sarif, HasAtMostWhatGitHubTakesAndSaysWhatIsLeftOut) {
  std::vector<CaseRecord> cases;
  for (int i = 0; i < 25'003; ++i) {
    cases.push_back(failing(fmt::format("values.wrong.p{}.k", i), fmt::format("v1:k=k:h={}", i)));
  }
  const Json run = run_json(run_of(cases));
  EXPECT_EQ(run["results"].size(), 25'000u);
  EXPECT_EQ(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"],
            "3 more results are left out here");
}

// The words of the block of harness/bucket.hpp that begins with `from`: "//   nan, inf     where
// ...".
std::vector<std::string> words_of_buckets(const std::string& from, const std::string& to) {
  std::string text = text_of(std::string(ATTEST_SOURCE_DIR) + "/harness/bucket.hpp");
  text = text.substr(text.find(from), text.find(to) - text.find(from));
  std::vector<std::string> words;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("//   ") || line.size() < 6 || line[5] == ' ') continue;
    if (line.find("the name of") != std::string::npos) continue;
    const std::string names = line.substr(5, line.find("  ", 5) - 5);
    std::istringstream each(names);
    for (std::string word; std::getline(each, word, ',');) {
      words.push_back(word.substr(word.find_first_not_of(' ')));
    }
  }
  return words;
}

std::string rule_text(const std::string& stage, const std::string& kind) {
  const Json run = run_json(run_of({failing(fmt::format("{}.{}.all.k", stage, kind))}));
  return run["tool"]["driver"]["rules"][0]["shortDescription"]["text"];
}

TEST(Sarif, SaysInWordsWhatEachWordOfABucketMeans) {
  std::vector<std::string> kinds = words_of_buckets("// kind:", "// pattern:");
  EXPECT_GE(kinds.size(), 13u);
  for (int i = 0; i < kChecks; ++i) kinds.emplace_back(to_string(static_cast<Check>(i)));
  for (const std::string& kind : kinds) {
    EXPECT_EQ(rule_text("values", kind).find("'" + kind + "'"), std::string::npos) << kind;
  }
  const std::vector<std::string> stages = words_of_buckets("// stage:", "// kind:");
  EXPECT_GE(stages.size(), 8u);
  for (const std::string& stage : stages) {
    if (stage == "replay-...") continue;
    EXPECT_EQ(rule_text(stage, "nan").find("the property"), std::string::npos) << stage;
  }
  EXPECT_EQ(rule_text("replay-merge", "nan"),
            "The merge of splits, in the replay of a graph: NaN where a finite value belongs");
  EXPECT_EQ(rule_text("repeat", "differs"),
            "The property 'repeat': the result differs from that of another launch");
}

}  // namespace
}  // namespace attest
