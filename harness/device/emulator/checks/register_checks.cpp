#include "harness/device/emulator/checks/register_checks.hpp"

namespace attest::emulator {

void RegisterChecks::begin_launch(const Program&, const ProgramUses&, int) {}
void RegisterChecks::begin_wave(const Wave&) {}
void RegisterChecks::before(const Wave&, const Inst&) {}
void RegisterChecks::after(const Wave&, const Inst&) { loaded_undefined_ = 0; }
u64 RegisterChecks::undefined(const Wave&, int) const { return 0; }

}  // namespace attest::emulator
