// The devices of this machine by name: "emu:gfx942", "hip:0", "cuda:0".
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/device.hpp"

namespace attest {

struct DeviceInfo {
  std::string name, description;
  bool available = false;
  std::string how_to_get;  // empty when available
};
struct DeviceOptions {
  int threads = 0;  // host threads of an emulator; 0: all processors
  // Wave instructions of one workgroup, after which an emulator calls a launch hung; 0: its own
  // limit, which leaves room for the largest problems.
  std::uint64_t instruction_budget = 0;
  CheckSet checks = {};  // of an emulator
  GuardPage guard_page = GuardPage::kNone;  // of a GPU
  double launch_limit_s = 60;               // of a GPU: a launch that runs longer hangs
};

inline constexpr std::string_view kDefaultDevice = "emu:gfx942";

std::vector<DeviceInfo> list_devices();
// Trouble kInfra: no such device, or not on this machine; says which there are.
Result<std::unique_ptr<Device>> open_device(std::string_view name, const DeviceOptions& options);

}  // namespace attest
