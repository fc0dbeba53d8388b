// v_div_scale, v_div_fmas, v_div_fixup, and the constants-in-code forms v_fmaak, v_fmamk, v_madak,
// v_madmk.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

int exponent32(u32 b) { return static_cast<int>((b >> 23) & 255); }
int exponent64(u64 b) { return static_cast<int>((b >> 52) & 2047); }

// CDNA3 ISA guide, V_DIV_SCALE_F32: which operand is scaled, and whether v_div_fmas must undo it.
u64 scaled32(u32 s0, u32 s1, u32 s2, bool* flag) {
  const float a = as_float(s0), d = as_float(s1), n = as_float(s2);
  const auto tiny = [](double x) { return x != 0 && std::fabs(x) < 0x1p-126; };
  *flag = false;
  if (n == 0 || d == 0) return 0x7fc00000u;
  if (exponent32(s2) - exponent32(s1) >= 96) {
    *flag = true;
    return a == d ? bits_of(std::ldexp(a, 64)) : s0;
  }
  const bool quotient_tiny =
      is_denormal32(static_cast<u32>(bits_of(n / d)));  // in f32: a quotient of 0 is not one
  // 1 / d is tested as an f64 in the guide's text, where no f32 has a denormal reciprocal; what is
  // meant is the f32 rcp.
  const bool reciprocal_tiny = tiny(1.0 / d);
  if (is_denormal32(s1)) return bits_of(std::ldexp(a, 64));
  if (reciprocal_tiny && quotient_tiny) {
    // The text has +64, which would overflow every such denominator (beyond 2^126) and make the
    // quotient a NaN (ExpansionByTheCompilerRoundsCorrectly): -64 is meant.
    *flag = true;
    return a == d ? bits_of(std::ldexp(a, -64)) : s0;
  }
  if (reciprocal_tiny) return bits_of(std::ldexp(a, -64));
  if (quotient_tiny) {
    *flag = true;
    return a == n ? bits_of(std::ldexp(a, 64)) : s0;
  }
  return exponent32(s2) <= 23 ? bits_of(std::ldexp(a, 64)) : s0;
}

u64 fixup32(const Lane& x) {
  const u32 sign = (x.u(1) ^ x.u(2)) & 0x80000000u;
  const float d = as_float(x.u(1)), n = as_float(x.u(2));
  if (std::isnan(n)) return x.u(2) | 0x400000u;
  if (std::isnan(d)) return x.u(1) | 0x400000u;
  if ((n == 0 && d == 0) || (std::isinf(n) && std::isinf(d))) return 0xffc00000u;
  if (d == 0 || std::isinf(n)) return sign | 0x7f800000u;
  if (std::isinf(d) || n == 0) return sign;
  // Underflow: the text's UNDERFLOW_F32 is the rounded quotient, which is 0 when the exponents are
  // this far apart.
  if (exponent32(x.u(2)) - exponent32(x.u(1)) < -150) return sign;
  // Overflow: the text tests for an exponent of 255 in the denominator, which cannot be met here. A
  // quotient of at least 2^128 must be what is meant: v_div_fmas has made a NaN of it by then
  // (ExpansionByTheCompilerRoundsCorrectly).
  if (exponent32(x.u(2)) - exponent32(x.u(1)) > 128) return sign | 0x7f800000u;
  return sign | (x.u(0) & 0x7fffffffu);
}
u64 fixup64(const Lane& x) {
  const u64 sign = (x.s[1] ^ x.s[2]) & (u64{1} << 63);
  const double d = as_double(x.s[1]), n = as_double(x.s[2]);
  if (std::isnan(n)) return x.s[2] | u64{1} << 51;
  if (std::isnan(d)) return x.s[1] | u64{1} << 51;
  if ((n == 0 && d == 0) || (std::isinf(n) && std::isinf(d))) return 0xfff8000000000000u;
  if (d == 0 || std::isinf(n)) return sign | 0x7ff0000000000000u;
  if (std::isinf(d) || n == 0) return sign;
  const int gap = exponent64(x.s[2]) - exponent64(x.s[1]);
  if (gap < -1075) return sign;
  if (gap > 1024) return sign | 0x7ff0000000000000u;  // as in f32: what overflows
  return sign | (x.s[0] & ~(u64{1} << 63));
}

const std::vector<VectorOp>& fixup_ops() {
  static const std::vector<VectorOp> kOps = {
      {"v_div_fixup_f32",
       kVop3 | kReadsVcc,
       Kind::kF32,
       {Kind::kF32, Kind::kF32, Kind::kF32},
       fixup32,
       Match::kFloat},
      {"v_div_fixup_f64",
       kVop3 | kReadsVcc,
       Kind::kF64,
       {Kind::kF64, Kind::kF64, Kind::kF64},
       fixup64,
       Match::kFloat},
  };
  return kOps;
}

