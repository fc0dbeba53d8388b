// What disturbs a kernel under test (harness/stress_disturb.hpp): it has the caches, the LDS and
// the compute units to itself no longer. None of these touches memory of others.
#include "kernels/device/arrival.hpp"
#include "kernels/device/memory.hpp"

using gpu::Bits32;

namespace {

constexpr int kThreads = 256;

ATTEST_INLINE Bits32 workgroup_seed(Bits32 seed) {
  return gpu::scrambled(seed ^ static_cast<Bits32>(gpu::block_x()) * 0x9e3779b9u);
}

}  // namespace

// Reads and writes `rounds` octets a thread, anywhere in the scratch buffer: larger than L2, it
// leaves nothing else there.
extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void disturb_memory(gpu::Octet* scratch,
                                                                     Bits32 octets, Bits32 seed,
                                                                     int rounds) {
  Bits32 at = gpu::scrambled(workgroup_seed(seed) + static_cast<Bits32>(gpu::thread_index()));
  for (int i = 0; i < rounds; ++i) {
    gpu::Octet octet = gpu::load_octet(scratch + at % octets);
    for (Bits32& word : octet.word) word ^= at;
    at = gpu::scrambled(at + 1);
    gpu::store_octet(scratch + at % octets, octet);
  }
}

// Fills the dynamic LDS of so many words with a pattern: a kernel that reads what it did not write
// finds it there. Stays for a while, so that no compute unit gets two of these and another none.
extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void disturb_lds(int words, Bits32 pattern,
                                                                  Bits32 ticks) {
  extern __shared__ Bits32 lds[];
  volatile Bits32* to = lds;  // nobody reads it: else there would be no store
  for (int i = gpu::thread_index(); i < words; i += kThreads) to[i] = pattern;
  gpu::wait_ticks(ticks);
}

// Holds a compute unit, with the LDS that the launch asks for, up to so many ticks.
extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void disturb_time(Bits32 seed, Bits32 ticks) {
  gpu::wait_ticks(workgroup_seed(seed) % ticks);
}
