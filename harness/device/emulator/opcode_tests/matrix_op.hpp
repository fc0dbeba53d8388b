// One matrix instruction: its shape, the places of its elements, what is computed. Layout rules, a
// shape each: CDNA3 ISA guide, "Matrix fused-multiply-add".
#pragma once
#include <string>
#include <vector>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {

enum class Element { kF64, kF32, kXf32, kF16, kBf16, kI8, kFp8, kBf8 };

struct Mfma {
  const char* name;
  const char* target;
  int m, k, blocks;
  Element a, b;
};
inline constexpr const char *kMi200 = "gfx90a", *kMi300 = "gfx942";
inline constexpr int kA = 0, kB = 8, kC = 32, kD = 96;  // first registers

const std::vector<Mfma>& mfmas();

int bits_of_element(Element e);
double element_value(Element e, u64 code);
// A code whose value is this small integer.
u64 small_integer(Element e, int v);

bool integers(const Mfma& op);
int result_dwords(const Mfma& op);  // a lane
int source_dwords(const Mfma& op, Element e);

// "v3", "a[0:7]".
std::string registers(char file, int first, int dwords);

// A, B and C in kA, kB and kC: small integers when `exact`, else values of moderate size.
WaveState start_mfma(const Mfma& op, bool exact, u64 seed);

// D = A B + C by the definition, with sums in double, against the registers `got` at `first`; a
// rounding error of each addition is allowed unless `exact`.
void compare_mfma(const Mfma& op, const WaveState& before, const std::vector<u32>& got, int first,
                  bool with_c, bool exact, const std::string& text);

void run_mfma(const std::string& text, const char* target, WaveState& state);

}  // namespace attest::emulator::opcode_tests
