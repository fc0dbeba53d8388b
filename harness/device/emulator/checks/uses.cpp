#include "harness/device/emulator/checks/uses.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "harness/device/emulator/decode_operand.hpp"
#include "harness/device/emulator/decode_text.hpp"

namespace attest::emulator {
namespace {

// What a family of mnemonics does beside: op[0] is the destination, the others are sources.
enum Form : u32 {
  kPlain = 0,
  kNoDestination = 1,
  kSecond = 2,     // op[1] is a destination too
  kAlsoReads = 4,  // its destinations are sources too
  kKeeps = 8,      // a part of the destination stays
  kReadsScc = 0x10,
  kWritesScc = 0x20,
  kReadsVcc = 0x40,
  kReadsExec = 0x80,  // as a value
  kWritesExec = 0x100,
  kReadsM0 = 0x200,
  kWritesM0 = 0x400,
  kMasked = 0x800,  // by EXEC
  kTrans = 0x1000
};
struct Family {
  Unit unit;
  u32 form;
  std::string_view stems;
};

// A mnemonic is of the family of its longest stem, which ends at a "_" or where the mnemonic does.
// Source: MI300 ISA, chapters 12.1 to 12.12.
constexpr Family kFamilies[] = {
    {Unit::kNone, kNoDestination,
     "s_nop s_waitcnt s_barrier s_endpgm s_sleep s_setprio s_sethalt s_trap s_icache_inv s_dcache "
     "s_code_end s_inst_prefetch s_ttracedata s_sendmsg s_set_gpr_idx_off v_nop"},
    {Unit::kBranch, kNoDestination, "s_branch s_setpc s_cbranch"},
    {Unit::kBranch, kNoDestination | kReadsScc, "s_cbranch_scc0 s_cbranch_scc1"},
    {Unit::kBranch, kNoDestination | kReadsVcc, "s_cbranch_vccz s_cbranch_vccnz"},
    {Unit::kBranch, kNoDestination | kReadsExec, "s_cbranch_execz s_cbranch_execnz"},
    {Unit::kBranch, kPlain, "s_swappc s_call"},
    {Unit::kScalar, kNoDestination | kWritesScc, "s_cmp s_cmpk s_bitcmp0 s_bitcmp1"},
    {Unit::kScalar, kPlain,
     "s_bfm s_brev s_ff0 s_ff1 s_flbit s_mov s_movk s_mul s_pack s_sext s_getpc s_getreg"},
    {Unit::kScalar, kNoDestination, "s_setreg"},
    {Unit::kScalar, kWritesScc,
     "s_abs s_absdiff s_add s_sub s_and s_andn2 s_nand s_or s_orn2 s_nor s_xor s_xnor s_not s_wqm "
     "s_ashr s_lshl s_lshr s_lshl1 s_lshl2 s_lshl3 s_lshl4 s_bcnt0 s_bcnt1 s_bfe s_max s_min"},
    {Unit::kScalar, kReadsScc | kWritesScc, "s_addc s_subb"},
    {Unit::kScalar, kReadsScc, "s_cselect"},
    {Unit::kScalar, kReadsScc | kKeeps, "s_cmov s_cmovk"},
    {Unit::kScalar, kKeeps, "s_bitset0 s_bitset1"},
    {Unit::kScalar, kAlsoReads | kWritesScc, "s_addk"},
    {Unit::kScalar, kAlsoReads, "s_mulk"},
    {Unit::kScalar, kReadsExec | kWritesExec | kWritesScc,
     "s_and_saveexec s_or_saveexec s_xor_saveexec s_andn1_saveexec s_andn2_saveexec "
     "s_orn1_saveexec s_orn2_saveexec s_nand_saveexec s_nor_saveexec s_xnor_saveexec "
     "s_andn1_wrexec s_andn2_wrexec"},
    {Unit::kScalar, kNoDestination | kWritesM0,
     "s_set_gpr_idx_on s_set_gpr_idx_idx s_set_gpr_idx_mode"},
    {Unit::kScalarMemory, kPlain, "s_load s_buffer_load s_memtime s_memrealtime"},
    {Unit::kVector, kMasked,
     "v_accvgpr_read v_accvgpr_write v_accvgpr_mov v_add v_add3 v_alignbit v_alignbyte v_and "
     "v_ashrrev v_bcnt v_bfe v_bfi v_bfm v_bfrev v_ceil v_cndmask v_cubeid v_cvt v_div_fixup "
     "v_dot2 v_dot4 v_dot8 v_ffbh v_ffbl v_floor v_fma v_fmaak v_fmamk v_fract v_frexp v_ldexp "
     "v_lshl v_lshlrev v_lshrrev v_mad v_madak v_madmk v_max v_max3 v_mbcnt v_med3 v_min v_min3 "
     "v_mov v_mul v_not v_or v_or3 v_perm v_rndne v_sad v_sub v_subrev v_trunc v_xad v_xnor v_xor "
     "v_pk_add v_pk_ashrrev v_pk_fma v_pk_lshlrev v_pk_lshrrev v_pk_mad v_pk_max v_pk_min "
     "v_pk_mov v_pk_mul v_pk_sub v_cmp v_readfirstlane"},
    {Unit::kVector, kMasked | kSecond,
     "v_add_co v_addc_co v_sub_co v_subb_co v_subrev_co v_subbrev_co v_mad_u64 v_mad_i64 "
     "v_div_scale"},
    {Unit::kVector, kMasked | kTrans, "v_exp v_log v_rcp v_rsq v_sqrt v_sin v_cos"},
    {Unit::kVector, kMasked | kAlsoReads, "v_fmac v_mac v_pk_fmac v_dot2c v_dot4c v_dot8c"},
    {Unit::kVector, kMasked | kKeeps,
     "v_fma_mixlo v_fma_mixhi v_cvt_pk_fp8 v_cvt_pk_bf8 v_cvt_sr_fp8 v_cvt_sr_bf8"},
    {Unit::kVector, kMasked | kReadsVcc, "v_div_fmas"},
    {Unit::kVector, kMasked | kWritesExec, "v_cmpx"},
    {Unit::kVector, kMasked | kSecond | kAlsoReads, "v_swap"},
    {Unit::kVector, kPlain, "v_readlane"},
    {Unit::kVector, kKeeps, "v_writelane"},
    {Unit::kMatrix, kPlain, "v_mfma"},
    {Unit::kLds, kMasked,
     "ds_read ds_read2 ds_read2st64 ds_write ds_write2 ds_write2st64 ds_bpermute ds_permute "
     "ds_swizzle ds_add ds_sub ds_rsub ds_inc ds_dec ds_min ds_max ds_and ds_or ds_xor ds_cmpst "
     "ds_wrxchg ds_pk_add"},
    {Unit::kVectorMemory, kMasked,
     "global_load global_store global_atomic flat_load flat_store flat_atomic scratch_load "
     "scratch_store buffer_load buffer_store buffer_atomic"},
    {Unit::kVectorMemory, kNoDestination, "buffer_wbl2 buffer_inv buffer_invl2 buffer_wbinvl1"}};

const Family* family_of(std::string_view mnemonic) {
  static const auto* by_stem = [] {
    auto* all = new std::map<std::string_view, const Family*>;
    for (const Family& family : kFamilies) {
      for (std::string_view stem : split(family.stems, ' ')) all->emplace(stem, &family);
    }
    return all;
  }();
  while (true) {
    if (const auto found = by_stem->find(mnemonic); found != by_stem->end()) return found->second;
    const std::size_t end = mnemonic.rfind('_');
    if (end == mnemonic.npos) return nullptr;
    mnemonic = mnemonic.substr(0, end);
  }
}

bool is_register(const Operand& op) {
  return op.kind == Operand::Kind::kVector || op.kind == Operand::Kind::kScalar;
}

class Describer {
 public:
  Describer(std::string_view mnemonic, const Inst& in, u32 form)
      : mnemonic_(mnemonic), in_(in), form_(form) {}

