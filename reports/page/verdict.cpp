// The first section: what the run says, in one look.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/page/page.hpp"
#include "reports/run/summary.hpp"

namespace attest::page {
namespace {

struct StatusCount {
  Status status;
  std::int64_t count;
};

// Worst first.
std::vector<StatusCount> counts_of(const Tally& t) {
  return {
      {Status::kFailed, t.failed},   {Status::kCrashed, t.crashed}, {Status::kHung, t.hung},
      {Status::kFlaky, t.flaky},     {Status::kXpass, t.xpass},     {Status::kInfra, t.infra},
      {Status::kSuspect, t.suspect}, {Status::kVacuous, t.vacuous}, {Status::kSkipped, t.skipped},
      {Status::kXfail, t.xfail},     {Status::kPassed, t.passed}};
}

// That ended, that are missed by name, and that were announced alone.
std::int64_t cases_of(const Results& results) {
  std::int64_t announced = 0;
  for (const RunHeader& run : results.runs) announced += run.resumed ? 0 : run.cases;
  return std::max(announced,
                  results.tally.total() + static_cast<std::int64_t>(results.missing.size()));
}

// What each code means, as README has it.
std::string_view meaning_of(int code) {
  switch (code) {
    case 0:
      return "all passed";
    case 1:
      return "some failed, crashed, hung, were flaky or passed unexpectedly";
    case 3:
      return "some planned cases did not end; what ended did not fail";
    case 4:
      return "trouble of the machine or of a code object";
    default:
      return "nothing ran, nothing passed, or some could not fail";
  }
}

std::string_view tone_of(int code) { return code == 0 ? "good" : code == 1 ? "bad" : "warn"; }

// 30,956,216
std::string grouped(std::int64_t n) {
  std::string text = fmt::format("{}", n);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string plural(std::int64_t n, std::string_view one) {
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

// "6 failed, 1 crashed": those that make the exit code.
std::string failures_text(const Tally& t) {
  std::string text;
  for (const auto& [status, count] : counts_of(t)) {
    const bool counts = is_failure(status) || status == Status::kFlaky || status == Status::kXpass;
    if (!counts || count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(status));
  }
  return text;
}

std::string fact(std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, shown(value));
}

// What the runs say of themselves, each once: shards agree on most of it.
std::string each_once(const Results& results, std::string RunHeader::*field) {
  std::set<std::string> seen;
  std::string text;
  for (const RunHeader& run : results.runs) {
    const std::string& value = run.*field;
    if (value.empty() || !seen.insert(value).second) continue;
    text += (text.empty() ? "" : "; ") + value;
  }
  return text;
}

std::string shards_text(const Results& results) {
  std::string text = each_once(results, &RunHeader::shard);
  std::int64_t resumed = 0;
  for (const RunHeader& run : results.runs) resumed += run.resumed ? 1 : 0;
  if (resumed > 0) {
    text += fmt::format("{}resumed {}", text.empty() ? "" : "; ", plural(resumed, "time"));
  }
  return text;
}

std::string facts_html(const Results& results) {
  std::int64_t checked = 0;
  for (const CaseRecord& record : results.cases) checked += record.verdict.checked;
  return "<dl class=\"facts\">" + fact("command", "attest " + results.header().command) +
         fact("device", each_once(results, &RunHeader::device)) +
         fact("build", each_once(results, &RunHeader::build)) +
         fact("bounds", each_once(results, &RunHeader::bounds)) +
         fact("started", each_once(results, &RunHeader::started)) +
         fact("machine", each_once(results, &RunHeader::machine)) +
         fact("shards", shards_text(results)) +
         fact("judged", fmt::format("{} elements in {:.1f} s", grouped(checked), results.seconds)) +
         fact("run", each_once(results, &RunHeader::run)) + "</dl>";
}

std::string notes_html(const Results& results) {
  const std::vector<std::string> notes = notes_of(results);
  if (notes.empty()) return {};
  std::string html = "<div class=\"notice\"><h2>Before you trust the numbers</h2><ul>";
  for (const std::string& note : notes) html += fmt::format("<li>{}</li>", shown(note));
  return html + "</ul></div>";
}

std::string chips_html(const Tally& tally) {
  std::string html = "<ul class=\"chips\" aria-label=\"cases by status\">";
  for (const auto& [status, count] : counts_of(tally)) {
    if (count > 0) html += fmt::format("<li>{}</li>", status_html(status, count));
  }
  return html + "</ul>";
}

std::string exit_html(const Results& results) {
  const int code = run_exit_code(results);
  std::string html =
      fmt::format("<p class=\"exit\">Exit code <b>{}</b>: {}.", code, meaning_of(code));
  if (const auto buckets = static_cast<std::int64_t>(findings_of(results).size()); buckets > 0) {
    html += fmt::format(" <a href=\"#buckets\">{}</a>, one a cause.", plural(buckets, "bucket"));
  }
  if (const std::int64_t missing = cases_of(results) - results.tally.total(); missing > 0) {
    html += fmt::format(" <b>{} did not end</b>, and so ha{} no verdict.", plural(missing, "case"),
                        missing == 1 ? "s" : "ve");
  }
  return html + "</p>";
}

constexpr const char* kLimits =
    "A pass says that <code>o</code>, <code>lse</code> and the partials of each split lie within "
    "bounds derived from the kernel&#8217;s contract, that no memory outside its buffers was "
    "touched, every row it owes was written and no input changed; it says nothing of cases and "
    "schedules "
    "that did not run, nor of speed.";

}  // namespace

std::string headline(const Results& results) {
  const Tally t = graded_tally(results);
  const std::int64_t all = cases_of(results);
  switch (run_exit_code(results)) {
    case 0: {
      if (t.passed == all)
        return all == 1 ? "The case passed" : fmt::format("All {} cases passed", all);
      return fmt::format("{} of {} passed, none failed", t.passed, plural(all, "case"));
    }
    case 1:
      return fmt::format("{} of {}", failures_text(t), plural(all, "case"));
    case 3:
      return fmt::format("Incomplete: {} of {} ended", results.tally.total(), plural(all, "case"));
    case 4:
      return fmt::format("No verdict on {} of {}", t.infra, plural(all, "case"));
    default:
      if (t.passed == 0) return "Nothing passed, so nothing is shown";
      return fmt::format("Nothing failed, but {} of {} prove too little", t.vacuous + t.suspect,
                         plural(all, "case"));
  }
}

std::string verdict_html(const Results& results) {
  const int code = run_exit_code(results);
  return fmt::format(
             "<section id=\"verdict\" class=\"verdict {}\" aria-labelledby=\"headline\">"
             "<p class=\"word\">{}</p><h1 id=\"headline\">{}</h1>",
             tone_of(code), exit_text(code), escaped(headline(results))) +
         exit_html(results) + chips_html(results.tally) + notes_html(results) +
         facts_html(results) +
         fmt::format("<p class=\"proves\"><span>{}</span> {}</p></section>",
                     escaped(proof_of(results)), kLimits);
}

}  // namespace attest::page
