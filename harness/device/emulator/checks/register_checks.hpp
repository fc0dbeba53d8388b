// Registers that are used before their load was waited for, and registers that nobody wrote and
// that reach an address, a branch or a store.
#pragma once
#include <memory>

#include "harness/device/emulator/checks/pending_loads.hpp"
#include "harness/device/emulator/checks/reports.hpp"
#include "harness/device/emulator/checks/undefined_registers.hpp"

namespace attest::emulator {

class RegisterChecks {
 public:
  RegisterChecks(const CheckSet& on, Reports& reports)
      : waits_(on.has(Check::kWaits)),
        uninitialised_(on.has(Check::kUninitialised)),
        reports_(reports) {}

  // `waves`: how many are resident at once; Wave::shadow counts them.
  void begin_launch(const Program& program, const ProgramUses& uses, int waves);
  void begin_wave(const Wave& w);
  void before(const Wave& w, const Inst& in) {
    const Uses& uses = (*uses_)[in.index];
    State& s = states_[w.shadow];
    if (in.indexed && w.mode & kModeGprIndex) {
      look_at_moved(w, in, uses, s);
    } else if (uses.touched.meets(s.loads.rows, s.undefined.rows)) {
      look(w, in, uses, s);
    }
    if (uses.counted || uses.waits) count(w, in, uses, s);
  }
  void after(const Wave& w, const Inst& in) {
    if (clears_ || loaded_undefined_) finish_load(w, in);
  }
  // Of the load that runs: lanes that read what nobody wrote in a dword of its destination.
  void loads_undefined(u64 lanes, int dword) {
    loaded_dwords_[static_cast<std::size_t>(dword)] |= lanes;
    loaded_undefined_ = true;
  }
  // `byte`: the first such one, of a load from LDS.
  void loads_undefined_lds(const Inst& in, u32 byte) { lds_byte_.try_emplace(in.index, byte); }
  // Lanes of a vector register (row: a0 is 256) that hold what nobody wrote.
  u64 undefined(const Wave& w, int row) const {
    return uninitialised_ ? states_[w.shadow].undefined.lanes(row) : 0;
  }

  // A wave's operations in the order of vmcnt (memory, loads to LDS among it) and of lgkmcnt (LDS)
  // have numbers from 1. While an instruction runs, `issued` is its own number; it has been waited
  // for when `done` is no less. All 0 when waits are not checked.
  u32 vm_issued(const Wave& w) const { return loads(w).issued(Queue::kMemory); }
  u32 vm_done(const Wave& w) const { return loads(w).done(Queue::kMemory); }
  u32 lgkm_issued(const Wave& w) const { return loads(w).issued(Queue::kLds); }
  u32 lgkm_done(const Wave& w) const { return loads(w).done(Queue::kLds); }

 private:
  struct State {
    PendingLoads loads;
    UndefinedRegisters undefined;
  };
  const PendingLoads& loads(const Wave& w) const { return states_[w.shadow].loads; }

  void look(const Wave& w, const Inst& in, const Uses& uses, State& s);
  void look_at_moved(const Wave& w, const Inst& in, const Uses& uses, State& s);
  void count(const Wave& w, const Inst& in, const Uses& uses, State& s);
  void finish_load(const Wave& w, const Inst& in);
  void look_for_waits(const Wave& w, const Inst& in, const Uses& uses, State& s);
  void look_for_undefined(const Wave& w, const Inst& in, const Uses& uses, State& s);
  void report_pending(const Wave& w, const Inst& in, const Span& span, bool reads, State& s);
  void report_undefined(const Wave& w, const Inst& in, const Span& span, u64 exec,
                        std::string_view reached, State& s);

  bool waits_, uninitialised_;
  Reports& reports_;
  const ProgramUses* uses_ = nullptr;
  std::map<const Program*, std::vector<Spread>> spreads_;
  const std::vector<Spread>* spread_ = nullptr;  // [instruction]
  std::vector<State> states_;
  LoadedDwords loaded_dwords_{};
  bool loaded_undefined_ = false;  // some lane of those
  std::map<u32, u32> lds_byte_;    // [instruction] of its first load that read what nobody wrote
  bool clears_ = false;            // the load that runs has an undefined destination
};

}  // namespace attest::emulator
