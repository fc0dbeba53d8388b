#include "harness/device/emulator/resident.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/store_buffer.hpp"

namespace attest::emulator {

Resident::Resident(const LaunchContext& launched, std::vector<AddressRange>& cache, int slot)
    : context(launched), waves(static_cast<std::size_t>(launched.launch.waves)) {
  for (std::size_t i = 0; i < waves.size(); ++i) {
    waves[i] = std::make_unique<Wave>();
    waves[i]->shadow = slot * launched.launch.waves + static_cast<int>(i);
  }
  group.memory = &launched.memory;
  group.cache = &cache;
  group.monitor = launched.options.monitor;
  group.arith = launched.options.arith;
  group.lds.resize(launched.launch.lds_bytes);
  group.slot = slot;
}

void Resident::start(u32 linear) {
  const LaunchState& launch = context.launch;
  const Dim3& grid = launch.config.grid;
  group.linear = linear;
  group.id = {linear % grid.x, linear / grid.x % grid.y, linear / grid.x / grid.y};
  // As bf16 and as fp32 no NaN but absurd: -1.7e38.
  std::fill(group.lds.begin(), group.lds.end(), std::byte{0xfe});
  for (int i = 0; i < launch.waves; ++i)
    init_wave(*waves[static_cast<std::size_t>(i)], context.program, launch, &group, i);
  if (group.monitor) group.monitor->begin_workgroup(group, waves);
  budget = context.options.instruction_budget;
}

bool Resident::release_barrier() {
  bool any = false;
  for (auto& w : waves) {
    any |= w->waiting;
    w->waiting = false;
  }
  if (any && group.stores) group.stores->pass_barrier();
  if (any && group.monitor) group.monitor->barrier_released(group);
  return any;
}

Trouble Resident::hung(Wave& w, std::string why) const {
  const auto& insts = context.program.insts;
  if (why.empty()) {
    why = fmt::format("no end after {} wave instructions of this workgroup",
                      context.options.instruction_budget);
  }
  fault(w, insts[std::min<std::size_t>(w.pc, insts.size() - 1)], std::move(why));
  return {TroubleKind::kHung, std::move(w.fault)};
}

}  // namespace attest::emulator
