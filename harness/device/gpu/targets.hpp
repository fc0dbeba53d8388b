// The GPUs that a driver finds, and those that kernels are built for.
#pragma once
#include <string>

#include "harness/core/contract.hpp"
#include "harness/device/gpu/driver.hpp"

namespace attest::gpu_driver {

struct FoundGpu {
  int device = 0;           // the driver's number
  std::string description;  // "NVIDIA H200"
  std::string target;       // "sm_90"
  MatrixUnit unit = MatrixUnit::kUnknown;
  int processors = 0;
};

Result<int> count_gpus(const Driver& driver);
// Trouble kInfra: there is none of this index, or no kernel is built for it.
Result<FoundGpu> find_gpu(const Driver& driver, int index);

}  // namespace attest::gpu_driver
