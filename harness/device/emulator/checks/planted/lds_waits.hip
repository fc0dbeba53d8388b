// Bytes of LDS that are read before they must be there, and their healthy neighbours: 2 waves. The
// accesses are assembly, for which the compiler adds no waits.
#include "kernels/device/gpu.hpp"

using gpu::Bits32;

namespace {
__device__ inline int thread() { return gpu::thread_index(); }
// Of thread i's dword in a tile.
__device__ inline Bits32 address(const Bits32* tile, int i) {
  using Lds = const __attribute__((address_space(3))) Bits32;
  return static_cast<Bits32>(reinterpret_cast<unsigned long long>((Lds*)tile)) +
         static_cast<Bits32>(i) * 4;
}
}  // namespace

#define STORE(at, x) asm volatile("ds_write_b32 %0, %1" ::"v"(at), "v"(x) : "memory")
#define STORE2(at, x) asm volatile("ds_write2_b32 %0, %1, %1 offset1:1" ::"v"(at), "v"(x) : "memory")
#define LOAD(x, at) asm volatile("ds_read_b32 %0, %1" : "=v"(x) : "v"(at) : "memory")
#define BARRIER() asm volatile("s_barrier" ::: "memory")
#define WAIT_LDS(n) asm volatile("s_waitcnt lgkmcnt(" #n ")" ::: "memory")
#define WAIT_MEMORY(n) asm volatile("s_waitcnt vmcnt(" #n ")" ::: "memory")
// Lane l's dword goes to `at` + 4 l, where the wave's first lane says `at`.
#define BRING(at, from)                                                                        \
  asm volatile("s_mov_b32 m0, %0\n\ts_nop 4\n\tglobal_load_lds_dword %1, off" ::"s"(           \
                   __builtin_amdgcn_readfirstlane(at)),                                        \
               "v"(from)                                                                       \
               : "memory")

extern "C" __global__ void store_not_waited_for(const Bits32*, Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  STORE(address(tile, thread()), thread());
  BARRIER();
  LOAD(x, address(tile, thread() ^ 64));  // finds: waits
  WAIT_LDS(0);
  out[thread()] = x;
}
extern "C" __global__ void store_waited_for(const Bits32*, Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  STORE(address(tile, thread()), thread());
  WAIT_LDS(0);
  BARRIER();
  LOAD(x, address(tile, thread() ^ 64));
  WAIT_LDS(0);
  out[thread()] = x;
}
// LDS serves a wave in order.
extern "C" __global__ void own_store_not_waited_for(const Bits32*, Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  STORE(address(tile, thread()), thread());
  BARRIER();
  LOAD(x, address(tile, thread() ^ 32));
  WAIT_LDS(0);
  out[thread()] = x;
}
extern "C" __global__ void second_store_not_waited_for(const Bits32*, Bits32* out) {
  __shared__ Bits32 tile[256];
  Bits32 x, y;
  STORE(address(tile, thread()), thread());
  STORE(address(tile, thread() + 128), thread());
  WAIT_LDS(1);
  BARRIER();
  LOAD(x, address(tile, thread() ^ 64));
  LOAD(y, address(tile, (thread() ^ 64) + 128));  // finds: waits
  WAIT_LDS(0);
  out[thread()] = x + y;
}
// The wait comes after the barrier: nothing tells the other wave of it.
extern "C" __global__ void store_waited_for_too_late(const Bits32*, Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  STORE(address(tile, thread()), thread());
  BARRIER();
  WAIT_LDS(0);
  LOAD(x, address(tile, thread() ^ 64));  // finds: waits
  WAIT_LDS(0);
  out[thread()] = x;
}
extern "C" __global__ void store_waited_for_at_the_next_barrier(const Bits32*, Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  STORE(address(tile, thread()), thread());
  BARRIER();
  WAIT_LDS(0);
  BARRIER();
  LOAD(x, address(tile, thread() ^ 64));
  WAIT_LDS(0);
  out[thread()] = x;
}
// What a load returns may be under way at a barrier.
extern "C" __global__ void load_crosses_a_barrier(const Bits32*, Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  STORE(address(tile, thread()), thread());
  WAIT_LDS(0);
  BARRIER();
  LOAD(x, address(tile, thread() ^ 64));
  BARRIER();
  WAIT_LDS(0);
  out[thread()] = x;
}

extern "C" __global__ void brought_not_waited_for(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  BRING(address(tile, thread()), in + thread());
  LOAD(x, address(tile, thread()));  // finds: waits
  WAIT_LDS(0);
  WAIT_MEMORY(0);
  out[thread()] = x;
}
extern "C" __global__ void brought_and_waited_for(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  BRING(address(tile, thread()), in + thread());
  WAIT_MEMORY(0);
  LOAD(x, address(tile, thread()));
  WAIT_LDS(0);
  out[thread()] = x;
}
extern "C" __global__ void brought_for_another_wave(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  BRING(address(tile, thread()), in + thread());
  BARRIER();
  WAIT_MEMORY(0);
  LOAD(x, address(tile, thread() ^ 64));  // finds: waits
  WAIT_LDS(0);
  out[thread()] = x;
}
extern "C" __global__ void brought_and_waited_for_before_the_barrier(const Bits32* in,
                                                                     Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  BRING(address(tile, thread()), in + thread());
  WAIT_MEMORY(0);
  BARRIER();
  LOAD(x, address(tile, thread() ^ 64));
  WAIT_LDS(0);
  out[thread()] = x;
}
// The next tile is under way across a barrier while this one is read.
extern "C" __global__ void brought_ahead(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  Bits32 x, y;
  BRING(address(tile, thread()), in + thread());
  BRING(address(tile, thread() + 128), in + 128 + thread());
  WAIT_MEMORY(1);
  BARRIER();
  LOAD(x, address(tile, thread() ^ 64));
  WAIT_LDS(0);
  WAIT_MEMORY(0);
  BARRIER();
  LOAD(y, address(tile, (thread() ^ 64) + 128));
  WAIT_LDS(0);
  out[thread()] = x + y;
}
extern "C" __global__ void read_what_is_brought_ahead(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  Bits32 x, y;
  BRING(address(tile, thread()), in + thread());
  BRING(address(tile, thread() + 128), in + 128 + thread());
  WAIT_MEMORY(1);
  BARRIER();
  LOAD(x, address(tile, thread() ^ 64));
  LOAD(y, address(tile, (thread() ^ 64) + 128));  // finds: waits
  WAIT_LDS(0);
  WAIT_MEMORY(0);
  out[thread()] = x + y;
}
// Twelve instructions, twenty-four stores.
extern "C" __global__ void first_of_many_pairs_not_waited_for(const Bits32*, Bits32* out) {
  __shared__ Bits32 tile[12 * 256];
  Bits32 x;
#pragma unroll
  for (int i = 0; i < 12; ++i) STORE2(address(tile, 256 * i + 2 * thread()), thread());
  BARRIER();
  LOAD(x, address(tile, 2 * (thread() ^ 64)));  // finds: waits
  WAIT_LDS(0);
  out[thread()] = x;
}
// Both loads bring the same bytes: the second one is not there yet.
extern "C" __global__ void brought_twice_and_waited_for_once(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[128];
  Bits32 x;
  BRING(address(tile, thread()), in + thread());
  BRING(address(tile, thread()), in + 128 + thread());
  WAIT_MEMORY(1);
  LOAD(x, address(tile, thread()));  // finds: waits
  WAIT_LDS(0);
  WAIT_MEMORY(0);
  out[thread()] = x;
}
