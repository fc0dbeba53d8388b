#include <fmt/format.h>

#include "reports/page/page.hpp"
#include "reports/run/text.hpp"

namespace attest::page {

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

std::string shown(std::string_view text) { return escaped(visible(text)); }

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

}  // namespace attest::page
