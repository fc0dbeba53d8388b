// SOPP, program counter and hardware register instructions. Rules: CDNA3 ISA guide, "Program
// control", "SOPP instructions".
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

WaveState run(const std::string& text, WaveState state = {}, const char* target = "gfx942") {
  Memory memory;
  const Outcome outcome = run_snippet(text, target, memory, state);
  EXPECT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  return state;
}

// s0 becomes 1 when the branch is not taken, 2 when it is.
bool taken(const std::string& branch, const WaveState& state) {
  const u32 s0 =
      run(branch + " there\ns_mov_b32 s0, 1\ns_endpgm\nthere:\ns_mov_b32 s0, 2", state).sgpr[0];
  EXPECT_TRUE(s0 == 1 || s0 == 2) << branch;
  return s0 == 2;
}

}  // namespace

std::vector<std::string> control_mnemonics() {
  return {"s_branch",         "s_cbranch_scc0",     "s_cbranch_scc1",
          "s_cbranch_vccz",   "s_cbranch_vccnz",    "s_cbranch_execz",
          "s_cbranch_execnz", "s_getpc_b64",        "s_setpc_b64",
          "s_swappc_b64",     "s_call_b64",         "s_nop",
          "s_waitcnt",        "s_barrier",          "s_endpgm",
          "s_sleep",          "s_setprio",          "s_sendmsg",
          "s_sethalt",        "s_icache_inv",       "s_ttracedata",
          "s_getreg_b32",     "s_setreg_b32",       "s_setreg_imm32_b32",
          "s_trap",           "buffer_inv",         "buffer_wbl2",
          "buffer_wbinvl1",   "buffer_wbinvl1_vol", "buffer_invl2"};
}

TEST(Control, ConditionalBranchesFollowTheirFlag) {
  WaveState state;
  for (bool scc : {false, true}) {
    for (u64 vcc : {u64{0}, u64{1} << 63, u64{1}}) {
      for (u64 exec : {u64{0}, u64{1} << 63, u64{1}}) {
        state.scc = scc;
        state.vcc = vcc;
        state.exec = exec;
        EXPECT_TRUE(taken("s_branch", state));
        EXPECT_EQ(taken("s_cbranch_scc0", state), !scc);
        EXPECT_EQ(taken("s_cbranch_scc1", state), scc);
        EXPECT_EQ(taken("s_cbranch_vccz", state), vcc == 0);
        EXPECT_EQ(taken("s_cbranch_vccnz", state), vcc != 0);
        EXPECT_EQ(taken("s_cbranch_execz", state), exec == 0);
        EXPECT_EQ(taken("s_cbranch_execnz", state), exec != 0);
      }
    }
  }
}

TEST(Control, LoopsRunBackwards) {
  const WaveState state =
      run("s_mov_b32 s0, 0\ns_mov_b32 s1, 10\nagain:\ns_add_u32 s0, s0, s1\ns_sub_u32 s1, s1, "
          "1\ns_cmp_lg_u32 s1, 0\ns_cbranch_scc1 again");
  EXPECT_EQ(state.sgpr[0], 55u);
}

TEST(Control, CallsAndReturns) {
  // The call through s_swappc: s_getpc gives the address after itself, the callee returns to after
  // the call.
  const WaveState state =
      run("s_getpc_b64 s[2:3]\nbase:\ns_add_u32 s2, s2, callee-base\ns_addc_u32 s3, s3, "
          "0\ns_swappc_b64 s[30:31], s[2:3]\ns_mov_b32 s1, 5\ns_endpgm\n"
          "callee:\ns_mov_b32 s0, 7\ns_setpc_b64 s[30:31]\ns_mov_b32 s0, 9");
  EXPECT_EQ(state.sgpr[0], 7u);
  EXPECT_EQ(state.sgpr[1], 5u);
}