  Uses uses;

  void read(int slot, Role role) { read(in_.op[slot], slot, role); }
  void read_rows(int row, int count, Role role, int slot = -1) {
    uses.read[uses.reads++] = {static_cast<u16>(row), static_cast<u8>(count), role,
                               static_cast<std::int8_t>(slot)};
    if (role != Role::kMask) uses.touched.add(row, count);
  }
  void write(int slot) {
    const Operand& op = in_.op[slot];
    if (!is_register(op)) return;
    write_rows(op.kind == Operand::Kind::kVector ? op.reg : kScalarRow + op.reg, op.count, slot);
  }
  void write_rows(int row, int count, int slot = -1) {
    uses.written[uses.writes++] = {static_cast<u16>(row), static_cast<u8>(count), Role::kSource,
                                   static_cast<std::int8_t>(slot)};
    uses.touched.add(row, count);
  }

  // The destinations are op[0] to op[destinations - 1].
  void arithmetic(Role role) {
    const int destinations = form_ & kNoDestination ? 0 : form_ & kSecond ? 2 : 1;
    for (int slot = 0; slot < destinations; ++slot) {
      write(slot);
      if (form_ & kAlsoReads) read(slot, Role::kSource);
    }
    if (form_ & kKeeps || (destinations > 0 && writes_a_part(destinations))) read(0, Role::kOld);
    for (int slot = destinations; slot < static_cast<int>(in_.op.size()); ++slot)
      read(halves_of(slot), slot, role);
  }
  void implied(Role role) {
    if (form_ & kReadsScc) read_rows(kSccRow, 1, role);
    if (form_ & kReadsVcc) read_rows(kVccRow, 2, role);
    if (form_ & kReadsExec) read_rows(kExecRow, 2, role);
    if (form_ & kReadsM0) read_rows(kM0Row, 1, Role::kAddress);
    if (form_ & kMasked) read_rows(kExecRow, 2, Role::kMask);
    if (form_ & kWritesScc) write_rows(kSccRow, 1);
    if (form_ & kWritesExec) write_rows(kExecRow, 2);
    if (form_ & kWritesM0) write_rows(kM0Row, 1);
  }
  // Stored data are op[data] and `data_count - 1` after it; op[0] is the result, if there is one.
  void memory(int data, int data_count, bool result) {
    if (result) write(0);
    for (int slot = result ? 1 : 0; slot < static_cast<int>(in_.op.size()); ++slot) {
      const bool stored = slot >= data && slot < data + data_count;
      read(slot, stored ? Role::kStored : Role::kAddress);
    }
    if (mnemonic_.find("_d16") != mnemonic_.npos && result) read(0, Role::kOld);
  }

