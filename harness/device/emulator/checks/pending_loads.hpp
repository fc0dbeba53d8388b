// The loads of a wave that no s_waitcnt has waited for yet, and the registers that they will write.
#pragma once
#include "harness/device/emulator/checks/uses.hpp"

namespace attest::emulator {

// What completes in which order. Source: LLVM, SIInsertWaitcnts.cpp; MI300 ISA, "Data dependency
// resolution": memory completes in order by vmcnt, LDS in order and scalar loads in any order by
// lgkmcnt, which they share.
enum class Queue : u8 { kMemory, kLds, kScalar };

class PendingLoads {
 public:
  RowSet rows;  // that are not to be touched

  void reset();
  // An instruction that is counted; of a flat one, `to_lds`: its lanes' addresses are of LDS.
  void issue(u32 inst, const Uses& uses, bool flat_to_lds);
  void wait(u8 vm, u8 lgkm);
  // Rows of `span` stop being pending.
  void forget(const Span& span);

  struct Load {
    u32 inst;
    Queue queue;
    u32 later;  // operations of its queue that came after it
  };
  Load of(int row) const;  // of a pending row
  Queue queue_of(const Uses& uses, bool flat_to_lds) const;

  // Operations so far, and how many of them are known to be complete.
  u32 issued(Queue q) const { return issued_[static_cast<int>(q)]; }
  u32 done(Queue q) const { return done_[static_cast<int>(q)]; }

 private:
  // Beyond what either counter holds: the hardware does not issue more.
  static constexpr u32 kInFlight = 64;
  struct Entry {
    u32 inst = 0;
    const Uses* uses = nullptr;  // null: writes no register
  };
  struct Owner {
    Queue queue;
    u32 sequence;
  };
  void push(Queue q, u32 inst, const Uses* uses);
  void complete(Queue q, u32 up_to);

  std::array<u32, 3> issued_{}, done_{};
  std::array<std::array<Entry, kInFlight>, 3> entries_;
  std::array<Owner, kRows> owner_;
};

}  // namespace attest::emulator
