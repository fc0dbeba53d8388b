// The first section: what the run says, in one look.
#include <fmt/format.h>

#include <set>

#include "reports/page/page.hpp"

namespace attest::page {
namespace {

constexpr std::size_t kMostListed = 100;

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

std::int64_t cases_of(const Results& results) {
  return results.tally.total() + static_cast<std::int64_t>(results.missing.size());
}

struct ExitMeaning {
  const char *tone, *word, *meaning;
};

ExitMeaning meaning_of(int code) {
  switch (code) {
    case 0:
      return {"good", "passed", "all passed"};
    case 1:
      return {"bad", "failed", "some failed, crashed, hung, were flaky or passed unexpectedly"};
    case 3:
      return {"warn", "incomplete", "some planned cases did not end; what ended did not fail"};
    case 4:
      return {"warn", "no verdict", "trouble of the machine or of a code object"};
    default:
      return {"warn", "proves too little", "nothing ran, nothing passed, or some could not fail"};
  }
}

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
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, escaped(value));
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

std::string list_html(std::string_view title, std::string_view hint,
                      const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string html =
      fmt::format("<details class=\"notice\"{}><summary>{} {}</summary><p>{}</p><ul>",
                  lines.size() <= 5 ? " open" : "", lines.size(), title, hint);
  for (std::size_t i = 0; i < lines.size() && i < kMostListed; ++i) {
    html += fmt::format("<li><code>{}</code></li>", escaped(lines[i]));
  }
  if (lines.size() > kMostListed) {
    html += fmt::format("<li>and {} more</li>", lines.size() - kMostListed);
  }
  return html + "</ul></details>";
}

std::string chips_html(const Tally& tally) {
  std::string html = "<ul class=\"chips\" aria-label=\"cases by status\">";
  for (const auto& [status, count] : counts_of(tally)) {
    if (count > 0) html += fmt::format("<li>{}</li>", status_html(status, count));
  }
  return html + "</ul>";
}

constexpr const char* kProves =
    "A pass proves that, in that case, <code>o</code>, <code>lse</code> and the partials of each "
    "split lie within bounds derived from the kernel&#8217;s contract, that no memory outside its "
    "buffers was touched, every row it owes was written and no input changed. It proves nothing "
    "about cases and schedules that did not run, or about speed.";

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string_view shape_of(Status status) {
  switch (status) {
    case Status::kPassed:
      return "\u25cf";  // disc
    case Status::kSuspect:
      return "\u25b3";  // triangle
    case Status::kVacuous:
      return "\u25cb";  // circle
    case Status::kFailed:
      return "\u2715";  // cross
    case Status::kFlaky:
      return "\u25d0";  // half a disc
    case Status::kCrashed:
      return "\u25c6";  // diamond
    case Status::kHung:
      return "\u25a0";  // square
    case Status::kSkipped:
      return "\u2013";  // dash
    case Status::kInfra:
      return "\u25a1";  // open square
    case Status::kXfail:
      return "\u25c7";  // open diamond
    case Status::kXpass:
      return "\u271a";  // plus
  }
  return "?";
}

std::string status_html(Status status, std::int64_t count) {
  const std::string number = count > 0 ? fmt::format("<b>{}</b> ", count) : "";
  return fmt::format("<span class=\"status {0}\"><i aria-hidden=\"true\">{1}</i> {2}{0}</span>",
                     to_string(status), shape_of(status), number);
}

std::string headline(const Results& results) {
  const Tally& t = results.tally;
  const std::int64_t all = cases_of(results);
  switch (exit_code(t)) {
    case 0: {
      if (t.passed == all)
        return all == 1 ? "The case passed" : fmt::format("All {} cases passed", all);
      return fmt::format("{} of {} passed, none failed", t.passed, plural(all, "case"));
    }
    case 1:
      return fmt::format("{} of {}", failures_text(t), plural(all, "case"));
    case 3:
      return fmt::format("Incomplete: {} of {} ended", t.total(), plural(all, "case"));
    case 4:
      return fmt::format("No verdict on {} of {}", t.infra, plural(all, "case"));
    default:
      if (t.passed == 0) return "Nothing passed, so nothing is shown";
      return fmt::format("Nothing failed, but {} of {} prove too little", t.vacuous + t.suspect,
                         plural(all, "case"));
  }
}

std::string verdict_html(const Results& results) {
  const int code = exit_code(results.tally);
  const ExitMeaning exit = meaning_of(code);
  const std::size_t buckets = buckets_of(results).size();
  std::string html = fmt::format(
      "<section id=\"verdict\" class=\"verdict {}\" aria-labelledby=\"headline\">"
      "<p class=\"word\">{}</p><h1 id=\"headline\">{}</h1>",
      exit.tone, exit.word, escaped(headline(results)));
  html +=
      fmt::format("<p class=\"exit\">Exit code <b>{}</b>: {}.{}</p>", code, exit.meaning,
                  buckets == 0 ? ""
                               : fmt::format(" <a href=\"#buckets\">{}</a>, one a cause.",
                                             plural(static_cast<std::int64_t>(buckets), "bucket")));
  html += chips_html(results.tally) + facts_html(results);
  html += list_html("planned cases did not end",
                    "They have no verdict. What had begun when the run stopped is below.",
                    results.missing);
  html += list_html("cases had begun and did not end", "One of them may have stopped the run.",
                    results.begun);
  html += list_html("cases ended more than once", "The last end counts.", results.twice);
  html +=
      list_html("notes", "What could not be read, or was strange, in the results.", results.notes);
  return html + fmt::format("<p class=\"proves\">{}</p></section>", kProves);
}

}  // namespace attest::page
