#include "reports/compare/compare_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/reporter.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/text.hpp"

namespace attest {
namespace {

constexpr std::size_t kMostRows = 3, kMostNotes = 5, kMostOfReason = 300;

std::string side_text(const char* which, const Side& side) {
  const RunHeader& h = side.header;
  std::string text = fmt::format("{:<6}{}: {} on {}, {}", which, side.name, h.command, h.device,
                                 tally_text(side.tally));
  if (!h.started.empty()) text += ", begun " + h.started;
  text += '\n';
  for (const std::string& note : first_of(side.notes, kMostNotes, "notes"))
    text += fmt::format("      note: {}\n", note);
  return text;
}

std::string row_text(const ComparedSection::Row& row) {
  std::string text;
  for (const std::string& cell : row.cells) {
    if (!cell.empty()) text += (text.empty() ? "" : "  ") + cell;
  }
  text += '\n';
  // Of several lines the first: the command shows the others.
  if (!row.reason.empty()) {
    text += fmt::format("             {}\n",
                        cut(row.reason.substr(0, row.reason.find('\n')), kMostOfReason));
  }
  if (!row.command.empty()) text += fmt::format("             see it again: {}\n", row.command);
  return text;
}

std::string section_text(const ComparedSection& section) {
  std::string text;
  const std::size_t shown = std::min(section.rows.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{:<12} {}", i == 0 ? section.name : "", row_text(section.rows[i]));
  }
  if (shown < section.rows.size()) {
    text += fmt::format("{:<12} and {} more\n", "", section.rows.size() - shown);
  }
  return text;
}

}  // namespace

std::string compared_as_text(const Comparison& c) {
  std::string text = fmt::format("{}\n", headline_of(c));
  text += side_text("BASE", c.base) + side_text("PR", c.pr);
  for (const std::string& line : c.about_runs) text += fmt::format("      {}\n", line);
  for (const ComparedSection& section : sections_of(c)) text += section_text(section);
  text += fmt::format("{} compared; exit code {}\n", cases_text(c.compared), c.exit_code());
  return visible(text);
}

}  // namespace attest
