// Arrival: workgroups that come late on purpose. In a build with ATTEST_FORCED_ARRIVAL
// (kernels/disturb/mla_decode_*.hip) every wave waits in arrive() by its workgroup's place in the
// grid, so that workgroups start, and store, in another order than the hardware's own. In any other
// build arrive() is nothing.
#pragma once
#include "kernels/device/gpu.hpp"

namespace gpu {

// Cycles of the compute unit's own clock.
ATTEST_INLINE unsigned long long ticks() {
#if ATTEST_AMD
  return __builtin_readcyclecounter();
#else
  return static_cast<unsigned long long>(clock64());
#endif
}

// Until so many ticks have gone by. It ends whatever the clock does: the emulator's stands still.
ATTEST_INLINE void wait_ticks(unsigned long long wanted) {
  constexpr int kMostPolls = 1 << 20;
  const unsigned long long begin = ticks();
  unsigned long long last = begin;
  for (int i = 0; i < kMostPolls; ++i) {
    const unsigned long long now = ticks();
    if (now == last || now - begin >= wanted) break;
    last = now;
  }
  asm volatile("" ::: "memory");  // no store is moved to before the wait
}

// MurmurHash3's finaliser. Source: Austin Appleby, smhasher, MurmurHash3.cpp (public domain).
ATTEST_INLINE Bits32 scrambled(Bits32 x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ x >> 16;
}

// Of ATTEST_FORCED_ARRIVAL.
inline constexpr int kForward = 1, kReverse = 2, kSeeded = 3;

// One call at the beginning of a kernel, one before its last stores. Workgroups that work on one
// row follow each other on one axis of the grid: their places differ on whichever it is. (On Hopper
// stage 1 takes its work in another order where the grid is deep: there places are only mixed.)
ATTEST_INLINE void arrive() {
#ifdef ATTEST_FORCED_ARRIVAL
  constexpr Bits32 kPlaces = 256;
  constexpr unsigned long long kTicksOfAPlace = 2000;  // about a microsecond
  const Bits32 sum = static_cast<Bits32>(block_x() + block_y() + block_z());
  Bits32 place = sum % kPlaces;
  if (ATTEST_FORCED_ARRIVAL == kReverse) place = kPlaces - 1 - place;
  if (ATTEST_FORCED_ARRIVAL == kSeeded) {  // and each wave by itself
    const Bits32 here = static_cast<Bits32>(block_x() * 73 + block_y() * 4099 + block_z() * 131071);
    place = scrambled(here * 64 + static_cast<Bits32>(wave_index())) % kPlaces;
  }
  wait_ticks(place * kTicksOfAPlace);
#endif
}

}  // namespace gpu
