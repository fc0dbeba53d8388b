#include "harness/device/emulator/checks/uses.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/device/emulator/decode_text.hpp"

namespace attest::emulator {
namespace {

Uses uses(std::string_view text, bool gfx90a = false) {
  const auto found = uses_of(text, parse_text(text).inst, gfx90a);
  EXPECT_TRUE(found.has_value()) << text;
  return found.value_or(Uses{});
}

// "v0 <- v1 s[2:3]@ exec/": an address has "@", stored data "=", a condition "?", a mask "/", a
// destination's old content "~".
std::string flow(std::string_view text) {
  const Uses u = uses(text);
  std::string out;
  for (const Span& s : u.destinations()) out += row_text(s.row, s.count) + " ";
  out += "<-";
  for (const Span& s : u.sources())
    out += fmt::format(" {}{}", row_text(s.row, s.count),
                       std::string_view("\0@=?/~", 6)[static_cast<std::size_t>(s.role)]);
  std::erase(out, '\0');
  return out;
}

}  // namespace

TEST(Uses, EveryImplementedMnemonicIsOfAFamily) {
  for (const std::string& name : implemented_mnemonics()) {
    EXPECT_TRUE(uses_of(name, parse_text(name).inst, false).has_value()) << name;
  }
}

TEST(Uses, AMnemonicOfNoFamilyHasNone) {
  for (const char* name : {"v_frobnicate_b32", "s_addx_u32", "ds_load_b32", "v_add3x_u32"})
    EXPECT_FALSE(uses_of(name, parse_text(name).inst, false).has_value()) << name;
}

TEST(Uses, ScalarInstructions) {
  EXPECT_EQ(flow("s_add_u32 s0, s1, s2"), "s0 scc <- s1 s2");
  EXPECT_EQ(flow("s_addc_u32 s0, s1, 0"), "s0 scc <- s1 scc");
  EXPECT_EQ(flow("s_mul_i32 s0, s1, s2"), "s0 <- s1 s2");
  EXPECT_EQ(flow("s_mov_b64 s[0:1], exec"), "s[0:1] <- exec");
  EXPECT_EQ(flow("s_addk_i32 s3, 0x10"), "s3 scc <- s3");
  EXPECT_EQ(flow("s_movk_i32 s3, 0x10"), "s3 <-");
  EXPECT_EQ(flow("s_cmov_b32 s3, s4"), "s3 <- s3~ s4 scc");
  EXPECT_EQ(flow("s_cmp_lt_i32 s1, s2"), "scc <- s1 s2");
  EXPECT_EQ(flow("s_cselect_b32 s0, s1, s2"), "s0 <- s1 s2 scc");
  EXPECT_EQ(flow("s_and_saveexec_b64 s[0:1], vcc"), "s[0:1] scc exec <- vcc exec");
  EXPECT_EQ(flow("s_andn2_b64 exec, exec, s[4:5]"), "exec scc <- exec s[4:5]");
  EXPECT_EQ(flow("s_bitset1_b32 s0, s1"), "s0 <- s0~ s1");
  EXPECT_EQ(flow("s_cbranch_scc0 12"), "<- scc?");
  EXPECT_EQ(flow("s_cbranch_vccnz 12"), "<- vcc?");
  EXPECT_EQ(flow("s_cbranch_execz 12"), "<- exec?");
  EXPECT_EQ(flow("s_setpc_b64 s[30:31]"), "<- s[30:31]?");
  EXPECT_EQ(flow("s_swappc_b64 s[30:31], s[4:5]"), "s[30:31] <- s[4:5]?");
  EXPECT_EQ(flow("s_load_dwordx4 s[4:7], s[0:1], s9 offset:0x10"), "s[4:7] <- s[0:1]@ s9@");
  EXPECT_EQ(flow("s_setreg_b32 hwreg(HW_REG_MODE), s1"), "<- s1");
  EXPECT_EQ(flow("s_set_gpr_idx_on s1, gpr_idx(SRC0)"), "m0 <- s1");
}

TEST(Uses, VectorInstructions) {
  EXPECT_EQ(flow("v_add_u32_e32 v0, v1, v2"), "v0 <- v1 v2 exec/");
  EXPECT_EQ(flow("v_add_f64 v[0:1], v[2:3], s[4:5]"), "v[0:1] <- v[2:3] s[4:5] exec/");
  EXPECT_EQ(flow("v_fmac_f32_e32 v0, v1, v2"), "v0 <- v0 v1 v2 exec/");
  EXPECT_EQ(flow("v_cndmask_b32_e32 v0, v1, v2, vcc"), "v0 <- v1 v2 vcc exec/");
  EXPECT_EQ(flow("v_cndmask_b32_e64 v0, v1, v2, s[4:5]"), "v0 <- v1 v2 s[4:5] exec/");
  EXPECT_EQ(flow("v_addc_co_u32_e32 v0, vcc, v1, v2, vcc"), "v0 vcc <- v1 v2 vcc exec/");
  EXPECT_EQ(flow("v_mad_u64_u32 v[0:1], s[4:5], v2, v3, v[4:5]"),
            "v[0:1] s[4:5] <- v2 v3 v[4:5] exec/");
  EXPECT_EQ(flow("v_div_scale_f32 v0, vcc, v1, v2, v3"), "v0 vcc <- v1 v2 v3 exec/");
  EXPECT_EQ(flow("v_div_fmas_f32 v0, v1, v2, v3"), "v0 <- v1 v2 v3 vcc exec/");
  EXPECT_EQ(flow("v_cmp_eq_u32_e32 vcc, s0, v1"), "vcc <- s0 v1 exec/");
  EXPECT_EQ(flow("v_cmpx_eq_u32_e64 s[2:3], v0, v1"), "s[2:3] exec <- v0 v1 exec/");
  EXPECT_EQ(flow("v_readlane_b32 s0, v1, s2"), "s0 <- v1 s2");
  EXPECT_EQ(flow("v_readfirstlane_b32 s0, v1"), "s0 <- v1 exec/");
  EXPECT_EQ(flow("v_writelane_b32 v0, s1, 3"), "v0 <- v0~ s1");
  EXPECT_EQ(flow("v_swap_b32 v0, v1"), "v0 v1 <- v0 v1 exec/");
  EXPECT_EQ(flow("v_fma_mixlo_f16 v0, v1, v2, v3"), "v0 <- v0~ v1 v2 v3 exec/");
  EXPECT_EQ(flow("v_mov_b32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD"),
            "v0 <- v0~ v1 exec/");
  EXPECT_EQ(flow("v_mov_b32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD"),
            "v0 <- v1 exec/");
  EXPECT_EQ(flow("v_add_u16_e64 v0, v1, v2 op_sel:[0,0,1]"), "v0 <- v0~ v1 v2 exec/");
  EXPECT_EQ(flow("v_mfma_f32_16x16x16_bf16 a[0:3], v[4:5], v[6:7], a[0:3]"),
            "a[0:3] <- v[4:5] v[6:7] a[0:3]");
  EXPECT_EQ(flow("v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], 0"), "v[0:3] <- v[4:5] v[6:7]");
}

TEST(Uses, PackedFloatsReadTheHalvesThatOpSelTakes) {
  EXPECT_EQ(flow("v_pk_mul_f32 v[0:1], v[2:3], v[4:5]"), "v[0:1] <- v[2:3] v[4:5] exec/");
  EXPECT_EQ(flow("v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel_hi:[1,0]"),
            "v[0:1] <- v[2:3] v4 exec/");
  EXPECT_EQ(flow("v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[0,1]"), "v[0:1] <- v[2:3] v5 exec/");
  EXPECT_EQ(flow("v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]"), "v[0:1] <- v3 v4 exec/");
}

TEST(Uses, MemoryInstructions) {
  EXPECT_EQ(flow("global_load_dwordx4 v[0:3], v4, s[2:3] offset:16"),
            "v[0:3] <- v4@ s[2:3]@ exec/");
  EXPECT_EQ(flow("global_load_dword v0, v[4:5], off"), "v0 <- v[4:5]@ exec/");
  EXPECT_EQ(flow("global_load_short_d16_hi v0, v[4:5], off"), "v0 <- v[4:5]@ v0~ exec/");
  EXPECT_EQ(flow("global_store_dwordx2 v0, v[2:3], s[4:5]"), "<- v0@ v[2:3]= s[4:5]@ exec/");
  EXPECT_EQ(flow("global_atomic_add v0, v1, s[4:5]"), "<- v0@ v1= s[4:5]@ exec/");
  EXPECT_EQ(flow("global_atomic_add v3, v0, v1, s[4:5] sc0"), "v3 <- v0@ v1= s[4:5]@ exec/");
  EXPECT_EQ(flow("flat_store_dword v[0:1], v2"), "<- v[0:1]@ v2= exec/");
  EXPECT_EQ(flow("scratch_load_dword v0, off, s33"), "v0 <- s33@ exec/");
  EXPECT_EQ(flow("buffer_load_dword v0, v1, s[4:7], s8 offen"), "v0 <- v1@ s[4:7]@ s8@ exec/");
  EXPECT_EQ(flow("buffer_store_dword v0, off, s[4:7], 0"), "<- v0= s[4:7]@ exec/");
  EXPECT_EQ(flow("buffer_atomic_add v0, v1, s[4:7], 0 offen"), "<- v0= v1@ s[4:7]@ exec/");
  EXPECT_EQ(flow("buffer_atomic_add v0, v1, s[4:7], 0 offen sc0"), "v0 <- v0= v1@ s[4:7]@ exec/");
  EXPECT_EQ(flow("buffer_atomic_add v0, v1, s[4:7], 0 offen"), "<- v0= v1@ s[4:7]@ exec/");
  EXPECT_EQ(flow("buffer_atomic_add v0, v1, s[4:7], 0 offen sc0"), "v0 <- v0= v1@ s[4:7]@ exec/");
  EXPECT_EQ(flow("buffer_load_dword v1, s[4:7], 0 offen lds"), "<- v1@ s[4:7]@ m0@ exec/");
  EXPECT_EQ(flow("global_load_lds_dword v[0:1], off"), "<- v[0:1]@ m0@ exec/");
  EXPECT_EQ(flow("ds_read_b128 v[0:3], v4"), "v[0:3] <- v4@ exec/");
  EXPECT_EQ(flow("ds_read_u16_d16 v0, v1"), "v0 <- v1@ v0~ exec/");
  EXPECT_EQ(flow("ds_write2_b32 v0, v1, v2 offset1:1"), "<- v0@ v1= v2= exec/");
  EXPECT_EQ(flow("ds_add_u32 v0, v1"), "<- v0@ v1= exec/");
  EXPECT_EQ(flow("ds_add_rtn_u32 v3, v0, v1"), "v3 <- v0@ v1= exec/");
  EXPECT_EQ(flow("ds_cmpst_rtn_b32 v3, v0, v1, v2"), "v3 <- v0@ v1= v2= exec/");
  EXPECT_EQ(flow("ds_bpermute_b32 v0, v1, v2"), "v0 <- v1 v2 exec/");
  EXPECT_EQ(flow("buffer_wbl2 sc1"), "<-");
}

TEST(Uses, SayWhichTransfersAreCounted) {
  EXPECT_TRUE(uses("buffer_wbl2 sc1").counted);
  EXPECT_FALSE(uses("buffer_inv sc1").counted);
  EXPECT_TRUE(uses("s_memtime s[0:1]").counted);
  EXPECT_TRUE(uses("ds_bpermute_b32 v0, v1, v2").counted);
  EXPECT_TRUE(uses("buffer_load_dword v1, s[4:7], 0 offen lds").to_lds);
  EXPECT_FALSE(uses("buffer_load_dword v0, v1, s[4:7], 0 offen").to_lds);
}

TEST(Uses, WaitsSayTheirCounts) {
  const Uses both = uses("s_waitcnt vmcnt(17) lgkmcnt(2)"), one = uses("s_waitcnt lgkmcnt(0)"),
             bits = uses("s_waitcnt 0x4371");
  EXPECT_EQ(both.wait_vm, 17);
  EXPECT_EQ(both.wait_lgkm, 2);
  EXPECT_EQ(one.wait_vm, Uses::kNoWait);
  EXPECT_EQ(one.wait_lgkm, 0);
  EXPECT_EQ(bits.wait_vm, 17);
  EXPECT_EQ(bits.wait_lgkm, 3);
}

TEST(Uses, MatrixPassesAreThoseOfTheTarget) {
  const char* const tile = "v_mfma_f32_16x16x16_bf16 a[0:3], v[4:5], v[6:7], a[0:3]";
  EXPECT_EQ(uses(tile).passes, 4);
  EXPECT_EQ(uses(tile, true).passes, 8);
  EXPECT_EQ(uses("v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[6:7], 0").passes, 8);
  EXPECT_EQ(uses("v_mfma_f32_32x32x2_f32 a[0:15], v4, v6, 0").passes, 16);
  EXPECT_EQ(uses("v_mfma_f32_16x16x4_f32 a[0:3], v4, v6, 0").passes, 8);
  EXPECT_EQ(uses("v_mfma_f64_16x16x4_f64 a[0:7], v[4:5], v[6:7], 0").passes, 8);
  EXPECT_EQ(uses("v_mfma_f64_4x4x4_4b_f64 a[0:1], v[4:5], v[6:7], 0").passes, 4);
}

TEST(Uses, VmcntCountsAWriteBackAndNoInvalidation) {
  for (const char* text : {"buffer_wbl2 sc1", "global_load_dword v0, v1, s[2:3]",
                           "flat_load_dword v0, v[2:3]", "scratch_store_dword off, v0, s2"})
    EXPECT_TRUE(in_vmcnt(text)) << text;
  for (const char* text : {"buffer_inv sc1", "buffer_invl2", "buffer_wbinvl1_vol",
                           "ds_read_b32 v0, v1", "s_load_dword s0, s[2:3], 0x0"})
    EXPECT_FALSE(in_vmcnt(text)) << text;
}

}  // namespace attest::emulator
