// A GPU as a Device, over its vendor's driver: "cuda:0", "hip:0".
#pragma once
#include <memory>
#include <string>

#include "harness/core/device.hpp"
#include "harness/device/gpu/driver.hpp"

namespace attest::gpu_driver {

struct GpuOptions {
  GuardPage guard_page = GuardPage::kNone;
  double launch_limit_s = 60;  // after which what was launched is called hung
};

// Trouble kInfra: no such device, or one that no kernel is built for.
Result<std::unique_ptr<Device>> make_gpu_device(const Driver& driver, int index,
                                                const GpuOptions& options);

}  // namespace attest::gpu_driver
