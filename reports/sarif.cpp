// SARIF 2.1.0, for code scanning: a result is a bucket, at the source of the stage that broke. What
// is about the machine, or about the run, is a notification of the invocation and no result.
// Sources: OASIS SARIF 2.1.0; GitHub, "SARIF support for code scanning", for its limits and for
// what it reads.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <span>

#include "harness/core/check_report.hpp"
#include "reports/format.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/text.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

constexpr std::size_t kMostResults = 25'000;  // of a run that GitHub takes; it shows 5,000
constexpr std::size_t kMostTokens = 20, kMostOfReason = 4000;

struct Word {
  std::string_view word, meaning;
};

// The words of harness/bucket.hpp, for one who does not know them.
constexpr std::array kStages = {
    Word{"scores", "Q.K and softmax"},
    Word{"values", "P.V"},
    Word{"merge", "the merge of splits"},
    Word{"rounding", "the last rounding of o"},
    Word{"stage1", "stage 1"},
    Word{"stage2", "stage 2, the merge"},
    Word{"launch", "the launch"},
    Word{"memory", "memory after the launch"},
    Word{"suspect", "all elements together"},
    Word{"run", "the case as a whole"},
};
constexpr std::array kKinds = {
    Word{"unwritten", "nothing is written where a value belongs"},
    Word{"stale", "it gives the answer of an earlier launch"},
    Word{"nan", "NaN where a finite value belongs"},
    Word{"inf", "infinity where a finite value belongs"},
    Word{"zero", "zeros where other values belong"},
    Word{"wrong", "a number is not within its bounds"},
    Word{"overwritten", "it writes where nothing belongs"},
    Word{"differs", "the result differs from that of another launch"},
    Word{"use_after_free", "it uses a buffer that was released"},
    Word{"oob", "an access outside every buffer, or a damaged guard zone"},
    Word{"input", "it changes one of its inputs"},
    Word{"refused", "the device refuses a launch"},
    Word{"hang", "no end within the budget"},
    Word{"crash", "a fault"},
    Word{"vacuous", "the case could not have failed"},
    Word{"xpass", "a case passes that is known to fail: its entry in the ledger is out of date"},
};

std::string meaning_of(std::span<const Word> words, std::string_view word) {
  for (const Word& one : words) {
    if (one.word == word) return std::string(one.meaning);
  }
  return {};
}

std::string stage_text(std::string_view stage) {
  constexpr std::string_view kReplay = "replay-";
  if (stage.starts_with(kReplay)) {
    return stage_text(stage.substr(kReplay.size())) + ", in the replay of a graph";
  }
  const std::string meaning = meaning_of(kStages, stage);
  return meaning.empty() ? fmt::format("the property '{}'", stage) : meaning;
}

std::string kind_text(std::string_view stage, std::string_view kind) {
  if (stage == "suspect") return fmt::format("more than noise by the filter '{}'", kind);
  for (int i = 0; i < kChecks; ++i) {
    const auto check = static_cast<Check>(i);
    if (to_string(check) == kind) return fmt::format("it does not hold that {}", statement(check));
  }
  const std::string meaning = meaning_of(kKinds, kind);
  return meaning.empty() ? fmt::format("'{}'", kind) : meaning;
}

std::string_view level_of(Status status) {
  constexpr std::array<std::string_view, 4> kLevels = {"error", "error", "warning", "note"};
  return kLevels.at(static_cast<std::size_t>(gravity(status)));
}

// In messages a brace begins a placeholder, unless doubled, and "[text](" a link. Source: SARIF
// 2.1.0, 3.11.5 and 3.11.6.
Json message(std::string_view text) {
  std::string escaped;
  for (const char c : visible(text)) {
    if (c == '{' || c == '}') escaped += c;
    if (c == '(' && escaped.ends_with(']')) escaped += ' ';
    escaped += c;
  }
  return {{"text", escaped}};
}

// "scores.wrong.scattered.mla_decode": rule attest/scores/wrong. Of a case that has no bucket:
// attest/run/STATUS.
struct Rule {
  std::string stage, kind;
  std::string id() const { return fmt::format("attest/{}/{}", stage, kind); }
};

