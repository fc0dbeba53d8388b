// Counter-based random numbers: the value at (seed, stream, element) is a pure function, so that it
// depends neither on threads nor on the order of calls, and shrinking one dimension of a problem
// does not reshuffle the rest.
#pragma once
#include <cstdint>
#include <span>

#include "harness/core/case.hpp"

namespace attest {

// The finaliser of SplitMix64. Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGolden =
    0x9e3779b97f4a7c15u;  // 2^64 / golden ratio: SplitMix64's increment

// One independent sequence of hashes.
struct Stream {
  std::uint64_t key = 0;
  constexpr std::uint64_t bits(std::uint64_t counter) const {
    return mix64(key + counter * kGolden);
  }
  // In [0, 1), 53 bits.
  constexpr double uniform(std::uint64_t counter) const {
    return static_cast<double>(bits(counter) >> 11) * 0x1p-53;
  }
};

// What a stream is for; each is independent of the others.
enum class Tensor : std::uint64_t { kQ = 1, kKv = 2, kPages = 3, kPlan = 4 };

// A row of a tensor: `a` and `b` say which (a sequence and a token, say).
constexpr Stream stream_of(Seed seed, Tensor tensor, std::int64_t a = 0, std::int64_t b = 0) {
  std::uint64_t key = mix64(seed.value + kGolden * static_cast<std::uint64_t>(tensor));
  key = mix64(key ^ (static_cast<std::uint64_t>(a) + 0x1000));
  return {mix64(key + kGolden * static_cast<std::uint64_t>(b))};
}

// Standard normal values rounded to bf16. Element i takes bits 16*(i%4).. of hash i/4 as its
// quantile: 2^16 equally likely values, the largest 4.3.
void fill_normal(Stream stream, std::span<std::uint16_t> row);

// bf16 values in [1, 2): all 128 of them equally likely.
void fill_one_to_two(Stream stream, std::span<std::uint16_t> row);

}  // namespace attest
