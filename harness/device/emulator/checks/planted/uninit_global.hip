// What nobody wrote is read from global memory and reaches a store, a branch or an address; and
// healthy neighbours. One workgroup of 128 threads. The host wrote `in` and the first 100 words of
// `part`; nobody the rest of it, nor `out`.
#include "kernels/device/gpu.hpp"

using gpu::Bits16;
using gpu::Bits32;

namespace {
__device__ inline int thread() { return gpu::thread_index(); }
ATTEST_INLINE Bits32 add(Bits32* counter) {
  return __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
}  // namespace

// The tail that the host left out.
extern "C" __global__ void read_tail(const Bits32*, Bits32* part, Bits32* out) {
  const Bits32 x = part[thread()];
  out[thread()] = x + 1;  // finds: uninitialised
}
extern "C" __global__ void leave_out_tail(const Bits32*, Bits32* part, Bits32* out) {
  if (thread() < 100) {
    const Bits32 x = part[thread()];
    out[thread()] = x + 1;
  }
}

// What a kernel wrote a part of.
extern "C" __global__ void read_more_than_was_written(const Bits32* in, Bits32* part, Bits32* out) {
  if (thread() < 120) part[256 + thread()] = in[thread()];
  gpu::barrier();
  const Bits32 x = part[256 + (thread() ^ 64)];
  out[thread()] = x;  // finds: uninitialised
}
extern "C" __global__ void read_what_was_written(const Bits32* in, Bits32* part, Bits32* out) {
  part[256 + thread()] = in[thread()];
  gpu::barrier();
  const Bits32 x = part[256 + (thread() ^ 64)];
  out[thread()] = x;
}

// One half of a dword.
extern "C" __global__ void read_other_half(const Bits32* in, Bits32* part, Bits32* out) {
  Bits16* const halves = reinterpret_cast<Bits16*>(part + 256);
  halves[2 * thread()] = static_cast<Bits16>(in[thread()]);
  gpu::barrier();
  const Bits32 x = halves[2 * (thread() ^ 64) + 1];
  out[thread()] = x;  // finds: uninitialised
}
extern "C" __global__ void read_same_half(const Bits32* in, Bits32* part, Bits32* out) {
  Bits16* const halves = reinterpret_cast<Bits16*>(part + 256);
  halves[2 * thread()] = static_cast<Bits16>(in[thread()]);
  gpu::barrier();
  const Bits32 x = halves[2 * (thread() ^ 64)];
  out[thread()] = x;
}

extern "C" __global__ void branch_on_it(const Bits32* in, Bits32* part, Bits32* out) {
  const Bits32 flag = part[300];
  if (flag == 1)  // finds: uninitialised
    add(out);
  else
    out[thread()] = in[thread()];
}
extern "C" __global__ void branch_on_what_the_host_wrote(const Bits32* in, Bits32* part,
                                                         Bits32* out) {
  const Bits32 flag = part[30];
  if (flag == 1)
    out[thread()] = in[thread() + 1];
  else
    out[thread()] = in[thread()];
}

extern "C" __global__ void address_from_it(const Bits32* in, Bits32* part, Bits32* out) {
  const Bits32 page = part[400 + thread()] & 63;
  const Bits32 x = in[page];  // finds: uninitialised
  out[thread()] = x;
}

// A counter that nobody set to zero.
extern "C" __global__ void count_from_it(const Bits32*, Bits32* part, Bits32*) {
  __hip_atomic_fetch_add(part + 500, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  // finds: uninitialised
}
extern "C" __global__ void count_from_zero(const Bits32*, Bits32* part, Bits32*) {
  if (thread() == 0) part[500] = 0;
  gpu::barrier();
  __hip_atomic_fetch_add(part + 500, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
