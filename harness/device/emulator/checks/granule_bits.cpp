#include "harness/device/emulator/checks/granule_bits.hpp"

#include <algorithm>
#include <bit>

namespace attest::emulator {

GranuleBits::GranuleBits(std::size_t bytes, int shift)
    : words_((bytes >> shift) / 64 + 2), shift_(shift) {}  // a window is two words

void GranuleBits::fill(Extent extent, bool value) {
  if (extent.begin >= extent.end) return;
  std::size_t at = extent.begin >> shift_;
  const std::size_t end = ((extent.end - 1) >> shift_) + 1;
  while (at < end) {
    const std::size_t bit = at % 64, count = std::min(64 - bit, end - at);
    const u64 mask = ~u64{0} >> (64 - count) << bit;
    u64& word = words_[at / 64];
    word = value ? word | mask : word & ~mask;
    at += count;
  }
}

u64 GranuleBits::holes(const u64* at, u64 lanes, u64 begin, int bytes) const {
  u64 found = 0;
  if (lanes != kAllLanes || bytes > 1 << shift_) {
    for (u64 left = lanes; left; left &= left - 1) {
      const int l = std::countr_zero(left);
      found |= u64{!all(at[l] - begin, bytes)} << l;
    }
    return found;
  }
  // An access has at most two granules.
  const u64* const words = words_.data();
  for (int l = 0; l < kLanes; ++l) {
    const u64 first = (at[l] - begin) >> shift_, last = (at[l] - begin + bytes - 1) >> shift_;
    const u64 set = words[first / 64] >> (first % 64) & words[last / 64] >> (last % 64) & 1;
    found |= (set ^ 1) << l;
  }
  return found;
}

int granule_shift(std::span<const Extent> extents, std::size_t buffer_bytes) {
  u64 bounds = u64{1} << 30;
  for (const Extent& e : extents) {
    bounds |= e.begin;
    if (e.end < buffer_bytes) bounds |= e.end;
  }
  return std::countr_zero(bounds);
}

}  // namespace attest::emulator
