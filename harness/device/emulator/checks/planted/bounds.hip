// Accesses inside a buffer that the tensor in it does not have, and their healthy neighbours. One
// workgroup of 64 threads. `in`, 4096 bytes, may only be read; bytes 0 to 1024 and 2048 to 3070 of
// it are the tensor's. `out`, 4096 bytes: bytes 0 to 2048.
#include "kernels/device/gpu.hpp"

using gpu::Bits16;
using gpu::Bits32;

namespace {
__device__ inline int thread() { return gpu::thread_index(); }
}  // namespace

// The rows of the gap between two pages.
extern "C" __global__ void read_gap(const Bits32* in, Bits32* out) {
  out[thread()] = in[256 + thread()];  // finds: bounds
}
extern "C" __global__ void read_rows(const Bits32* in, Bits32* out) {
  out[thread()] = in[192 + thread()] + in[512 + thread()] + in[703 + thread()];
}

// The last lane alone is beyond the end.
extern "C" __global__ void read_one_row_too_many(const Bits32* in, Bits32* out) {
  out[thread()] = in[193 + thread()];  // finds: bounds
}
extern "C" __global__ void mask_one_row_too_many(const Bits32* in, Bits32* out) {
  const int row = 193 + thread();
  out[thread()] = row < 256 ? in[row] : 0;
}

// A wide access whose second half is beyond the end.
extern "C" __global__ void read_across_the_end(const Bits32* in, Bits32* out) {
  struct Pair {
    Bits32 a, b;
  };
  const Pair pair = *reinterpret_cast<const Pair*>(in + 255 - thread());  // finds: bounds
  out[thread()] = pair.a ^ pair.b;
}
extern "C" __global__ void read_up_to_the_end(const Bits32* in, Bits32* out) {
  struct Pair {
    Bits32 a, b;
  };
  const Pair pair = *reinterpret_cast<const Pair*>(in + 254 - thread());
  out[thread()] = pair.a ^ pair.b;
}

// Slack behind the last entry of a table, by a scalar load.
extern "C" __global__ void read_slack_of_table(const Bits32* in, Bits32* out) {
  const Bits32 last = in[gpu::block_x() + 256];  // finds: bounds
  out[thread()] = last;
}
extern "C" __global__ void read_end_of_table(const Bits32* in, Bits32* out) {
  const Bits32 last = in[gpu::block_x() + 255];
  out[thread()] = last;
}
// Reads a short of each half of the last dword: the compiler may load the dword, of which two bytes
// are nobody's.
extern "C" __global__ void read_last_short(const Bits32* in, Bits32* out) {
  out[thread()] = reinterpret_cast<const Bits16*>(in)[1534 + gpu::block_x()];
}
extern "C" __global__ void read_short_behind_the_last(const Bits32* in, Bits32* out) {
  const Bits16* row = reinterpret_cast<const Bits16*>(in) + 1472;
  out[thread()] = row[thread()];  // finds: bounds
}

extern "C" __global__ void write_pad(const Bits32*, Bits32* out) {
  out[512 + thread()] = 1;  // finds: bounds
}
extern "C" __global__ void write_last_row(const Bits32*, Bits32* out) {
  out[448 + thread()] = 1;
}

extern "C" __global__ void write_input(const Bits32* in, Bits32* out) {
  const_cast<Bits32*>(in)[thread()] = 0;  // finds: bounds
  out[thread()] = 1;
}

extern "C" __global__ void add_in_pad(const Bits32*, Bits32* out) {
  __hip_atomic_fetch_add(out + 1000, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  // finds: bounds
}
extern "C" __global__ void add_in_row(const Bits32*, Bits32* out) {
  __hip_atomic_fetch_add(out + 500, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
