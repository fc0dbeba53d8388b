// What a launch puts into registers and memory before the first instruction.
// Source: LLVM AMDGPUUsage, "Initial Kernel Execution State", "Kernarg Segment", and the HSA
// dispatch packet.
#pragma once
#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

struct LaunchState {
  LaunchConfig config;
  int waves = 1;  // of a workgroup
  std::size_t lds_bytes = 0;
  std::vector<std::byte> kernarg;  // explicit and hidden arguments
  std::vector<std::byte> packet;   // hsa_kernel_dispatch_packet_t, 64 bytes
};

Result<LaunchState> make_launch_state(const Program& program, const LaunchConfig& config,
                                      std::span<const std::byte> arguments);
void init_wave(Wave& wave, const Program& program, const LaunchState& launch, Workgroup* group,
               int id);

}  // namespace attest::emulator
