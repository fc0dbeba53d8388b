// LDS: races by barrier epochs and byte, and bytes that nobody wrote.
//
// The view is the compiled code's: a wave's own accesses are in the order of its instructions, and
// only a barrier orders those of two waves. Two atomics do not race; an atomic and a plain access
// do. Not seen as order: a hand-over through an LDS flag.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "harness/device/emulator/checks/access.hpp"
#include "harness/device/emulator/checks/lds_shadow.hpp"
#include "harness/device/emulator/checks/lds_waits.hpp"
#include "harness/device/emulator/checks/reports.hpp"

namespace attest::emulator {

class RegisterChecks;

class LdsChecks {
 public:
  // `registers` says which stored data nobody wrote, and what a wave has waited for; null: all was
  // written, and waits are not checked.
  LdsChecks(const CheckSet& on, Reports& reports, const RegisterChecks* registers)
      : on_(on), reports_(reports), registers_(registers) {}

  // `groups`: how many workgroups are resident at once; Workgroup::slot counts them.
  void begin_launch(const Program& program, const Dim3& grid, int groups, int waves_of_group,
                    std::size_t lds_bytes);
  void begin_workgroup(const Workgroup& group);
  // at[lane]: byte addresses, inside the workgroup's LDS. Of a store, `data_row` is its data's
  // first vector register, and `undefined_data` are the lanes with any that nobody wrote. Returns
  // the lanes of a load that read what nobody wrote.
  u64 access(const Wave& w, const Inst& in, const u32* at, const Access& access, int data_row,
             u64 undefined_data);
  // Bytes that a load brings to LDS without a register (buffer_load ... lds); in the lanes of
  // `undefined` nobody wrote them.
  void dma(const Wave& w, const Inst& in, const u32* at, const Access& access, u64 undefined);
  void at_barrier(const Wave& w);  // before it waits
  void barrier_released(const Workgroup& group);

  // Of the last load that read what nobody wrote: its lanes by dword, and its first such byte.
  u64 undefined_dword(int dword) const {
    return undefined_dwords_[static_cast<std::size_t>(dword)];
  }
  u32 undefined_byte() const { return undefined_byte_; }

 private:
  struct Slot {
    LdsShadow shadow;
    std::optional<LdsWaits> waits;
  };
  // An access as the checks of races see it.
  struct Now {
    const Wave& w;
    const Inst& in;
    AccessKind kind;
    LdsLanes lanes;
    int data_row;  // -1: unknown
  };

  Slot& slot_of(const Workgroup& group) { return *slots_[static_cast<std::size_t>(group.slot)]; }
  u16 site_of(const Inst& in);
  void races(const Slot& slot, const Now& now);
  void races_with(const Slot& slot, const Now& now, int other, AccessKind theirs);
  void race(const Now& now, int other, AccessKind theirs, u16 site, int lane, u32 byte);
  void collisions(const Now& now);
  bool stores_what_is_there(const Now& now, int lane, u32 byte) const;
  u64 undefined_lanes(LdsShadow& shadow, const LdsLanes& lanes);
  void store_undefined(LdsShadow& shadow, const Now& now, u64 lanes);

  const CheckSet& on_;
  Reports& reports_;
  const RegisterChecks* registers_;
  bool races_on_ = false, undefined_on_ = false;
  const Program* program_ = nullptr;
  Dim3 grid_;
  int waves_ = 0;
  std::vector<std::unique_ptr<Slot>> slots_;
  // LDS instructions get numbers as they come, small enough for a cell of the shadow; from 1.
  std::vector<u16> sites_;  // [instruction]
  std::vector<u32> inst_of_site_;
  std::array<u64, 4> undefined_dwords_{};
  u32 undefined_byte_ = 0;
};

}  // namespace attest::emulator
