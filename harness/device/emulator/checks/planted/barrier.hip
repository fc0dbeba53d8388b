// Barriers that not all come to, and their healthy neighbours: 200 threads in 4 waves, of which the
// last has 8 lanes.
#include "kernels/device/gpu.hpp"

using gpu::Bits32;
// A macro, so that its instruction has the line where it stands.
#define BARRIER()                                                                       \
  (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(), \
   __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))

namespace {
__device__ inline int thread() { return gpu::thread_index(); }
}  // namespace

// Wave 0 takes a barrier of its own: it meets the others' last one, and then waits alone.
extern "C" __global__ void barrier_of_one_wave(const Bits32* in, Bits32* out) {
  if (gpu::wave_index() == 0) {
    out[thread()] = in[thread()];
    BARRIER();
  }
  out[thread() + 256] = 2;
  BARRIER();  // finds: barrier
  out[thread() + 512] = 1;
}
extern "C" __global__ void barrier_of_all_waves(const Bits32* in, Bits32* out) {
  if (gpu::wave_index() == 0) out[thread()] = in[thread()];
  BARRIER();
  out[thread() + 256] = 2;
  BARRIER();
  out[thread() + 512] = 1;
}
// The condition is one of the workgroup's.
extern "C" __global__ void barrier_under_a_condition(const Bits32* in, Bits32* out) {
  if (in[0] != 12345) {
    out[thread()] = in[thread()];
    BARRIER();
  }
  out[thread() + 256] = 2;
}

// A wave whose threads have nothing to do leaves.
extern "C" __global__ void wave_leaves(const Bits32* in, Bits32* out) {
  if (gpu::wave_index() == 2) return;
  out[thread()] = in[thread()];
  BARRIER();  // finds: barrier
  out[thread() + 256] = 1;
}
extern "C" __global__ void wave_leaves_after_it(const Bits32* in, Bits32* out) {
  out[thread()] = in[thread()];
  BARRIER();
  if (gpu::wave_index() == 2) return;
  out[thread() + 256] = 1;
}
extern "C" __global__ void workgroup_leaves(const Bits32* in, Bits32* out) {
  if (gpu::block_x() == 1) return;
  out[thread()] = in[thread()];
  BARRIER();
  out[thread() + 256] = 1;
}

// Each wave has its own number of turns.
extern "C" __global__ void turns_of_a_wave(const Bits32* in, Bits32* out) {
#pragma clang loop unroll(disable)
  for (int turn = 0; turn <= gpu::wave_index(); ++turn) {
    out[thread()] = in[turn];
    BARRIER();  // finds: barrier
  }
}
extern "C" __global__ void turns_of_all(const Bits32* in, Bits32* out) {
#pragma clang loop unroll(disable)
  for (int turn = 0; turn < 3; ++turn) {
    out[thread()] = in[turn];
    BARRIER();
  }
}

// Threads, not waves, decide.
extern "C" __global__ void barrier_of_some_lanes(const Bits32* in, Bits32* out) {
  if (in[thread()] % 2 == 0) {
    out[thread()] = 3;
    BARRIER();  // finds: barrier
  }
  out[thread() + 256] = 1;
}
extern "C" __global__ void lanes_leave(const Bits32* in, Bits32* out) {
  if (thread() % 64 >= 50) return;
  out[thread()] = in[thread()];
  BARRIER();  // finds: barrier
  out[thread() + 256] = 1;
}
extern "C" __global__ void lanes_come_back(const Bits32* in, Bits32* out) {
  if (in[thread()] % 2 == 0) out[thread()] = 3;
  BARRIER();
  if (thread() < 130) out[thread() + 256] = 1;
  BARRIER();
  out[thread() + 512] = 1;
}
