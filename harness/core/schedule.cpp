#include "harness/core/schedule.hpp"

#include <fmt/format.h>

#include <charconv>

namespace attest {
namespace {

// By ScheduleKind.
constexpr std::string_view kLetters = " olid";

}  // namespace

std::string to_string(const Schedule& schedule) {
  if (schedule.kind == ScheduleKind::kSeeded) return fmt::format("{}", schedule.seed);
  return fmt::format("{}{}", kLetters[static_cast<std::size_t>(schedule.kind)], schedule.seed);
}

std::optional<Schedule> parse_schedule(std::string_view text) {
  Schedule schedule;
  if (text.empty()) return std::nullopt;
  if (const std::size_t kind = kLetters.find(text[0], 1); kind != std::string_view::npos) {
    schedule.kind = static_cast<ScheduleKind>(kind);
    text.remove_prefix(1);
  }
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, schedule.seed);
  if (error != std::errc{} || at != end) return std::nullopt;
  return schedule;
}

std::string in_words(const Schedule& schedule) {
  switch (schedule.kind) {
    case ScheduleKind::kSeeded:
      return schedule.seed == 0 ? "workgroups in order, a wave runs until it waits"
                                : "workgroups one after another in an order by seed, waves "
                                  "switched at random";
    case ScheduleKind::kOrder:
      return fmt::format("order {} of arrival, each workgroup to its end", schedule.seed);
    case ScheduleKind::kLast:
      return fmt::format("workgroup {} arrives last", schedule.seed);
    case ScheduleKind::kInterleaved:
      return "several workgroups at once, waves switched at random";
    case ScheduleKind::kDelayed:
      return "several workgroups at once, waves switched at random, stores reach memory late";
  }
  return {};
}

}  // namespace attest
