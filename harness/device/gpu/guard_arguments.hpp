// What the kernel that checks guard zones gets and returns, for the host and the device alike.
#pragma once

namespace attest::gpu_driver {

struct GuardZone {
  unsigned long long at;  // address
  unsigned bytes;
  unsigned short pattern;    // low byte first
  unsigned short is_before;  // its buffer: the end of the zone is what lies close to it
};

struct GuardFinding {
  unsigned distance;  // from the buffer to the nearest byte that changed; kUnchanged: none did
  unsigned value;     // of that byte
};

inline constexpr unsigned kUnchanged = 0xffffffffU;
inline constexpr int kGuardThreads = 256;  // of the workgroup that checks a zone

static_assert(sizeof(GuardZone) == 16 && sizeof(GuardFinding) == 8);

}  // namespace attest::gpu_driver
