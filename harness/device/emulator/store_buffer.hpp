// Stores of a workgroup on their way to memory, under a schedule that delays them. A wave that does
// not wait for its stores has no promise about when other workgroups see them, or in which order.
// Waves of one workgroup see them at once: they share a cache that takes its accesses in order.
// Source: LLVM, "User Guide for AMDGPU Backend", memory model gfx942: a wait for vmcnt is what
// orders vector memory operations against other workgroups'; a release at workgroup scope needs
// none outside threadgroup split mode.
#pragma once
#include <cstddef>
#include <vector>

#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

class StoreBuffer {
 public:
  explicit StoreBuffer(int waves) : issued_(static_cast<std::size_t>(waves)) {}

  bool empty() const { return pending_.empty(); }

  // A wave issues a vector memory instruction, a store or not: vmcnt counts both, in order, up to
  // 63. Source: MI300 ISA, chapter 4.4.
  void issue(int wave) {
    ++issued_[static_cast<std::size_t>(wave)];
    wait(wave, kMostOutstanding);
  }
  // s_waitcnt vmcnt(outstanding): older stores of the wave are in memory. A wave that waits for all of its own after a
  // barrier has waited for those that the others issued before it: what makes a release by one wave one of its
  // workgroup. Source: the same, release at agent scope after a barrier without a wait.
  void wait(int wave, u32 outstanding);
  void pass_barrier() {
    for (Pending& store : pending_) store.before_barrier = true;
  }

  // Before another access of the workgroup: stores that may touch the same bytes are in memory.
  void settle(const u64* at, u64 lanes, int bytes);
  // A store of the instruction that was issued last; then its data, lane by lane.
  void begin(int wave, const u64* at, u64 lanes, int bytes);
  void put(int lane, const void* data);

  // Some lanes of one store, as `choice` says.
  void settle_some(u64 choice);
  void settle_all();

 private:
  static constexpr u32 kMostOutstanding = 63;
  static constexpr int kMostBytes = 16;  // of a lane

  struct Pending {
    int wave = 0, bytes = 0;
    u64 number = 0;  // of the wave's vector memory instructions
    u64 lanes = 0;   // not in memory yet
    bool before_barrier = false;
    AddressRange range;
    u64 at[kLanes];
    std::byte data[kLanes][kMostBytes];
  };
  static AddressRange range_of(const u64* at, u64 lanes, int bytes);
  static void settle_lanes(Pending& store, u64 lanes);  // in their order

  std::vector<u64> issued_;       // [wave]
  std::vector<Pending> pending_;  // in the order of issue; no two touch the same bytes
};

}  // namespace attest::emulator
