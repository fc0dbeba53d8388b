// Instructions with a carry or mask per lane: v_add_co and its kin, v_cndmask, v_mad_u64_u32,
// v_div_scale's flag is in division_test.cpp. Rules: CDNA3 ISA guide; inactive lanes give 0 in the
// carry mask.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

struct CarryOp {
  const char* name;
  bool takes_carry;
  u64 (*rule)(u64 a, u64 b, u64 carry);  // bit 32 of the result is the carry out
};
const CarryOp kOps[] = {
    {"v_add_co_u32", false, [](u64 a, u64 b, u64) { return a + b; }},
    {"v_sub_co_u32", false, [](u64 a, u64 b, u64) { return a - b; }},
    {"v_subrev_co_u32", false, [](u64 a, u64 b, u64) { return b - a; }},
    {"v_addc_co_u32", true, [](u64 a, u64 b, u64 c) { return a + b + c; }},
    {"v_subb_co_u32", true, [](u64 a, u64 b, u64 c) { return a - b - c; }},
    {"v_subbrev_co_u32", true, [](u64 a, u64 b, u64 c) { return b - a - c; }},
};

void check_carry(const CarryOp& op, bool long_form, u64 exec, u64 seed) {
  WaveState state;
  state.exec = exec;
  state.vcc = draw(Kind::kU64, seed);
  const u64 carry_in = draw(Kind::kU64, seed + 1);
  state.sgpr[6] = static_cast<u32>(carry_in);
  state.sgpr[7] = static_cast<u32>(carry_in >> 32);
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = static_cast<u32>(draw(Kind::kU32, seed + lane));
    state.vgpr[64 + lane] = static_cast<u32>(draw(Kind::kU32, ~(seed + lane)));
    state.vgpr[128 + lane] = 0x55aa0000u + lane;
  }
  const std::string text =
      long_form
          ? fmt::format("{}_e64 v2, s[4:5], v0, v1{}", op.name, op.takes_carry ? ", s[6:7]" : "")
          : fmt::format("{}_e32 v2, vcc, v0, v1{}", op.name, op.takes_carry ? ", vcc" : "");
  const WaveState before = state;
  Memory memory;
  const Outcome outcome = run_snippet(text, "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  u64 carries = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 in = ((long_form ? carry_in : before.vcc) >> lane) & 1;
    const u64 r = op.rule(before.vgpr[lane], before.vgpr[64 + lane], op.takes_carry ? in : 0);
    const bool active = (exec >> lane) & 1;
    if (active) carries |= ((r >> 32) & 1) << lane;
    EXPECT_EQ(state.vgpr[128 + lane], active ? u32(r) : before.vgpr[128 + lane])
        << text << ", lane " << lane;
  }
  EXPECT_EQ(long_form ? state.sgpr[4] | u64{state.sgpr[5]} << 32 : state.vcc, carries) << text;
  if (long_form) EXPECT_EQ(state.vcc, before.vcc) << text;
}

void check_mad64(bool is_signed, u64 exec, u64 seed) {
  const char* name = is_signed ? "v_mad_i64_i32" : "v_mad_u64_u32";
  WaveState state;
  state.exec = exec;
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = static_cast<u32>(draw(Kind::kU32, seed + lane));
    state.vgpr[64 + lane] = static_cast<u32>(draw(Kind::kU32, ~(seed + lane)));
    const u64 c = draw(Kind::kU64, seed + 3 * lane);
    state.vgpr[128 + lane] = static_cast<u32>(c);
    state.vgpr[192 + lane] = static_cast<u32>(c >> 32);
  }
  const WaveState before = state;
  Memory memory;
  const std::string text = fmt::format("{} v[4:5], s[4:5], v0, v1, v[2:3]", name);
  const Outcome outcome = run_snippet(text, "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 c = before.vgpr[128 + lane] | u64{before.vgpr[192 + lane]} << 32;
    const u32 a = before.vgpr[lane], b = before.vgpr[64 + lane];
    const Int128 sum = is_signed ? Int128{i32(a)} * i32(b) + i64(c) : Int128{a} * b + c;
    const u64 got = state.vgpr[4 * 64 + lane] | u64{state.vgpr[5 * 64 + lane]} << 32;
    const bool active = (exec >> lane) & 1;
    EXPECT_EQ(got, active ? u64(sum) : 0) << text << ", lane " << lane;
    if (is_signed)
      continue;  // what the overflow bit of the signed form means is not stated clearly enough to
                 // test
    const u64 flags = state.sgpr[4] | u64{state.sgpr[5]} << 32;
    EXPECT_EQ((flags >> lane) & 1, active ? u64(sum >> 64) & 1 : 0)
        << text << ", carry of lane " << lane;
  }
}

}  // namespace

