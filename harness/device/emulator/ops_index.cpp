// VGPR indexing: while MODE.gpr_idx_en is set, a vector instruction's registers are moved by
// M0[7:0]: src0 when M0[12] is set, src1 by M0[13], src2 by M0[14], the destination by M0[15].
// Source: MI300 ISA, chapter 6.6. Programs without it pay nothing: wrap_indexed gives run_indexed
// only to instructions that control may reach with indexing on.
#include <fmt/format.h>

#include "harness/device/emulator/indexing.hpp"

namespace attest::emulator {
namespace {

void set_index(Wave& w, u32 index) { w.s[kM0] = (w.s[kM0] & ~0xffu) | (index & 0xff); }
void set_enables(Wave& w, u64 bits) {
  w.s[kM0] = (w.s[kM0] & ~0xf000u) | (static_cast<u32>(bits) & 15) << 12;
}
Flow index_on(Wave& w, const Inst& in) {
  w.mode |= kModeGprIndex;
  set_index(w, scalar32(w, in.op[0]));
  set_enables(w, in.op[1].value);
  return Flow::kNext;
}
Flow index_off(Wave& w, const Inst&) {
  w.mode &= ~kModeGprIndex;
  return Flow::kNext;
}
Flow index_value(Wave& w, const Inst& in) {
  set_index(w, scalar32(w, in.op[0]));
  return Flow::kNext;
}
Flow index_mode(Wave& w, const Inst& in) {
  set_enables(w, in.op[0].value);
  return Flow::kNext;
}

Flow refuse(Wave& w, const Inst& in) {
  return fault(w, in, "this instruction under VGPR indexing is not modelled");
}

Flow run_indexed(Wave& w, const Inst& in) {
  if (!(w.mode & kModeGprIndex)) return in.indexed(w, in);
  Inst moved = in;
  for (std::size_t slot = 0; slot < moved.op.size(); ++slot) {
    Operand& op = moved.op[slot];
    const u32 shift = index_shift(w, in, static_cast<int>(slot));
    if (shift == 0) continue;
    if (op.reg >= kAccBase) return refuse(w, in);
    if (op.reg + shift + op.count > kAccBase) {
      return fault(w, in,
                   fmt::format("VGPR index {} moves v{} out of the register file", shift, op.reg));
    }
    op.reg = static_cast<u16>(op.reg + shift);
  }
  return in.indexed(w, moved);
}

bool sets_index_mode(const Inst& in) {
  if (in.run == index_on) return true;
  // s_setreg of MODE over its bit 27: hwreg is id | offset << 6 | (size - 1) << 11.
  const u64 spec = in.op[0].value, first = spec >> 6 & 31, last = first + (spec >> 11 & 31);
  return in.op[0].kind == Operand::Kind::kConstant && (spec & 63) == 1 && first <= 27 && last >= 27;
}

bool has_mnemonic(const Program& program, const Inst& in, std::string_view prefix) {
  return program.text[in.index].starts_with(prefix);
}

// Indices that control may reach next.
std::vector<std::size_t> successors(const Program& program, const Inst& in) {
  std::vector<std::size_t> next;
  const bool branch = has_mnemonic(program, in, "s_branch"),
             conditional = has_mnemonic(program, in, "s_cbranch");
  if (branch || conditional) {
    const i64 words = static_cast<std::int16_t>(in.op[0].value);
    const std::int32_t target = program.index_of(in.next_pc + static_cast<u64>(4 * words));
    if (target >= 0) next.push_back(static_cast<std::size_t>(target));
  }
  if (!branch && !has_mnemonic(program, in, "s_endpgm") && in.index + 1 < program.insts.size())
    next.push_back(in.index + 1);
  return next;
}

// Whether each instruction may run with indexing on. A jump through a register may go anywhere.
std::vector<bool> may_be_indexed(const Program& program) {
  std::vector<bool> reached(program.insts.size());
  std::vector<std::size_t> open;
  const auto reach = [&](const Inst& in) {
    for (std::size_t next : successors(program, in)) {
      if (!reached[next]) open.push_back(next);
      reached[next] = true;
    }
  };
  for (const Inst& in : program.insts) {
    if (in.run == index_on || (has_mnemonic(program, in, "s_setreg") && sets_index_mode(in)))
      reach(in);
  }
  while (!open.empty()) {
    const Inst& in = program.insts[open.back()];
    open.pop_back();
    if (in.run == index_off) continue;
    if (has_mnemonic(program, in, "s_setpc") || has_mnemonic(program, in, "s_swappc") ||
        has_mnemonic(program, in, "s_call"))
      return std::vector<bool>(program.insts.size(), true);
    reach(in);
  }
  return reached;
}

}  // namespace

u32 index_shift(const Wave& w, const Inst& in, int slot) {
  const int source = slot - in.first_source, bit = slot == 0 ? 3 : source;
  const bool moves = in.run == run_indexed && w.mode & kModeGprIndex &&
                     in.op[slot].kind == Operand::Kind::kVector && bit >= 0 && bit < 4 &&
                     (slot == 0 || source < 3);
  return moves && w.s[kM0] >> (12 + bit) & 1 ? w.s[kM0] & 0xff : 0;
}

void wrap_indexed(Program& program) {
  const std::vector<bool> reached = may_be_indexed(program);
  for (Inst& in : program.insts) {
    if (!reached[in.index] || !has_mnemonic(program, in, "v_")) continue;
    in.indexed = in.run;
    in.run = run_indexed;
    for (std::string_view prefix : {"v_mfma", "v_smfmac", "v_accvgpr", "v_swap"}) {
      if (has_mnemonic(program, in, prefix)) in.indexed = refuse;
    }
  }
}

std::vector<Semantics> index_semantics() {
  return {{"s_set_gpr_idx_on", index_on},
          {"s_set_gpr_idx_off", index_off},
          {"s_set_gpr_idx_idx", index_value},
          {"s_set_gpr_idx_mode", index_mode}};
}

}  // namespace attest::emulator
