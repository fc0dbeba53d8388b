#include "harness/device/emulator/checks/register_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/device/emulator/indexing.hpp"

namespace attest::emulator {
namespace {

// Where the first active lane of a flat instruction goes: all others are taken to go there too.
u64 first_address(const Wave& w, const Inst& in, const Uses& uses) {
  // sc0 of a store says something else.
  const bool returns =
      uses.transfer == Transfer::kLoad || (uses.transfer == Transfer::kAtomic && in.glc);
  const int slot = returns ? 1 : 0;
  const int lane = w.exec() ? std::countr_zero(w.exec()) : 0;
  const auto* row = &w.v[in.op[slot].reg];
  return u64{row[1][lane]} << 32 | row[0][lane];
}
bool is_aperture(u64 address, u64 aperture) { return address >> 32 == aperture >> 32; }

bool flat_to_lds(const Wave& w, const Inst& in, const Uses& uses) {
  return uses.flat && is_aperture(first_address(w, in, uses), kSharedAperture);
}
// Stores of undefined data are mistakes in memory that others see; spills to scratch are none.
bool stores_to_memory(const Wave& w, const Inst& in, const Uses& uses) {
  if (uses.unit != Unit::kVectorMemory || uses.scratch) return false;
  if (!uses.flat) return true;
  const u64 address = first_address(w, in, uses);
  return !is_aperture(address, kSharedAperture) && !is_aperture(address, kPrivateAperture);
}

std::string_view reached_by(Role role) {
  switch (role) {
    case Role::kAddress:
      return "an address";
    case Role::kStored:
      return "memory";
    default:
      return "a branch";
  }
}

}  // namespace

void RegisterChecks::begin_launch(const Program& program, const ProgramUses& uses, int waves) {
  lds_byte_.clear();
  uses_ = &uses;
  loaded_undefined_ = false;
  clears_ = false;
  states_.resize(static_cast<std::size_t>(waves));
  auto& spreads = spreads_[&program];
  if (spreads.empty()) {
    for (std::size_t i = 0; i < uses.size(); ++i)
      spreads.push_back(spread_of(program.text[i], uses[i]));
  }
  spread_ = &spreads;
}

void RegisterChecks::begin_wave(const Wave& w) {
  State& s = states_[w.shadow];
  s.loads.reset();
  if (uninitialised_) s.undefined.reset(w);
}

void RegisterChecks::count(const Wave& w, const Inst& in, const Uses& uses, State& s) {
  if (!waits_) return;
  if (uses.waits) {
    s.loads.wait(uses.wait_vm, uses.wait_lgkm);
  } else {
    s.loads.issue(in.index, uses, flat_to_lds(w, in, uses));
  }
}

void RegisterChecks::look(const Wave& w, const Inst& in, const Uses& uses, State& s) {
  if (waits_) look_for_waits(w, in, uses, s);
  if (uninitialised_) look_for_undefined(w, in, uses, s);
}

// Under VGPR indexing: at the registers that it has now.
void RegisterChecks::look_at_moved(const Wave& w, const Inst& in, const Uses& uses, State& s) {
  Inst moved = in;
  Uses there = uses;
  for (std::size_t slot = 0; slot < moved.op.size(); ++slot) {
    const u32 shift = index_shift(w, in, static_cast<int>(slot));
    Operand& op = moved.op[slot];
    // It will stop the launch.
    if (shift != 0 && op.reg + shift + op.count > kAccBase) return;
    op.reg = static_cast<u16>(op.reg + shift);
    const auto move = [&](Span& span) {
      if (span.slot == static_cast<int>(slot)) span.row = static_cast<u16>(span.row + shift);
    };
    std::for_each_n(there.read.begin(), there.reads, move);
    std::for_each_n(there.written.begin(), there.writes, move);
  }
  look(w, moved, there, s);
}

void RegisterChecks::look_for_waits(const Wave& w, const Inst& in, const Uses& uses, State& s) {
  // Loads of one queue write their registers in its order: neither a part of a register (D16) nor
  // the whole of it need wait for an earlier one. Source: LLVM, SIInsertWaitcnts.cpp,
  // hasVmemWriteVgprInOrder.
  const bool in_order = uses.counted && uses.unit != Unit::kScalarMemory;
  const Queue queue = s.loads.queue_of(uses, flat_to_lds(w, in, uses));
  const auto look_at = [&](const Span& span, bool reads) {
    for (int row = span.row; row < span.row + span.count; ++row) {
      if (!s.loads.rows.has(row)) continue;
      const bool overwrites = !reads || span.role == Role::kOld;
      if (overwrites && in_order && s.loads.of(row).queue == queue) continue;
      return report_pending(w, in, span, reads, s);
    }
  };
  for (const Span& span : uses.sources()) {
    if (span.role != Role::kMask) look_at(span, true);
  }
  for (const Span& span : uses.destinations()) look_at(span, false);
}

void RegisterChecks::report_pending(const Wave& w, const Inst& in, const Span& span, bool reads,
                                    State& s) {
  int row = span.row;
  while (!s.loads.rows.has(row)) ++row;
  const PendingLoads::Load load = s.loads.of(row);
  const auto what = [&] {
    const std::string use = fmt::format("{} is {} before its load is known to be complete",
                                        row_text(row), reads ? "read" : "written");
    if (load.queue == Queue::kScalar)
      return use + ": scalar loads complete in any order, and no s_waitcnt lgkmcnt(0) came since";
    const bool memory = load.queue == Queue::kMemory;
    return fmt::format("{}: {} {} came after it, and no s_waitcnt {}({}) or less", use, load.later,
                       memory ? "memory operations" : "LDS operations",
                       memory ? "vmcnt" : "lgkmcnt", load.later);
  };
  reports_.add(Check::kWaits, w, in, -1, what,
               fmt::format("the load at {}", w.program->where(w.program->insts[load.inst])));
  s.loads.forget(span);
}

void RegisterChecks::look_for_undefined(const Wave& w, const Inst& in, const Uses& uses, State& s) {
  const u64 exec = w.exec();
  const bool runs = uses.unit == Unit::kScalarMemory || exec != 0;
  for (const Span& span : uses.sources()) {
    const bool stored = span.role == Role::kStored && stores_to_memory(w, in, uses);
    const bool reaches = stored || span.role == Role::kAddress || span.role == Role::kBranch;
    // One known bit is enough for "VCC is not zero".
    if (span.role == Role::kBranch && span.row == kVccRow &&
        w.s64(kVcc) & ~(s.undefined.lanes(kVccRow) | s.undefined.lanes(kVccRow + 1) << 32))
      continue;
    if (reaches && (runs || span.role == Role::kBranch))
      report_undefined(w, in, span, exec, reached_by(span.role), s);
  }
  if (uses.transfer != Transfer::kNone) {
    clears_ = uses.writes > 0;
    return;
  }
  s.undefined.spread(w, in, uses, (*spread_)[in.index]);
  for (const Span& span : uses.destinations()) {
    if (span.row == kExecRow || span.row == kExecRow + 1)
      report_undefined(w, in, span, exec, "EXEC, which says what lanes run", s);
  }
}

void RegisterChecks::report_undefined(const Wave& w, const Inst& in, const Span& span, u64 exec,
                                      std::string_view reached, State& s) {
  int row = span.row;
  const u64 lanes = s.undefined.lanes_of(span, exec, &row);
  if (!lanes) return;
  const bool vector = span.row < kScalarRow;
  const u32 origin = s.undefined.origin(row);
  const auto what = [&] {
    const std::string of =
        vector ? fmt::format(", in {} of the active lanes,", std::popcount(lanes)) : "";
    if (origin == 0)
      return fmt::format("{}{} was never written, and reaches {}", row_text(row), of, reached);
    return fmt::format("{}{} holds what was read and never written, and reaches {}", row_text(row),
                       of, reached);
  };
  std::string other;
  if (origin) {
    other = fmt::format("the read at {}", w.program->where(w.program->insts[origin - 1]));
    if (const auto lds = lds_byte_.find(origin - 1); lds != lds_byte_.end())
      other += fmt::format(", LDS byte {} among it", lds->second);
  }
  reports_.add(Check::kUninitialised, w, in, vector ? std::countr_zero(lanes) : -1, what,
               std::move(other));
  // One report a value.
  for (int r = span.row; r < span.row + span.count; ++r) {
    s.undefined.set(r, vector ? s.undefined.lanes(r) & ~exec : 0, s.undefined.origin(r));
  }
}

void RegisterChecks::finish_load(const Wave& w, const Inst& in) {
  const Uses& uses = (*uses_)[in.index];
  if (uninitialised_ && uses.transfer != Transfer::kNone)
    states_[w.shadow].undefined.load(w, in, uses, loaded_dwords_);
  loaded_undefined_ = false;
  loaded_dwords_ = {};
  clears_ = false;
}

}  // namespace attest::emulator
