// Markdown for a pull request's comment and for a step's summary. Foreign text stands in code
// alone: there neither Markdown nor HTML nor a mention means anything. Each part has its share of
// what a comment may hold, so that no run is too large for one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/format.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/text.hpp"

namespace attest {
namespace {

// A comment finds its earlier self by it, to be replaced.
constexpr std::string_view kMarker = "<!-- attest-report -->";
// Together under 65,000 bytes; GitHub takes 65,536 characters.
constexpr std::size_t kNotesBytes = 5000, kTableBytes = 12'000, kStoriesBytes = 24'000,
                      kBoundsBytes = 8000, kSeenBytes = 5000, kSlowestBytes = 5000;
constexpr std::size_t kMostOfReason = 2000, kMostOfCommand = 4000, kMostOfCell = 160;
constexpr std::size_t kSlowest = 10;

std::size_t longest_run_of_backticks(std::string_view text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

// In a line or a cell of a table.
std::string code(std::string_view text, std::size_t most_bytes = kMostOfCell) {
  std::string line = cut(visible(text), most_bytes);
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (line.empty()) return {};
  const std::string ticks(longest_run_of_backticks(line) + 1, '`');
  if (line.front() == '`' || line.back() == '`') line = " " + line + " ";
  return ticks + line + ticks;
}

// A cell of a table ends at a bar, in code too. Source: GitHub Flavored Markdown, 4.10.
std::string cell(std::string_view text, std::size_t most_bytes = kMostOfCell) {
  std::string escaped;
  for (const char c : code(text, most_bytes)) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// A block of code: lines stay lines.
std::string block(std::string_view text, std::string_view language) {
  std::string shown = visible(text);
  while (shown.ends_with('\n')) shown.pop_back();
  const std::string fence(std::max<std::size_t>(3, longest_run_of_backticks(shown) + 1), '`');
  return fmt::format("{}{}\n{}\n{}\n", fence, language, shown, fence);
}

// A fence may be as long as the text, which then has a third.
std::string block_of(std::string_view text, std::size_t most_bytes) {
  const std::string whole = block(cut(text, most_bytes), "text");
  return whole.size() < most_bytes + 100 ? whole : block(cut(text, most_bytes / 3), "text");
}

// As many of the rows as fit, and how many do not: row(0), row(1) ...
template <class Row>
std::string limited(std::size_t count, const Row& row, std::size_t most_bytes, const char* what) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string next = row(i);
    if (text.size() + next.size() > most_bytes) {
      return text + fmt::format(
                        "\n… and {} more {}: `./attest report` on the run's results.jsonl names "
                        "all.\n",
                        count - i, what);
    }
    text += next;
  }
  return text;
}

std::string limited(const std::vector<std::string>& rows, std::size_t most_bytes,
                    const char* what) {
  return limited(
      rows.size(), [&](std::size_t i) { return rows[i]; }, most_bytes, what);
}

std::string ratio_text(double ratio) {
  if (ratio < 0) return "–";
  return ratio <= 1 ? fmt::format("{:.3g}", ratio) : fmt::format("**{:.3g}**", ratio);
}

std::string_view sign_of(int exit_code) {
  if (exit_code == 0) return "✅";
  return exit_code == 1 ? "❌" : "⚠️";
}

std::string header_of(const Results& results) {
  const RunHeader& run = results.header();
  const int code_of_run = run_exit_code(results);
  std::string text = fmt::format("## {} attest: {} (exit code {})\n\n", sign_of(code_of_run),
                                 exit_text(code_of_run), code_of_run);
  text += fmt::format("**{} of {} cases: {}**. {}\n\n", results.tally.total(),
                      results.tally.total() + static_cast<std::int64_t>(results.missing.size()),
                      tally_text(results.tally), proof_of(results));
  text += fmt::format("{} on {}, {}", code(run.command, 400), code(run.device), code(run.machine));
  if (!run.build.empty()) text += fmt::format("; attest {}", code(run.build));
  if (!run.started.empty()) text += fmt::format("; begun {}", code(run.started));
  if (results.runs.size() > 1) text += fmt::format("; {} parts", results.runs.size());
  return text + fmt::format("; {:.1f} s\n", results.seconds);
}

std::string notes_part(const Results& results) {
  const std::vector<std::string> notes = notes_of(results);
  if (notes.empty()) return {};
  std::vector<std::string> rows;
  for (const std::string& note : notes) rows.push_back(fmt::format("- {}\n", code(note, 400)));
  return "\n### Beware\n" + limited(rows, kNotesBytes, "notes");
}

// "scores.wrong.scattered.mla_decode": its first three words.
std::string what_is_wrong(const Finding& finding) {
  const std::string& bucket = finding.bucket;
  return bucket.substr(0, bucket.rfind('.'));
}

std::string row_of(const Finding& finding) {
  const CaseRecord& example = *finding.example;
  const auto largest = [&](bool of_o) {
    double ratio = -1;
    for (const CaseRecord* record : finding.cases)
      ratio = std::max(ratio, largest_ratio(record->verdict, of_o));
    return ratio_text(ratio);
  };
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", to_string(finding.status()),
                     finding.cases.size(), cell(facts_of(example).kernel),
                     cell(what_is_wrong(finding)), largest(true), largest(false),
                     cell(example.verdict.source), cell(example.token));
}

// A history may hold this very run.
std::string seen_before(const Results& results, const Finding& finding, const Trend& trend) {
  if (trend.empty()) return {};
  for (const BucketLife& life : trend.buckets) {
    const bool is_new = life.first_seen == results.header().started;
    if (life.bucket != finding.bucket || is_new) continue;
    return fmt::format("; in {} runs since {}", life.runs_seen, code(life.first_seen));
  }
  return "; never seen before";
}

std::string story_part(const Results& results, const Finding& finding, const Trend& trend,
                       std::size_t most_bytes) {
  const CaseRecord& example = *finding.example;
  std::string command = visible(see_again(results, example));
  if (command.empty()) command = "# " + again_text(results, example);
  if (command.size() > kMostOfCommand) {
    command = fmt::format("# {} bytes long, too long for here: ./attest report RESULTS prints it",
                          command.size());
  }
  std::string story = story_of(results, example, std::min(kMostOfReason, most_bytes / 2));
  story.resize(story.rfind("see it again: "));
  return fmt::format("\n**{}** {} case{}{}\n", code(finding.bucket), finding.cases.size(),
                     finding.cases.size() == 1 ? "" : "s", seen_before(results, finding, trend)) +
         block_of(story, most_bytes) + block(command, "sh");
}

std::string findings_part(const Results& results, const Trend& trend) {
  const std::vector<Finding> findings = findings_of(results);
  if (findings.empty()) return {};
  const auto row = [&](std::size_t i) { return row_of(findings[i]); };
  const std::size_t count = findings.size();
  const std::size_t share = kStoriesBytes / std::clamp<std::size_t>(count, 3, 16);
  const auto story = [&](std::size_t i) { return story_part(results, findings[i], trend, share); };
  return fmt::format("\n### What to look at: {} finding{}\n", findings.size(),
                     findings.size() == 1 ? "" : "s") +
         "| status | cases | kernel | stage, kind, pattern | largest ratio in o | in fp32 "
         "| source | shortest case |\n|---|--:|---|---|--:|--:|---|---|\n" +
         limited(count, row, kTableBytes, "findings") +
         limited(count, story, kStoriesBytes, "findings");
}

struct Bounds {
  std::int64_t cases = 0, checked = 0;
  double of_o = -1, of_fp32 = -1;
  double largest() const { return std::max(of_o, of_fp32); }
};

std::string bounds_part(const Results& results) {
  std::map<std::pair<std::string, std::string>, Bounds> groups;
  for (const CaseRecord& record : results.cases) {
    if (record.verdict.worst.empty()) continue;
    const CaseFacts facts = facts_of(record);
    Bounds& group = groups[{facts.kernel, facts.distribution}];
    ++group.cases;
    group.checked += record.verdict.checked;
    group.of_o = std::max(group.of_o, largest_ratio(record.verdict, true));
    group.of_fp32 = std::max(group.of_fp32, largest_ratio(record.verdict, false));
  }
  if (groups.empty()) return {};
  std::vector<std::pair<Bounds, std::string>> sorted;
  for (const auto& [names, group] : groups) {
    sorted.emplace_back(group, fmt::format("| {} | {} | {} | {} | {} | {} |\n", cell(names.first),
                                           cell(names.second), group.cases, group.checked,
                                           ratio_text(group.of_o), ratio_text(group.of_fp32)));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first.largest() > b.first.largest();
  });
  std::vector<std::string> rows;
  for (const auto& [group, row] : sorted) rows.push_back(row);
  return "\n### Largest error / bound\nOver 1 is wrong. In `o` up to 1 is usual, since half an ulp "
         "of bf16 is most of what is allowed; in `lse` and the partials, which are fp32, it shows "
         "how much room is left.\n\n"
         "| kernel | data | cases | elements | in o | in fp32 |\n|---|---|--:|--:|--:|--:|\n" +
         limited(rows, kBoundsBytes, "kinds of data");
}

