// One operand of an instruction's text: registers, constants, hwreg(...), gpr_idx(...).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/device/emulator/inst.hpp"

namespace attest::emulator {

using Pieces = std::vector<std::string_view>;

// Splits at `separator` outside of brackets; the pieces are trimmed, empty ones left out.
Pieces split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
bool parse_integer(std::string_view text, std::int64_t* value);

// `type` says how a floating-point constant is stored.
bool parse_operand(std::string_view text, Operand* op, Type type);

}  // namespace attest::emulator