 private:
  void read(const Operand& op, int slot, Role role) {
    if (!is_register(op)) return;
    if (op.kind == Operand::Kind::kVector) return read_rows(op.reg, op.count, role, slot);
    if (op.reg == kVccz) return read_rows(kVccRow, 2, role, slot);
    if (op.reg == kExecz) return read_rows(kExecRow, 2, role, slot);
    if (op.reg == kScc) return read_rows(kSccRow, 1, role, slot);
    if (op.reg < 128) read_rows(kScalarRow + op.reg, op.count, role, slot);  // else a constant
  }
  // SDWA that preserves, and op_sel's last bit, which is the destination's.
  bool writes_a_part(int destinations) const {
    if (in_.op[0].kind != Operand::Kind::kVector) return false;
    if (in_.sdwa) return in_.dst_sel != Sel::kDword && in_.dst_unused == Unused::kPreserve;
    return in_.op_sel >> (in_.operands - destinations) & 1;
  }
  // Of a pair of f32: the half that op_sel and op_sel_hi take. A compiler leaves the other one
  // undefined.
  Operand halves_of(int slot) const {
    Operand op = in_.op[slot];
    const bool pairs = mnemonic_.starts_with("v_pk_") && op.count == 2 && slot > 0 &&
                       op.kind == Operand::Kind::kVector;
    if (!pairs) return op;
    const int bit = slot - 1;
    bool low_is_upper = in_.op_sel >> bit & 1, high_is_upper = in_.op_sel_hi >> bit & 1;
    // v_pk_mov_b32: the low result is of src0 alone, the high one of src1.
    if (mnemonic_ == "v_pk_mov_b32") low_is_upper = high_is_upper = in_.op_sel >> bit & 1;
    if (low_is_upper != high_is_upper) return op;
    op.reg = static_cast<u16>(op.reg + low_is_upper);
    op.count = 1;
    return op;
  }