// The least share of one kernel's passed cases, and the case with the least of tokens.
struct Seen {
  double tokens = 2, pages = 2, splits = 2;
  std::string token;
};

std::string share_text(double share) {
  return share > 1 ? "–" : fmt::format("{:.0f} %", std::floor(100 * share));
}

std::string seen_part(const Results& results) {
  std::map<std::string, Seen> kernels;
  for (const CaseRecord& record : results.cases) {
    const Evidence& e = record.verdict.evidence;
    if (record.verdict.status != Status::kPassed || e.tokens_visible < 0) continue;
    Seen& seen = kernels[facts_of(record).kernel];
    if (e.tokens_visible < seen.tokens) {
      seen.tokens = e.tokens_visible;
      seen.token = record.token;
    }
    if (e.pages_visible >= 0) seen.pages = std::min(seen.pages, e.pages_visible);
    if (e.splits_visible >= 0) seen.splits = std::min(seen.splits, e.splits_visible);
  }
  if (kernels.empty()) return {};
  std::vector<std::string> rows;
  for (const auto& [kernel, seen] : kernels) {
    rows.push_back(fmt::format("| {} | {} | {} | {} | {} |\n", cell(kernel),
                               share_text(seen.tokens), share_text(seen.pages),
                               share_text(seen.splits), cell(seen.token)));
  }
  return "\n### What passes would have noticed\nThe least share, over the passed cases, of what "
         "would be missed if it were lost.\n\n"
         "| kernel | tokens | pages | splits | case that sees the fewest tokens |\n"
         "|---|--:|--:|--:|---|\n" +
         limited(rows, kSeenBytes, "kernels");
}

std::string slowest_part(const Results& results) {
  std::vector<const CaseRecord*> cases;
  for (const CaseRecord& record : results.cases) cases.push_back(&record);
  std::stable_sort(cases.begin(), cases.end(), [](const CaseRecord* a, const CaseRecord* b) {
    return a->total_ms > b->total_ms;
  });
  cases.resize(std::min(cases.size(), kSlowest));
  if (cases.empty()) return {};
  std::vector<std::string> rows;
  for (const CaseRecord* record : cases) {
    rows.push_back(fmt::format("| {:.3g} | {:.3g} | {} | {} |\n", record->total_ms / 1000,
                               record->verdict.kernel_ms / 1000, to_string(record->verdict.status),
                               cell(record->token)));
  }
  return "\n### Slowest cases\n| s | kernel, s | status | case |\n|--:|--:|---|---|\n" +
         limited(rows, kSlowestBytes, "cases");
}

}  // namespace

std::string render_markdown(const Results& results, const Trend& trend) {
  return fmt::format("{}\n{}{}{}{}{}{}", kMarker, header_of(results), notes_part(results),
                     findings_part(results, trend), bounds_part(results), seen_part(results),
                     slowest_part(results));
}

}  // namespace attest
