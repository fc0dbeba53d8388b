#include "reports/run/results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "harness/core/case.hpp"
#include "reports/run/phases.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

// By the exit code that a case of the status leads to: 1 before 4 before 5 before 0.
int gravity_of(Status status) {
  Tally tally;
  tally.add(status);
  switch (exit_code(tally)) {
    case 1:
      return 3;
    case 4:
      return 2;
    case 0:
      return 0;
    default:
      return 1;
  }
}

// What keeps runs from being parts of one; empty: nothing.
std::string why_not_one(const std::vector<RunHeader>& runs) {
  const std::pair<const char*, std::string RunHeader::*> same[] = {{"devices", &RunHeader::device},
                                                                   {"builds", &RunHeader::build},
                                                                   {"bounds", &RunHeader::bounds},
                                                                   {"plans", &RunHeader::plan}};
  for (const RunHeader& run : runs) {
    for (const auto& [what, field] : same) {
      const std::string &a = runs.front().*field, &b = run.*field;
      if (a != b) return fmt::format("they have different {}: '{}' and '{}'", what, a, b);
    }
  }
  return {};
}

// "2/3" in numbers; 0 of 0 where it is none.
std::pair<int, int> part_of(const std::string& shard) {
  int i = 0, n = 0;
  return std::sscanf(shard.c_str(), "%d/%d", &i, &n) == 2 && 1 <= i && i <= n && n <= 1 << 20
             ? std::pair{i, n}
             : std::pair{0, 0};
}

// Takes records in the order in which they were written.
class Reading {
 public:
  void file(std::string_view text, const std::string& name) {
    int number = 0;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      ++number;
      const bool is_whole = end != std::string_view::npos;
      line(text.substr(0, end), fmt::format("{}:{}", name, number), is_whole);
      text.remove_prefix(is_whole ? end + 1 : text.size());
    }
  }

  Results finish() && {
    for (const auto& [token, at] : ends_) results_.cases.push_back(*at.record);
    std::sort(results_.cases.begin(), results_.cases.end(),
              [&](const CaseRecord& a, const CaseRecord& b) {
                return ends_.at(a.planned_token()).order < ends_.at(b.planned_token()).order;
              });
    for (const CaseRecord& record : results_.cases) results_.tally.add(record.verdict.status);
    for (const auto& [token, at] : ends_) {
      if (at.times > 1) results_.twice.push_back(token);
    }
    note_missing();
    note_absent();
    return std::move(results_);
  }

 private:
  struct Ended {
    std::optional<CaseRecord> record;
    int order = 0, times = 0;
  };

  void line(std::string_view text, const std::string& place, bool is_whole) {
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
    try {
      take(Json::parse(text));
    } catch (const Json::exception&) {
      results_.notes.push_back(
          fmt::format("{}: {}", place,
                      is_whole ? "this line is no record of a run; it is left out"
                               : "the last line is cut short; what it was about is not known"));
    }
  }

  void take(const Json& json) {
    const std::string kind = json.value("record", "");
    if (kind == "run_begin") {
      results_.runs.push_back(header_of(json));
    } else if (kind == "plan") {
      for (const Json& one : json.at("cases")) plan(planned_of(one));
    } else if (kind == "case_begin") {
      begun_.insert(json.at("token").get<std::string>());
    } else if (kind == "case_end") {
      end(case_of(json));
    } else if (kind == "run_end") {
      results_.seconds += number_of(json.value("seconds", Json(0)));
      interrupted_ = json.at("tally").value("interrupted", false);
    }
  }

  void plan(PlannedCase planned) {
    if (planned_.insert(planned.token).second) results_.planned.push_back(std::move(planned));
  }
  void end(CaseRecord record) {
    Ended& ended = ends_[record.planned_token()];
    ended.order = order_++;
    ++ended.times;
    drawn_ += ended.times == 1 && record.phase == kDrawnPhase;
    // A pass that follows a failure does not undo it.
    const bool is_worse = ended.record && gravity_of(ended.record->verdict.status) >
                                              gravity_of(record.verdict.status);
    if (!is_worse) ended.record = std::move(record);
  }

  void note_missing() {
    for (const PlannedCase& planned : results_.planned) {
      if (!ends_.contains(planned.token)) results_.missing.push_back(planned.token);
    }
    // A run without a plan, and what was drawn beside one, is known by its beginning.
    for (const std::string& token : begun_) {
      if (ends_.contains(token)) continue;
      results_.begun.push_back(token);
      if (!planned_.contains(token)) results_.missing.push_back(token);
    }
    // A plan that did not reach the file is missed by its number of cases.
    std::int64_t promised = 0;
    for (const RunHeader& run : results_.runs) promised += run.resumed ? 0 : run.cases;
    const auto planned = static_cast<std::int64_t>(results_.planned.size());
    const bool lost = planned > 0 ? planned < promised : results_.tally.total() - drawn_ < promised;
    results_.tally.interrupted =
        lost || !results_.missing.empty() || (planned == 0 && interrupted_);
  }

  void note_absent() {
    std::set<int> here;
    int parts = 0;
    for (const RunHeader& run : results_.runs) {
      const auto [i, n] = part_of(run.shard);
      if (i > 0) here.insert(i);
      parts = std::max(parts, n);
    }
    for (int i = 1; i <= parts; ++i) {
      if (!here.contains(i)) results_.absent.push_back(fmt::format("{}/{}", i, parts));
    }
    if (results_.absent.empty()) return;
    if (here.size() > 1) results_.tally.interrupted = true;
    constexpr std::size_t kMostNamed = 5;
    const std::size_t named = std::min(results_.absent.size(), kMostNamed);
    const std::vector<std::string> first(results_.absent.begin(), results_.absent.begin() + named);
    results_.notes.push_back(
        fmt::format("only {} of {} parts of the plan {} here: {} {} not{}", here.size(), parts,
                    here.size() == 1 ? "is" : "are", fmt::join(first, ", "),
                    results_.absent.size() == 1 ? "is" : "are",
                    results_.absent.size() > named
                        ? fmt::format(", nor {} more", results_.absent.size() - named)
                        : ""));
  }

  Results results_;
  std::map<std::string, Ended> ends_;  // by the token of the plan
  std::set<std::string> planned_, begun_;
  int order_ = 0;
  std::int64_t drawn_ = 0;
  bool interrupted_ = false;
};

