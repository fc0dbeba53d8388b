// Stress: one case over many launches in the same memory of a device, for what no single launch
// shows: a graph that keeps what was true at its capture, and a race that the hardware's usual
// order hides. Numbers are judged once; after that every launch owes the same bits.
#pragma once
#include <string>

#include "harness/core/case.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/verdict.hpp"
#include "harness/verify.hpp"

namespace attest {

struct StressOptions {
  VerifyOptions verify;
  int count = 0;      // replays, or launches
  std::string tools;  // folder of the code objects of kernels/disturb/
};

// Empty when the case can be stressed; else why not.
std::string why_not_stressed(const Case& c);

// One capture on each of two streams with memory of its own, one at the largest lengths and one at
// lengths of 1, and `count` replays of both at the same time.
// Before each replay lengths, page tables and contents are changed in place, outputs and workspaces
// are poisoned, and memory that was released in between holds hostile bits (stress_steps.hpp). A
// replay leaves the bits that a launch of its own left, which the oracle judged; so is the first
// replay of each step. Every replay is judged by the oracle where the contract does not promise
// bits.
Verdict stress_replay(const Kernel& kernel, Device& device, const Case& c,
                      const StressOptions& options);

// `count` launches of the case with others between them and beside them that disturb it
// (stress_disturb.hpp); on an emulator also under as many schedules. The oracle judges the first;
// the others leave its bits.
Verdict stress_repeat(const Kernel& kernel, Device& device, const Case& c,
                      const StressOptions& options);

// `count` launches of each of the kernel's builds that hold workgroups back
// (kernels/device/arrival.hpp); they leave the bits of the normal build, which the oracle judges.
Verdict stress_order(const Kernel& kernel, Device& device, const Case& c,
                     const StressOptions& options);

}  // namespace attest
