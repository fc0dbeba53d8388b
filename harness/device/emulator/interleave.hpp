// Several workgroups of a launch at once on one host thread: the next wave is drawn at random from
// all that can go on, and is preempted at random, above all where it touches memory.
#pragma once
#include <optional>
#include <span>

#include "harness/device/emulator/resident.hpp"

namespace attest::emulator {

// How many workgroups of the launch may be resident at once.
int most_resident(const LaunchState& launch, u64 groups);

struct Interleaved {
  u64 instructions = 0;
  std::optional<Trouble> trouble;  // the first
};
// Runs the workgroups, which arrive in this order. The schedule is kInterleaved or kDelayed.
Interleaved run_interleaved(const LaunchContext& context, std::span<const u32> order);

}  // namespace attest::emulator
