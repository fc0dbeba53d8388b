// 16-bit integer instructions of VOP2 and VOP3. Rules: CDNA3 ISA guide, "VOP2 instructions".
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind kU = Kind::kU32, kH = Kind::kU16;

i64 signed16(u32 x) { return sign_extended(x & 0xffff, 16); }

const std::vector<VectorOp> kOps = {
    // 16-bit results clear the upper half of the register (LLVM,
    // GCNSubtarget::zeroesHigh16BitsOfDest: up to gfx9).
    {"v_add_u16", kVop2, kU, {kH, kH}, [](const Lane& x) { return u64(u16(x.u(0) + x.u(1))); }},
    {"v_sub_u16", kVop2, kU, {kH, kH}, [](const Lane& x) { return u64(u16(x.u(0) - x.u(1))); }},
    {"v_subrev_u16", kVop2, kU, {kH, kH}, [](const Lane& x) { return u64(u16(x.u(1) - x.u(0))); }},
    {"v_mul_lo_u16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(u16((x.u(0) & 0xffff) * (x.u(1) & 0xffff))); }},
    {"v_lshlrev_b16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(u16(x.u(1) << (x.u(0) & 15))); }},
    {"v_lshrrev_b16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64((x.u(1) & 0xffff) >> (x.u(0) & 15)); }},
    {"v_ashrrev_i16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(u16(signed16(x.u(1)) >> (x.u(0) & 15))); }},
    {"v_min_u16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(std::min(u16(x.u(0)), u16(x.u(1)))); }},
    {"v_max_u16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(std::max(u16(x.u(0)), u16(x.u(1)))); }},
    {"v_min_i16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(u16(std::min(signed16(x.u(0)), signed16(x.u(1))))); }},
    {"v_max_i16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(u16(std::max(signed16(x.u(0)), signed16(x.u(1))))); }},
    {"v_mad_legacy_u16",
     kVop3,
     kU,
     {kH, kH, kH},
     [](const Lane& x) { return u64(u16((x.u(0) & 0xffff) * (x.u(1) & 0xffff) + x.u(2))); }},
};

}  // namespace

const std::vector<VectorOp>& vector_short_ops() { return kOps; }

// CDNA3 ISA guide, "VOP3A": op_sel picks the halves of the sources and of the destination, whose
// other half stays.
TEST(VectorShort, OpSelPicksHalves) {
  for (unsigned bits = 0; bits < 16; ++bits) {
    WaveState state;
    for (unsigned r = 0; r < 4; ++r) {
      for (unsigned lane = 0; lane < 64; ++lane)
        state.vgpr[r * 64 + lane] = static_cast<u32>(draw(Kind::kPkHalf, r * 64 + lane));
    }
    state.vgpr[256] = state.vgpr[192];  // v4 as v3
    const WaveState before = state;
    const std::string text = fmt::format(
        "v_fma_f16 v3, v0, -v1, v2 op_sel:[{0},{1},{2},{3}]\n"
        "v_mad_u32_u16 v4, v0, v1, v2 op_sel:[{0},{1},0,0]",
        bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3);
    Memory memory;
    const Outcome outcome = run_snippet(text, "gfx942", memory, state);
    ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
    for (unsigned lane = 0; lane < 64; ++lane) {
      const auto half = [&](unsigned k) {
        return before.vgpr[k * 64 + lane] >> (bits >> k & 1 ? 16 : 0) & 0xffff;
      };
      const u32 got = state.vgpr[192 + lane], old = before.vgpr[192 + lane];
      const bool high = bits >> 3 & 1;
      const u32 result = high ? got >> 16 : got & 0xffff, other = high ? got & 0xffff : got >> 16;
      EXPECT_EQ(disagreement(result, half_fma(half(0), half(1) ^ 0x8000, half(2)), Kind::kF16,
                             Match::kFloat),
                "")
          << text << ", lane " << lane;
      EXPECT_EQ(other, high ? old & 0xffff : old >> 16) << text << ", lane " << lane;
      EXPECT_EQ(state.vgpr[256 + lane], half(0) * half(1) + before.vgpr[128 + lane]) << text;
    }
  }
}

TEST(VectorShort, FollowsTheIsaGuide) { check(vector_short_ops()); }

}  // namespace attest::emulator::opcode_tests
