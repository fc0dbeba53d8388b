// Markdown for a comment on a pull request, which a later one replaces: it finds it by the marker.
#include <fmt/format.h>

#include <algorithm>

#include "reports/compare/compare_text.hpp"
#include "reports/reporter.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/text.hpp"

namespace attest {
namespace {

constexpr std::string_view kMarker = "<!-- attest-compare -->";
// GitHub takes 65,536 characters; bytes are never fewer.
constexpr std::size_t kMostBytes = 65'000, kForTheEnd = 1'000, kMostOfCell = 400,
                      kMostOfReason = 2'000, kMostRows = 50, kMostOthers = 20, kMostNotes = 10;

// As code, in which nothing of Markdown or HTML means anything and nobody is called by @name, in
// one line. A bar would end the cell of a table, in code too (GitHub Flavored Markdown, 4.10).
std::string code(std::string_view text, bool is_cell) {
  std::string shown;
  std::size_t ticks = 0, longest = 0;
  for (const char c : cut(visible(text), kMostOfCell)) {
    ticks = c == '`' ? ticks + 1 : 0;
    longest = std::max(longest, ticks);
    if (c == '|' && is_cell) shown += '\\';
    shown += c == '\n' ? ' ' : c;
  }
  if (shown.empty()) return {};
  const std::string fence(longest + 1, '`');
  return fmt::format("{0} {1} {0}", fence, shown);
}

std::string block(std::string_view text) {
  std::string fence = "```";
  while (text.find(fence) != std::string_view::npos) fence += '`';
  return fmt::format("{0}\n{1}\n{0}\n", fence, visible(text));
}

std::string side_row(const char* which, const Side& side) {
  const RunHeader& h = side.header;
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", which, code(side.name, true),
                     code(h.device, true), code(h.build, true), code(h.started, true),
                     code(tally_text(side.tally), true));
}

std::string notes_text(const char* which, const Side& side) {
  std::string text = side.notes.empty() ? "" : "\n";
  for (const std::string& note : first_of(side.notes, kMostNotes, "notes"))
    text += fmt::format("- {}: {}\n", which, code(note, false));
  return text;
}

std::string table_head(const ComparedSection& section) {
  std::string head = "|", rule = "|";
  for (const std::string& column : section.columns) {
    head += fmt::format(" {} |", column);
    rule += "---|";
  }
  return fmt::format("\n**{}**: {}\n\n{}\n{}\n", section.name, section.about, head, rule);
}

std::string table_row(const ComparedSection::Row& row) {
  std::string text = "|";
  for (const std::string& cell : row.cells) text += fmt::format(" {} |", code(cell, true));
  return text + "\n";
}

std::string details(const ComparedSection::Row& row) {
  std::string text = cut(row.reason, kMostOfReason);
  if (!text.empty() && !row.command.empty()) text += "\n" + row.command;
  const std::size_t shown = std::min(row.others.size(), kMostOthers);
  for (std::size_t i = 0; i < shown; ++i) text += (text.empty() ? "" : "\n") + row.others[i];
  if (shown < row.others.size()) text += fmt::format("\nand {} more", row.others.size() - shown);
  return text.empty() ? text : "\n" + block(text);
}

// What has no room is counted.
class Page {
 public:
  void section(const ComparedSection& section) {
    const std::string head = table_head(section);
    std::size_t shown = 0;
    std::string rows;
    while (shown < std::min(section.rows.size(), kMostRows) &&
           fits(head.size() + rows.size() + table_row(section.rows[shown]).size())) {
      rows += table_row(section.rows[shown++]);
    }
    text_ += shown > 0 ? head + rows : fmt::format("\n**{}**", section.name);
    if (shown < section.rows.size()) {
      text_ += fmt::format("\n{} more: `attest compare --format json` has all.\n",
                           section.rows.size() - shown);
    }
    for (std::size_t i = 0; i < shown; ++i) {
      if (fits(details(section.rows[i]).size())) text_ += details(section.rows[i]);
    }
  }
  void line(const std::string& text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  bool fits(std::size_t bytes) const { return text_.size() + bytes + kForTheEnd < kMostBytes; }
  std::string text_;
};

}  // namespace

std::string compared_as_markdown(const Comparison& c) {
  Page page;
  page.line(fmt::format("{}\n### attest compare: {}\n\n", kMarker, headline_of(c)));
  page.line("| | results | device | build | begun | cases |\n|---|---|---|---|---|---|\n");
  page.line(side_row("BASE", c.base) + side_row("PR", c.pr));
  page.line(notes_text("BASE", c.base) + notes_text("PR", c.pr));
  if (c.is_same()) page.line("\nNo case, bound, contract or error / bound changed.\n");
  if (!c.about_runs.empty()) page.line("\n");
  for (const std::string& line : c.about_runs) page.line(fmt::format("- {}\n", code(line, false)));
  for (const ComparedSection& section : sections_of(c)) page.section(section);
  page.line(fmt::format("\n{} compared; exit code {}.\n", cases_text(c.compared), c.exit_code()));
  return page.take();
}

}  // namespace attest
