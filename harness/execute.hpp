// execute: runs a kernel on a device with memory that tells what the kernel did to it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/inputs.hpp"
#include "harness/core/kernel.hpp"

namespace attest {

// What the kernel left, as stored bits; poison where it wrote nothing.
struct Output {
  std::vector<std::uint16_t> o;          // [total_q, h_q, 512] bf16, without the problem's pads
  std::vector<std::uint32_t> lse;        // [total_q, h_q] fp32
  std::vector<std::uint32_t> partial_o;  // [total_q, num_splits, h_q, 512] fp32, or bf16 in the low
                                         // half; empty when num_splits == 1
  std::vector<std::uint32_t> partial_lse;  // [total_q, num_splits, h_q] fp32; empty likewise
  std::vector<std::string>
      damage;            // memory that it changed and must not: guard zones, pads, inputs
  double kernel_ms = 0;  // launch to end of synchronize, host clock
};

// `code_objects` is the folder of code objects. Everything on the device is released before it
// returns. Trouble: kCrashed and kHung are the kernel's, kInfra is the machine's.
Result<Output> execute(const Kernel& kernel, Device& device, const std::string& code_objects,
                       const Case& c, const Inputs& inputs);

}  // namespace attest
