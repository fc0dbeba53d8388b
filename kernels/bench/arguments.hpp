// Arguments of the instruments of `attest bench kernels`, as the host writes them and the device
// reads them: one struct by value.
#pragma once
#include "kernels/device/device_pointer.hpp"

namespace attest::bench_device {

inline constexpr int kThreads = 256;  // of a workgroup

// Memory is counted in octets: 8 bf16, 16 bytes.
struct FillArguments {
  DevicePointer<void> to;
  long long octets;
  long long threads;  // of the grid
  unsigned long long seed;
};

struct ReadArguments {
  DevicePointer<const void> from;
  DevicePointer<unsigned int> sums;  // [threads] of the 32-bit words that a thread read, mod 2^32
  long long octets;
  long long threads;  // of the grid
};

// Host and device agree on the layout.
static_assert(sizeof(FillArguments) == 32 && sizeof(ReadArguments) == 32);

}  // namespace attest::bench_device