std::vector<std::string> carry_mnemonics() {
  std::vector<std::string> names = {"v_mad_u64_u32", "v_mad_i64_i32"};
  for (const CarryOp& op : kOps) names.push_back(op.name);
  return names;
}

TEST(Carry, InAndOutPerLane) {
  for (const CarryOp& op : kOps) {
    if (!implemented(op.name)) continue;
    for (u64 seed = 0; seed < 12; ++seed) {
      for (bool long_form : {false, true})
        check_carry(op, long_form, seed % 3 == 0 ? draw(Kind::kU64, seed) : ~u64{0}, seed * 64);
    }
  }
}

TEST(Carry, InPlaceAddAndCarryChain) {
  // A 64-bit addition as compilers write it: the carry goes through vcc, source and destination are
  // the same registers.
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = 0xfffffff0u + lane % 32;
    state.vgpr[64 + lane] = lane;
  }
  state.sgpr[0] = 9;
  Memory memory;
  const Outcome outcome =
      run_snippet("v_add_co_u32_e32 v0, vcc, s0, v0\nv_addc_co_u32_e32 v1, vcc, 0, v1, vcc",
                  "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 want = (u64{lane} << 32 | (0xfffffff0u + lane % 32)) + 9;
    EXPECT_EQ(state.vgpr[lane] | u64{state.vgpr[64 + lane]} << 32, want) << lane;
  }
}

TEST(Carry, MultiplyAddTo64Bits) {
  for (u64 seed = 0; seed < 8; ++seed) {
    for (bool is_signed : {false, true})
      check_mad64(is_signed, seed % 2 ? 0x00ff13570000ffffull : ~u64{0}, seed * 1000);
  }
}

TEST(Carry, CndmaskPicksByAnyMask) {
  WaveState state;
  state.vcc = 0xf0f0f0f00f0f0f0full;
  state.sgpr[4] = 0x0000ffffu;
  state.sgpr[5] = 0xff00ff00u;
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = 0x80000000u | lane;
    state.vgpr[64 + lane] = 1000 + lane;
  }
  state.exec = ~u64{0} >> 8;
  Memory memory;
  const Outcome outcome = run_snippet(
      "v_cndmask_b32_e64 v2, v0, v1, s[4:5]\nv_cndmask_b32_e64 v3, -v0, |v1|, "
      "vcc\nv_cndmask_b32_e64 v4, 1, -1, s[4:5]\n"
      "v_cndmask_b32_e32 v0, v0, v1, vcc",
      "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  const u64 mask = 0xff00ff000000ffffull;
  for (unsigned lane = 0; lane < 56; ++lane) {
    const bool s = (mask >> lane) & 1, v = (state.vcc >> lane) & 1;
    EXPECT_EQ(state.vgpr[128 + lane], s ? 1000 + lane : 0x80000000u | lane) << lane;
    EXPECT_EQ(state.vgpr[192 + lane], v ? 1000 + lane : lane) << lane;
    EXPECT_EQ(state.vgpr[256 + lane], s ? 0xffffffffu : 1u) << lane;
    EXPECT_EQ(state.vgpr[lane], v ? 1000 + lane : 0x80000000u | lane) << lane;
  }
  for (unsigned lane = 56; lane < 64; ++lane) EXPECT_EQ(state.vgpr[128 + lane], 0u) << lane;
}

}  // namespace attest::emulator::opcode_tests
