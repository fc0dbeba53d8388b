// VGPR indexing, for those who look at an instruction's registers without running it.
#pragma once
#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

// By how many registers the operand `slot` of `in` is moved now; 0 without s_set_gpr_idx_on.
u32 index_shift(const Wave& w, const Inst& in, int slot);

}  // namespace attest::emulator
