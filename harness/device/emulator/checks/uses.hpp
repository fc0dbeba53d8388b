// Which registers an instruction reads and writes, and of which unit it is. What the checks on
// registers go by.
#pragma once
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

// Every register of a wave is a row: v0 is row 0, a0 row 256, s0 row 512 (vcc, m0 and exec follow
// by their encodings), and SCC the last.
inline constexpr int kScalarRow = 512, kSccRow = 640, kRows = 641;
inline constexpr int kVccRow = kScalarRow + kVcc, kM0Row = kScalarRow + kM0,
                     kExecRow = kScalarRow + kExec;

// A set of rows, in whole vector words of the host, so that a question takes a few of the host's
// instructions.
class RowSet {
 public:
  void add(int row, int count) {
    for (int r = row; r < row + count; ++r) words_[r / 64] |= u64{1} << r % 64;
  }
  void remove(int row) { words_[row / 64] &= ~(u64{1} << row % 64); }
  bool has(int row) const { return words_[row / 64] >> row % 64 & 1; }
  bool meets(const RowSet& other) const {
    u64 any = 0;
    for (int i = 0; i < kWords; ++i) any |= words_[i] & other.words_[i];
    return any != 0;
  }
  // Whether it meets either of two sets.
  bool meets(const RowSet& a, const RowSet& b) const {
    u64 any = 0;
    for (int i = 0; i < kWords; ++i) any |= words_[i] & (a.words_[i] | b.words_[i]);
    return any != 0;
  }
  void clear() { words_ = {}; }

 private:
  static constexpr int kWords = 12;
  alignas(32) std::array<u64, kWords> words_{};
};

enum class Unit : u8 {
  kNone,  // s_nop, s_waitcnt, s_barrier, ...
  kScalar,
  kBranch,
  kVector,
  kMatrix,  // v_mfma
  kScalarMemory,
  kVectorMemory,
  kLds
};
enum class Transfer : u8 { kNone, kLoad, kStore, kAtomic };

enum class Role : u8 {
  kSource,
  kAddress,  // of a memory access: address, resource, offset
  kStored,   // data of a store or an atomic
  kBranch,   // says where control goes
  kMask,     // EXEC as the mask of lanes
  kOld       // a destination of which a part stays
};

struct Span {
  u16 row = 0;
  u8 count = 0;
  Role role = Role::kSource;
  std::int8_t slot = -1;  // position of the operand in the text; -1: implied
};

struct Uses {
  RowSet touched;  // what is read or written, but for EXEC as a mask
  std::array<Span, 7> read;
  std::array<Span, 3> written;
  u8 reads = 0, writes = 0;
  Unit unit = Unit::kNone;
  Transfer transfer = Transfer::kNone;
  bool trans = false;                         // transcendental
  bool flat = false;                          // the address says whether memory, LDS or scratch
  bool scratch = false;                       // of scratch_*
  bool to_lds = false;                        // a load from memory whose destination is LDS
  bool waits = false;                         // s_waitcnt
  bool counted = false;                       // in vmcnt or lgkmcnt
  u8 passes = 0;                              // of an MFMA
  u8 wait_states = 0;                         // that an s_nop adds
  u8 wait_vm = kNoWait, wait_lgkm = kNoWait;  // counts of an s_waitcnt

  static constexpr u8 kNoWait = 255;
  std::span<const Span> sources() const { return {read.data(), reads}; }
  std::span<const Span> destinations() const { return {written.data(), writes}; }
};
using ProgramUses = std::vector<Uses>;  // [instruction]

// Of an instruction by its assembler text ("v_add_u32_e32 v0, v1, v2") and what that decodes to.
// Nothing for a mnemonic that no rule knows. `gfx90a` and not gfx942: their MFMAs take different
// times.
std::optional<Uses> uses_of(std::string_view text, const Inst& in, bool gfx90a);
// Whether vmcnt counts an instruction, by its assembler text.
bool in_vmcnt(std::string_view text);
// Of all; an instruction that no rule knows has no uses (the emulator cannot run it either).
ProgramUses uses_of(const Program& program);
// "v17", "a[0:3]", "s[4:5]", "vcc", "scc".
std::string row_text(int row, int count = 1);

}  // namespace attest::emulator