void load(WaveState& state, int reg, unsigned lane, float x) {
  state.vgpr[reg * 64 + lane] = static_cast<u32>(bits_of(x));
}

float sample(u64 seed) {  // every exponent, denormals included, and the edge cases
  return as_float(seed % 3 ? draw(Kind::kF32, seed)
                           : (draw(Kind::kU32, seed * 31) & 0x807fffffu) | (seed % 255) << 23);
}

}  // namespace

std::vector<std::string> division_mnemonics() {
  return {"v_div_fixup_f32", "v_div_fixup_f64", "v_div_scale_f32", "v_div_scale_f64",
          "v_div_fmas_f32",  "v_div_fmas_f64",  "v_fmaak_f32",     "v_fmamk_f32",
          "v_madak_f32",     "v_madmk_f32"};
}

TEST(Division, FixupFollowsTheIsaGuide) {
  for (const VectorOp& op : fixup_ops()) {
    if (!implemented(op.name)) continue;
    const bool wide = op.result == Kind::kF64;
    WaveState state;
    for (unsigned lane = 0; lane < 64; ++lane) {
      for (int k = 0; k < 3; ++k) {
        const u64 v = draw(op.result, lane * 64 + k);
        state.vgpr[2 * k * 64 + lane] = static_cast<u32>(v);
        state.vgpr[(2 * k + 1) * 64 + lane] = static_cast<u32>(v >> 32);
      }
    }
    const WaveState before = state;
    Memory memory;
    const std::string text =
        wide ? "v_div_fixup_f64 v[8:9], v[0:1], v[2:3], v[4:5]" : "v_div_fixup_f32 v8, v0, v2, v4";
    const Outcome outcome = run_snippet(text, "gfx942", memory, state);
    ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
    for (unsigned lane = 0; lane < 64; ++lane) {
      Lane x;
      for (int k = 0; k < 3; ++k)
        x.s[k] = before.vgpr[2 * k * 64 + lane] |
                 (wide ? u64{before.vgpr[(2 * k + 1) * 64 + lane]} << 32 : 0);
      const u64 got = state.vgpr[8 * 64 + lane] | (wide ? u64{state.vgpr[9 * 64 + lane]} << 32 : 0);
      EXPECT_EQ(disagreement(got, op.rule(x), op.result, Match::kFloat), "")
          << text << fmt::format(" {:#x} {:#x} {:#x}", x.s[0], x.s[1], x.s[2]);
    }
  }
}

TEST(Division, ScaleFollowsTheIsaGuide) {
  for (u64 round = 0; round < 40; ++round) {
    WaveState state;
    for (unsigned lane = 0; lane < 64; ++lane) {
      load(state, 0, lane, sample(round * 128 + 2 * lane));
      load(state, 1, lane, sample(round * 128 + 2 * lane + 1));
    }
    const WaveState before = state;
    Memory memory;
    // v0 is the denominator, v1 the numerator: as compilers write it, once for each.
    const Outcome outcome =
        run_snippet("v_div_scale_f32 v2, s[4:5], v0, v0, v1\nv_div_scale_f32 v3, vcc, v1, v0, v1",
                    "gfx942", memory, state);
    ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
    for (unsigned lane = 0; lane < 64; ++lane) {
      const u32 d = before.vgpr[lane], n = before.vgpr[64 + lane];
      if (!std::isfinite(as_float(d)) || !std::isfinite(as_float(n))) continue;
      bool flag_d = false, flag_n = false;
      const u64 want_d = scaled32(d, d, n, &flag_d), want_n = scaled32(n, d, n, &flag_n);
      const std::string where = fmt::format("n {:#x} / d {:#x}", n, d);
      EXPECT_EQ(disagreement(state.vgpr[128 + lane], want_d, Kind::kF32, Match::kFloat), "")
          << where;
      EXPECT_EQ(disagreement(state.vgpr[192 + lane], want_n, Kind::kF32, Match::kFloat), "")
          << where;
      EXPECT_EQ((state.sgpr[4 + lane / 32] >> (lane % 32)) & 1, u32{flag_d}) << where;
      EXPECT_EQ((state.vcc >> lane) & 1, u64{flag_n}) << where;
    }
  }
}

