// A bit for each granule (2^shift bytes) of a buffer.
#pragma once
#include "harness/core/device.hpp"
#include "harness/device/emulator/checks/lazy_array.hpp"
#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

class GranuleBits {
 public:
  GranuleBits() = default;
  GranuleBits(std::size_t bytes, int shift);

  explicit operator bool() const { return static_cast<bool>(words_); }
  // Whole granules; the last one of a buffer may be cut short.
  void set(Extent extent) { fill(extent, true); }
  void clear(Extent extent) { fill(extent, false); }
  // Whether all granules of [offset, offset + bytes) are set; bytes: 1 to 64.
  bool all(std::size_t offset, int bytes) const {
    const std::size_t first = offset >> shift_, last = (offset + bytes - 1) >> shift_;
    return (~window(first) << (63 - (last - first))) == 0;
  }
  // Of the lanes, those with a granule that is not set. at[lane] - begin: the offset.
  u64 holes(const u64* at, u64 lanes, u64 begin, int bytes) const;
  void set(const u64* at, u64 lanes, u64 begin, int bytes);

 private:
  // 64 granules' bits from `first`.
  u64 window(std::size_t first) const {
    const std::size_t word = first / 64, bit = first % 64;
    return words_[word] >> bit | words_[word + 1] << 1 << (63 - bit);
  }
  void fill(Extent extent, bool value);
  bool within_granules(const u64* at, u64 begin, int bytes) const;
  bool whole_granules(const u64* at, u64 begin, int bytes) const;

  LazyArray<u64> words_;
  int shift_ = 0;
};

// The largest shift of which all the extents' bounds are multiples; the buffer's own end counts as
// one.
int granule_shift(std::span<const Extent> extents, std::size_t buffer_bytes);

}  // namespace attest::emulator
