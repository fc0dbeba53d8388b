// The emulator as a Device: "emu:gfx942", "emu:gfx90a".
#pragma once
#include <memory>
#include <string>

#include "harness/core/device.hpp"

namespace attest::emulator {

struct EmulatorOptions {
  int threads = 0;  // host threads over workgroups; 0: all processors
  std::uint64_t instruction_budget =
      0;  // wave instructions of one workgroup; 0: the executor's default
  CheckSet checks = {};
};
std::unique_ptr<Device> make_device(const std::string& target, const EmulatorOptions& options);

}  // namespace attest::emulator
