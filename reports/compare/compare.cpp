#include "reports/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/compare/compare_cases.hpp"
#include "reports/run/no_news.hpp"
#include "reports/run/phases.hpp"
#include "reports/run/summary.hpp"

namespace attest {
namespace {

using ByToken = std::map<std::string_view, const CaseRecord*>;

ByToken by_token(const Results& results) {
  ByToken cases;
  for (const CaseRecord& record : results.cases) cases[record.planned_token()] = &record;
  return cases;
}

bool is_failing(Status status) { return is_failure(status) || status == Status::kFlaky; }

// It says nothing of the kernel.
bool has_no_verdict(Status status) {
  return status == Status::kInfra || status == Status::kSkipped || status == Status::kVacuous;
}

// The exit code that a case of PR calls for where BASE has it as good as can be.
int code_of(Status status) {
  if (status == Status::kPassed) return 0;
  if (is_failing(status) || status == Status::kXpass) return 1;
  return status == Status::kInfra ? 4 : 5;
}

// What failed and does so otherwise, or passes against its excuse, is not worse; nor is what says
// no less than nothing. Of the rest all but a pass is, also where BASE failed: no verdict, an
// excuse and a doubt prove no fix.
bool is_worse(Status before, Status after) {
  if (before == after || after == Status::kPassed) return false;
  if (code_of(after) == 1) return !is_failing(before);
  if (after == Status::kSkipped || after == Status::kVacuous) return !has_no_verdict(before);
  return true;
}

int place_of(int code) {
  constexpr int kGravestFirst[] = {1, 4, 3, 5};
  return static_cast<int>(std::find(kGravestFirst, kGravestFirst + 4, code) - kGravestFirst);
}

std::vector<StatusChange> status_changes(std::span<const CasePair> pairs) {
  std::map<std::pair<Status, Status>, StatusChange> changes;
  for (const auto& [base, pr] : pairs) {
    const Status before = base->verdict.status, after = pr->verdict.status;
    if (before == after) continue;
    StatusChange& change = changes[{before, after}];
    change.before = before, change.after = after;
    change.is_worse = is_worse(before, after);
    change.cases.push_back(pr);
  }
  std::vector<StatusChange> sorted;
  for (auto& [statuses, change] : changes) sorted.push_back(std::move(change));
  std::stable_sort(sorted.begin(), sorted.end(), [](const StatusChange& a, const StatusChange& b) {
    const auto key = [](const StatusChange& c) {
      return std::pair{!c.is_worse, c.is_worse ? place_of(code_of(c.after)) : 0};
    };
    return key(a) < key(b);
  });
  return sorted;
}

const BucketCases* find_bucket(const std::vector<BucketCases>& buckets, const std::string& name) {
  for (const BucketCases& one : buckets) {
    if (one.bucket == name) return &one;
  }
  return nullptr;
}

BucketChange told_by(BucketChange change, const Results& results, const CaseRecord& example) {
  change.example = example.token;
  change.see_again = see_again(results, example);
  change.status = to_string(example.verdict.status);
  change.reason = example.verdict.reason;
  change.source = example.verdict.source;
  return change;
}

std::vector<BucketChange> bucket_changes(const Results& base, const Results& pr) {
  const auto before = buckets_of(base), after = buckets_of(pr);
  const ByToken pr_cases = by_token(pr);
  std::vector<BucketChange> changes;
  for (const BucketCases& one : after) {
    const BucketCases* const old = find_bucket(before, one.bucket);
    BucketChange change{one.bucket, old == nullptr ? BucketFate::kNew : BucketFate::kOpen};
    change.base_cases = old == nullptr ? 0 : static_cast<std::int64_t>(old->cases.size());
    change.pr_cases = static_cast<std::int64_t>(one.cases.size());
    changes.push_back(told_by(std::move(change), pr, *one.example));
  }
  for (const BucketCases& one : before) {
    if (find_bucket(after, one.bucket) != nullptr) continue;
    BucketChange change{one.bucket, BucketFate::kFixed};
    change.base_cases = static_cast<std::int64_t>(one.cases.size());
    for (const CaseRecord* record : one.cases) {
      const auto found = pr_cases.find(record->planned_token());
      if (found == pr_cases.end()) continue;
      change.looked_at += has_no_verdict(found->second->verdict.status) ? 0 : 1;
    }
    changes.push_back(told_by(std::move(change), base, *one.example));
  }
  const auto place = [](BucketFate fate) {
    return fate == BucketFate::kNew ? 0 : fate == BucketFate::kOpen ? 1 : 2;
  };
  std::stable_sort(changes.begin(), changes.end(),
                   [&](const auto& a, const auto& b) { return place(a.fate) < place(b.fate); });
  return changes;
}

Side side_of(const Results& results, const std::string& name) {
  Side side{name, results.header(), results.tally, 0, notes_of(results)};
  for (const CaseRecord& record : results.cases) side.drawn += record.phase == kDrawnPhase ? 1 : 0;
  return side;
}

// How the runs differ, and what is the same though one would expect another.
std::vector<std::string> about_runs(const RunHeader& base, const RunHeader& pr) {
  std::vector<std::string> lines;
  const auto differ = [&](const char* what, std::string RunHeader::*field) {
    if (base.*field == pr.*field) return;
    const auto shown = [](const std::string& text) {
      const std::size_t begin = text.find_first_not_of(' ');
      return begin == std::string::npos ? "none" : text.substr(begin);
    };
    lines.push_back(fmt::format("{}: {} -> {}", what, shown(base.*field), shown(pr.*field)));
  };
  differ("device", &RunHeader::device);
  if (!lines.empty()) lines.back() += "; numbers may differ for that alone";
  differ("machine", &RunHeader::machine);
  differ("build", &RunHeader::build);
  differ("bounds", &RunHeader::bounds);
  differ("command", &RunHeader::command);
  differ("options", &RunHeader::repro_options);
  if (base.run == pr.run && !pr.run.empty()) {
    lines.push_back(fmt::format("run: both sides are run {}", pr.run));
  } else if (base.build == pr.build && !pr.build.empty()) {
    lines.push_back(fmt::format("build: the same on both sides, {}", pr.build));
  }
  return lines;
}

// Sorts the cases of both sides into pairs and those of one side alone.
std::vector<CasePair> pair_up(const Results& base, const Results& pr, Comparison& c) {
  const ByToken on_base = by_token(base), on_pr = by_token(pr);
  const std::set<std::string_view> missing_on_base(base.missing.begin(), base.missing.end()),
      missing_on_pr(pr.missing.begin(), pr.missing.end());
  std::vector<CasePair> pairs;
  for (const CaseRecord& record : pr.cases) {
    const std::string& token = record.planned_token();
    if (const auto found = on_base.find(token); found != on_base.end()) {
      pairs.push_back({found->second, &record});
    } else if (missing_on_base.contains(token)) {
      c.only_on_pr.push_back(token);
    } else if (record.phase != kDrawnPhase) {
      c.added.push_back(token);
    }
  }
  for (const CaseRecord& record : base.cases) {
    const std::string& token = record.planned_token();
    if (on_pr.contains(token)) continue;
    if (missing_on_pr.contains(token)) {
      c.unfinished.push_back(token);
    } else if (record.phase != kDrawnPhase) {
      c.removed.push_back(token);
    }
  }
  return pairs;
}

class Reasons {
 public:
  void say(int code, std::string text) { reasons_.push_back({code, std::move(text)}); }
  template <class N>
  void count(int code, N count, const std::string& one, const std::string& many) {
    if (count > 0) say(code, fmt::format("{} {}", count, count == 1 ? one : many));
  }
  std::vector<Comparison::Reason> take() {
    std::stable_sort(reasons_.begin(), reasons_.end(), [](const auto& a, const auto& b) {
      return place_of(a.code) < place_of(b.code);
    });
    return std::move(reasons_);
  }

