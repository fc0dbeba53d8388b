// What one chiplet's workgroups write, read by another's: workgroups w and w + 8 share an XCD. All kernels take the
// same arguments, in workgroups of 128 threads. Where workgroups of 0, 1, ... depend on each other they run in that order.
#include "kernels/device/gpu.hpp"

using gpu::Bits32;

namespace {

constexpr int kThreads = 128;

ATTEST_INLINE void threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }  // HIP's __threadfence()
ATTEST_INLINE void release() { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); }
ATTEST_INLINE void acquire() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent"); }
ATTEST_INLINE Bits32 arrive(Bits32* counter) {  // HIP's atomicAdd(counter, 1)
  return __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
ATTEST_INLINE Bits32 arrived(Bits32* counter) {
  return __hip_atomic_load(counter, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
// All of a workgroup get what its first thread says.
ATTEST_INLINE bool all_know(bool* shared, bool mine) {
  if (gpu::thread_index() == 0) *shared = mine;
  gpu::barrier();
  return *shared;
}
ATTEST_INLINE float part_of(int group, int thread) { return static_cast<float>(1 + group * kThreads + thread); }

}  // namespace

// The workgroup that arrives last merges what all have written.
extern "C" __global__ void last_arriver(float* data, Bits32* sync, float* out, int groups) {
  __shared__ bool last;
  const int t = gpu::thread_index(), group = gpu::block_x();
  data[group * kThreads + t] = part_of(group, t);
  gpu::barrier();
  if (t == 0) {
    threadfence();
    last = arrive(sync) == static_cast<Bits32>(groups) - 1;
  }
  gpu::barrier();
  if (!last) return;
  threadfence();
  float sum = 0;
  for (int g = 0; g < groups; ++g) sum += data[g * kThreads + t];
  out[t] = sum;
}

// Without the fence between the stores and the arrival.
extern "C" __global__ void last_arriver_no_release(float* data, Bits32* sync, float* out, int groups) {
  __shared__ bool last;
  const int t = gpu::thread_index(), group = gpu::block_x();
  data[group * kThreads + t] = part_of(group, t);
  gpu::barrier();
  if (t == 0) last = arrive(sync) == static_cast<Bits32>(groups) - 1;
  gpu::barrier();
  if (!last) return;
  threadfence();
  float sum = 0;
  for (int g = 0; g < groups; ++g) sum += data[g * kThreads + t];  // finds: visibility
  out[t] = sum;
}

// The fence is one of the workgroup's, which reaches no other chiplet.
extern "C" __global__ void last_arriver_narrow_fence(float* data, Bits32* sync, float* out, int groups) {
  __shared__ bool last;
  const int t = gpu::thread_index(), group = gpu::block_x();
  data[group * kThreads + t] = part_of(group, t);
  gpu::barrier();
  if (t == 0) {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    last = arrive(sync) == static_cast<Bits32>(groups) - 1;
  }
  gpu::barrier();
  if (!last) return;
  threadfence();
  float sum = 0;
  for (int g = 0; g < groups; ++g) sum += data[g * kThreads + t];  // finds: visibility
  out[t] = sum;
}

// The order is the counter's own: at agent scope it is enough.
extern "C" __global__ void last_arriver_ordered_counter(float* data, Bits32* sync, float* out, int groups) {
  __shared__ bool last;
  const int t = gpu::thread_index(), group = gpu::block_x();
  data[group * kThreads + t] = part_of(group, t);
  gpu::barrier();
  if (t == 0) {
    last = __hip_atomic_fetch_add(sync, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) ==
           static_cast<Bits32>(groups) - 1;
  }
  gpu::barrier();
  if (!last) return;
  float sum = 0;
  for (int g = 0; g < groups; ++g) sum += data[g * kThreads + t];
  out[t] = sum;
}

// At workgroup scope it is not.
extern "C" __global__ void last_arriver_narrow_counter(float* data, Bits32* sync, float* out, int groups) {
  __shared__ bool last;
  const int t = gpu::thread_index(), group = gpu::block_x();
  data[group * kThreads + t] = part_of(group, t);
  gpu::barrier();
  if (t == 0) {
    last = __hip_atomic_fetch_add(sync, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP) ==
           static_cast<Bits32>(groups) - 1;
  }
  gpu::barrier();
  if (!last) return;
  float sum = 0;
  for (int g = 0; g < groups; ++g) sum += data[g * kThreads + t];  // finds: visibility
  out[t] = sum;
}

// The first float of each 128-byte line is a weight of the host's, which every workgroup reads before it starts: each
// chiplet then has the lines of all. The fences are there.
extern "C" __global__ void weighted_arriver(float* data, Bits32* sync, float* out, int groups) {
  __shared__ bool last;
  const int t = gpu::thread_index(), group = gpu::block_x();
  float weights = 0;
  for (int g = 0; g < groups; ++g) weights += data[g * kThreads + (t & ~31)];
  if (t & 31) data[group * kThreads + t] = part_of(group, t);
  gpu::barrier();
  if (t == 0) {
    release();
    last = arrive(sync) == static_cast<Bits32>(groups) - 1;
  }
  gpu::barrier();
  if (!last) return;
  acquire();
  float sum = weights;
  for (int g = 0; g < groups; ++g) sum += data[g * kThreads + t];
  out[t] = sum;
}

// The one that reads does not drop the lines that its chiplet has.
extern "C" __global__ void weighted_arriver_no_acquire(float* data, Bits32* sync, float* out, int groups) {
  __shared__ bool last;
  const int t = gpu::thread_index(), group = gpu::block_x();
  float weights = 0;
  for (int g = 0; g < groups; ++g) weights += data[g * kThreads + (t & ~31)];
  if (t & 31) data[group * kThreads + t] = part_of(group, t);
  gpu::barrier();
  if (t == 0) {
    release();
    last = arrive(sync) == static_cast<Bits32>(groups) - 1;
  }
  gpu::barrier();
  if (!last) return;
  float sum = weights;
  for (int g = 0; g < groups; ++g) sum += data[g * kThreads + t];  // finds: visibility
  out[t] = sum;
}

// Data behind a flag: the store of the flag is the release, its load the acquire.
extern "C" __global__ void flag(float* data, Bits32* sync, float* out, int) {
  __shared__ bool ready;
  const int t = gpu::thread_index();
  if (gpu::block_x() == 0) {
    data[t] = part_of(0, t);
    gpu::barrier();
    if (t == 0) __hip_atomic_store(sync, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else if (all_know(&ready, __hip_atomic_load(sync, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 1)) {
    out[gpu::block_x() * kThreads + t] = data[t];
  }
}

extern "C" __global__ void flag_relaxed(float* data, Bits32* sync, float* out, int) {
  __shared__ bool ready;
  const int t = gpu::thread_index();
  if (gpu::block_x() == 0) {
    data[t] = part_of(0, t);
    gpu::barrier();
    if (t == 0) __hip_atomic_store(sync, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  } else if (all_know(&ready, __hip_atomic_load(sync, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 1)) {
    out[gpu::block_x() * kThreads + t] = data[t];  // finds: visibility
  }
}

// The flag itself does not leave the chiplet.
extern "C" __global__ void flag_narrow(float* data, Bits32* sync, float* out, int) {
  __shared__ bool ready;
  const int t = gpu::thread_index();
  if (gpu::block_x() == 0) {
    data[t] = part_of(0, t);
    gpu::barrier();
    if (t == 0) __hip_atomic_store(sync, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
  } else {
    const Bits32 seen = __hip_atomic_load(sync, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);  // finds: visibility
    if (all_know(&ready, seen == 1)) out[gpu::block_x() * kThreads + t] = data[t];
  }
}

// A counter that a workgroup clears with a plain store, of which the others' atomics see nothing.
extern "C" __global__ void cleared_counter(float*, Bits32* sync, float* out, int) {
  const int t = gpu::thread_index();
  if (gpu::block_x() == 0) {
    if (t == 0) sync[32] = 100;
    gpu::barrier();
    if (t == 0) arrive(sync);
  } else if (t == 0 && arrive(sync) != 0) {
    const Bits32 seen =
        __hip_atomic_fetch_add(sync + 32, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  // finds: visibility
    out[gpu::block_x()] = static_cast<float>(seen);
  }
}

// Stores and loads at agent scope need no fence.
extern "C" __global__ void passed_through(float* data, Bits32* sync, float* out, int groups) {
  __shared__ bool last;
  const int t = gpu::thread_index(), group = gpu::block_x();
  __hip_atomic_store(&data[group * kThreads + t], part_of(group, t), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __builtin_amdgcn_s_waitcnt(0);
  gpu::barrier();
  if (t == 0) last = arrive(sync) == static_cast<Bits32>(groups) - 1;
  gpu::barrier();
  if (!last) return;
  float sum = 0;
  for (int g = 0; g < groups; ++g) {
    sum += __hip_atomic_load(&data[g * kThreads + t], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  out[t] = sum;
}

// Each workgroup writes and reads its own dword of lines that all share.
extern "C" __global__ void shared_lines(float* data, Bits32*, float* out, int groups) {
  const int t = gpu::thread_index(), group = gpu::block_x();
  float* mine = data + t * groups + group;
  *mine = part_of(group, t);
  threadfence();
  out[group * kThreads + t] = *static_cast<volatile float*>(mine) + *mine;
}

// All write the same table, and each reads it behind its own barrier: whoever's it is, it is right.
extern "C" __global__ void same_table(float* data, Bits32*, float* out, int) {
  const int t = gpu::thread_index();
  data[t] = part_of(0, t);
  gpu::barrier();
  out[gpu::block_x() * kThreads + t] = data[t ^ 1];
}

// Workgroup 0 clears what workgroup 1 then fills and releases. The clearing store, which nothing has released, is what
// the chiplet of workgroup 0 still has.
extern "C" __global__ void cleared_late(float* data, Bits32* sync, float* out, int) {
  const int t = gpu::thread_index(), group = gpu::block_x();
  if (group == 0) {
    data[t] = 0;
    gpu::barrier();
    if (t == 0) arrive(sync);
  } else if (group == 1 && arrived(sync) == 1) {
    data[t] = part_of(1, t);
    gpu::barrier();
    if (t == 0) {
      release();
      arrive(sync);
    }
  } else if (group == 8 && arrived(sync) == 2) {
    out[t] = data[t];  // finds: visibility
  }
}

// And what replaces the later one in memory, when workgroup 8 releases something else.
extern "C" __global__ void cleared_again(float* data, Bits32* sync, float* out, int) {
  const int t = gpu::thread_index(), group = gpu::block_x();
  if (group == 0) {
    data[t] = 0;
    gpu::barrier();
    if (t == 0) arrive(sync);
  } else if (group == 1 && arrived(sync) == 1) {
    data[t] = part_of(1, t);
    gpu::barrier();
    if (t == 0) {
      release();
      arrive(sync);
    }
  } else if (group == 8 && t == 0) {
    release();
    arrive(sync);
  } else if (group == 10 && arrived(sync) == 3) {
    out[t] = data[t];  // finds: visibility
  }
}
