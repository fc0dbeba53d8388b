// A decoded instruction: the operands in the order of LLVM's assembler syntax, the modifiers by
// name, and the handler. Source of the syntax: LLVM, "Syntax of AMDGPU Instruction Modifiers" and
// the GFX90a / GFX940 instruction pages.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/emulator/executor.hpp"

namespace attest::emulator {

struct Wave;
struct Inst;

enum class Flow : std::uint8_t { kNext, kBarrier, kEnd, kYield, kFault };
using Handler = Flow (*)(Wave&, const Inst&);

// How constants, neg and abs of an instruction's sources are to be read.
enum class Type : std::uint8_t { kB32, kF32, kF16, kB64, kF64 };

// Scalar registers by their hardware encoding, so that vcc, m0 and exec are rows like the others.
inline constexpr int kFlatScratch = 102, kXnack = 104, kVcc = 106, kM0 = 124, kExec = 126;
inline constexpr int kSharedBase = 235, kPrivateBase = 237, kVccz = 251, kExecz = 252, kScc = 253;
inline constexpr int kAccBase = 256;  // a0 is row 256 of the vector register file

struct Operand {
  enum class Kind : std::uint8_t { kNone, kVector, kScalar, kConstant } kind = Kind::kNone;
  std::uint16_t reg = 0;
  std::uint8_t count = 1;  // registers
  bool neg = false, abs = false, sext = false;
  std::uint64_t value = 0;                  // of a constant
  const std::uint32_t* row = nullptr;       // a constant's low half in all 64 lanes
  const std::uint32_t* row_high = nullptr;  // and its high half
};

// SDWA selections, and what happens to the other bytes of the destination.
enum class Sel : std::uint8_t { kByte0, kByte1, kByte2, kByte3, kWord0, kWord1, kDword };
enum class Unused : std::uint8_t { kPad, kSext, kPreserve };

struct Inst {
  Handler run = nullptr;
  Handler indexed = nullptr;  // what run_indexed runs on moved registers
  std::array<Operand, 6> op;
  std::uint8_t operands = 0;
  Type type = Type::kB32;
  Type result = Type::kB32;  // of a float result: what omod and clamp work on
  bool plain = true;         // no SDWA, DPP, neg, abs, clamp or omod
  bool clamp = false, sdwa = false, dpp = false, bound_ctrl = false;
  bool float_result = false, glc = false, sc1 = false, nt = false, offen = false, idxen = false;
  bool lds = false;               // a load whose destination is LDS: op[0] is empty
  std::uint8_t first_source = 1;  // position of src0: 2 when a carry-out comes before it
  std::int8_t omod = 0;           // exponent added to a float result: mul:2 1, mul:4 2, div:2 -1
  Sel dst_sel = Sel::kDword, src0_sel = Sel::kDword, src1_sel = Sel::kDword;
  Unused dst_unused = Unused::kPad;
  std::uint8_t op_sel = 0, op_sel_hi = 0xff, neg_lo = 0, neg_hi = 0;
  std::uint8_t half_select = 0;  // VOP3's 16-bit instructions: sources that are upper halves
  bool high_result = false;      // and the result goes to the upper half, the lower one stays
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
  std::uint16_t dpp_ctrl = 0;
  std::uint8_t row_mask = 0xf, bank_mask = 0xf;
  std::int32_t offset = 0, offset1 = 0;
  std::uint32_t index = 0;  // in the program: branch targets and the allocation cache
  std::uint32_t pc = 0;     // byte offset in the image
  std::uint32_t next_pc = 0;
};

// Mnemonic without _e32, _e64, _sdwa, _dpp, with " lds" where a buffer load goes to LDS ->
// semantics.
struct Semantics {
  std::string_view mnemonic;
  Handler run;
  Type type = Type::kB32;
  bool float_result = false;
};
// For names that are composed: Semantics hold views, so that the string must live as long as the
// program.
std::string_view keep_name(std::string name);

// One list a file of semantics; decode.cpp joins them.
std::vector<Semantics> scalar_semantics();
std::vector<Semantics> control_semantics();
std::vector<Semantics> vector_integer_semantics();
std::vector<Semantics> vector_float_semantics();
std::vector<Semantics> vector_double_semantics();
std::vector<Semantics> vector_fp8_semantics();
std::vector<Semantics> vector_dot_semantics();
std::vector<Semantics> vector_compare_semantics();
std::vector<Semantics> vector_packed_semantics();
std::vector<Semantics> lane_semantics();
std::vector<Semantics> lds_semantics();
std::vector<Semantics> global_semantics();
std::vector<Semantics> buffer_semantics();
std::vector<Semantics> matrix_semantics();
std::vector<Semantics> index_semantics();

// A constant in all 64 lanes, aligned as vector rows are.
struct alignas(64) ConstantRow {
  std::array<std::uint32_t, 64> lane;
};

class Program {
 public:
  std::shared_ptr<const CodeObject> object;  // null for a snippet
  KernelInfo kernel;
  bool has_lines = false;  // a line table: what a compiler made of a source
  bool flush_matrix_denormals = false;  // gfx90a: bf16 and f16 MFMA flush subnormals
  std::vector<Inst> insts;
  std::vector<std::string> text;       // of each instruction
  std::vector<std::int32_t> index_at;  // (pc - first pc) / 4 -> index, -1 inside an instruction
  std::uint32_t first_pc = 0;
  std::vector<std::unique_ptr<ConstantRow>> rows;  // pre-broadcast constants

  // -1 when pc is not the start of an instruction of this kernel.
  std::int32_t index_of(std::uint64_t pc) const;
  std::string where(
      const Inst& inst) const;  // "mla_decode.hip:120:9" or pc, with the instruction's text
};

// Lets the vector instructions that may run while VGPR indexing is on look at M0.
void wrap_indexed(Program& program);

// Decodes `code`, whose first byte is at image offset `pc`.
Result<std::shared_ptr<Program>> decode_bytes(std::span<const std::byte> code, std::uint32_t pc,
                                              std::string_view target);

}  // namespace attest::emulator
