// Races between workgroups in global memory and their healthy neighbours: 4 workgroups of 128
// threads; `sync` holds zeros. A race is found at the read, else at the plain access, else at the
// later of two stores.
#include "kernels/device/gpu.hpp"

using gpu::Bits16;
using gpu::Bits32;

namespace {

constexpr int kThreads = 128, kGroups = 4;

ATTEST_INLINE int thread() { return gpu::thread_index(); }
ATTEST_INLINE int group() { return gpu::block_x(); }
ATTEST_INLINE Bits32 value() { return static_cast<Bits32>(1000 * group() + thread()); }
ATTEST_INLINE void threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
ATTEST_INLINE Bits32 arrive(Bits32* counter) {  // HIP's atomicAdd(counter, 1)
  return __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
// All of a workgroup get what its first thread says.
ATTEST_INLINE bool all_know(bool* shared, bool mine) {
  if (thread() == 0) *shared = mine;
  gpu::barrier();
  return *shared;
}

}  // namespace

// Tiles of 128 that begin 64 apart.
extern "C" __global__ void overlapping_tiles(Bits32* data, Bits32*, Bits32*) {
  data[group() * 64 + thread()] = value();  // finds: global_race
}
extern "C" __global__ void disjoint_tiles(Bits32* data, Bits32*, Bits32*) {
  data[group() * kThreads + thread()] = value();
}
extern "C" __global__ void overlapping_tiles_of_one_value(Bits32* data, Bits32*, Bits32*) {
  data[group() * 64 + thread()] = 7;
}

// bf16 rows of 127: two workgroups share a dword. With one column more they share a byte.
extern "C" __global__ void neighbours_in_a_dword(Bits32* data, Bits32*, Bits32*) {
  if (thread() < 127)
    reinterpret_cast<Bits16*>(data)[group() * 127 + thread()] = static_cast<Bits16>(value());
}
extern "C" __global__ void neighbours_in_a_short(Bits32* data, Bits32*, Bits32*) {
  reinterpret_cast<Bits16*>(data)[group() * 127 + thread()] = static_cast<Bits16>(value());  // finds: global_race
}

// What a later workgroup is to write.
extern "C" __global__ void read_the_next_tile(Bits32* data, Bits32*, Bits32* out) {
  const Bits32 next = data[(group() + 1) % kGroups * kThreads + thread()];  // finds: global_race
  data[group() * kThreads + thread()] = value();
  out[group() * kThreads + thread()] = next;
}
extern "C" __global__ void read_the_own_tile(Bits32* data, Bits32*, Bits32* out) {
  data[group() * kThreads + thread()] = value();
  gpu::barrier();
  out[group() * kThreads + thread()] = data[group() * kThreads + (thread() ^ 64)];
}

// The workgroup that arrives last merges what all have written.
extern "C" __global__ void last_arriver(Bits32* data, Bits32* sync, Bits32* out) {
  __shared__ bool last;
  data[group() * kThreads + thread()] = value();
  threadfence();
  gpu::barrier();
  if (!all_know(&last, thread() == 0 && arrive(sync) == kGroups - 1)) return;
  threadfence();
  Bits32 sum = 0;
  for (int g = 0; g < kGroups; ++g) sum += data[g * kThreads + thread()];
  out[thread()] = sum;
}
// Without its fences: the order of the workgroups is the same; what they see is not.
extern "C" __global__ void last_arriver_without_fence(Bits32* data, Bits32* sync, Bits32* out) {
  __shared__ bool last;
  data[group() * kThreads + thread()] = value();
  gpu::barrier();
  if (!all_know(&last, thread() == 0 && arrive(sync) == kGroups - 1)) return;
  Bits32 sum = 0;
  for (int g = 0; g < kGroups; ++g) sum += data[g * kThreads + thread()];
  out[thread()] = sum;
}
// Arrives before it has written the second half.
extern "C" __global__ void last_arriver_too_early(Bits32* data, Bits32* sync, Bits32* out) {
  __shared__ bool last;
  data[group() * kThreads + thread()] = value();
  threadfence();
  gpu::barrier();
  all_know(&last, thread() == 0 && arrive(sync) == kGroups - 1);
  data[512 + group() * kThreads + thread()] = value();
  if (!last) return;
  Bits32 sum = 0;
  for (int g = 0; g < 2 * kGroups; ++g) sum += data[g * kThreads + thread()];  // finds: global_race
  out[thread()] = sum;
}
// Each waits for the one that came before it, on a counter that these two alone share.
extern "C" __global__ void chain_of_counters(Bits32* data, Bits32* sync, Bits32* out) {
  __shared__ Bits32 ticket;
  if (thread() == 0) {
    const Bits32 mine = arrive(sync);
    while (mine > 0 && __hip_atomic_load(sync + mine, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {
    }
    ticket = mine;
  }
  gpu::barrier();
  data[thread()] += ticket;
  gpu::barrier();
  if (thread() == 0) arrive(sync + 1 + ticket);
  out[group() * kThreads + thread()] = ticket;
}

// Flags: the first workgroup writes, the others read, whether or not they see the flag.
extern "C" __global__ void plain_flag(Bits32* data, Bits32* sync, Bits32* out) {
  if (group() == 0) {
    if (thread() == 0) sync[0] = 1;
  } else {
    out[group() * kThreads + thread()] = sync[thread() - thread()];  // finds: global_race
  }
  data[group() * kThreads + thread()] = 0;
}
extern "C" __global__ void flag_of_the_agent(Bits32* data, Bits32* sync, Bits32* out) {
  if (group() == 0) {
    data[thread()] = value();
    gpu::barrier();
    if (thread() == 0) __hip_atomic_store(sync, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    return;
  }
  if (__hip_atomic_load(sync, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 1)
    out[group() * kThreads + thread()] = data[thread()];
}
extern "C" __global__ void flag_of_the_workgroup(Bits32*, Bits32* sync, Bits32* out) {
  if (group() == 0) {
    if (thread() == 0) __hip_atomic_store(sync, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    return;
  }
  out[group() * kThreads + thread()] =
      __hip_atomic_load(sync, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP);  // finds: global_race
}

extern "C" __global__ void counter_read_plainly(Bits32*, Bits32* sync, Bits32* out) {
  if (thread() == 0 && group() != 2) arrive(sync);
  if (group() == 2) out[thread()] = sync[thread() - thread()];  // finds: global_race
}
extern "C" __global__ void counter_set_plainly(Bits32*, Bits32* sync, Bits32*) {
  if (thread() == 0 && group() != 2) arrive(sync);
  if (thread() == 0 && group() == 2) sync[0] = 0;  // finds: global_race
}
extern "C" __global__ void sum_of_atomics(Bits32* data, Bits32*, Bits32*) {
  __hip_atomic_fetch_add(data + thread(), value(), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// All read; the last to be ready writes what they read.
extern "C" __global__ void write_when_all_have_read(Bits32* data, Bits32* sync, Bits32* out) {
  __shared__ bool last;
  out[group() * kThreads + thread()] = data[thread()];
  gpu::barrier();
  if (all_know(&last, thread() == 0 && arrive(sync) == kGroups - 1)) data[thread()] = value();
}
extern "C" __global__ void write_when_all_have_come(Bits32* data, Bits32* sync, Bits32* out) {
  __shared__ bool last;
  all_know(&last, thread() == 0 && arrive(sync) == kGroups - 1);
  out[group() * kThreads + thread()] = data[thread() ^ 1];  // finds: global_race
  gpu::barrier();
  if (last) data[thread()] = value();
}
