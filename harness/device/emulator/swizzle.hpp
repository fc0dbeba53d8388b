// ds_swizzle_b32: which lane a lane reads. Source: MI300 ISA, "DS_SWIZZLE_B32".
#pragma once
#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

// offset[15]: of its four lanes the one of a 2-bit select, else and / or / xor within 32 lanes.
inline int swizzle_source(u32 offset, int lane) {
  if (offset & 0x8000) return (lane & ~3) | static_cast<int>(offset >> 2 * (lane & 3) & 3);
  const u32 within = static_cast<u32>(lane & 31) & (offset & 31);
  return (lane & 32) | static_cast<int>((within | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
}

}  // namespace attest::emulator
