#include "harness/device/gpu/targets.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace attest::gpu_driver {
namespace {

struct Target {
  std::string_view vendor, name;
  MatrixUnit unit;
};
constexpr std::array<Target, 4> kTargets = {{{"cuda", "sm_90", MatrixUnit::kHopperBf16},
                                             {"hip", "gfx942", MatrixUnit::kCdna3Bf16},
                                             {"hip", "gfx90a", MatrixUnit::kCdna2Bf16},
                                             {"hip", "gfx950", MatrixUnit::kUnknown}}};

Trouble infra(std::string text) { return {TroubleKind::kInfra, std::move(text)}; }

}  // namespace

Result<int> count_gpus(const Driver& driver) {
  int count = 0;
  if (const Code code = driver.count_devices(&count); code != 0) {
    return infra(driver.library + ": " + error_text(driver, driver.count_devices.name, code));
  }
  return count;
}

Result<FoundGpu> find_gpu(const Driver& driver, int index) {
  const auto count = count_gpus(driver);
  if (!count.ok()) return count.trouble();
  if (index >= *count) {
    return infra(
        fmt::format("{} finds {} {} here", driver.library, *count, *count == 1 ? "GPU" : "GPUs"));
  }
  FoundGpu gpu;
  if (const Code code = driver.get_device(&gpu.device, index); code != 0) {
    return infra(error_text(driver, driver.get_device.name, code));
  }
  std::array<char, 256> name{};
  constexpr int kBytes = static_cast<int>(name.size()) - 1;
  if (driver.get_name(name.data(), kBytes, gpu.device) == 0) gpu.description = name.data();
  if (driver.processors(&gpu.processors, gpu.device) != 0) gpu.processors = 0;
  const auto architecture = driver.architecture(driver, gpu.device);
  if (!architecture.ok()) return architecture.trouble();
  std::string names;
  for (const Target& target : kTargets) {
    if (target.vendor != driver.vendor) continue;
    names += fmt::format(" {}", target.name);
    if (target.name != *architecture) continue;
    gpu.target = target.name;
    gpu.unit = target.unit;
  }
  if (!gpu.target.empty()) return gpu;
  return infra(
      fmt::format("{} is {}; kernels are built for{}", gpu.description, *architecture, names));
}

}  // namespace attest::gpu_driver