Rule rule_of(const Finding& finding) {
  const std::string& bucket = finding.example->verdict.bucket;
  const std::size_t first = bucket.find('.');
  if (first == std::string::npos) return {"run", std::string(to_string(finding.status()))};
  const std::size_t second = std::min(bucket.find('.', first + 1), bucket.size());
  return {bucket.substr(0, first), bucket.substr(first + 1, second - first - 1)};
}

Json rule_json(const Rule& rule, std::string_view level) {
  std::string text = stage_text(rule.stage) + ": " + kind_text(rule.stage, rule.kind);
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  const std::string help =
      text +
      ". The message says where and how wrong, and ends with the command that shows it "
      "again; README.md, \"How to read a red line\", explains its words.";
  const auto plain = [](const std::string& of) { return Json{{"text", of}}; };
  return {{"id", rule.id()},
          {"shortDescription", plain(text)},
          {"fullDescription", plain(text + ".")},
          {"help", plain(help)},
          {"defaultConfiguration", {{"level", level}}},
          {"properties", {{"tags", {"attention", "kernel", rule.kind}}}}};
}

std::string uri_of(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

// "kernels/mla_decode/stage2.hpp:88", or the path alone. Code scanning takes no result without a
// file: of a kernel that names none it is the list of kernels.
Json location_of(const CaseRecord& record) {
  std::string path = record.verdict.source;
  int line = 1;
  const std::size_t colon = path.rfind(':');
  if (colon != std::string::npos && colon + 1 < path.size() &&
      path.find_first_not_of("0123456789", colon + 1) == std::string::npos) {
    std::from_chars(path.data() + colon + 1, path.data() + path.size(), line);  // 1: too long
    line = std::max(1, line);
    path.resize(colon);
  }
  if (path.empty()) path = "kernels/catalog.cpp";
  return {{"physicalLocation",
           {{"artifactLocation", {{"uri", uri_of(path)}}}, {"region", {{"startLine", line}}}}},
          {"logicalLocations",
           Json::array({{{"name", facts_of(record).kernel}, {"kind", "function"}}})}};
}

Json properties_of(const Results& results, const Finding& finding) {
  const CaseRecord& example = *finding.example;
  Json tokens = Json::array();
  for (const CaseRecord* record : finding.cases) {
    if (tokens.size() < kMostTokens) tokens.push_back(record->token);
  }
  return {{"bucket", finding.bucket},
          {"status", to_string(finding.status())},
          {"token", example.token},
          {"repro", see_again(results, example)},
          {"cases", finding.cases.size()},
          {"tokens", tokens},
          {"wrong", example.verdict.wrong},
          {"checked", example.verdict.checked},
          {"blame", example.verdict.blame},
          {"ratio_o", number(largest_ratio(example.verdict, true))},
          {"ratio_fp32", number(largest_ratio(example.verdict, false))}};
}

Json result_of(const Results& results, const Finding& finding, std::size_t rule_index) {
  const CaseRecord& example = *finding.example;
  const std::string story = fmt::format(
      "{}{}, {} case{}", story_of(results, example, kMostOfReason), to_string(finding.status()),
      finding.cases.size(), finding.cases.size() == 1 ? "" : "s");
  Json result = {
      {"ruleId", rule_of(finding).id()},
      {"ruleIndex", rule_index},
      {"level", level_of(finding.status())},
      {"message", message(story)},
      {"locations", Json::array({location_of(example)})},
      {"occurrenceCount", finding.cases.size()},
      // The first for any reader; the second is the one that GitHub compares.
      {"partialFingerprints",
       {{"attestBucket/v1", finding.bucket}, {"primaryLocationLineHash", finding.bucket}}},
      {"properties", properties_of(results, finding)}};
  if (finding.status() == Status::kXfail) {
    result["suppressions"] = Json::array(
        {{{"kind", "external"}, {"justification", cut(example.verdict.reason, kMostOfReason)}}});
  }
  return result;
}

// Rules and results: the rules that some result has.
class Findings {
 public:
  explicit Findings(const Results& results) {
    for (const Finding& finding : findings_of(results)) {
      if (finding.status() == Status::kInfra) continue;
      if (results_.size() == kMostResults) {
        ++left_out_;
        continue;
      }
      results_.push_back(result_of(results, finding, index_of(finding)));
    }
  }
  const Json& rules() const { return rules_; }
  const Json& results() const { return results_; }
  std::int64_t left_out() const { return left_out_; }

 private:
  std::size_t index_of(const Finding& finding) {
    const Rule rule = rule_of(finding);
    const auto [at, is_new] = indices_.try_emplace(rule.id(), rules_.size());
    if (is_new) rules_.push_back(rule_json(rule, level_of(finding.status())));
    return at->second;
  }

  Json rules_ = Json::array(), results_ = Json::array();
  std::map<std::string, std::size_t> indices_;
  std::int64_t left_out_ = 0;
};

// Of the shards the one that this is; of several together none.
std::string shard_of(const Results& results) {
  for (const RunHeader& run : results.runs) {
    if (run.shard != results.header().shard) return {};
  }
  return results.header().shard;
}

// Whether the exit code says what no result does: all were skipped, or a plan was cut short.
bool is_unsaid(const Results& results) {
  const std::vector<Finding> findings = findings_of(results);
  return run_exit_code(results) != 0 &&
         std::all_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.status() == Status::kXfail; });
}

