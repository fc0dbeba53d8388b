// Kernels for the tests of GPU devices: each does one thing that a device must order, survive or
// report. They run on the emulator too, behind a fake driver.
#include "kernels/device/gpu.hpp"

namespace {

using gpu::Bits32;
using Byte = unsigned char;
using Long = unsigned long long;

// Not cached, not moved.
ATTEST_INLINE Bits32 read_now(const Bits32* at) { return *static_cast<const volatile Bits32*>(at); }
ATTEST_INLINE void write_now(Bits32* at, Bits32 value) {
  *static_cast<volatile Bits32*>(at) = value;
}

#if ATTEST_AMD
ATTEST_INLINE Long ticks() { return __builtin_readcyclecounter(); }
#else
ATTEST_INLINE Long ticks() { return static_cast<Long>(clock64()); }
#endif

}  // namespace

extern "C" {

// Each of `count` words, by workgroups of 64.
__global__ void ATTEST_BOUNDS(64, 1) write_words(Bits32* to, Bits32 value, Bits32 count) {
  const Bits32 i = static_cast<Bits32>(gpu::block_x() * 64 + gpu::thread_index());
  if (i < count) to[i] = value + i;
}

__global__ void ATTEST_BOUNDS(64, 1) write_byte(Byte* base, long long offset, Bits32 value) {
  if (gpu::thread_index() == 0) base[offset] = static_cast<Byte>(value);
}

__global__ void ATTEST_BOUNDS(64, 1) read_byte(const Byte* base, long long offset, Bits32* to) {
  if (gpu::thread_index() == 0) *to = base[offset];
}

__global__ void ATTEST_BOUNDS(64, 1) read_misaligned(const Byte* base, Bits32* to) {
  if (gpu::thread_index() == 0) {
    *to = read_now(reinterpret_cast<const Bits32*>(base + 1));
  }
}

// log[0] counts what was appended.
__global__ void ATTEST_BOUNDS(64, 1) append(Bits32* log, Bits32 value) {
  if (gpu::thread_index() != 0) return;
  const Bits32 at = read_now(log) + 1;
  write_now(log + at, value);
  write_now(log, at);
}

// Ends when `flag` is set, or after so many ticks; `to` gets what it saw.
__global__ void ATTEST_BOUNDS(64, 1) wait_for(const Bits32* flag, Bits32* to, Long most_ticks) {
  if (gpu::thread_index() != 0) return;
  const Long begin = ticks();
  while (read_now(flag) == 0 && ticks() - begin < most_ticks) {
  }
  write_now(to, read_now(flag));
}

// The sum of 1 .. words through dynamic shared memory.
extern __shared__ Bits32 dynamic_words[];
__global__ void ATTEST_BOUNDS(64, 1) sum_shared(Bits32* to, Bits32 words) {
  for (Bits32 i = static_cast<Bits32>(gpu::thread_index()); i < words; i += 64)
    dynamic_words[i] = i + 1;
  gpu::barrier();
  if (gpu::thread_index() != 0) return;
  Bits32 sum = 0;
  for (Bits32 i = 0; i < words; ++i) sum += dynamic_words[i];
  *to = sum;
}

// Each thread reads what one of the other half wrote, with no barrier between.
__global__ void ATTEST_BOUNDS(64, 1) pass_on_without_barrier(Bits32* to) {
  __shared__ Bits32 passed[64];
  const int i = gpu::thread_index();
  write_now(&passed[i], static_cast<Bits32>(i));
  to[i] = read_now(&passed[63 - i]);
}

}  // extern "C"
