// Arith: how an emulator sums in the matrix unit and rounds transcendentals, where hardware has latitude.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/trouble.hpp"

namespace attest {

enum class Arith : std::uint8_t {
  kFma,          // a chain of fp32 FMAs over k: fast, and no hardware's
  kExact,        // each dot product and its accumulator summed exactly, rounded once
  kCdna2,        // gfx90a, as published
  kCdna3,        // gfx942, as published
  kAdversarial,  // of these the one that is farthest to one side, and transcendentals rounded to one side
};
inline constexpr std::array kAriths = {Arith::kFma, Arith::kExact, Arith::kCdna2, Arith::kCdna3,
                                       Arith::kAdversarial};

std::string_view to_string(Arith arith);   // "cdna3"
std::string_view statement(Arith arith);   // one line for `attest list`
MatrixUnit matrix_unit_of(Arith arith);    // whose bound covers it

// "all", or names joined by commas, each once. Trouble kUsage: which name is none, and which there are.
Result<std::vector<Arith>> parse_ariths(std::string_view text);

}  // namespace attest
