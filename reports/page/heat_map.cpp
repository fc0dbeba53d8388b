// Where the wrong elements of a tensor lie, as a table: a number in each block, an empty block a
// dot, and runs of empty rows as one row.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "harness/core/case.hpp"
#include "reports/page/page.hpp"

namespace attest::page {
namespace {

constexpr int kLevels = 4;  // of shading, on top of none
constexpr int kShortestRun = 3;

std::string range_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}\u2013{}", first, last);
}

// Rows of [total_q, h_q] as query token and heads.
std::string rows_text(std::int64_t first, std::int64_t last, int heads) {
  if (heads <= 0) return range_text(first, last);
  const std::int64_t q_first = first / heads, q_last = last / heads;
  if (q_first == q_last)
    return fmt::format("q {} h {}", q_first, range_text(first % heads, last % heads));
  return fmt::format("q {}", range_text(q_first, q_last));
}

class Table {
 public:
  // `heads`: h_q of the case, 0 where it is not known; `rows`: total_q * h_q.
  Table(const FaultMap& map, int heads, std::int64_t rows) : map_(map), heads_(heads), rows_(rows) {
    for (const std::int64_t count : map.counts) {
      most_ = std::max(most_, count);
      total_ += count;
    }
  }

  std::string html() const {
    std::string html = fmt::format(
        "<figure class=\"heat\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
        "aria-label=\"map of {0}\"><table><caption><code>{0}</code>: {1} wrong, {2} a cell"
        "</caption><thead><tr><th scope=\"col\">{3}</th>",
        shown(map_.tensor), total_, size_text(), corner_text());
    for (int column = 0; column < map_.columns; ++column) {
      html += fmt::format("<th scope=\"col\">{}</th>", column_text(column));
    }
    html += "</tr></thead><tbody>";
    for (int row = 0; row < map_.rows;) html += row_html(row);
    return html + "</tbody></table></div></figure>";
  }

 private:
  std::int64_t at(int row, int column) const {
    return map_.counts[static_cast<std::size_t>(row) * static_cast<std::size_t>(map_.columns) +
                       static_cast<std::size_t>(column)];
  }
  bool is_empty(int row) const {
    for (int column = 0; column < map_.columns; ++column) {
      if (at(row, column) != 0) return false;
    }
    return true;
  }

  // One row, or a run of empty ones; moves `row` behind it.
  std::string row_html(int& row) const {
    int end = row;
    while (end < map_.rows && is_empty(end)) ++end;
    const int first = row;
    const bool is_run = end - first >= kShortestRun;
    row = is_run ? end : row + 1;
    std::string html = fmt::format("<tr><th scope=\"row\">{}</th>", row_text(first, row));
    if (is_run) {
      return html + fmt::format("<td class=\"h0 run\" colspan=\"{}\">none</td></tr>", map_.columns);
    }
    for (int column = 0; column < map_.columns; ++column) html += cell(at(first, column));
    return html + "</tr>";
  }
  std::string cell(std::int64_t count) const {
    if (count == 0) return "<td class=\"h0\">\u00b7</td>";
    const std::int64_t level = (count * kLevels + most_ - 1) / most_;
    return fmt::format("<td class=\"h{}\">{}</td>", level, count_text(count));
  }
  static std::string count_text(std::int64_t count) {
    return count < 10000 ? fmt::format("{}", count) : fmt::format("{}k", count / 1000);
  }

  bool has_one_column() const { return map_.columns == 1 && map_.column_axis == "split"; }
  // Of the blocks [begin, end).
  std::string row_text(std::int64_t begin, std::int64_t end) const {
    const std::int64_t first = begin * map_.row_block, last = end * map_.row_block - 1;
    if (map_.row_axis != "row") return range_text(first, last);
    return rows_text(first, heads_ > 0 ? std::min(last, rows_ - 1) : last, heads_);
  }
  std::string column_text(std::int64_t column) const {
    if (has_one_column()) return "all";
    return range_text(column * map_.column_block, (column + 1) * map_.column_block - 1);
  }
  std::string corner_text() const {
    const std::string rows =
        map_.row_axis == "row" ? (heads_ > 0 ? "query, head" : "row") : map_.row_axis;
    return has_one_column() ? shown(rows) : shown(rows + " \\ " + map_.column_axis);
  }
  std::string size_text() const {
    const auto part = [](int n, const std::string& of) {
      return fmt::format("{} {}{}", n, of, n == 1 ? "" : "s");
    };
    const std::string rows = part(map_.row_block, map_.row_axis);
    if (has_one_column()) return shown(rows);
    return shown(rows + " \u00d7 " + part(map_.column_block, map_.column_axis));
  }

  const FaultMap& map_;
  int heads_;
  std::int64_t rows_;
  std::int64_t most_ = 0, total_ = 0;
};

}  // namespace

std::string heat_map_html(const FaultMap& map, const CaseRecord& record) {
  const auto cells = static_cast<std::size_t>(std::max(map.rows, 0)) *
                     static_cast<std::size_t>(std::max(map.columns, 0));
  if (cells == 0 || map.counts.size() != cells) return {};  // a file of others: nothing to draw
  const auto c = parse_token(record.token);
  return (c.ok() ? Table(map, c->problem.h_q, c->problem.rows()) : Table(map, 0, 0)).html();
}

}  // namespace attest::page
