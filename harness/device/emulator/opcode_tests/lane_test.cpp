// Instructions that move data between lanes or register files, and the DPP and SDWA operand forms.
// Rules: CDNA3 ISA guide, "Data Parallel Processing", "SDWA", V_READLANE, V_WRITELANE, V_SWAP,
// V_ACCVGPR_*.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

WaveState numbered() {  // v[r] of lane l holds 1000 * r + l
  WaveState state;
  for (unsigned r = 0; r < 16; ++r) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      state.vgpr[r * 64 + lane] = 1000 * r + lane;
      state.agpr[r * 64 + lane] = 700000 + 1000 * r + lane;
    }
  }
  return state;
}

void run(const std::string& text, WaveState& state) {
  Memory memory;
  const Outcome outcome = run_snippet(text, "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
}

// Source lane of a DPP control for a lane; none when there is no such lane.
using Route = std::function<std::optional<unsigned>(unsigned)>;
struct Control {
  std::string text;
  Route route;
};

std::optional<unsigned> within_row(unsigned lane, int to) {
  return to < 0 || to > 15 ? std::nullopt
                           : std::optional<unsigned>((lane & ~15u) + static_cast<unsigned>(to));
}
std::optional<unsigned> within_wave(int to) {
  return to < 0 || to > 63 ? std::nullopt : std::optional<unsigned>(to);
}

std::vector<Control> controls() {
  std::vector<Control> all;
  for (unsigned code : {0x1bu, 0xe4u, 0x00u, 0xb1u, 0x4eu}) {
    const auto pick = [code](unsigned k) { return (code >> (2 * k)) & 3; };
    all.push_back(
        {fmt::format("quad_perm:[{},{},{},{}]", pick(0), pick(1), pick(2), pick(3)),
         [pick](unsigned l) { return std::optional<unsigned>((l & ~3u) + pick(l & 3)); }});
  }
  for (int n : {1, 4, 15}) {
    // row_shl: data moves to lower lanes, so a lane reads from a higher one.
    all.push_back(
        {fmt::format("row_shl:{}", n), [n](unsigned l) { return within_row(l, int(l & 15) + n); }});
    all.push_back(
        {fmt::format("row_shr:{}", n), [n](unsigned l) { return within_row(l, int(l & 15) - n); }});
    all.push_back({fmt::format("row_ror:{}", n),
                   [n](unsigned l) { return within_row(l, (int(l & 15) - n + 16) % 16); }});
  }
  all.push_back({"wave_shl:1", [](unsigned l) { return within_wave(int(l) + 1); }});
  all.push_back({"wave_rol:1", [](unsigned l) { return within_wave((int(l) + 1) % 64); }});
  all.push_back({"wave_shr:1", [](unsigned l) { return within_wave(int(l) - 1); }});
  all.push_back({"wave_ror:1", [](unsigned l) { return within_wave((int(l) + 63) % 64); }});
  all.push_back({"row_mirror", [](unsigned l) { return within_row(l, 15 - int(l & 15)); }});
  all.push_back(
      {"row_half_mirror", [](unsigned l) { return within_row(l, int(l & 8) + 7 - int(l & 7)); }});
  // The last lane of each row (of the lower half) goes to the next row (to the upper half).
  all.push_back({"row_bcast:15", [](unsigned l) {
                   return l < 16 ? std::nullopt : std::optional<unsigned>((l & ~15u) - 1);
                 }});
  all.push_back({"row_bcast:31",
                 [](unsigned l) { return l < 32 ? std::nullopt : std::optional<unsigned>(31); }});
  all.push_back(
      {"row_newbcast:5", [](unsigned l) { return std::optional<unsigned>((l & ~15u) + 5); }});
  return all;
}

struct Masks {
  u64 exec;
  unsigned row, bank;
  bool zero_fill;  // bound_ctrl:0 in the text sets BC: an invalid source reads 0 instead of keeping
                   // the lane unwritten
};

// What v_mov_b32 v2, v1 with this control leaves in v2 of a lane.
u32 moved(const Control& c, const Masks& m, const WaveState& before, unsigned lane) {
  const u32 old = before.vgpr[2 * 64 + lane];
  const bool masked = !((m.row >> (lane / 16)) & 1) || !((m.bank >> (lane % 16 / 4)) & 1);
  if (!((m.exec >> lane) & 1) || masked) return old;
  const auto source = c.route(lane);
  if (source && ((m.exec >> *source) & 1)) return before.vgpr[64 + *source];
  return m.zero_fill ? 0 : old;
}

}  // namespace