TEST(Control, CallByOffset) {
  const WaveState state =
      run("s_call_b64 s[30:31], callee\ns_mov_b32 s1, 5\ns_endpgm\ncallee:\ns_mov_b32 s0, "
          "7\ns_setpc_b64 s[30:31]\ns_mov_b32 s0, 9");
  EXPECT_EQ(state.sgpr[0], 7u);
  EXPECT_EQ(state.sgpr[1], 5u);
}

TEST(Control, InstructionsWithoutAResultChangeNothing) {
  WaveState before;
  for (unsigned r = 0; r < before.sgpr.size(); ++r) before.sgpr[r] = r * 77;
  for (unsigned i = 0; i < before.vgpr.size(); ++i) before.vgpr[i] = i * 2654435761u;
  before.vcc = 0x1234;
  before.m0 = 3;
  for (const char* target : {"gfx942", "gfx90a"}) {
    const bool mi300 = target == std::string("gfx942");
    const std::string text =
        std::string(
            "s_nop 0\ns_nop 7\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_barrier\ns_sleep 1\ns_setprio "
            "3\ns_sethalt 0\ns_icache_inv\ns_ttracedata\nv_nop\n") +
        (mi300 ? "buffer_inv sc0 sc1\nbuffer_wbl2 sc0 sc1\n"
               : "buffer_wbinvl1\nbuffer_wbinvl1_vol\nbuffer_invl2\nbuffer_wbl2\n");
    const WaveState after = run(text, before, target);
    EXPECT_TRUE(after.sgpr == before.sgpr && after.vgpr == before.vgpr &&
                after.agpr == before.agpr && after.lds == before.lds)
        << target;
    EXPECT_TRUE(after.vcc == before.vcc && after.exec == before.exec && after.scc == before.scc &&
                after.m0 == before.m0 && after.mode == before.mode)
        << target;
  }
}

TEST(Control, EndOfProgramStops) {
  EXPECT_EQ(run("s_mov_b32 s0, 1\ns_endpgm\ns_mov_b32 s0, 2").sgpr[0], 1u);
}

TEST(Control, TrapStopsTheWave) {
  Memory memory;
  WaveState state;
  const Outcome outcome = run_snippet("s_trap 2", "gfx942", memory, state);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.trouble().kind, TroubleKind::kCrashed);
}

TEST(Control, UnknownInstructionIsNamed) {
  Memory memory;
  WaveState state;
  const Outcome outcome = run_snippet("v_cubeid_f32 v0, v1, v2, v3", "gfx942", memory, state);
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.trouble().text.find("v_cubeid_f32"), std::string::npos)
      << outcome.trouble().text;
}

TEST(Control, ModeRegisterFields) {
  WaveState state;
  state.mode = 0x3f5;
  state.sgpr[1] = 0xffffff3a;
  // hwreg(MODE, offset, size)
  const WaveState read =
      run("s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 32)\ns_getreg_b32 s2, hwreg(HW_REG_MODE, 4, "
          "2)\ns_getreg_b32 s3, hwreg(HW_REG_MODE, 9, 1)",
          state);
  EXPECT_EQ(read.sgpr[0] & 0x3ff, 0x3f5u);
  EXPECT_EQ(read.sgpr[2], 3u);
  EXPECT_EQ(read.sgpr[3], 1u);
  EXPECT_EQ(run("s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s1", state).mode & 0x3ff, 0x3a5u);
  EXPECT_EQ(run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3", state).mode & 0x3ff, 0x3f3u);
  EXPECT_EQ(run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0", state).mode & 0x3ff, 0x3c5u);
}

TEST(Control, ModeChangesTakeEffectAtOnce) {
  WaveState state;
  state.vgpr[0] = 1;
  const WaveState after =
      run("v_add_f32 v1, 0, v0\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\nv_add_f32 v2, 0, "
          "v0\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3\nv_add_f32 v3, 0, v0",
          state);
  EXPECT_EQ(after.vgpr[64], 1u);
  EXPECT_EQ(after.vgpr[128], 0u);
  EXPECT_EQ(after.vgpr[192], 1u);
}

}  // namespace attest::emulator::opcode_tests
