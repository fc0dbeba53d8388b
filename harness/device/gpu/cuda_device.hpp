// An NVIDIA GPU as a Device: "cuda:0". Kernels are the same HIP sources, built for sm_90.
#pragma once
#include <memory>

#include "harness/core/device.hpp"
#include "harness/device/gpu/memory.hpp"

namespace attest::gpu_driver {

struct GpuOptions {
  GuardPage guard_page = GuardPage::kNone;
  double launch_limit_s = 60;  // after which what was launched is called hung
};

// Trouble kInfra: no driver, no such device, or one that no kernel was built for.
Result<std::unique_ptr<Device>> make_cuda_device(int index, const GpuOptions& options);

// How many there are, and why there is none: "no CUDA-capable device is detected".
Result<int> count_cuda_devices();

}  // namespace attest::gpu_driver
