// One memory instruction of a wave, as the checks see it.
#pragma once
#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

enum class AccessKind : u8 { kLoad, kStore, kAtomic };

struct Access {
  AccessKind kind = AccessKind::kLoad;
  int bytes = 0;  // of a lane: 1 to 64, for scalar loads
  u64 lanes = 0;  // that access; a scalar load: lane 0 alone
  bool scalar = false;
  int dword = 0;  // of a load in parts: where in its destination this one begins
};

}  // namespace attest::emulator