std::vector<std::string> lane_mnemonics() {
  return {"v_readlane_b32",     "v_writelane_b32",     "v_readfirstlane_b32", "v_swap_b32",
          "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32",   "v_nop"};
}

TEST(Lane, DppReadsTheLaneThatItsControlNames) {
  for (const Control& c : controls()) {
    for (const Masks& m :
         {Masks{~u64{0}, 15, 15, false}, Masks{~u64{0}, 15, 15, true},
          Masks{0xf7f3f1f0ff00aa55ull, 15, 15, true}, Masks{0xf7f3f1f0ff00aa55ull, 15, 15, false},
          Masks{~u64{0}, 5, 6, true}, Masks{~u64{0}, 10, 9, false}}) {
      WaveState state = numbered();
      state.exec = m.exec;
      const WaveState before = state;
      const std::string text =
          fmt::format("v_mov_b32_dpp v2, v1 {} row_mask:{:#x} bank_mask:{:#x}{}", c.text, m.row,
                      m.bank, m.zero_fill ? " bound_ctrl:0" : "");
      run(text, state);
      for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(state.vgpr[128 + lane], moved(c, m, before, lane))
            << text << fmt::format(" exec {:#x}, lane {}", m.exec, lane);
      }
    }
  }
}

TEST(Lane, DppWorksInPlaceAndOnArithmetic) {
  WaveState state = numbered();
  run("v_add_u32_dpp v1, v1, v3 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
      "v_mul_u32_u24_dpp v4, v5, v6 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n"
      "v_max_u32_dpp v7, v8, v9 row_ror:8 row_mask:0xf bank_mask:0xf",
      state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(state.vgpr[64 + lane], (lane % 16 ? 1000 + lane - 1 : 0) + 3000 + lane) << lane;
    EXPECT_EQ(state.vgpr[4 * 64 + lane], (5000 + (lane ^ 1)) * (6000 + lane)) << lane;
    EXPECT_EQ(state.vgpr[7 * 64 + lane], 9000 + lane) << lane;
  }
}

TEST(Lane, DppFloatSourcesTakeNegAndAbs) {
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = static_cast<u32>(bits_of(float(lane) - 20));
    state.vgpr[64 + lane] = static_cast<u32>(bits_of(-3.0f));
  }
  run("v_add_f32_dpp v2, |v0|, -v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf\nv_mul_f32_dpp "
      "v3, -v0, |v1| row_mirror row_mask:0xf bank_mask:0xf",
      state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(as_float(state.vgpr[128 + lane]), std::fabs(float(lane ^ 3) - 20) + 3) << lane;
    EXPECT_EQ(as_float(state.vgpr[192 + lane]), -(float(lane ^ 15) - 20) * 3) << lane;
  }
}

namespace {

struct Part {
  const char* name;
  int shift, width;
};
constexpr Part kParts[] = {{"BYTE_0", 0, 8},  {"BYTE_1", 8, 8},  {"BYTE_2", 16, 8},
                           {"BYTE_3", 24, 8}, {"WORD_0", 0, 16}, {"WORD_1", 16, 16},
                           {"DWORD", 0, 32}};
enum class Unused { kPad, kSext, kPreserve };

u32 part_of(u32 x, const Part& p, bool sext) {
  const u64 v = (x >> p.shift) & ((u64{1} << p.width) - 1);
  return static_cast<u32>(sext ? sign_extended(v, p.width) : static_cast<i64>(v));
}
u32 placed(u32 r, u32 old, const Part& p, Unused unused) {
  if (p.width == 32) return r;
  const u32 mask = ((1u << p.width) - 1) << p.shift, field = (r << p.shift) & mask;
  if (unused == Unused::kPreserve) return field | (old & ~mask);
  if (unused == Unused::kPad) return field;
  // The sign of the field fills what is above it; what is below it is zero.
  return static_cast<u32>(sign_extended(field, p.shift + p.width));
}

void check_sdwa(const Part& d, Unused unused, const Part& a, bool sext_a, const Part& b) {
  constexpr const char* kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  WaveState state;
  for (unsigned r = 0; r < 3; ++r) {
    for (unsigned lane = 0; lane < 64; ++lane)
      state.vgpr[r * 64 + lane] = static_cast<u32>(draw(Kind::kU32, r * 64 + lane));
  }
  state.exec = 0xffffffff0fffffffull;
  const WaveState before = state;
  const std::string source = sext_a ? "sext(v0)" : "v0";
  const std::string text =
      fmt::format("v_add_u32_sdwa v2, {}, v1 dst_sel:{} dst_unused:{} src0_sel:{} src1_sel:{}",
                  source, d.name, kUnused[int(unused)], a.name, b.name);
  run(text, state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u32 old = before.vgpr[128 + lane];
    const u32 sum =
        part_of(before.vgpr[lane], a, sext_a) + part_of(before.vgpr[64 + lane], b, false);
    const u32 want = (state.exec >> lane) & 1 ? placed(sum, old, d, unused) : old;
    ASSERT_EQ(state.vgpr[128 + lane], want)
        << text
        << fmt::format(", lane {} {:#x} {:#x} {:#x}", lane, before.vgpr[lane],
                       before.vgpr[64 + lane], old);
  }
}

}  // namespace

