// Which registers an instruction reads and writes, and of which unit it is. What the checks on
// registers go by.
#pragma once
#include <array>
#include <vector>

#include "harness/device/emulator/inst.hpp"

namespace attest::emulator {

struct Uses {};
using ProgramUses = std::vector<Uses>;  // [instruction]

ProgramUses uses_of(const Program& program);

}  // namespace attest::emulator
