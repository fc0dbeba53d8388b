#include "reports/run/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

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

// Announced by a run, but neither ended nor known by name.
std::int64_t nameless_cases(const Results& results) {
  std::int64_t announced = 0;
  for (const RunHeader& run : results.runs) announced += run.resumed ? 0 : run.cases;
  return announced - results.tally.total() - static_cast<std::int64_t>(results.missing.size());
}

// Shards of one run have these in common.
void note_differences(const Results& results, std::vector<std::string>& notes) {
  const auto differ = [&](const char* what, std::string RunHeader::*field) {
    for (const RunHeader& run : results.runs) {
      if (run.*field == results.header().*field) continue;
      notes.push_back(fmt::format("these runs have different {}: '{}' and '{}'", what,
                                  results.header().*field, run.*field));
      return;
    }
  };
  differ("devices", &RunHeader::device);
  differ("builds", &RunHeader::build);
  differ("bounds", &RunHeader::bounds);
}

}  // namespace

std::vector<std::string> first_of(const std::vector<std::string>& lines, std::size_t most,
                                  const std::string& what_others) {
  std::vector<std::string> first(
      lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(most, lines.size())));
  if (lines.size() > most) {
    first.push_back(fmt::format("and {} more {}", lines.size() - most, what_others));
  }
  return first;
}

std::vector<std::string> notes_of(const Results& results) {
  std::vector<std::string> notes = first_of(results.notes, kMostNamed, "such lines");
  note_differences(results, notes);
  std::vector<std::string> twice;
  for (const std::string& token : results.twice) {
    twice.push_back(token + " ended more than once; its last end counts");
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
