#include "harness/device/device_list.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "harness/device/emulator/emulator_device.hpp"
#include "harness/device/gpu/gpu_device.hpp"
#include "harness/device/gpu/targets.hpp"

namespace attest {
namespace {

using LoadDriver = Result<const gpu_driver::Driver*> (*)();

// A vendor's GPUs, by what comes before the index in their names.
struct Vendor {
  std::string_view name;
  const char* description;
  LoadDriver driver;
};
constexpr std::array kVendors = {
    Vendor{"hip", "the same code object on an AMD GPU", gpu_driver::hip_driver},
    Vendor{"cuda", "the same sources built for sm_90 on an NVIDIA GPU", gpu_driver::cuda_driver}};

// Each that is here; of none, the first with what is missing.
std::vector<DeviceInfo> gpus_of(const Vendor& vendor) {
  const auto missing = [&](std::string why) {
    return std::vector{
        DeviceInfo{fmt::format("{}:0", vendor.name), vendor.description, false, why}};
  };
  const auto driver = vendor.driver();
  if (!driver.ok()) return missing(driver.trouble().text);
  const auto count = gpu_driver::count_gpus(**driver);
  if (!count.ok()) return missing(count.trouble().text);
  if (*count == 0) return missing(fmt::format("{} is here, but no GPU", (*driver)->library));
  std::vector<DeviceInfo> found;
  for (int i = 0; i < *count; ++i) {
    const auto device = gpu_driver::find_gpu(**driver, i);
    DeviceInfo info{fmt::format("{}:{}", vendor.name, i), vendor.description, device.ok(), {}};
    if (device.ok()) info.description += ": " + device->description;
    if (!device.ok()) info.how_to_get = device.trouble().text;
    found.push_back(info);
  }
  return found;
}

// The index of "cuda:3" behind its vendor; -1: it is none.
int gpu_index(std::string_view text) {
  int index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc{} && end == text.data() + text.size() ? index : -1;
}

Result<std::unique_ptr<Device>> open_gpu(std::string_view name, const DeviceOptions& options) {
  for (const Vendor& vendor : kVendors) {
    const std::size_t colon = vendor.name.size();
    if (!name.starts_with(vendor.name) || name.substr(colon, 1) != ":") continue;
    const int index = gpu_index(name.substr(colon + 1));
    if (index < 0) break;
    const auto driver = vendor.driver();
    if (!driver.ok()) return driver.trouble();
    return gpu_driver::make_gpu_device(**driver, index,
                                       {options.guard_page, options.launch_limit_s});
  }
  return Trouble{TroubleKind::kInfra, "no such device"};
}

}  // namespace

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> all = {
      {"emu:gfx942", "the compiled gfx942 code object in the emulator, on the CPU", true, {}},
      {"emu:gfx90a", "the compiled gfx90a code object in the emulator, on the CPU", true, {}}};
  for (const Vendor& vendor : kVendors) {
    for (DeviceInfo& info : gpus_of(vendor)) all.push_back(std::move(info));
  }
  return all;
}

Result<std::unique_ptr<Device>> open_device(std::string_view name, const DeviceOptions& options) {
  if (name == "emu:gfx942" || name == "emu:gfx90a") {
    return emulator::make_device(std::string(name.substr(4)),
                                 {.threads = options.threads,
                                  .instruction_budget = options.instruction_budget,
                                  .checks = options.checks});
  }
  auto device = open_gpu(name, options);
  if (device.ok()) return device;
  std::string here;
  for (const DeviceInfo& info : list_devices()) {
    if (info.available) here += " " + info.name;
  }
  return Trouble{TroubleKind::kInfra,
                 fmt::format("device {}: {}; here are:{}", name, device.trouble().text, here)};
}

}  // namespace attest
