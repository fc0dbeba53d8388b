// Reads memory and does nothing else: what the bandwidth of a kernel is measured against. Every
// word goes into a sum that is stored, so that no load can be left out.
#include "kernels/bench/arguments.hpp"
#include "kernels/device/gpu.hpp"
#include "kernels/device/memory.hpp"

namespace attest::bench_device {

ATTEST_INLINE gpu::Bits32 sum_of(const gpu::Octet& octet) {
  return octet.word[0] + octet.word[1] + octet.word[2] + octet.word[3];
}

// So many loads are under way before the first is waited for.
template <int kLoads>
ATTEST_INLINE void read(const ReadArguments& a) {
  const long long thread = static_cast<long long>(gpu::block_x()) * kThreads + gpu::thread_index();
  const gpu::Octet* const from = static_cast<const gpu::Octet*>(a.from);
  gpu::Bits32 sum = 0;
  long long at = thread;
  for (; at + (kLoads - 1) * a.threads < a.octets; at += kLoads * a.threads) {
    gpu::Octet octet[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) octet[i] = gpu::load_octet(from + at + i * a.threads);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) sum += sum_of(octet[i]);
  }
  for (; at < a.octets; at += a.threads) sum += sum_of(gpu::load_octet(from + at));
  a.sums[thread] = sum;
}

extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void bench_read_4(ReadArguments a) { read<4>(a); }
extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void bench_read_8(ReadArguments a) { read<8>(a); }

}  // namespace attest::bench_device