TEST(Lane, SdwaSelectsExtendsAndPlaces) {
  for (const Part& d : kParts) {
    for (Unused unused : {Unused::kPad, Unused::kSext, Unused::kPreserve}) {
      for (const Part& a : kParts) {
        check_sdwa(d, unused, a, false, kParts[5]);
        check_sdwa(d, unused, a, true, kParts[1]);
      }
    }
  }
}

TEST(Lane, SdwaFloatSourcesAndCompares) {
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = (0x3c00u + lane) | (0xc000u + lane) << 16;  // two f16
    state.vgpr[64 + lane] = lane << 8 | 17;
  }
  run("v_cvt_f32_f16_sdwa v2, -v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1\n"
      "v_cmp_gt_u32_sdwa vcc, v1, v1 src0_sel:BYTE_1 src1_sel:BYTE_0\n"
      "v_add_f16_sdwa v3, |v0|, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
      "src1_sel:WORD_0",
      state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(as_float(state.vgpr[128 + lane]), -half_value(0xc000u + lane)) << lane;
    EXPECT_EQ((state.vcc >> lane) & 1, u64{lane > 17}) << lane;
    const u32 sum = half_from(-half_value(0xc000u + lane) + half_value(0x3c00u + lane));
    EXPECT_EQ(state.vgpr[192 + lane], sum << 16) << lane;
  }
}

TEST(Lane, ReadsAndWritesSingleLanes) {
  WaveState state = numbered();
  state.exec =
      0xfffffff000000000ull;  // lane 36 is the first active one; readlane and writelane ignore EXEC
  state.sgpr[9] = 63 + 64;    // only the low 6 bits of a lane number count
  state.m0 = 12;
  run("v_readfirstlane_b32 s0, v1\nv_readlane_b32 s1, v2, 5\nv_readlane_b32 s2, v2, "
      "s9\nv_writelane_b32 v3, s9, 7\n"
      "v_writelane_b32 v4, 33, s9\nv_readlane_b32 s3, v2, m0",
      state);
  EXPECT_EQ(state.sgpr[0], 1036u);
  EXPECT_EQ(state.sgpr[1], 2005u);
  EXPECT_EQ(state.sgpr[2], 2063u);
  EXPECT_EQ(state.sgpr[3], 2012u);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(state.vgpr[192 + lane], lane == 7 ? 127 : 3000 + lane);
    EXPECT_EQ(state.vgpr[256 + lane], lane == 63 ? 33 : 4000 + lane);
  }
}

TEST(Lane, ReadFirstLaneTakesLaneZeroWhenExecIsZero) {
  WaveState state = numbered();
  state.exec = 0;
  run("v_readfirstlane_b32 s0, v1", state);
  EXPECT_EQ(state.sgpr[0], 1000u);
}

TEST(Lane, SwapAndAccumulationRegisters) {
  WaveState state = numbered();
  state.exec = 0x00000000ffffffffull;
  run("v_swap_b32 v0, v1\nv_accvgpr_read_b32 v2, a3\nv_accvgpr_write_b32 a4, "
      "v5\nv_accvgpr_write_b32 a6, 2.0\nv_accvgpr_mov_b32 a7, a8\n"
      "v_nop",
      state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const bool on = lane < 32;
    EXPECT_EQ(state.vgpr[lane], on ? 1000 + lane : lane);
    EXPECT_EQ(state.vgpr[64 + lane], on ? lane : 1000 + lane);
    EXPECT_EQ(state.vgpr[128 + lane], on ? 703000 + lane : 2000 + lane);
    EXPECT_EQ(state.agpr[4 * 64 + lane], on ? 5000 + lane : 704000 + lane);
    EXPECT_EQ(state.agpr[6 * 64 + lane], on ? 0x40000000u : 706000 + lane);
    EXPECT_EQ(state.agpr[7 * 64 + lane], on ? 708000 + lane : 707000 + lane);
  }
}

}  // namespace attest::emulator::opcode_tests