Json notifications_of(const Results& results, std::int64_t left_out) {
  Json all = Json::array();
  const auto add = [&](const char* level, const std::string& text) {
    all.push_back({{"level", level}, {"message", message(text)}});
  };
  for (const Finding& finding : findings_of(results)) {
    if (finding.status() != Status::kInfra) continue;
    add("error", fmt::format("{} without a verdict: {}", finding.cases.size(),
                             story_of(results, *finding.example, kMostOfReason)));
  }
  if (is_unsaid(results)) {
    add("error", fmt::format("{}. {}", exit_text(run_exit_code(results)), proof_of(results)));
  }
  for (const std::string& note : notes_of(results)) add("warning", note);
  if (left_out > 0) add("warning", fmt::format("{} more results are left out here", left_out));
  return all;
}

Json invocation_of(const Results& results, std::int64_t left_out) {
  const int code = run_exit_code(results);
  Json json = {{"commandLine", "attest " + results.header().command},
               {"exitCode", code},
               {"exitCodeDescription", exit_text(code)},
               {"executionSuccessful", code != 3 && code != 4 && !is_unsaid(results)},
               {"toolExecutionNotifications", notifications_of(results, left_out)}};
  if (const std::string start = start_time_of(results); !start.empty()) {
    json["startTimeUtc"] = start;
  }
  return json;
}

}  // namespace

std::string render_sarif(const Results& results, const Trend& /*trend*/) {
  const RunHeader& header = results.header();
  const Findings findings(results);
  Json driver = {{"name", "attest"}, {"rules", findings.rules()}};
  if (const std::string version = header.build.substr(0, header.build.find(',')); !version.empty())
    driver["version"] = version;
  // Up to its last slash it tells uploads apart: another device's, or another shard's, does not
  // close this one's alerts.
  const std::string shard = shard_of(results);
  const std::string id = fmt::format("attest {} on {}{}/{}", header.command, header.device,
                                     shard.empty() ? "" : ", shard " + shard, header.run);
  const Json run = {{"tool", {{"driver", driver}}},
                    {"automationDetails", {{"id", id}}},
                    {"invocations", Json::array({invocation_of(results, findings.left_out())})},
                    {"results", findings.results()},
                    {"properties",
                     {{"device", header.device},
                      {"machine", header.machine},
                      {"build", header.build},
                      {"bounds", header.bounds},
                      {"tally", to_json(results.tally)},
                      {"proves", proof_of(results)}}}};
  const Json log = {{"$schema",
                     "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                     "sarif-schema-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", Json::array({run})}};
  // Without what a terminal obeys also in the properties, which nobody reads as they are.
  return visible(log.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace attest
