// What the checks on global memory know of one buffer.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "harness/device/emulator/checks/global_races.hpp"
#include "harness/device/emulator/checks/granule_bits.hpp"
#include "harness/device/emulator/checks/written_bytes.hpp"

namespace attest::emulator {

struct TrackedBuffer {
  TrackedBuffer(const Buffer& of, std::string named)
      : label(std::move(named)), begin(of.address), bytes(of.bytes), written(of.bytes) {}

  std::string label;
  u64 begin;
  std::size_t bytes;
  BufferUse use;
  WrittenBytes written;
  GranuleBits tensor;  // of use.extents, when they leave gaps
  RaceCells cells;     // lazily

  // What a launch has to look at; of those that begin_launch turned on.
  bool gaps = false, guarded = false, unwritten = false, races = false;
  bool described = true;  // since the last launch, or written by the host: the above may change

  void describe(BufferUse to);
  // Before a launch. The check on races has no switch that changes.
  void prepare(const CheckSet& on);

  bool watched(bool writes) const { return gaps || unwritten || races || (guarded && writes); }
  bool holds(u64 address) const { return address - begin < bytes; }
  u64 lanes_inside(const u64* at, u64 lanes) const;
  // Lanes that access a byte outside the tensor. What a scalar load may read beside it, that is.
  u64 outside_tensor(const u64* at, const Access& access) const;
  // Lanes of a load of which a byte was never written; the same by dword of their accesses.
  u64 reads_unwritten(const u64* at, const Access& access) const;
  u64 dword_unwritten(const u64* at, const Access& access, int dword) const;
  // "nearest: bytes 0 to 1024"
  std::string nearest_extent(std::size_t offset) const;
};

class TrackedBuffers {
 public:
  TrackedBuffer& add(const Buffer& buffer, const std::string& label);
  void remove(const Buffer& buffer);
  TrackedBuffer* at(u64 address) const;  // that holds it, or null
  template <class Fn>
  void each(Fn fn) {
    for (const auto& b : sorted_) fn(*b);
  }

 private:
  std::vector<std::unique_ptr<TrackedBuffer>> sorted_;
};

}  // namespace attest::emulator
