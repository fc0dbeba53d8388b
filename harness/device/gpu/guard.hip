// Checks guard zones: a workgroup each. Finds the changed byte that lies nearest to the zone's
// buffer.
#include "harness/device/gpu/guard_arguments.hpp"
#include "kernels/device/gpu.hpp"

namespace {

using attest::gpu_driver::GuardFinding;
using attest::gpu_driver::GuardZone;
using attest::gpu_driver::kGuardThreads;
using attest::gpu_driver::kUnchanged;

// The byte `distance` bytes from the buffer.
ATTEST_INLINE unsigned index_at(const GuardZone& zone, unsigned distance) {
  return zone.is_before ? zone.bytes - 1 - distance : distance;
}

ATTEST_INLINE bool holds_pattern(const GuardZone& zone, const unsigned char* bytes,
                                 unsigned index) {
  return bytes[index] == ((index & 1 ? zone.pattern >> 8 : zone.pattern) & 0xff);
}

}  // namespace

extern "C" __global__ void ATTEST_BOUNDS(256, 1)
    attest_check_guard_zones(const GuardZone* zones, GuardFinding* findings) {
  __shared__ unsigned nearest[kGuardThreads];
  const GuardZone zone = zones[gpu::block_x()];
  const auto* const bytes = reinterpret_cast<const unsigned char*>(zone.at);
  const int thread = gpu::thread_index();
  nearest[thread] = kUnchanged;
  for (unsigned distance = thread; distance < zone.bytes; distance += kGuardThreads) {
    if (holds_pattern(zone, bytes, index_at(zone, distance))) continue;
    nearest[thread] = distance;
    break;
  }
  gpu::barrier();
  if (thread != 0) return;
  GuardFinding found = {kUnchanged, 0};
  for (int i = 0; i < kGuardThreads; ++i) {
    if (nearest[i] < found.distance) found.distance = nearest[i];
  }
  if (found.distance != kUnchanged) found.value = bytes[index_at(zone, found.distance)];
  findings[gpu::block_x()] = found;
}
