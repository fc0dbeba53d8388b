// The tables and the executor know the same instructions.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "harness/device/emulator/decode_text.hpp"
#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

std::set<std::string> tested() {
  std::set<std::string> all;
  for (const auto* ops : {&vector_integer_ops(), &vector_short_ops(), &vector_float_ops(),
                          &vector_conversion_ops(), &vector_packed_ops(), &vector_fp8_ops()}) {
    for (const VectorOp& op : *ops) all.insert(op.name);
  }
  for (const auto& names :
       {transcendental_mnemonics(), division_mnemonics(), compare_mnemonics(), carry_mnemonics(),
        lane_mnemonics(), scalar_mnemonics(), control_mnemonics(), lds_mnemonics(),
        global_mnemonics(), buffer_mnemonics(), buffer_atomic_mnemonics(), lds_load_mnemonics(),
        index_mnemonics(), scalar_memory_mnemonics(), matrix_mnemonics()}) {
    all.insert(names.begin(), names.end());
  }
  for (const char* name : {"v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"}) all.insert(name);
  return all;
}

// Neither gfx942 nor gfx90a code can hold these: padding that LLVM prints, and instructions of
// later architectures.
const std::set<std::string>& not_instructions() {
  static const std::set<std::string> kNames = {"s_code_end", "s_inst_prefetch"};
  return kNames;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

// What AMD's shipped gfx942 MLA decode kernels are made of, as a disassembler prints it: they are
// written by hand, with instructions that a compiler hardly makes.
constexpr const char* kShipped =
    "buffer_load_dword buffer_load_dwordx2 buffer_load_dwordx4 buffer_store_dword "
    "buffer_store_dwordx2 buffer_store_dwordx4 ds_read_b128 ds_read_b32 ds_read_b64 "
    "ds_write_b128 ds_write_b32 ds_write_b64 s_add_u32 s_addc_u32 s_addk_i32 s_and_b32 "
    "s_barrier s_bfm_b32 s_branch s_cbranch_scc0 s_cbranch_scc1 s_cmp_eq_i32 s_cmp_eq_u32 "
    "s_cmp_gt_u32 s_cmp_le_i32 s_cmp_le_u32 s_cmp_lt_i32 s_cmp_lt_u32 s_cmpk_eq_u32 "
    "s_cselect_b32 s_endpgm s_load_dword s_load_dwordx2 s_lshl_b32 s_lshr_b32 s_min_u32 "
    "s_mov_b32 s_mul_i32 s_nop s_or_b32 s_set_gpr_idx_off s_set_gpr_idx_on s_sub_i32 "
    "s_sub_u32 s_subb_u32 s_waitcnt s_xor_b32 v_accvgpr_read_b32 v_accvgpr_write_b32 "
    "v_add3_u32 v_add_f32_e32 v_add_u32_dpp v_add_u32_e32 v_add_u32_e64 v_and_b32_e32 "
    "v_bfm_b32 v_cmp_eq_u32_e64 v_cmp_le_u32_e32 v_cmp_le_u32_e64 v_cmp_lt_u32_e64 "
    "v_cmp_u_f32_e64 v_cndmask_b32_e32 v_cndmask_b32_e64 v_cvt_f32_u32_e32 "
    "v_cvt_pk_f32_fp8_sdwa v_cvt_pk_fp8_f32 v_cvt_u32_f32_e32 v_exp_f32_e32 v_fma_f32 "
    "v_log_f32_e32 v_lshlrev_b32_e32 v_lshlrev_b32_e64 v_lshrrev_b32_e32 v_max3_f32 "
    "v_max_f32_e32 v_mfma_f32_16x16x16_bf16 v_mfma_f32_16x16x32_fp8_fp8 v_min_u32_e32 "
    "v_mov_b32_e32 v_mul_f32_dpp v_mul_f32_e32 v_mul_f32_e64 v_mul_hi_u32 v_mul_i32_i24_e32 "
    "v_mul_lo_u32 v_mul_u32_u24_dpp v_mul_u32_u24_e32 v_or_b32_e32 v_perm_b32 v_pk_mul_f32 "
    "v_rcp_f32_e32 v_rcp_iflag_f32_e32 v_readfirstlane_b32 v_sub_f32_e32 v_sub_u32_e32 "
    "v_sub_u32_e64 v_subrev_u32_e32 ";

}  // namespace

TEST(Coverage, ShippedDecodeKernelsUseOnlyWhatIsImplementedAndTested) {
  const std::set<std::string> known = tested();
  std::istringstream printed(kShipped);
  int count = 0;
  for (std::string name; printed >> name; ++count) {
    EXPECT_TRUE(implemented(base_mnemonic(name))) << name;
    EXPECT_TRUE(known.contains(base_mnemonic(name))) << name;
  }
  EXPECT_EQ(count, 97);
  EXPECT_TRUE(implemented("buffer_load_dword lds"));  // a form that they load KV with
}

TEST(Coverage, EveryImplementedMnemonicIsTested) {
  const std::set<std::string> known = tested();
  std::set<std::string> missing;
  for (const std::string& name : implemented_mnemonics()) {
    if (!known.contains(name) && !not_instructions().contains(name)) missing.insert(name);
  }
  EXPECT_TRUE(missing.empty()) << missing.size() << " implemented, not tested: " << joined(missing);
}

TEST(Coverage, EveryRuleHasSemantics) {
  std::set<std::string> lacking;
  for (const std::string& name : tested()) {
    if (!implemented(name)) lacking.insert(name);
  }
  EXPECT_TRUE(lacking.empty()) << "a rule, but no semantics: " << joined(lacking);
}

}  // namespace attest::emulator::opcode_tests