TEST(Division, ExpansionByTheCompilerRoundsCorrectly) {
  // LLVM's f32 division (AMDGPULegalizerInfo::legalizeFDIV32): whatever the three instructions do
  // inside, n / d must come out as IEEE 754 rounds it, denormals included. This also decides the
  // sign of the power of two in v_div_fmas.
  const std::string text =
      "v_div_scale_f32 v2, s[4:5], v0, v0, v1\nv_div_scale_f32 v3, vcc, v1, v0, v1\nv_rcp_f32_e32 "
      "v4, v2\n"
      "v_fma_f32 v5, -v2, v4, 1.0\nv_fma_f32 v4, v5, v4, v4\nv_mul_f32_e32 v5, v3, v4\nv_fma_f32 "
      "v6, -v2, v5, v3\n"
      "v_fma_f32 v5, v6, v4, v5\nv_fma_f32 v6, -v2, v5, v3\nv_div_fmas_f32 v6, v6, v4, "
      "v5\nv_div_fixup_f32 v7, v6, v0, v1";
  for (u64 round = 0; round < 200; ++round) {
    WaveState state;
    for (unsigned lane = 0; lane < 64; ++lane) {
      load(state, 0, lane, sample(7000000 + round * 128 + 2 * lane));
      load(state, 1, lane, sample(7000000 + round * 128 + 2 * lane + 1));
    }
    const WaveState before = state;
    Memory memory;
    const Outcome outcome = run_snippet(text, "gfx942", memory, state);
    ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
    for (unsigned lane = 0; lane < 64; ++lane) {
      const float d = as_float(before.vgpr[lane]), n = as_float(before.vgpr[64 + lane]);
      ASSERT_EQ(disagreement(state.vgpr[7 * 64 + lane], bits_of(n / d), Kind::kF32, Match::kFloat),
                "")
          << fmt::format("{} ({:#x}) / {} ({:#x})", n, before.vgpr[64 + lane], d,
                         before.vgpr[lane]);
    }
  }
}

TEST(Division, FmasScalesByVcc) {
  // CDNA3's text multiplies by 2^32, which cannot undo the 2^64 of v_div_scale; RDNA3's text (same
  // opcode) has 2^64 for a large addend and 2^-64 otherwise, and only that gives correct quotients
  // (the test above).
  WaveState state;
  state.vcc = 0x5555555555555555ull;
  for (unsigned lane = 0; lane < 64; ++lane) {
    load(state, 0, lane, 0.25f + lane);
    load(state, 1, lane, 1.5f);
    load(state, 2, lane, lane < 32 ? 0x1p40f : 0x1p-40f);
  }
  const WaveState before = state;
  Memory memory;
  const Outcome outcome = run_snippet("v_div_fmas_f32 v3, v0, v1, v2", "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const float sum = std::fma(0.25f + lane, 1.5f, as_float(before.vgpr[128 + lane]));
    const float factor = lane % 2 ? 1.0f : lane < 32 ? 0x1p64f : 0x1p-64f;
    EXPECT_EQ(as_float(state.vgpr[192 + lane]), sum * factor) << lane;
  }
}

TEST(Division, FmaWithAConstantInTheCode) {
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    load(state, 0, lane, sample(lane));
    load(state, 1, lane, sample(lane + 500));
  }
  const WaveState before = state;
  Memory memory;
  Outcome outcome =
      run_snippet("v_fmaak_f32 v2, v0, v1, 0x40490fdb\nv_fmamk_f32 v3, v0, 0x40490fdb, v1",
                  "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  const float k = as_float(0x40490fdb);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const float a = as_float(before.vgpr[lane]), b = as_float(before.vgpr[64 + lane]);
    EXPECT_EQ(
        disagreement(state.vgpr[128 + lane], bits_of(std::fma(a, b, k)), Kind::kF32, Match::kFloat),
        "")
        << a << " " << b;
    EXPECT_EQ(
        disagreement(state.vgpr[192 + lane], bits_of(std::fma(a, k, b)), Kind::kF32, Match::kFloat),
        "")
        << a << " " << b;
  }
}

TEST(Division, MadWithAConstantInTheCode) {
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    load(state, 0, lane, 1.0f + 0.37f * lane);
    load(state, 1, lane, -5.0f + 0.77f * lane);
  }
  const WaveState before = state;
  Memory memory;
  const Outcome outcome =
      run_snippet("v_madak_f32 v2, v0, v1, 0x40490fdb\nv_madmk_f32 v3, v0, 0x40490fdb, v1",
                  "gfx90a", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  const float k = as_float(0x40490fdb);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const float a = as_float(before.vgpr[lane]), b = as_float(before.vgpr[64 + lane]);
    const float ab = a * b, ak = a * k;  // two roundings
    EXPECT_EQ(as_float(state.vgpr[128 + lane]), ab + k) << lane;
    EXPECT_EQ(as_float(state.vgpr[192 + lane]), ak + b) << lane;
  }
}

}  // namespace attest::emulator::opcode_tests
