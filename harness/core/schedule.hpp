// Schedule: the order in which a device runs workgroups and switches waves, where the device can
// choose (the emulator). One of each kind for each seed; its text is the token's `sched=`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attest {

enum class ScheduleKind : std::uint8_t {
  kSeeded,  // 17: workgroups one after another in an order by seed, waves switched at random; 0:
            // workgroups in order, a wave runs until it waits
  kOrder,   // o42: the 42nd order of arrival, each workgroup to its end
  kLast,    // l3: workgroup 3 arrives last
  kInterleaved,  // i17: several workgroups at once, switched at random
  kDelayed,      // d17: so, and stores reach memory late
};

struct Schedule {
  std::uint64_t seed = 0;
  ScheduleKind kind = ScheduleKind::kSeeded;
  bool operator==(const Schedule&) const = default;
};

std::string to_string(const Schedule& schedule);
std::optional<Schedule> parse_schedule(std::string_view text);

// "workgroup 3 last": what it does, for a reader.
std::string in_words(const Schedule& schedule);

}  // namespace attest
