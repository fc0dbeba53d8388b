// Which bytes of a buffer the host or a kernel has written since it was allocated.
#pragma once
#include <vector>

#include "harness/device/emulator/checks/granule_bits.hpp"

namespace attest::emulator {

class WrittenBytes {
 public:
  explicit WrittenBytes(std::size_t buffer_bytes) : bytes_(buffer_bytes) {}

  // By the host. A sparse pool that is written piece by piece stays a list as long as no kernel
  // writes to it and none reads what is missing.
  void write(Extent extent);
  void forget(Extent extent);

  // Whether all of it is written; of no extent the whole buffer. May say no for what kernels wrote.
  bool covers(std::span<const Extent> extents);
  // By kernels. Before begin_kernels has run once, there are no bits.
  void begin_kernels();
  const GranuleBits& bits() const { return bits_; }  // granules of one byte
  void write(const u64* at, u64 lanes, u64 begin, int bytes) { bits_.set(at, lanes, begin, bytes); }

 private:
  void merge();

  std::size_t bytes_;
  std::vector<Extent> extents_;  // by the host; sorted and disjoint when `merged_`
  bool merged_ = true;
  GranuleBits bits_;  // of bytes; empty until a kernel needs it, then the extents are not kept on
};

}  // namespace attest::emulator
