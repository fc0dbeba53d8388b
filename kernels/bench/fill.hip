// Fills memory with bf16 that are near enough to N(0, 1) for a measurement of speed: what the host
// would need minutes for. The value at (seed, octet) is a pure function.
#include "kernels/bench/arguments.hpp"
#include "kernels/device/bf16.hpp"
#include "kernels/device/gpu.hpp"
#include "kernels/device/memory.hpp"

namespace attest::bench_device {

using Bits64 = unsigned long long;

// The finaliser of SplitMix64. Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014.
ATTEST_INLINE Bits64 mix64(Bits64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The sum of four bytes has mean 510 and variance 4 (256^2 - 1) / 12, and ends at 3.45 sigma.
ATTEST_INLINE float normal(gpu::Bits32 bits) {
  const int sum =
      static_cast<int>((bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24));
  return static_cast<float>(sum - 510) * (1 / 147.8f);
}

// Two values of one hash.
ATTEST_INLINE gpu::Bits32 normal_pair(Bits64 bits) {
  return gpu::pack_bf16(normal(static_cast<gpu::Bits32>(bits)),
                        normal(static_cast<gpu::Bits32>(bits >> 32)));
}

extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void bench_fill(FillArguments a) {
  const long long first = static_cast<long long>(gpu::block_x()) * kThreads + gpu::thread_index();
  for (long long octet = first; octet < a.octets; octet += a.threads) {
    const Bits64 key = mix64(a.seed + static_cast<Bits64>(octet) * 0x9e3779b97f4a7c15u);
    gpu::Octet values;
    for (int pair = 0; pair < 4; ++pair) {
      values.word[pair] = normal_pair(mix64(key + static_cast<Bits64>(pair) * 0x9e3779b97f4a7c15u));
    }
    gpu::store_octet(static_cast<gpu::Octet*>(a.to) + octet, values);
  }
}

}  // namespace attest::bench_device
