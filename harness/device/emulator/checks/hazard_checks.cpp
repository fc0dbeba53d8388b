#include "harness/device/emulator/checks/hazard_checks.hpp"

namespace attest::emulator {

void HazardChecks::begin_launch(const Program&, const ProgramUses&, int) {}
void HazardChecks::begin_wave(const Wave&) {}
void HazardChecks::before(const Wave&, const Inst&) {}

}  // namespace attest::emulator
