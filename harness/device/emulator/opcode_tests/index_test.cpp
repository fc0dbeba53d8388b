// VGPR indexing. Rule: CDNA3 ISA guide, chapter 6.6: s_set_gpr_idx_on sets MODE bit 27, M0[7:0] to
// the index and M0[15:12] to the enables of src0, src1, src2 and the destination; the other bits of
// M0 stay. Only vector registers move.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr u32 kIndexing = 1u << 27;

WaveState numbered() {  // v[r] of lane l holds 1000 * r + l
  WaveState state;
  for (unsigned r = 0; r < 128; ++r) {
    for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[r * 64 + lane] = 1000 * r + lane;
  }
  state.sgpr[0] = 0xffffff03;  // the index is the low byte
  state.sgpr[1] = 7;
  state.m0 = 0xabcd1fee;
  return state;
}

WaveState run(const std::string& text, WaveState state = numbered()) {
  Memory memory;
  const Outcome outcome = run_snippet(text, "gfx942", memory, state);
  EXPECT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  return state;
}
u32 at(const WaveState& state, unsigned reg) { return state.vgpr[reg * 64 + 5]; }

// What v_add3_u32 v20, v30, v40, v50 (v_add_u32 v20, v30, v40) under the enables `bits` and the
// index 3 writes, and to which register.
void check_enables(unsigned bits) {
  std::string names;
  for (unsigned bit = 0; bit < 4; ++bit) {
    constexpr const char* kNames[] = {"SRC0", "SRC1", "SRC2", "DST"};
    if (bits >> bit & 1) names += (names.empty() ? "" : ",") + std::string(kNames[bit]);
  }
  const auto moved = [bits](unsigned bit) { return bits >> bit & 1 ? 3u : 0u; };
  const unsigned target = 20 + moved(3);
  const u32 a = 1000 * (30 + moved(0)) + 5, b = 1000 * (40 + moved(1)) + 5,
            c = 1000 * (50 + moved(2)) + 5;
  const std::string on = "s_set_gpr_idx_on s0, gpr_idx(" + names + ")\n";
  for (const bool three : {true, false}) {
    const std::string text =
        on + (three ? "v_add3_u32 v20, v30, v40, v50" : "v_add_u32 v20, v30, v40");
    const WaveState after = run(text);
    for (unsigned r = 18; r < 28; ++r) {
      const u32 want = r == target ? a + b + (three ? c : 0) : 1000 * r + 5;
      EXPECT_EQ(at(after, r), want) << text << ": v" << r;
    }
  }
}

}  // namespace

std::vector<std::string> index_mnemonics() {
  return {"s_set_gpr_idx_on", "s_set_gpr_idx_off", "s_set_gpr_idx_mode", "s_set_gpr_idx_idx"};
}

TEST(Index, EveryEnableMovesItsRegister) {
  for (unsigned bits = 0; bits < 16; ++bits) check_enables(bits);
}

TEST(Index, TheFourInstructionsWriteTheirFieldsOfM0AndMode) {
  WaveState after = run("s_set_gpr_idx_on s0, gpr_idx(SRC1,DST)");
  EXPECT_EQ(after.m0, 0xabcdaf03u);
  EXPECT_EQ(after.mode, 0xf0u | kIndexing);
  after = run("s_set_gpr_idx_mode gpr_idx(SRC2)");
  EXPECT_EQ(after.m0, 0xabcd4feeu);
  EXPECT_EQ(after.mode, 0xf0u);
  after = run("s_set_gpr_idx_idx s0");
  EXPECT_EQ(after.m0, 0xabcd1f03u);
  after = run("s_set_gpr_idx_on 5, gpr_idx(SRC0)\ns_set_gpr_idx_off");
  EXPECT_EQ(after.m0, 0xabcd1f05u);
  EXPECT_EQ(after.mode, 0xf0u);
}

TEST(Index, ModeAndIndexChangeWhileItIsOn) {
  const WaveState after =
      run("s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mov_b32 v20, v4\ns_set_gpr_idx_mode gpr_idx(DST)\n"
          "v_mov_b32 v20, v5\ns_set_gpr_idx_idx s1\nv_mov_b32 v20, v6\ns_set_gpr_idx_off\n"
          "v_mov_b32 v28, v7");
  EXPECT_EQ(at(after, 20), 7005u);
  EXPECT_EQ(at(after, 23), 5005u);
  EXPECT_EQ(at(after, 27), 6005u);
  EXPECT_EQ(at(after, 28), 7005u);
}

TEST(Index, ScalarsAndConstantsStay) {
  const WaveState after =
      run("s_set_gpr_idx_on s0, gpr_idx(SRC0,SRC1,SRC2,DST)\nv_add3_u32 v20, s1, 60, v50\n"
          "s_set_gpr_idx_mode gpr_idx(SRC0,DST)\nv_cmp_eq_u32_e64 s[4:5], v30, v33\n"
          "s_set_gpr_idx_off");
  EXPECT_EQ(at(after, 23), 7 + 60 + 53005u);
  EXPECT_EQ(after.sgpr[4], ~0u);
  EXPECT_EQ(after.sgpr[7], 0u);
}

TEST(Index, CarriesWideRegistersAndAccumulatorsMoveByPosition) {
  const WaveState after =
      run("s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_add_co_u32_e32 v20, vcc, v30, v40\n"
          "v_mov_b64 v[22:23], v[32:33]\ns_set_gpr_idx_mode gpr_idx(SRC1)\n"
          "v_mad_u64_u32 v[24:25], s[2:3], v30, v1, v[40:41]\ns_set_gpr_idx_mode gpr_idx(DST)\n"
          "v_fmac_f32 v60, 0, v1\ns_set_gpr_idx_off");
  EXPECT_EQ(at(after, 20), 33005u + 40005u);
  EXPECT_EQ(at(after, 22), 35005u);
  EXPECT_EQ(at(after, 23), 36005u);
  EXPECT_EQ(at(after, 24), 30005u * 4005u + 40005u);
  // v_fmac reads its destination where it writes it.
  EXPECT_EQ(at(after, 63), 63005u);
  EXPECT_EQ(at(after, 60), 60005u);
}

TEST(Index, ItStaysOnAcrossBranchesAndThroughSetreg) {
  const WaveState after =
      run("s_set_gpr_idx_on s0, gpr_idx(SRC0)\ns_branch there\ns_nop 0\nthere:\nv_mov_b32 v20, v4\n"
          "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 0\nv_mov_b32 v21, v4\n"
          "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 1\nv_mov_b32 v22, v4");
  EXPECT_EQ(at(after, 20), 7005u);
  EXPECT_EQ(at(after, 21), 4005u);
  EXPECT_EQ(at(after, 22), 7005u);
}

TEST(Index, TheMatrixUnitUnderItAndRegistersBeyondTheFileAreRefused) {
  for (const char* text :
       {"s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, 0",
        "s_set_gpr_idx_on s0, gpr_idx(DST)\nv_mov_b32 v253, v0"}) {
    Memory memory;
    WaveState state = numbered();
    const Outcome outcome = run_snippet(text, "gfx942", memory, state);
    ASSERT_FALSE(outcome.ok()) << text;
    EXPECT_NE(outcome.trouble().text.find("ndex"), std::string::npos) << outcome.trouble().text;
  }
}

}  // namespace attest::emulator::opcode_tests
