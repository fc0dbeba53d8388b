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
using Four = __attribute__((ext_vector_type(4))) Bits32;
__device__ inline Four resource(const Bits32* at) {
  const auto address = reinterpret_cast<unsigned long long>(at);
  return Four{static_cast<Bits32>(address), static_cast<Bits32>(address >> 32) & 0xffff, 64, 0};
}
// Of the wave's first lane.
__device__ inline Bits32 lds_address(const Bits32* at) {
  using Lds = const __attribute__((address_space(3))) Bits32;
  return __builtin_amdgcn_readfirstlane(
      static_cast<Bits32>(reinterpret_cast<unsigned long long>((Lds*)at)));
}
}  // namespace

#define LOAD_FOUR(to, at)                                              \
  asm volatile("global_load_dwordx4 %0, %1, off\n\ts_waitcnt vmcnt(0)" \
               : "=v"(to)                                              \
               : "v"(at)                                               \
               : "memory")
#define LOAD_SCALARS(to, at)                                                                       \
  asm volatile("s_load_dwordx4 %0, %1, 0x0\n\ts_waitcnt lgkmcnt(0)" : "=s"(to) : "s"(at) : "memor" \
                                                                                           "y")
#define LOAD_BY_RESOURCE(to, at)                                           \
  asm volatile("s_buffer_load_dwordx4 %0, %1, 0x0\n\ts_waitcnt lgkmcnt(0)" \
               : "=s"(to)                                                  \
               : "s"(resource(at))                                         \
               : "memory")
// Lane l's dword goes to `at` + 4 l.
#define BRING(at, from)                                                  \
  asm volatile(                                                          \
      "s_mov_b32 m0, %0\n\ts_nop 4\n\tglobal_load_lds_dword %1, off\n\t" \
      "s_waitcnt vmcnt(0)" ::"s"(lds_address(at)),                       \
      "v"(from)                                                          \
      : "memory")

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

// A load of four dwords of which only the others were written.
extern "C" __global__ void use_the_one_of_four(const Bits32* in, Bits32* part, Bits32* out) {
  Bits32* const mine = part + 256 + 4 * thread();
  for (int d = 0; d < 3; ++d) mine[d] = in[thread()];
  Four four;
  LOAD_FOUR(four, mine);
  out[thread()] = four.w;  // finds: uninitialised
}
extern "C" __global__ void use_the_others_of_four(const Bits32* in, Bits32* part, Bits32* out) {
  Bits32* const mine = part + 256 + 4 * thread();
  for (int d = 0; d < 3; ++d) mine[d] = in[thread()];
  Four four;
  LOAD_FOUR(four, mine);
  out[thread()] = four.x;
  out[128 + thread()] = four.z;
}
extern "C" __global__ void use_the_one_of_four_scalars(const Bits32* in, Bits32* part,
                                                       Bits32* out) {
  if (thread() < 2) part[256 + thread()] = in[thread()];
  gpu::barrier();
  Four four;
  LOAD_SCALARS(four, part + 256);
  out[thread()] = four.z;  // finds: uninitialised
}
extern "C" __global__ void use_the_others_of_four_scalars(const Bits32* in, Bits32* part,
                                                          Bits32* out) {
  if (thread() < 2) part[256 + thread()] = in[thread()];
  gpu::barrier();
  Four four;
  LOAD_SCALARS(four, part + 256);
  out[thread()] = four.y;
}
// Through a resource: one load, of which a compiler that wants three dwords leaves the fourth.
extern "C" __global__ void use_the_others_of_a_resource(const Bits32* in, Bits32* part,
                                                        Bits32* out) {
  if (thread() < 3) part[256 + thread()] = in[thread()];
  gpu::barrier();
  Four four;
  LOAD_BY_RESOURCE(four, part + 256);
  out[thread()] = four.x + four.z;
}
extern "C" __global__ void use_the_one_of_a_resource(const Bits32* in, Bits32* part, Bits32* out) {
  if (thread() < 2) part[256 + thread()] = in[thread()];
  gpu::barrier();
  Four four;
  LOAD_BY_RESOURCE(four, part + 256);
  out[thread()] = four.z;  // finds: uninitialised
}

// From memory to LDS, through no register.
extern "C" __global__ void bring_the_tail(const Bits32*, Bits32* part, Bits32* out) {
  __shared__ Bits32 tile[128];
  BRING(tile + (thread() & 64), part + thread());
  gpu::barrier();
  out[thread()] = *static_cast<volatile Bits32*>(&tile[thread()]);  // finds: uninitialised
}
extern "C" __global__ void bring_what_the_host_wrote(const Bits32*, Bits32* part, Bits32* out) {
  __shared__ Bits32 tile[128];
  BRING(tile + (thread() & 64), part + thread() % 100);
  gpu::barrier();
  out[thread()] = *static_cast<volatile Bits32*>(&tile[thread()]);
}
