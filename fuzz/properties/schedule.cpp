#include <fmt/format.h>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/twice.hpp"

namespace attest {
namespace {

class ScheduleSeeds final : public TwiceProperty {
 public:
  ScheduleSeeds()
      : TwiceProperty("schedule", "the order of workgroups and waves does not show in a bit") {}

 protected:
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    Case c = first.c;
    c.schedule.seed = choice_of(c, 's') | 1;  // 0 is in order
    words = fmt::format("schedule {} against {}", c.schedule.seed, first.c.schedule.seed);
    return launch_as_drawn(lab, c);
  }
};

}  // namespace

const Property& schedule_property() {
  static const ScheduleSeeds kInstance;
  return kInstance;
}

}  // namespace attest
