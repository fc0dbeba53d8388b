// Registers that are used before their load was waited for, and registers that nobody wrote and
// that reach an address, a branch or a store.
#pragma once
#include "harness/device/emulator/checks/reports.hpp"
#include "harness/device/emulator/checks/uses.hpp"

namespace attest::emulator {

class RegisterChecks {
 public:
  RegisterChecks(const CheckSet& on, Reports& reports) : on_(on), reports_(reports) {}

  // `waves`: how many are resident at once; Wave::shadow counts them.
  void begin_launch(const Program& program, const ProgramUses& uses, int waves);
  void begin_wave(const Wave& w);
  void before(const Wave& w, const Inst& in);
  void after(const Wave& w, const Inst& in);
  // Of the load that runs: lanes that read what nobody wrote.
  void loads_undefined(u64 lanes) { loaded_undefined_ |= lanes; }
  // Lanes of a vector register (row: a0 is 256) that hold what nobody wrote.
  u64 undefined(const Wave& w, int row) const;

 private:
  [[maybe_unused]] const CheckSet& on_;
  [[maybe_unused]] Reports& reports_;
  u64 loaded_undefined_ = 0;
};

}  // namespace attest::emulator
