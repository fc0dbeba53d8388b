// Bytes of LDS that nobody wrote and that reach a store, a branch or an address, and their healthy
// neighbours: 256 threads.
#include "kernels/device/gpu.hpp"

using gpu::Bits16;
using gpu::Bits32;

namespace {
__device__ inline int thread() { return gpu::thread_index(); }
}  // namespace

// The last 56 elements.
extern "C" __global__ void reads_behind_the_filled(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  if (thread() < 200) tile[thread()] = in[thread()];
  gpu::barrier();
  out[thread()] = tile[thread()] + 1;  // finds: uninitialised
}
extern "C" __global__ void reads_the_filled(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  if (thread() < 200) tile[thread()] = in[thread()];
  gpu::barrier();
  if (thread() < 200) out[thread()] = tile[199 - thread()] + 1;
}
// The read is a mistake only where its value counts.
extern "C" __global__ void drops_what_it_read(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  if (thread() < 200) tile[thread()] = in[thread()];
  gpu::barrier();
  const Bits32 x = *static_cast<volatile Bits32*>(&tile[thread()]);
  out[thread()] = thread() < 200 ? x : 7;
}

extern "C" __global__ void branches_on_it(const Bits32* in, Bits32* out) {
  __shared__ Bits32 flag[256];
  if (in[thread()] == 3) flag[thread()] = 1;
  gpu::barrier();
  if (flag[255 - thread()] == 1) out[thread()] = 1;  // finds: uninitialised
}
extern "C" __global__ void branches_on_what_was_cleared(const Bits32* in, Bits32* out) {
  __shared__ Bits32 flag[256];
  flag[thread()] = 0;
  if (in[thread()] == 3) flag[thread()] = 1;
  gpu::barrier();
  if (flag[255 - thread()] == 1) out[thread()] = 1;
}

extern "C" __global__ void indexes_by_it(const Bits32* in, Bits32* out) {
  __shared__ Bits32 index[512];
  index[thread()] = in[thread()];
  gpu::barrier();
  out[thread()] = in[index[thread() + 100] % 256];  // finds: uninitialised
}

// bf16: the high halves are missing.
extern "C" __global__ void reads_the_other_half(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  reinterpret_cast<Bits16*>(tile)[2 * thread()] = static_cast<Bits16>(in[thread()]);
  gpu::barrier();
  out[thread()] = tile[255 - thread()];  // finds: uninitialised
}
extern "C" __global__ void reads_the_same_half(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  reinterpret_cast<Bits16*>(tile)[2 * thread()] = static_cast<Bits16>(in[thread()]);
  gpu::barrier();
  out[thread()] = reinterpret_cast<Bits16*>(tile)[2 * (255 - thread())];
}

// A workgroup inherits nothing from the one before it.
extern "C" __global__ void only_the_first_group_writes(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[256];
  if (gpu::block_x() == 0) tile[thread()] = in[thread()];
  gpu::barrier();
  out[thread()] = tile[255 - thread()];  // finds: uninitialised
}

// Copied within LDS, and written before it is used.
extern "C" __global__ void copies_then_writes(const Bits32* in, Bits32* out) {
  __shared__ Bits32 tile[512];
  *static_cast<volatile Bits32*>(&tile[thread()]) =
      *static_cast<volatile Bits32*>(&tile[thread() + 256]);
  gpu::barrier();
  tile[thread()] = in[thread()];
  gpu::barrier();
  out[thread()] = tile[255 - thread()];
}
extern "C" __global__ void copies_and_uses(const Bits32*, Bits32* out) {
  __shared__ Bits32 tile[512];
  *static_cast<volatile Bits32*>(&tile[thread()]) =
      *static_cast<volatile Bits32*>(&tile[thread() + 256]);
  gpu::barrier();
  out[thread()] = tile[255 - thread()];  // finds: uninitialised
}