  std::string_view mnemonic_;
  const Inst& in_;
  u32 form_;
};

// LDS: [result,] address, data...; an atomic returns with _rtn.
void describe_lds(std::string_view mnemonic, Describer& d) {
  const auto is = [&](std::string_view stem) { return mnemonic.starts_with(stem); };
  d.uses.counted = true;
  if (is("ds_read")) {
    d.uses.transfer = Transfer::kLoad;
    d.memory(2, 0, true);
  } else if (is("ds_write")) {
    d.uses.transfer = Transfer::kStore;
    d.memory(1, 2, false);
  } else if (is("ds_bpermute") || is("ds_permute") || is("ds_swizzle")) {
    d.arithmetic(Role::kSource);
  } else {
    const bool result = mnemonic.find("_rtn_") != mnemonic.npos;
    d.uses.transfer = Transfer::kAtomic;
    d.memory(result ? 2 : 1, 2, result);
  }
}

// global, flat, scratch: load "data, address, base", store "address, data, base", atomic "[result,]
// address, data, base"; buffer: "data, address, resource, offset". A load to LDS has no op[0].
void describe_memory(std::string_view mnemonic, const Inst& in, Describer& d) {
  const auto has = [&](std::string_view word) { return mnemonic.find(word) != mnemonic.npos; };
  const bool buffer = mnemonic.starts_with("buffer_");
  d.uses.flat = mnemonic.starts_with("flat_");
  d.uses.scratch = mnemonic.starts_with("scratch_");
  d.uses.to_lds = in.lds;
  d.uses.counted = in_vmcnt(mnemonic);
  if (has("_load_")) {
    d.uses.transfer = Transfer::kLoad;
    d.memory(0, 0, true);
    if (in.lds) d.read_rows(kM0Row, 1, Role::kAddress);
  } else if (has("_store_")) {
    d.uses.transfer = Transfer::kStore;
    d.memory(buffer ? 0 : 1, 1, false);
  } else if (has("_atomic_") && buffer) {  // the result goes where the data lie
    d.uses.transfer = Transfer::kAtomic;
    d.memory(0, 1, false);
    if (in.glc) d.write(0);
  } else if (has("_atomic_")) {
    d.uses.transfer = Transfer::kAtomic;
    if (buffer) {
      d.memory(0, 1, false);
      if (in.glc) d.write(0);  // in the place of the data
    } else {
      d.memory(in.glc ? 2 : 1, 1, in.glc);
    }
  }
}

// Source: LLVM, SISchedule.td, SIDPFullSpeedModel and SIDPGFX940FullSpeedModel.
u8 passes_of(std::string_view mnemonic, bool gfx90a) {
  const auto has = [&](std::string_view shape) { return mnemonic.find(shape) != mnemonic.npos; };
  if (mnemonic.starts_with("v_mfma_f64")) return has("4x4x4") && !has("16x16x4") ? 4 : 8;
  if (has("_4x4x")) return 2;
  if (gfx90a) return has("_16x16x") ? 8 : 16;
  if (has("_16x16x16") || has("_16x16x32") || has("_16x16x8")) return 4;
  if (has("_16x16x")) return 8;
  return has("_32x32x8") || has("_32x32x16") || has("_32x32x4_xf32") ? 8 : 16;
}

// "s_waitcnt vmcnt(0) lgkmcnt(3)", or the immediate in hexadecimal.
void describe_wait(std::string_view text, Uses& uses) {
  uses.waits = true;
  const auto number = [&](std::string_view name, u8* to) {
    const std::size_t at = text.find(name);
    if (at == text.npos) return;
    std::from_chars(text.data() + at + name.size(), text.data() + text.size(), *to);
  };
  number("vmcnt(", &uses.wait_vm);
  number("lgkmcnt(", &uses.wait_lgkm);
  std::int64_t bits = 0;
  if (!parse_integer(trim(text.substr(text.find(' ') + 1)), &bits)) return;
  uses.wait_vm = static_cast<u8>((bits & 15) | (bits >> 14 & 3) << 4);
  uses.wait_lgkm = static_cast<u8>(bits >> 8 & 15);
}

}  // namespace

std::optional<Uses> uses_of(std::string_view text, const Inst& in, bool gfx90a) {
  const std::string mnemonic = base_mnemonic(text.substr(0, text.find_first_of(" \t")));
  const Family* family = family_of(mnemonic);
  if (!family) return std::nullopt;
  u32 form = family->form;
  if (mnemonic == "v_cndmask_b32" && in.operands < 4) form |= kReadsVcc;
  if (in.indexed) form |= kReadsM0;
  Describer d(mnemonic, in, form);
  d.uses.unit = family->unit;
  d.uses.trans = (form & kTrans) != 0;
  const Role role = family->unit == Unit::kBranch         ? Role::kBranch
                    : family->unit == Unit::kScalarMemory ? Role::kAddress
                                                          : Role::kSource;
  if (family->unit == Unit::kLds) {
    describe_lds(mnemonic, d);
  } else if (family->unit == Unit::kVectorMemory) {
    describe_memory(mnemonic, in, d);
  } else {
    d.arithmetic(role);
  }
  d.implied(role);
  if (family->unit == Unit::kScalarMemory) {
    d.uses.transfer = Transfer::kLoad;
    d.uses.counted = true;
  }
  if (family->unit == Unit::kMatrix) d.uses.passes = passes_of(mnemonic, gfx90a);
  if (mnemonic == "s_waitcnt") describe_wait(text, d.uses);
  std::int64_t states = 0;
  if (mnemonic == "s_nop" && parse_integer(trim(text.substr(text.find(' ') + 1)), &states))
    d.uses.wait_states = static_cast<u8>(states & 15);
  return d.uses;
}

// LLVM does not count invalidations (SIInsertWaitcnts.cpp, getMUBUFIsBufferInv); a write-back is
// waited for by vmcnt (AMDGPUUsage, "Memory Model GFX942").
bool in_vmcnt(std::string_view text) {
  const std::string_view name = text.substr(0, text.find_first_of(" \t"));
  const auto is = [&](std::string_view prefix) { return name.starts_with(prefix); };
  const bool memory = is("global_") || is("flat_") || is("buffer_") || is("scratch_");
  return memory && name.find("_inv") == name.npos && name.find("_wbinv") == name.npos;
}

ProgramUses uses_of(const Program& program) {
  ProgramUses all(program.insts.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Of its targets, gfx90a alone flushes.
    if (auto uses = uses_of(program.text[i], program.insts[i], program.flush_matrix_denormals))
      all[i] = *uses;
  }
  return all;
}

std::string row_text(int row, int count) {
  static const std::map<int, std::string> kNames = {
      {kVccRow, "vcc"},   {kVccRow + 1, "vcc_hi"},   {kM0Row, "m0"},
      {kExecRow, "exec"}, {kExecRow + 1, "exec_hi"}, {kSccRow, "scc"}};
  if (const auto name = kNames.find(row); name != kNames.end()) return name->second;
  const char letter = row >= kScalarRow ? 's' : row >= kAccBase ? 'a' : 'v';
  const int first = row >= kScalarRow ? row - kScalarRow : row % kAccBase;
  if (count == 1) return fmt::format("{}{}", letter, first);
  return fmt::format("{}[{}:{}]", letter, first, first + count - 1);
}

}  // namespace attest::emulator
