#include <fmt/format.h>

#include <array>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/twice.hpp"

namespace attest {
namespace {

constexpr std::array kKinds = {ScheduleKind::kSeeded, ScheduleKind::kLast,
                               ScheduleKind::kInterleaved, ScheduleKind::kDelayed};

class ScheduleSeeds final : public TwiceProperty {
 public:
  ScheduleSeeds()
      : TwiceProperty("schedule", "the order of workgroups and waves does not show in a bit") {}

  bool needs_schedules() const override { return true; }

 protected:
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    Case c = first.c;
    const std::uint64_t choice = choice_of(c, 's');
    c.schedule = {choice | 1, kKinds[choice >> 32 & 3]};  // 0 is in order
    words =
        fmt::format("schedule {} against {}", to_string(c.schedule), to_string(first.c.schedule));
    return launch_as_drawn(lab, c);
  }
};

}  // namespace

const Property& schedule_property() {
  static const ScheduleSeeds kInstance;
  return kInstance;
}

}  // namespace attest
