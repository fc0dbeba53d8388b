#include "harness/device/emulator/checks/hazard_rules.hpp"

#include <algorithm>

#include "harness/device/emulator/decode_text.hpp"

namespace attest::emulator {
namespace {

constexpr HazardRule kRules[] = {
    // checkVMEMHazards
    {kScalarByValu, kByMemory, Common::kScalarSource, 5, 5,
     "a scalar register that a VALU instruction wrote is read by a memory instruction"},
    // checkDPPHazards
    {kVectorByValu, kByDpp, Common::kFirstSource, 2, 2,
     "a vector register that a VALU instruction wrote is read by one with DPP", 1},
    {kExecByValu, kByDpp, Common::kNothing, 5, 5,
     "EXEC that a VALU instruction wrote is used by one with DPP"},
    // checkDivFMasHazards
    {kScalarByValu, kByDivFmas, Common::kScalarSource, 4, 4,
     "VCC that a VALU instruction wrote is read by v_div_fmas"},
    // checkRWLaneHazards
    {kScalarByValu, kByLaneSelect, Common::kLaneSelect, 4, 4,
     "a scalar register that a VALU instruction wrote selects a lane"},
    // checkGetRegHazards, checkSetRegHazards
    {kSetReg, kByGetReg, Common::kHwReg, 2, 2, "a hardware register is read after s_setreg"},
    {kSetReg, kBySetReg, Common::kHwReg, 2, 2, "a hardware register is set after s_setreg"},
    // checkVALUHazards
    {kTransResult, kByNoTrans, Common::kVectorSource, 0, 1,
     "the result of a transcendental instruction is read by another VALU instruction"},
    {kPartResult, kByVector, Common::kVectorSource, 0, 1,
     "a register of which SDWA or op_sel wrote a part is read by a VALU instruction"},
    {kScalarByValu, kByVector, Common::kScalarSource, 0, 2,
     "a scalar register that a VALU instruction wrote is read by a VALU instruction", 1},
    {kVectorByValu, kByLaneRead, Common::kVectorSource, 0, 1,
     "a vector register that a VALU instruction wrote is read by v_readlane or v_readfirstlane"},
    {kExecByValu, kByLanes, Common::kNothing, 0, 4,
     "EXEC that a VALU instruction wrote is used by an instruction that moves lanes"},
    // checkVALUHazardsHelper
    {kWideStore, kByVector, Common::kStoredRow, 1, 2,
     "data of a store of more than 64 bits are overwritten by a VALU instruction"},
    // checkReadM0Hazards
    {kM0ByScalar, kByM0, Common::kNothing, 1, 1, "M0 that a scalar instruction wrote is used", 0},
    // checkMAIHazards90A
    {kExecByValu, kByMatrix, Common::kNothing, 4, 4,
     "EXEC that a VALU instruction wrote is used by an MFMA"},
    {kVectorByValu, kByMatrix, Common::kVectorSource, 2, 2,
     "a vector register that a VALU instruction wrote is read by an MFMA"},
    // checkMAIVALUHazards
    {kDotResult, kByVectorReader, Common::kVectorSource, 3, 3,
     "the result of a dot product is read by another instruction"},
    {kDoubleMatrix, kByFma64, Common::kNothing, 2, 2, "an f64 FMA comes after an f64 MFMA"}};

constexpr u8 kBarrierStates = 20;  // more than any rule

bool is_vector(const Span& span) { return span.row < kScalarRow; }

bool writes(const Uses& uses, bool (*what)(const Span&)) {
  return std::ranges::any_of(uses.destinations(), what);
}

u16 first_of(std::string_view mnemonic, const Inst& in, const Uses& uses) {
  const auto is = [&](std::string_view stem) { return mnemonic.starts_with(stem); };
  u16 bits = 0;
  if (uses.unit == Unit::kVector) {
    const bool dot = is("v_dot");
    if (writes(uses, is_vector)) bits |= dot ? kDotResult : kVectorByValu;
    if (writes(uses, [](const Span& s) { return !is_vector(s) && s.row != kExecRow; }))
      bits |= kScalarByValu;
    if (writes(uses, [](const Span& s) { return s.row == kExecRow; })) bits |= kExecByValu;
    if (uses.trans) bits |= kTransResult;
    const bool old = std::ranges::any_of(
        uses.sources(), [](const Span& s) { return s.role == Role::kOld && is_vector(s); });
    const bool sdwa_part = in.sdwa && in.dst_sel != Sel::kDword;
    if ((sdwa_part || (old && in.op_sel)) && !is("v_writelane") && !is("v_cmp"))
      bits |= kPartResult;
  }
  const bool buffer_with_register = is("buffer_") && in.op[3].kind == Operand::Kind::kScalar;
  for (const Span& span : uses.sources()) {
    if (uses.unit == Unit::kVectorMemory && span.role == Role::kStored && span.count > 2 &&
        !buffer_with_register)
      bits |= kWideStore;
  }
  if (uses.unit == Unit::kScalar && writes(uses, [](const Span& s) { return s.row == kM0Row; }))
    bits |= kM0ByScalar;
  if (is("s_setreg")) bits |= kSetReg;
  if (is("v_mfma_f64")) bits |= kDoubleMatrix;
  return bits;
}

u16 then_of(std::string_view mnemonic, const Inst& in, const Uses& uses) {
  const auto is = [&](std::string_view stem) { return mnemonic.starts_with(stem); };
  u16 bits = 0;
  if (in.dpp) bits |= kByDpp;
  if (uses.unit == Unit::kVectorMemory) bits |= kByMemory;
  if (is("v_readlane") || is("v_writelane")) bits |= kByLaneSelect | kByLanes;
  if (is("v_readlane") || is("v_readfirstlane")) bits |= kByLaneRead | kByLanes;
  if (is("v_div_fmas")) bits |= kByDivFmas;
  const bool matrix = uses.unit == Unit::kMatrix, vector = uses.unit == Unit::kVector;
  if (matrix || vector) bits |= kByVector | (uses.trans ? 0 : kByNoTrans);
  if (matrix) bits |= kByMatrix;
  if (is("s_getreg")) bits |= kByGetReg;
  if (is("s_setreg")) bits |= kBySetReg;
  if (uses.to_lds || is("s_sendmsg")) bits |= kByM0;
  if (is("v_fma_f64") || is("v_fmac_f64")) bits |= kByFma64;
  // Dot products may follow one another; that the rule has an exception for those of one opcode
  // makes the exception ours for all.
  const bool memory = uses.unit == Unit::kVectorMemory || uses.unit == Unit::kLds;
  if (memory || (vector && !is("v_dot"))) bits |= kByVectorReader;
  return bits;
}

}  // namespace

std::span<const HazardRule> hazard_rules() { return kRules; }

HazardTraits hazard_traits(std::string_view text, const Inst& in, const Uses& uses, bool gfx90a) {
  const std::string mnemonic = base_mnemonic(text.substr(0, text.find_first_of(" \t")));
  HazardTraits t;
  t.first = first_of(mnemonic, in, uses);
  t.then = then_of(mnemonic, in, uses);
  t.matrix = uses.unit == Unit::kMatrix;
  t.dgemm = t.matrix && mnemonic.starts_with("v_mfma_f64");
  // On gfx942 an f32 MFMA is no XDL instruction (VOP3PInstructions.td, is_gfx940_xdl).
  t.xdl = t.matrix && !t.dgemm && (gfx90a || !mnemonic.ends_with("_f32"));
  t.near_matrix = t.matrix || uses.unit == Unit::kVector || uses.unit == Unit::kLds ||
                  uses.unit == Unit::kVectorMemory;
  if (mnemonic == "s_barrier") t.states = kBarrierStates;
  if (mnemonic == "s_nop") t.states = static_cast<u8>(1 + uses.wait_states);
  for (const HazardRule& rule : kRules) {
    const int states = gfx90a ? rule.gfx90a : rule.gfx942;
    for (int state = 0; t.then & rule.then && state < states; ++state)
      t.wants |= u64{rule.first} << kProducerBits * state;
  }
  return t;
}

std::optional<int> shared_row(Common common, const Uses& first, const Uses& then) {
  const auto meet = [](const Span& a, const Span& b) -> std::optional<int> {
    const int from = std::max(a.row, b.row), to = std::min(a.row + a.count, b.row + b.count);
    return from < to ? std::optional(from) : std::nullopt;
  };
  const auto& written = first.destinations();
  if (common == Common::kStoredRow) {
    for (const Span& stored : first.sources()) {
      for (const Span& to : then.destinations()) {
        if (stored.role != Role::kStored) continue;
        if (auto row = meet(stored, to)) return row;
      }
    }
    return std::nullopt;
  }
  bool seen_source = false;
  for (const Span& from : then.sources()) {
    if (from.role == Role::kMask || from.role == Role::kOld) continue;
    const bool vectors = common == Common::kVectorSource || common == Common::kFirstSource;
    if (is_vector(from) != vectors) continue;
    if (common == Common::kLaneSelect && from.slot != 2) continue;
    // Slot 0 is a destination that is read too; sources are in the order of their slots.
    if (common == Common::kFirstSource && (from.slot < 1 || seen_source)) continue;
    seen_source = true;
    for (const Span& to : written) {
      if (auto row = meet(from, to)) return row;
    }
  }
  return std::nullopt;
}

// Source: checkMAIHazards90A and checkMAIVALUHazards. Of gfx90a the numbers go with 2, 8 and 16
// passes.
int matrix_states(MatrixUse use, const HazardTraits& mfma, int passes, const HazardTraits& then,
                  int then_passes, bool gfx90a) {
  const bool small = passes == 4;  // of the two f64 shapes
  const int plus = mfma.xdl ? 1 : 0;
  switch (use) {
    case MatrixUse::kSameC:
      if (!then.dgemm && gfx90a && mfma.dgemm) return 0;
      if (mfma.dgemm && then.dgemm && small && then_passes == 4) return 4;
      return !gfx90a && passes == 2 ? 2 : 0;
    case MatrixUse::kSourceC:
      if (mfma.dgemm) return then.xdl ? 0 : small ? 4 : 9;
      if (gfx90a) return passes + (then.dgemm ? 1 : 0);
      return then.xdl && !mfma.xdl ? 0 : passes + plus;
    case MatrixUse::kMemoryRead:
      if (mfma.dgemm) return small ? 9 : 18;
      break;
    case MatrixUse::kOverwriteC:
      return mfma.dgemm || !mfma.xdl ? 0 : passes - 1;
    default:
      break;
  }
  if (mfma.dgemm) return small ? 6 : 11;
  return gfx90a ? passes + 3 : passes + 2 + plus;
}

}  // namespace attest::emulator