 private:
  std::vector<Comparison::Reason> reasons_;
};

// The gravest of two.
int graver(int a, int b) { return place_of(a) <= place_of(b) ? a : b; }

// A new bucket calls for what its gravest case does.
int code_of_bucket(const Results& pr, const std::string& bucket) {
  int code = 5;
  for (const CaseRecord& record : pr.cases) {
    if (record.verdict.bucket == bucket) code = graver(code, code_of(record.verdict.status));
  }
  return code;
}

// Of cases that BASE does not have. What is in a bucket is told by that, new or not, but for a
// machine's trouble; what is skipped or excused from the start is no news; of drawn cases only
// failures are.
bool is_told_where_added(const CaseRecord& record) {
  const Verdict& v = record.verdict;
  if (v.status == Status::kSkipped || v.status == Status::kXfail) return false;
  if (record.phase == kDrawnPhase && code_of(v.status) != 1) return false;
  return code_of(v.status) != 0 && (v.bucket.empty() || v.status == Status::kInfra);
}

void say_added(const Results& base, const Results& pr, Reasons& reasons) {
  const ByToken on_base = by_token(base);
  std::map<Status, int> counts;
  for (const CaseRecord& record : pr.cases) {
    if (!on_base.contains(record.planned_token()) && is_told_where_added(record))
      ++counts[record.verdict.status];
  }
  for (const auto& [status, count] : counts) {
    const std::string_view text = to_string(status);
    reasons.count(code_of(status), count, fmt::format("added case {}", text),
                  fmt::format("added cases {}", text));
  }
}

void say_statuses(const Comparison& c, Reasons& reasons) {
  for (const StatusChange& change : c.statuses) {
    if (!change.is_worse) continue;
    const auto that = [&](const char* was) {
      const std::string before = change.before == Status::kPassed
                                     ? "passed"
                                     : fmt::format("{} {}", was, to_string(change.before));
      return fmt::format(" {} that {}", to_string(change.after), before);
    };
    reasons.count(code_of(change.after), change.cases.size(), "case" + that("was"),
                  "cases" + that("were"));
  }
}

std::vector<Comparison::Reason> reasons_of(const Comparison& c, const Results& base,
                                           const Results& pr) {
  Reasons reasons;
  for (const int code : {1, 4, 5}) {
    const auto count =
        std::count_if(c.buckets.begin(), c.buckets.end(), [&](const BucketChange& change) {
          return change.fate == BucketFate::kNew && code_of_bucket(pr, change.bucket) == code;
        });
    reasons.count(code, count, "new bucket", "new buckets");
  }
  say_statuses(c, reasons);
  say_added(base, pr, reasons);
  reasons.count(3, pr.missing.size(), "case of PR did not end", "cases of PR did not end");
  if (pr.missing.empty() && pr.tally.interrupted) reasons.say(3, "PR was stopped");
  reasons.count(5,
                std::count_if(c.bounds.begin(), c.bounds.end(),
                              [](const BoundMove& move) { return move.is_looser; }),
                "bound is looser", "bounds are looser");
  if (c.base.header.bounds != c.pr.header.bounds) reasons.say(5, "bounds are derived anew");
  reasons.count(5, c.contracts.size(), "change of a contract", "changes of contracts");
  reasons.count(5, c.drops.size(), "pass proves less", "passes prove less");
  reasons.count(5, c.removed.size(), "case is gone", "cases are gone");
  // Part 2/4 may be held against part 2/4.
  if (!pr.absent.empty() && pr.absent != base.absent) reasons.say(3, "parts of PR are not here");
  if (base.tally.interrupted || (!base.absent.empty() && base.absent != pr.absent))
    reasons.say(5, "compared with a part of BASE");
  if (c.compared == 0) reasons.say(5, "no case ended on both sides");
  return reasons.take();
}

}  // namespace

double RatioMove::factor() const { return std::max(pr, kNoNews) / std::max(base, kNoNews); }

bool Comparison::is_same() const {
  return statuses.empty() && bounds.empty() && contracts.empty() && ratios.empty() &&
         drops.empty() && added.empty() && removed.empty() && unfinished.empty() &&
         only_on_pr.empty() && std::all_of(buckets.begin(), buckets.end(), [](const auto& one) {
           return one.fate == BucketFate::kOpen && one.base_cases == one.pr_cases;
         });
}

Comparison compare(const Results& base, const std::string& base_name, const Results& pr,
                   const std::string& pr_name) {
  Comparison c;
  c.base = side_of(base, base_name);
  c.pr = side_of(pr, pr_name);
  const std::vector<CasePair> pairs = pair_up(base, pr, c);
  c.compared = static_cast<std::int64_t>(pairs.size());
  c.about_runs = about_runs(c.base.header, c.pr.header);
  c.is_host_time =
      c.base.header.device.starts_with("emu:") || c.pr.header.device.starts_with("emu:");
  c.statuses = status_changes(pairs);
  c.buckets = bucket_changes(base, pr);
  c.bounds = bound_moves(pairs);
  c.contracts = contract_changes(pairs);
  c.ratios = ratio_moves(pairs);
  c.drops = visibility_drops(pairs);
  c.speed = speed_changes(pairs);
  c.reasons = reasons_of(c, base, pr);
  return c;
}

}  // namespace attest
