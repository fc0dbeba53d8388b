#include "harness/device/device_list.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <initializer_list>

#include "harness/device/emulator/emulator_device.hpp"
#include "harness/device/gpu/cuda_device.hpp"

namespace attest {
namespace {

// What stands in the way of a GPU device: its runtime, or our own code for it.
std::string gpu_missing(std::initializer_list<const char*> libraries, const char* what) {
  for (const char* library : libraries) {
    // It stays loaded: a runtime's own allocations would be leaked each time it is closed.
    void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) continue;
    dlclose(handle);
    return fmt::format("{} is here, but this version of attest has no device for it yet", library);
  }
  return fmt::format("{} was not found: install {}", fmt::join(libraries, ", "), what);
}

// Without its development package a runtime has only the name with the version.
DeviceInfo hip() {
  return {
      "hip:0", "the same code object on an AMD GPU", false,
      gpu_missing({"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
                  "ROCm's HIP runtime")};
}
DeviceInfo cuda() {
  DeviceInfo info{"cuda:0", "the same sources built for sm_90 on an NVIDIA GPU", false, {}};
  const auto count = gpu_driver::count_cuda_devices();
  if (!count.ok()) {
    info.how_to_get = count.trouble().text;
  } else if (*count == 0) {
    info.how_to_get = "NVIDIA's driver is here, but no GPU";
  } else {
    info.available = true;
  }
  return info;
}

// The index of "cuda:3"; -1: it is none.
int gpu_index(std::string_view name, std::string_view vendor) {
  name.remove_prefix(vendor.size());
  int index = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  return error == std::errc{} && end == name.data() + name.size() ? index : -1;
}

}  // namespace

std::vector<DeviceInfo> list_devices() {
  return {{"emu:gfx942", "the compiled gfx942 code object in the emulator, on the CPU", true, {}},
          {"emu:gfx90a", "the compiled gfx90a code object in the emulator, on the CPU", true, {}},
          hip(),
          cuda()};
}

Result<std::unique_ptr<Device>> open_device(std::string_view name, const DeviceOptions& options) {
  if (name == "emu:gfx942" || name == "emu:gfx90a") {
    return emulator::make_device(std::string(name.substr(4)),
                                 {.threads = options.threads,
                                  .instruction_budget = options.instruction_budget,
                                  .checks = options.checks});
  }
  std::string why = "no such device";
  if (name.starts_with("hip:")) why = hip().how_to_get;
  if (name.starts_with("cuda:") && gpu_index(name, "cuda:") >= 0) {
    auto device = gpu_driver::make_cuda_device(
        gpu_index(name, "cuda:"), {options.guard_page, options.launch_limit_s});
    if (device.ok()) return device;
    why = device.trouble().text;
  }
  return Trouble{TroubleKind::kInfra,
                 fmt::format("device {}: {}; here are: emu:gfx942 emu:gfx90a", name, why)};
}

}  // namespace attest
