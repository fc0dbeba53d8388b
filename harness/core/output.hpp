// Output: what a kernel left, as stored bits.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace attest {

struct Output {                          // poison where the kernel wrote nothing
  std::vector<std::uint16_t> o;          // [total_q, h_q, 512] bf16, without the problem's pads
  std::vector<std::uint32_t> lse;        // [total_q, h_q] fp32
  std::vector<std::uint32_t> partial_o;  // [total_q, num_splits, h_q, 512] fp32, or bf16 in the low
                                         // half; empty when num_splits == 1
  std::vector<std::uint32_t> partial_lse;  // [total_q, num_splits, h_q] fp32; empty likewise
  std::vector<std::string>
      damage;  // memory that it changed and must not: guard zones, pads, inputs
  std::vector<std::string> remarks;  // of a device's checks: nothing that a result shows
  double kernel_ms = 0;              // launch to end of synchronize, host clock
};

}  // namespace attest
