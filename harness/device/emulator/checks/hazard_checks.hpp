// Wait states that the ISA demands of software between two instructions.
#pragma once
#include "harness/device/emulator/checks/reports.hpp"
#include "harness/device/emulator/checks/uses.hpp"

namespace attest::emulator {

class HazardChecks {
 public:
  explicit HazardChecks(Reports& reports) : reports_(reports) {}

  void begin_launch(const Program& program, const ProgramUses& uses, int waves);
  void begin_wave(const Wave& w);
  void before(const Wave& w, const Inst& in);

 private:
  [[maybe_unused]] Reports& reports_;
};

}  // namespace attest::emulator