Result<Results> parts_of_one(Results results, const std::string& name) {
  const std::string why = why_not_one(results.runs);
  if (why.empty()) return results;
  return usage(fmt::format("{}: these runs are no parts of one: {}. Of two runs: `attest compare`",
                           name, why));
}

// Whether a shell only makes words of it: plain characters, and what is quoted.
bool is_inert(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+,=:@%- ";
  while (!text.empty()) {
    std::size_t length = 1;
    if (text.front() == '\'') {
      const std::size_t end = text.find('\'', 1);
      if (end == std::string_view::npos) return false;
      length = end + 1;
    } else if (text.starts_with("\\'")) {
      length = 2;
    } else if (kPlain.find(text.front()) == std::string_view::npos) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

Result<Results> parse_results(std::string_view text, const std::string& name) {
  Reading reading;
  reading.file(text, name);
  Results results = std::move(reading).finish();
  if (results.runs.empty()) return usage(fmt::format("{}: it holds no run", name));
  return parts_of_one(std::move(results), name);
}

Result<Results> read_results(const std::vector<std::string>& paths) {
  Reading reading;
  for (const std::string& path : paths) {
    errno = 0;  // an empty file sets none
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
      return usage(
          fmt::format("{}: {}; results.jsonl of `attest nightly`, or what `attest run "
                      "--json` prints, is wanted",
                      path, errno != 0 ? std::strerror(errno) : "it holds nothing"));
    }
    reading.file(text.str(), path);
  }
  Results results = std::move(reading).finish();
  if (results.runs.empty()) {
    return usage(fmt::format("{}: no run_begin in it: these are no results of a run",
                             fmt::join(paths, ", ")));
  }
  return parts_of_one(std::move(results), fmt::format("{}", fmt::join(paths, ", ")));
}

std::string see_again(const Results& results, const CaseRecord& record) {
  const RunHeader& header = results.header();
  if (!header.again.empty()) return is_inert(header.again) ? header.again : "";
  const bool is_quotable =
      std::none_of(record.token.begin(), record.token.end(),
                   [](unsigned char c) { return c == '\'' || c < ' ' || c == 0x7f; });
  if (!is_quotable || !is_inert(header.repro_options)) return "";
  return fmt::format("./attest repro '{}'{}", record.token, header.repro_options);
}

Tally graded_tally(const Results& results) {
  Tally tally = results.tally;
  for (const CaseRecord& record : results.cases) {
    if (!is_graded(record)) tally.remove(record.verdict.status);
  }
  return tally;
}

int run_exit_code(const Results& results) { return exit_code(graded_tally(results)); }

std::vector<BucketCases> buckets_of(const Results& results) {
  std::vector<BucketCases> buckets;
  for (const CaseRecord& record : results.cases) {
    const Verdict& verdict = record.verdict;
    if (verdict.bucket.empty() || verdict.status == Status::kPassed) continue;
    auto found = std::find_if(buckets.begin(), buckets.end(),
                              [&](const BucketCases& one) { return one.bucket == verdict.bucket; });
    if (found == buckets.end()) {
      found = buckets.insert(buckets.end(), BucketCases{verdict.bucket, &record, {}});
    }
    found->cases.push_back(&record);
    if (record.token.size() < found->example->token.size()) found->example = &record;
  }
  std::stable_sort(buckets.begin(), buckets.end(), [](const BucketCases& a, const BucketCases& b) {
    return a.cases.size() > b.cases.size();
  });
  return buckets;
}

CaseFacts facts_of(const CaseRecord& record) {
  CaseFacts facts;
  if (const auto c = parse_token(record.token); c.ok()) {
    facts.kernel = c->kernel;
    facts.distribution = c->distribution;
    for (const int s_kv : c->problem.s_kv) facts.longest = std::max(facts.longest, s_kv);
    return facts;
  }
  const std::string_view token = record.token;
  if (const std::size_t at = token.find("k="); at != std::string_view::npos) {
    facts.kernel = token.substr(at + 2, token.find(':', at) - at - 2);
  }
  return facts;
}

double largest_ratio(const Verdict& verdict, bool of_o) {
  double largest = -1;
  for (const Worst& worst : verdict.worst) {
    if ((worst.tensor == "o") == of_o) largest = std::max(largest, worst.ratio);
  }
  return largest;
}

}  // namespace attest
