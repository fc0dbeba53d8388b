#include "reports/run/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <map>

#include "reports/run/phases.hpp"
#include "reports/run/text.hpp"

namespace attest {
namespace {

constexpr std::size_t kMostNamed = 10;

void append(std::vector<std::string>& to, std::vector<std::string> lines) {
  to.insert(to.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
}

std::vector<std::string> lines_of_missing(const Results& results) {
  std::vector<std::string> lines;
  for (const std::string& token : results.missing) {
    const bool begun =
        std::find(results.begun.begin(), results.begun.end(), token) != results.begun.end();
    lines.push_back(fmt::format("{} did not end{}", token,
                                begun ? "; it had begun" : ": it was planned and did not begin"));
  }
  // Those that had begun say more: one of them may be what ended the run.
  std::stable_partition(lines.begin(), lines.end(),
                        [](const std::string& line) { return line.ends_with("it had begun"); });
  return lines;
}

// What a newer attest wrote may mean what is not known here.
void note_newer(const Results& results, std::vector<std::string>& notes) {
  int format = kJournalFormat;
  for (const RunHeader& run : results.runs) format = std::max(format, run.format);
  if (format == kJournalFormat) return;
  notes.push_back(fmt::format(
      "written by a newer attest (format {}; this one knows {}): what it has more is not read",
      format, kJournalFormat));
}

// Announced by a run, but neither ended nor known by name.
std::int64_t nameless_cases(const Results& results) {
  std::int64_t announced = 0;
  for (const RunHeader& run : results.runs) announced += run.resumed ? 0 : run.cases;
  return announced - results.tally.total() - static_cast<std::int64_t>(results.missing.size());
}

// "any token", "at least 61 % of its tokens": the least over passed cases, of those looked at;
// empty where none had any to lose.
std::string least_seen(const Results& results, double Evidence::*share, const char* what) {
  double least = 2;
  for (const CaseRecord& record : results.cases) {
    const double seen = record.verdict.evidence.*share;
    if (record.verdict.status == Status::kPassed && seen >= 0) least = std::min(least, seen);
  }
  if (least > 1) return {};
  if (least == 1) return fmt::format("of any {}", what);
  return fmt::format("of at least {:.0f} % of its {}s", std::floor(100 * least), what);
}

std::string proof_of_passes(const Results& results) {
  std::int64_t elements = 0;
  for (const CaseRecord& record : results.cases) {
    if (record.verdict.status == Status::kPassed) elements += record.verdict.checked;
  }
  const std::int64_t passed = results.tally.passed;
  std::string text = fmt::format("In {} passed case{} each of {} elements is within its bound",
                                 passed, passed == 1 ? "" : "s", elements);
  std::string seen = least_seen(results, &Evidence::tokens_visible, "token");
  const std::string splits = least_seen(results, &Evidence::splits_visible, "split");
  if (!seen.empty() && !splits.empty()) seen += " and ";
  seen += splits;
  if (seen.empty()) return text + ".";
  return text + fmt::format("; each case would have noticed the loss {}.", seen);
}

// In the past tense, which is the same for one and for many.
std::string proof_of_others(const Results& results) {
  const Tally t = graded_tally(results);
  std::string text;
  const auto say = [&](std::int64_t count, const char* what) {
    if (count > 0) text += fmt::format("{} case{} {}. ", count, count == 1 ? "" : "s", what);
  };
  say(t.failed + t.crashed + t.hung + t.flaky, "showed a kernel that is wrong");
  say(t.xpass, "passed though known to fail: take them out of the ledger");
  say(t.infra, "got no verdict, because of the machine");
  say(t.suspect, "kept each element's bound, but not that of all together: suspect");
  say(t.vacuous, "could not have failed: vacuous");
  say(results.tally.vacuous - t.vacuous,
      "drawn beside the plan could not have failed, which takes nothing from it");
  say(static_cast<std::int64_t>(results.missing.size()), "did not end: nothing is known of them");
  if (t.passed == 0) text += "No case passed. ";
  return text;
}

}  // namespace

std::string_view exit_text(int code) {
  constexpr std::array<std::string_view, 6> kTexts = {
      "passed",           "failed", "wrong usage", "incomplete", "no verdict: the machine",
      "proves too little"};
  return kTexts.at(static_cast<std::size_t>(code));
}

bool is_graded(const CaseRecord& record) {
  const Status status = record.verdict.status;
  const bool shows_nothing = status == Status::kVacuous || status == Status::kSkipped;
  return record.phase != kDrawnPhase || !shows_nothing;
}

std::string start_time_of(const Results& results) {
  constexpr const char* kForm = "%Y-%m-%dT%H:%M:%SZ";
  const std::string& started = results.header().started;
  std::tm time = {};
  if (started.size() != std::string_view("2026-11-30T02:00:00Z").size()) return {};
  if (strptime(started.c_str(), kForm, &time) == nullptr) return {};
  timegm(&time);  // takes a 31st of June for the 1st of July
  std::array<char, 64> text = {};
  const std::size_t size = std::strftime(text.data(), text.size(), kForm, &time);
  return started == std::string_view(text.data(), size) ? started : "";
}

std::string again_text(const Results& results, const CaseRecord& record) {
  const std::string command = see_again(results, record);
  return command.empty() ? "no command is given, as a shell would run a part of its text" : command;
}

std::string proof_of(const Results& results) {
  std::string text = proof_of_others(results);
  if (results.tally.passed > 0) return text + proof_of_passes(results);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

int gravity(Status status) {
  switch (status) {
    case Status::kFailed:
    case Status::kCrashed:
    case Status::kHung:
    case Status::kFlaky:
    case Status::kXpass:
      return 0;
    case Status::kInfra:
      return 1;
    case Status::kSuspect:
    case Status::kVacuous:
      return 2;
    case Status::kPassed:
    case Status::kSkipped:
    case Status::kXfail:
      break;
  }
  return 3;
}

std::vector<Finding> findings_of(const Results& results) {
  std::map<std::string, Finding> by_bucket;
  for (const CaseRecord& record : results.cases) {
    const Verdict& verdict = record.verdict;
    if (verdict.status == Status::kPassed || verdict.status == Status::kSkipped) continue;
    if (!is_graded(record)) continue;
    const std::string bucket =
        !verdict.bucket.empty()
            ? verdict.bucket
            : fmt::format("{}.{}", to_string(verdict.status), facts_of(record).kernel);
    Finding& finding = by_bucket[bucket];
    finding.bucket = bucket;
    finding.cases.push_back(&record);
    const auto rank = [](const CaseRecord& r) {
      return std::pair(gravity(r.verdict.status), r.token.size());
    };
    if (finding.example == nullptr || rank(record) < rank(*finding.example))
      finding.example = &record;
  }
  std::vector<Finding> findings;
  for (auto& [bucket, finding] : by_bucket) findings.push_back(std::move(finding));
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    const auto rank = [](const Finding& f) {
      return std::pair(gravity(f.status()), -static_cast<std::int64_t>(f.cases.size()));
    };
    return rank(a) < rank(b);
  });
  return findings;
}

std::string story_of(const Results& results, const CaseRecord& record, std::size_t most_bytes) {
  const Verdict& verdict = record.verdict;
  std::string text = cut(verdict.reason, most_bytes) + "\n";
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{} {}\n", name, cut(value, most_bytes));
  };
  line("blame", verdict.blame);
  line("bucket", verdict.bucket);
  line("source", verdict.source);
  for (const std::string& remark : first_of(verdict.remarks, 10, "remarks")) line("remark", remark);
  if (record.tries > 1) line("tries", fmt::format("{} processes", record.tries));
  return text + "see it again: " + again_text(results, record) + "\n";
}

std::vector<std::string> first_of(const std::vector<std::string>& lines, std::size_t most,
                                  const std::string& what) {
  std::vector<std::string> first(
      lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(most, lines.size())));
  if (lines.size() > most) {
    first.push_back(fmt::format("and {} more {}", lines.size() - most, what));
  }
  return first;
}

std::vector<std::string> notes_of(const Results& results) {
  std::vector<std::string> notes = first_of(results.notes, kMostNamed, "such lines");
  note_newer(results, notes);
  std::vector<std::string> twice;
  for (const std::string& token : results.twice) {
    twice.push_back(token + " ended more than once; the worst of its ends counts");
  }
  append(notes, first_of(twice, kMostNamed, "cases ended more than once"));
  append(notes, first_of(lines_of_missing(results), kMostNamed, "planned cases did not end"));
  if (const std::int64_t unknown = nameless_cases(results); unknown > 0) {
    notes.push_back(
        fmt::format("{} more cases were announced than are known: the run was stopped, or its plan "
                    "is cut short",
                    unknown));
  }
  return notes;
}

}  // namespace attest
