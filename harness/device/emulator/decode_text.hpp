// One line of LLVM's disassembly -> mnemonic, operands and modifiers of an Inst.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/emulator/inst.hpp"

namespace attest::emulator {

struct ParsedText {
  std::string mnemonic;  // as written, with its encoding suffix
  Inst inst;             // operands and modifiers; no handler yet
  std::string unknown;   // what could not be read, empty when all was
};
ParsedText parse_text(std::string_view line);

// Without _e32, _e64, _sdwa, _dpp.
std::string base_mnemonic(std::string_view mnemonic);

}  // namespace attest::emulator
