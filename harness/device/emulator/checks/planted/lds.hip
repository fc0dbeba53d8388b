// Races in LDS and their healthy neighbours: 256 threads, 4 waves. A race is found at the read,
// else at the plain access, else at the later of two stores.
#include "kernels/device/gpu.hpp"

using gpu::Bits16;
using gpu::Bits32;

namespace {
__device__ inline int thread() { return gpu::thread_index(); }
__device__ inline void add(Bits32* to, Bits32 x) {
  __hip_atomic_fetch_add(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
}  // namespace

// Another wave's element, without a barrier.
extern "C" __global__ void read_before_barrier(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  tile[thread()] = in[thread()];
  out[thread()] = tile[thread() ^ 64];  // finds: lds_race
}
extern "C" __global__ void read_after_barrier(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  tile[thread()] = in[thread()];
  gpu::barrier();
  out[thread()] = tile[thread() ^ 64];
}
// Elements of its own wave: program order is enough for the compiled code.
extern "C" __global__ void read_own_wave(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  tile[thread()] = in[thread()];
  __builtin_amdgcn_wave_barrier();
  out[thread()] = tile[thread() ^ 32];
}

// A tile is filled again while another wave may still read it.
extern "C" __global__ void refill_without_barrier(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  Bits32 sum = 0;
#pragma clang loop unroll(disable)
  for (int turn = 0; turn < 4; ++turn) {
    tile[thread()] = in[turn * 256 + thread()];
    gpu::barrier();
    sum += tile[255 - thread()];  // finds: lds_race
  }
  out[thread()] = sum;
}
extern "C" __global__ void refill_with_barrier(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  Bits32 sum = 0;
#pragma clang loop unroll(disable)
  for (int turn = 0; turn < 4; ++turn) {
    tile[thread()] = in[turn * 256 + thread()];
    gpu::barrier();
    sum += tile[255 - thread()];
    gpu::barrier();
  }
  out[thread()] = sum;
}
// Two tiles need one barrier a turn.
extern "C" __global__ void two_tiles(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[2][256];
  Bits32 sum = 0;
#pragma clang loop unroll(disable)
  for (int turn = 0; turn < 4; ++turn) {
    tile[turn % 2][thread()] = in[turn * 256 + thread()];
    gpu::barrier();
    sum += tile[turn % 2][255 - thread()];
  }
  out[thread()] = sum;
}

// Each wave stores its own number.
extern "C" __global__ void two_values(const Bits32*, Bits32* out) {
  __shared__ Bits32 flag[64];
  flag[thread() % 64] = static_cast<Bits32>(gpu::wave_index());  // finds: lds_race
  gpu::barrier();
  out[thread()] = flag[thread() % 64];
}
// All waves store one number: listed, no failure.
extern "C" __global__ void one_value(const Bits32* in, Bits32* out) {
  __shared__ Bits32 flag[64];
  flag[thread() % 64] = in[thread() % 64];
  gpu::barrier();
  out[thread()] = flag[thread() % 64];
}
// Lanes of one instruction.
extern "C" __global__ void lanes_collide(const Bits32* in, Bits32* out) {
  __shared__ Bits32 bin[256];
  bin[thread() / 64 * 64 + (in[thread()] & 0)] = static_cast<Bits32>(thread());  // finds: lds_race
  gpu::barrier();
  out[thread()] = bin[thread() & ~63];
}
extern "C" __global__ void lanes_agree(const Bits32* in, Bits32* out) {
  __shared__ Bits32 bin[256];
  bin[thread() / 64 * 64 + (in[thread()] & 0)] = 7;
  gpu::barrier();
  out[thread()] = bin[thread() & ~63];
}

// Counters: atomics do not race with each other.
extern "C" __global__ void read_counter_early(const Bits32* in, Bits32* out) {
  __shared__ Bits32 count[16];
  if (thread() < 16) count[thread()] = 0;
  gpu::barrier();
  add(&count[in[thread()] % 16], 1);
  out[thread()] = count[thread() % 16];  // finds: lds_race
}
extern "C" __global__ void clear_counter_late(const Bits32* in, Bits32* out) {
  __shared__ Bits32 count[16];
  if (thread() < 16) count[thread()] = 0;  // finds: lds_race
  add(&count[in[thread()] % 16], 1);
  gpu::barrier();
  out[thread()] = count[thread() % 16];
}
extern "C" __global__ void count_between_barriers(const Bits32* in, Bits32* out) {
  __shared__ Bits32 count[16];
  if (thread() < 16) count[thread()] = 0;
  gpu::barrier();
  add(&count[in[thread()] % 16], 1);
  gpu::barrier();
  out[thread()] = count[thread() % 16];
}

// bf16 and bytes: wave w has every fourth element, and its neighbours lie in the same dword.
extern "C" __global__ void halves_side_by_side(const Bits32* in, Bits32* out) {
  __shared__ Bits16 tile[256];
  const int mine = thread() % 64 * 4 + thread() / 64;
  tile[mine] = static_cast<Bits16>(in[mine]);
  out[256 + mine] = tile[mine];
  gpu::barrier();
  out[thread()] = tile[255 - thread()];
}
extern "C" __global__ void halves_overlap(const Bits32* in, Bits32* out) {
  alignas(4) __shared__ Bits16 tile[256];
  const int mine = thread() % 64 * 4 + thread() / 64;
  tile[mine] = static_cast<Bits16>(in[mine]);
  out[256 + mine] = tile[mine ^ 1];  // finds: lds_race
}
extern "C" __global__ void bytes_side_by_side(const Bits32* in, Bits32* out) {
  __shared__ unsigned char tile[256];
  const int mine = thread() % 64 * 4 + thread() / 64;
  tile[mine] = static_cast<unsigned char>(in[mine]);
  out[256 + mine] = tile[mine];
  gpu::barrier();
  out[thread()] = tile[255 - thread()];
}
// One wave stores dwords, another a byte of each.
extern "C" __global__ void byte_in_a_dword(const Bits32* in, Bits32* out) {
  alignas(4) __shared__ unsigned char tile[256];
  auto* dwords = reinterpret_cast<Bits32*>(tile);
  if (gpu::wave_index() == 0) dwords[thread()] = in[thread()];
  if (gpu::wave_index() == 3) tile[(thread() - 192) * 4 + 2] = 5;  // finds: lds_race
  gpu::barrier();
  out[thread()] = dwords[thread() % 64];
}

// A tree of sums: its last steps are within one wave, its first are not.
extern "C" __global__ void tree_without_barriers(const Bits32* in, Bits32* out) {
  __shared__ Bits32 sum[256];
  sum[thread()] = in[thread()];
  gpu::barrier();
#pragma clang loop unroll(disable)
  for (int half = 128; half > 0; half /= 2) {
    if (thread() < half) sum[thread()] += sum[thread() + half];  // finds: lds_race
    __builtin_amdgcn_wave_barrier();
  }
  if (thread() == 0) out[0] = sum[0];
}
extern "C" __global__ void tree_with_barriers(const Bits32* in, Bits32* out) {
  __shared__ Bits32 sum[256];
  sum[thread()] = in[thread()];
  gpu::barrier();
#pragma clang loop unroll(disable)
  for (int half = 128; half > 0; half /= 2) {
    if (thread() < half) sum[thread()] += sum[thread() + half];
    if (half > 64) gpu::barrier();
    __builtin_amdgcn_wave_barrier();
  }
  if (thread() == 0) out[0] = sum[0];
}
