// One row of the scalar tables: SOP1, SOP2, SOPC and SOPK instructions.
#pragma once
#include <optional>
#include <vector>

#include "harness/device/emulator/opcode_tests/vector_op.hpp"

namespace attest::emulator::opcode_tests {

struct Scalar {  // operands of one scalar instruction
  u64 a = 0, b = 0, d = 0, exec = 0;
  bool scc = false;
  u32 ua() const { return static_cast<u32>(a); }
  u32 ub() const { return static_cast<u32>(b); }
  i32 ia() const { return static_cast<i32>(a); }
  i32 ib() const { return static_cast<i32>(b); }
};
struct After {
  u64 d = 0;
  std::optional<bool> scc;  // none: SCC keeps its value
  std::optional<u64> exec;
};
using ScalarRule = After (*)(const Scalar&);

enum Shape { kD, kDS, kDSS, kSS, kDImm, kSImm };  // destination, sources, 16-bit immediate
struct ScalarOp {
  const char* name;
  Shape shape;
  int d, a, b;  // widths in dwords
  Kind ka, kb;
  ScalarRule rule;
};

const std::vector<ScalarOp>& scalar_moves();       // moves, bit operations, EXEC masks
const std::vector<ScalarOp>& scalar_arithmetic();  // sums, shifts, fields
const std::vector<ScalarOp>& scalar_compares();    // SOPC and SOPK

}  // namespace attest::emulator::opcode_tests
