#include "reports/run/colour.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "reports/run/status_line.hpp"

namespace attest {
namespace {

// Of SGR, ECMA-48 8.3.117; empty: as all else.
std::string_view colour_of(Status status) {
  switch (status) {
    case Status::kPassed:
      return "32";  // green
    case Status::kFailed:
    case Status::kCrashed:
    case Status::kHung:
    case Status::kXpass:
      return "1;31";  // bold red
    case Status::kFlaky:
    case Status::kSuspect:
    case Status::kVacuous:
    case Status::kInfra:
      return "33";  // yellow
    case Status::kSkipped:
    case Status::kXfail:
      break;
  }
  return "";
}

}  // namespace

bool has_colour(Colour colour, std::FILE* to) {
  if (colour != Colour::kAuto) return colour == Colour::kAlways;
  const char* const no_color = std::getenv("NO_COLOR");
  return is_terminal(to) && (no_color == nullptr || *no_color == '\0');
}

std::string status_word(Status status, bool coloured) {
  const std::string word = fmt::format("{:<8}", to_string(status));
  const std::string_view colour = coloured ? colour_of(status) : "";
  return colour.empty() ? word : fmt::format("\033[{}m{}\033[m", colour, word);
}

}  // namespace attest
