#include "harness/device/emulator/checks/hazard_checks.hpp"

#include <fmt/format.h>

namespace attest::emulator {
namespace {

bool same_hardware_register(const Inst& first, const Inst& then, bool then_reads) {
  return (first.op[0].value & 63) == (then.op[then_reads ? 1 : 0].value & 63);
}

std::string_view text_of(MatrixUse use) {
  switch (use) {
    case MatrixUse::kSourceC:
    case MatrixUse::kSameC:
      return "the result of an MFMA is C of another";
    case MatrixUse::kSourceAB:
      return "the result of an MFMA is A or B of another";
    case MatrixUse::kRead:
      return "the result of an MFMA is read by a VALU instruction";
    case MatrixUse::kMemoryRead:
      return "the result of an MFMA is read by a memory or LDS instruction";
    case MatrixUse::kWrite:
      return "the result of an MFMA is overwritten";
    case MatrixUse::kOverwriteC:
      return "C of an MFMA is overwritten";
  }
  return {};
}

bool overlap(const Span& a, const Span& b) {
  return a.row < b.row + b.count && b.row < a.row + a.count;
}

}  // namespace

void HazardChecks::begin_launch(const Program& program, const ProgramUses& uses, int waves) {
  uses_ = &uses;
  gfx90a_ = program.flush_matrix_denormals;
  states_.resize(static_cast<std::size_t>(waves));
  auto& traits = all_traits_[&program];
  for (std::size_t i = traits.size(); i < uses.size(); ++i)
    traits.push_back(hazard_traits(program.text[i], program.insts[i], uses[i], gfx90a_));
  traits_ = &traits;
}

void HazardChecks::push_matrix(const Inst& in, State& s) {
  if (s.clock >= s.generation_until) {
    s.older_rows = s.matrix_rows;
    s.matrix_rows.clear();
    s.generation_until = s.clock + 1 + kMatrixStates;
  }
  s.matrix_until = s.clock + 1 + kMatrixStates;
  s.matrices.push(in.index, s.clock);
  const Uses& uses = (*uses_)[in.index];
  for (const Span& span : uses.destinations()) s.matrix_rows.add(span.row, span.count);
  for (const Span& span : uses.sources()) {
    if (span.slot == 3) s.matrix_rows.add(span.row, span.count);
  }
}

void HazardChecks::look_back(const Wave& w, const Inst& in, const HazardTraits& t, const State& s) {
  const auto& insts = w.program->insts;
  for (const HazardRule& rule : hazard_rules()) {
    const u32 needed = gfx90a_ ? rule.gfx90a : rule.gfx942;
    if (!(t.then & rule.then)) continue;
    for (u32 back = 0; back < s.recent.size(); ++back) {
      const auto& entry = s.recent.last(back);
      const u32 between = s.clock - entry.clock - 1;
      if (between >= needed) break;
      if (!((*traits_)[entry.inst].first & rule.first)) continue;
      std::optional<int> row;
      if (rule.common == Common::kHwReg) {
        if (!same_hardware_register(insts[entry.inst], in, rule.then == kByGetReg)) continue;
      } else if (rule.common != Common::kNothing) {
        row = shared_row(rule.common, (*uses_)[entry.inst], (*uses_)[in.index]);
        if (!row) continue;
      }
      report({w, in, entry.inst, static_cast<int>(between), static_cast<int>(needed),
              between >= rule.shipped},
             rule.text, row);
      break;
    }
  }
}

// Of each of its registers the latest MFMA that has it counts.
void HazardChecks::look_at_matrices(const Wave& w, const Inst& in, const HazardTraits& t,
                                    const State& s) {
  const Uses& uses = (*uses_)[in.index];
  const bool memory = uses.unit == Unit::kLds || uses.unit == Unit::kVectorMemory;
  const auto is_of_any = [&](const Span& span) {
    for (int row = span.row; row < span.row + span.count; ++row) {
      if (s.matrix_rows.has(row) || s.older_rows.has(row)) return true;
    }
    return false;
  };
  const auto look = [&](const Span& span, MatrixUse use, bool against_c) {
    if (!is_of_any(span)) return;
    for (u32 back = 0; back < s.matrices.size(); ++back) {
      const auto& entry = s.matrices.last(back);
      const int between = static_cast<int>(s.clock - entry.clock - 1);
      if (between >= static_cast<int>(kMatrixStates)) return;
      const Uses& mfma = (*uses_)[entry.inst];
      const Span* of_mfma = mfma.written.data();
      if (against_c) {
        of_mfma = nullptr;
        for (const Span& source : mfma.sources()) {
          if (source.slot == 3) of_mfma = &source;
        }
      }
      if (!of_mfma || !overlap(*of_mfma, span)) continue;
      if (use == MatrixUse::kSourceC && of_mfma->row == span.row && of_mfma->count == span.count)
        use = MatrixUse::kSameC;
      const int needed =
          matrix_states(use, (*traits_)[entry.inst], mfma.passes, t, uses.passes, gfx90a_);
      if (between < needed)
        report({w, in, entry.inst, between, needed}, text_of(use),
               std::max(of_mfma->row, span.row));
      return;
    }
  };
  for (const Span& span : uses.sources()) {
    if (span.role == Role::kMask || span.role == Role::kOld || span.row >= kScalarRow) continue;
    look(span,
         t.matrix ? (span.slot == 3 ? MatrixUse::kSourceC : MatrixUse::kSourceAB)
         : memory ? MatrixUse::kMemoryRead
                  : MatrixUse::kRead,
         false);
  }
  for (const Span& span : uses.destinations()) {
    if (t.matrix || span.row >= kScalarRow) continue;
    look(span, MatrixUse::kWrite, false);
    look(span, MatrixUse::kOverwriteC, true);
  }
}

void HazardChecks::report(const Pair& pair, std::string_view rule, std::optional<int> row) {
  const auto what = [&] {
    return fmt::format("{}{}: {} wait states between them, and {} are needed",
                       row ? row_text(*row) + ": " : "", rule, pair.between, pair.needed);
  };
  const Program& program = *pair.w.program;
  reports_.add(
      Check::kHazards, pair.w, pair.in, -1, what,
      fmt::format("the earlier instruction at {}", program.where(program.insts[pair.first])),
      pair.listed_only);
}

}  // namespace attest::emulator
