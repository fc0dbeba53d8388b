// Which pairs of instructions the ISA wants apart, and by how many wait states. An instruction is
// one wait state, s_nop N is N + 1; counted are those between the two. A barrier is enough for
// every rule: shipped kernels count on the time that it takes. Source: LLVM 19,
// GCNHazardRecognizer.cpp (the function that each rule names), which is what compilers for gfx90a
// and gfx942 go by; MI300 ISA, chapter 4.5.
#pragma once
#include <span>

#include "harness/device/emulator/checks/uses.hpp"

namespace attest::emulator {

// What an instruction does that a later one must not follow too closely. Bits.
enum Producer : u16 {
  kVectorByValu = 1,  // a VALU instruction, no MFMA, writes a vector register
  kScalarByValu = 2,  // ... a scalar one
  kExecByValu = 4,
  kTransResult = 8,
  kPartResult = 0x10,  // SDWA or op_sel write a part of a register
  kWideStore = 0x20,   // reads more than 64 bits of a lane's data
  kM0ByScalar = 0x40,
  kSetReg = 0x80,
  kDotResult = 0x100,
  kDoubleMatrix = 0x200
};
inline constexpr int kProducerBits = 12, kHistory = 5;  // of a u64: producers of the last 5 states

// Which instruction must keep away. Bits.
enum Consumer : u16 {
  kByDpp = 1,
  kByMemory = 2,      // of vectors
  kByLaneSelect = 4,  // v_readlane, v_writelane
  kByLaneRead = 8,    // v_readlane, v_readfirstlane
  kByLanes = 0x10,    // all three
  kByDivFmas = 0x20,
  kByVector = 0x40,   // VALU and MFMA
  kByNoTrans = 0x80,  // those that are not transcendental
  kByMatrix = 0x100,
  kByGetReg = 0x200,
  kBySetReg = 0x400,
  kByM0 = 0x800,
  kByFma64 = 0x1000,
  kByVectorReader = 0x2000  // VALU but MFMA, memory, LDS
};

// What the two must share.
enum class Common : u8 {
  kVectorSource,
  kFirstSource,  // which alone goes through DPP
  kScalarSource,
  kLaneSelect,
  kStoredRow,
  kHwReg,
  kNothing
};

struct HazardRule {
  Producer first;
  Consumer then;
  Common common;
  u8 gfx90a, gfx942;  // wait states; 0: no hazard
  std::string_view text;
  // Fewer states than that are a mistake. From that to what LLVM wants they are listed only: AMD's
  // own kernels (those that aiter ships for gfx942 MLA decode) run with so few, in thousands of
  // places.
  u8 shipped = 255;
};
std::span<const HazardRule> hazard_rules();

struct HazardTraits {
  u64 wants = 0;  // bits of the history that are worth a look
  u16 first = 0, then = 0;
  u8 states = 1;
  bool matrix = false, xdl = false, dgemm = false;
  bool near_matrix = false;  // may be too close behind an MFMA
};
HazardTraits hazard_traits(std::string_view text, const Inst& in, const Uses& uses, bool gfx90a);

// A row that both have, of what the rule says they share; nothing when there is none.
std::optional<int> shared_row(Common common, const Uses& first, const Uses& then);

// How an instruction meets an earlier MFMA, and the wait states that it needs.
enum class MatrixUse : u8 { kSourceC, kSameC, kSourceAB, kRead, kMemoryRead, kWrite, kOverwriteC };
int matrix_states(MatrixUse use, const HazardTraits& mfma, int passes, const HazardTraits& then,
                  int then_passes, bool gfx90a);

}  // namespace attest::emulator
