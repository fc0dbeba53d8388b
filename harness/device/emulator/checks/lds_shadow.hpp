// What the checks know of one workgroup's LDS: which bytes nobody wrote, and which instruction of
// which wave first touched a byte since the last barrier.
//
// The first touch and not the last, and of each wave: so the pairs of instructions that conflict
// are the same whichever wave runs first.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

#include "harness/device/emulator/checks/access.hpp"

namespace attest::emulator {

// The lanes of one LDS instruction.
struct LdsLanes {
  const u32* at = nullptr;
  int bytes = 0;  // of a lane
  u64 lanes = 0;
  u64 distinct = 0;        // of them, those that go elsewhere than the lane before
  bool dwords = false;     // all are whole, aligned dwords
  bool adjoining = false;  // all 64 lanes, each where the one before it ends
  u64 blocks = 0;          // which 64ths of the LDS they touch
};

class LdsShadow {
 public:
  // Bits of a byte.
  static constexpr u8 kUndefined = 1, kLate = 2;
  // Beside them, what touch() returns: the same instruction, or another lane of it, had stored to a
  // byte since the last barrier.
  static constexpr u8 kAgain = 4;

  void resize(std::size_t bytes, int waves);
  void begin_workgroup();  // nothing is defined, nothing touched
  void next_epoch();       // a barrier

  LdsLanes look_at(const u32* at, int bytes, u64 lanes) const;
  // Marks the bytes as touched by instruction `site` (not 0) of a wave; a store defines them.
  // Returns the bits of all bytes that were read. `track`: remember who touches.
  u8 touch(int wave, AccessKind kind, const LdsLanes& lanes, u16 site, bool track);

  // Waves that may have touched what these lanes touch, in that way, since the last barrier.
  u32 others(int wave, AccessKind kind, const LdsLanes& lanes) const;
  // Whether wave `other` did.
  bool meets(int other, AccessKind kind, const LdsLanes& lanes) const;
  // The site that touched a byte first since the last barrier; 0: none.
  u16 site_at(int wave, AccessKind kind, u32 byte) const;

  u8& bits(u32 byte) { return bits_[byte]; }
  std::size_t bytes() const { return bits_.size(); }

 private:
  // One wave's accesses of one kind, as dwords or as bytes: a cell holds epoch << 16 | site.
  struct Track {
    std::vector<u32> cells;
    u64 blocks = 0;  // of this epoch
  };
  struct Kind {
    Track dwords, bytes;
  };
  const Kind& tracks(int wave, AccessKind kind) const {
    return waves_[static_cast<std::size_t>(wave)][static_cast<std::size_t>(kind)];
  }
  Track& track(int wave, AccessKind kind, const LdsLanes& lanes);

  std::vector<u8> bits_;
  std::vector<std::array<Kind, 3>> waves_;
  std::array<u32, 3> active_{};  // waves, by kind, that touched anything in this epoch
  u32 epoch_ = 0;
  int block_shift_ = 0;
};

}  // namespace attest::emulator
