#include "harness/device/emulator/checks/uses.hpp"

namespace attest::emulator {

ProgramUses uses_of(const Program& program) { return ProgramUses(program.insts.size()); }

}  // namespace attest::emulator
