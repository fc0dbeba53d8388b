// One row of an opcode table: how a lane-wise vector instruction is written, and its rule.
#pragma once
#include <string>
#include <vector>

#include "harness/device/emulator/opcode_tests/lane.hpp"

namespace attest::emulator::opcode_tests {

// Decides which values an operand takes, its width, and what neg, abs, omod and clamp mean.
enum class Kind {
  kNone,
  kU32,
  kF32,
  kU64,
  kF64,
  kU16,
  kF16,
  kPk16,
  kPkHalf,
  kPkBf16,
  kPkF32,
  kShift,
  kExp
};

enum class Match {
  kBits,   // every bit
  kFloat,  // every bit; for a NaN: a quiet NaN, any payload
  kUlp,    // as kFloat, but one unit in the last place away is right too
};

// Encodings that the instruction has. VOP3 takes neg, abs, clamp, omod; DPP and SDWA exist for
// 32-bit VOP1, VOP2.
enum Form : unsigned {
  kE32 = 1,
  kE64 = 2,
  kVop3 = 4,
  kDpp = 8,
  kSdwa = 16,
  kVop3p = 32,
  kReadsVcc = 64
};
constexpr unsigned kVop2 = kE32 | kE64 | kDpp | kSdwa;  // and VOP1

using Rule = u64 (*)(const Lane&);

struct VectorOp {
  const char* name;
  unsigned forms;
  Kind result;
  std::vector<Kind> sources;
  Rule rule;
  Match match = Match::kBits;
  Rule clamped = nullptr;  // integer instructions: the saturating rule
  const char* target = "gfx942";
  const char* tail = "";  // further operands, e.g. ", vcc"
};

inline int width_of(Kind kind) {
  return kind == Kind::kU64 || kind == Kind::kF64 || kind == Kind::kPkF32 ? 2 : 1;
}
inline bool is_float(Kind kind) {
  return kind == Kind::kF32 || kind == Kind::kF64 || kind == Kind::kF16;
}

// Runs every form of `op` over cross products of interesting values, under full and partial EXEC,
// with scalar and constant operands and every modifier that the form takes, and reports each
// disagreement through GoogleTest.
void check(const VectorOp& op);
inline void check(const std::vector<VectorOp>& ops) {
  for (const VectorOp& op : ops) check(op);
}

// Does the executor know the mnemonic? Rows it does not know are counted by the coverage test, not
// run.
bool implemented(const std::string& mnemonic);

// "" when `actual` is right by `match`.
std::string disagreement(u64 actual, u64 expected, Kind kind, Match match);

// Edge cases of a kind: zeros, ones, extremes, denormals, infinities, quiet and signalling NaNs,
// ties.
const std::vector<u64>& interesting(Kind kind);
// A pure function of its arguments; half of the draws are edge cases.
u64 draw(Kind kind, u64 seed);

}  // namespace attest::emulator::opcode_tests
