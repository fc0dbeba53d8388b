#include "reports/history/dates.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>

namespace attest {
namespace {

std::optional<std::chrono::sys_seconds> time_of(std::string_view text) {
  constexpr std::array kBegin = {0, 5, 8, 11, 14, 17}, kLength = {4, 2, 2, 2, 2, 2};
  if (text.size() < 19) return std::nullopt;
  std::array<int, 6> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const char* const begin = text.data() + kBegin.at(i);
    const char* const end = begin + kLength.at(i);
    if (std::from_chars(begin, end, parts.at(i)).ptr != end) return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(parts[0]),
                                         std::chrono::month(static_cast<unsigned>(parts[1])),
                                         std::chrono::day(static_cast<unsigned>(parts[2]))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(parts[3]) +
         std::chrono::minutes(parts[4]) + std::chrono::seconds(parts[5]);
}

}  // namespace

int hours_between(std::string_view from, std::string_view to) {
  const auto begin = time_of(from), end = time_of(to);
  if (!begin || !end || *end < *begin) return -1;
  return static_cast<int>(std::chrono::floor<std::chrono::hours>(*end - *begin).count());
}

}  // namespace attest
