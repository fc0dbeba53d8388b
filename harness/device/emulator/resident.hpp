// A workgroup that is on the machine: its waves and its LDS, reused from workgroup to workgroup.
#pragma once
#include <memory>
#include <vector>

#include "harness/core/trouble.hpp"
#include "harness/device/emulator/launch_state.hpp"
#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

struct LaunchContext {
  const Program& program;
  const LaunchState& launch;
  Memory& memory;
  const RunOptions& options;
};

struct Resident {
  // `slot`: its number among those that are resident at once. `cache` is its host thread's.
  Resident(const LaunchContext& context, std::vector<AddressRange>& cache, int slot);
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  // At the kernel's first instruction, as the workgroup with this linear id.
  void start(u32 linear);
  // All waves that have not ended wait: they go on. False when all have ended.
  bool release_barrier();
  // That `w` ran when the budget was spent, or when `why`.
  Trouble hung(Wave& w, std::string why = {}) const;

  const LaunchContext& context;
  Workgroup group;
  std::vector<std::unique_ptr<Wave>> waves;
  u64 budget = 0;  // wave instructions that are left
};

}  // namespace attest::emulator
