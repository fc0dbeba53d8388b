// Accesses to a buffer that was released, and their healthy neighbours. One workgroup of 64
// threads; `gone` was released, `out` was not.
#include "kernels/device/gpu.hpp"

using gpu::Bits32;

namespace {
__device__ inline int thread() { return gpu::thread_index(); }
}  // namespace

extern "C" __global__ void load(const Bits32* gone, Bits32* out) {
  out[thread()] = gone[thread()];  // finds: use_after_free
}
extern "C" __global__ void load_scalar(const Bits32* gone, Bits32* out) {
  const Bits32 entry = gone[gpu::block_x() + 7];  // finds: use_after_free
  out[thread()] = entry;
}
extern "C" __global__ void store(Bits32* gone, Bits32* out) {
  out[thread()] = 1;
  gone[thread()] = 1;  // finds: use_after_free
}
extern "C" __global__ void add(Bits32* gone, Bits32* out) {
  out[thread()] = 1;
  __hip_atomic_fetch_add(gone, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  // finds: use_after_free
}

// The pointer alone is no access.
extern "C" __global__ void compare_pointer(const Bits32* gone, Bits32* out) {
  out[thread()] = gone == nullptr ? 1 : 2;
}
extern "C" __global__ void masked_out(const Bits32* gone, Bits32* out) {
  out[thread()] = thread() < 64 ? 3 : gone[thread()];
}
extern "C" __global__ void load_what_is_there(const Bits32*, Bits32* out) {
  out[thread()] = out[thread() ^ 1] + 1;
}
