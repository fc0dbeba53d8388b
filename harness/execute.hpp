// execute: runs a kernel on a device with memory that tells what the kernel did to it.
#pragma once
#include <string>

#include "harness/core/inputs.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/output.hpp"
#include "harness/core/poison.hpp"

namespace attest {

// `code_objects` is the folder of code objects. Everything on the device is released before it
// returns. Outputs, workspaces and guard zones hold `poison` before. Trouble: kCrashed and kHung
// are the kernel's, kInfra is the machine's.
Result<Output> execute(const Kernel& kernel, Device& device, const std::string& code_objects,
                       const Case& c, const Inputs& inputs, std::uint16_t poison = kPoison16);

}  // namespace attest
