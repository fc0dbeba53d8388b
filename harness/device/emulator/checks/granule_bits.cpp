#include "harness/device/emulator/checks/granule_bits.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace attest::emulator {
namespace {

// Whether the 64 lanes' accesses are one piece of memory, in order.
bool one_behind_the_other(const u64* at, int bytes) {
  u64 elsewhere = 0;
  for (int l = 0; l + 1 < kLanes; ++l) elsewhere |= (at[l + 1] - at[l]) ^ static_cast<u64>(bytes);
  return elsewhere == 0;
}

}  // namespace

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

// For accesses that are smaller than a granule: whether all 64 lie in one that is set, each. Lanes
// beside each other, or 16 apart as the matrix unit's rows are, often share theirs.
bool GranuleBits::within_granules(const u64* at, u64 begin, int bytes) const {
  constexpr int kApart = 16;
  alignas(64) std::array<u64, kApart + kLanes> granule;
  std::fill_n(granule.begin(), kApart, ~u64{0});
  const u64 size = u64{1} << shift_, last_start = size - static_cast<u64>(bytes);
  u64 crossing = 0, first = 0;
  for (int l = 0; l < kLanes; ++l) {
    const u64 offset = at[l] - begin;
    granule[kApart + l] = offset >> shift_;
    crossing |= u64{(offset & (size - 1)) > last_start};
  }
  for (int l = 0; l < kLanes; ++l) {
    const u64 mine = granule[kApart + l];
    first |= u64{mine != granule[l] && mine != granule[kApart - 1 + l]} << l;
  }
  if (crossing) return false;
  const u64* const words = words_.data();
  u64 set = 1;
  for (u64 left = first; left; left &= left - 1) {
    const u64 g = granule[kApart + std::countr_zero(left)];
    set &= words[g / 64] >> (g % 64);
  }
  return set != 0;
}

// For larger ones: whether all 64 consist of whole granules that are set, at most 57 each, which is
// what 64 bits from a byte's start surely hold.
bool GranuleBits::whole_granules(const u64* at, u64 begin, int bytes) const {
  const int count = bytes >> shift_;
  const u64 low = (u64{1} << shift_) - 1;
  u64 uneven = static_cast<u64>(bytes);
  for (int l = 0; l < kLanes; ++l) uneven |= at[l] - begin;
  if (count > 57 || uneven & low) return false;
  const auto* const as_bytes = reinterpret_cast<const u8*>(words_.data());
  u64 set = ~u64{0};
  for (int l = 0; l < kLanes; ++l) {
    const u64 granule = (at[l] - begin) >> shift_;
    u64 window;
    std::memcpy(&window, as_bytes + granule / 8, sizeof window);
    set &= window >> granule % 8;
  }
  return (~set << (64 - count)) == 0;
}

u64 GranuleBits::holes(const u64* at, u64 lanes, u64 begin, int bytes) const {
  if (lanes == kAllLanes) {
    if (bytes <= 1 << shift_) {
      if (within_granules(at, begin, bytes)) return 0;
    } else if (whole_granules(at, begin, bytes)) {
      return 0;
    }
  }
  u64 found = 0;
  for (u64 left = lanes; left; left &= left - 1) {
    const int l = std::countr_zero(left);
    found |= u64{!all(at[l] - begin, bytes)} << l;
  }
  return found;
}

void GranuleBits::set(const u64* at, u64 lanes, u64 begin, int bytes) {
  if (lanes == kAllLanes && one_behind_the_other(at, bytes)) {
    set(Extent{at[0] - begin, at[0] - begin + kLanes * static_cast<u64>(bytes)});
    return;
  }
  for (u64 left = lanes; left; left &= left - 1) {
    const u64 offset = at[std::countr_zero(left)] - begin;
    set(Extent{offset, offset + static_cast<u64>(bytes)});
  }
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
