// v_div_scale_f64, v_div_fmas_f64, and the division that compilers make of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

int exponent64(u64 b) { return static_cast<int>((b >> 52) & 2047); }

// V_DIV_SCALE_F64, with the correction of the f32 rule in division_test.cpp.
double scaled64(double s0, double d, double n, bool* flag) {
  const auto tiny = [](long double x) { return x != 0 && std::fabs(x) < 0x1p-1022L; };
  const auto exponent = [](double x) { return exponent64(bits_of(x)); };
  *flag = false;
  if (n == 0 || d == 0) return std::nan("");
  const bool reciprocal_tiny = tiny(1.0L / d);
  const bool quotient_tiny = is_denormal64(bits_of(n / d));
  if (exponent(n) - exponent(d) >= 768) {
    *flag = true;
    return s0 == d ? std::ldexp(s0, 128) : s0;
  }
  if (tiny(d)) return std::ldexp(s0, 128);
  if (reciprocal_tiny && quotient_tiny) {
    *flag = true;
    return s0 == d ? std::ldexp(s0, -128) : s0;
  }
  if (reciprocal_tiny) return std::ldexp(s0, -128);
  if (quotient_tiny) {
    *flag = true;
    return s0 == n ? std::ldexp(s0, 128) : s0;
  }
  return exponent(n) <= 53 ? std::ldexp(s0, 128) : s0;
}

double sample64(u64 seed) {  // every exponent, denormals included, and the edge cases
  return as_double(seed % 3 ? draw(Kind::kF64, seed)
                            : (draw(Kind::kU64, seed * 31) & 0x800fffffffffffffull) |
                                  (seed * 2654435761u % 2047) << 52);
}
double pair_at(const WaveState& state, int reg, unsigned lane) {
  return as_double(state.vgpr[reg * 64 + lane] | u64{state.vgpr[(reg + 1) * 64 + lane]} << 32);
}
WaveState two_doubles(u64 seed) {  // v[0:1] and v[2:3]
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (unsigned k = 0; k < 2; ++k) {
      const u64 v = bits_of(sample64(seed + 2 * lane + k));
      state.vgpr[2 * k * 64 + lane] = static_cast<u32>(v);
      state.vgpr[(2 * k + 1) * 64 + lane] = static_cast<u32>(v >> 32);
    }
  }
  return state;
}

}  // namespace

TEST(DivisionDouble, ScaleFollowsTheIsaGuide) {
  for (u64 round = 0; round < 40; ++round) {
    WaveState state = two_doubles(round * 128);
    Memory memory;
    const Outcome outcome = run_snippet(
        "v_div_scale_f64 v[4:5], s[4:5], v[0:1], v[0:1], v[2:3]\n"
        "v_div_scale_f64 v[6:7], vcc, v[2:3], v[0:1], v[2:3]",
        "gfx942", memory, state);
    ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
    for (unsigned lane = 0; lane < 64; ++lane) {
      const double d = pair_at(state, 0, lane), n = pair_at(state, 2, lane);
      if (!std::isfinite(d) || !std::isfinite(n)) continue;
      bool flag_d = false, flag_n = false;
      const double want_d = scaled64(d, d, n, &flag_d), want_n = scaled64(n, d, n, &flag_n);
      const std::string where = fmt::format("n {} / d {}", n, d);
      EXPECT_EQ(disagreement(bits_of(pair_at(state, 4, lane)), bits_of(want_d), Kind::kF64,
                             Match::kFloat),
                "")
          << where;
      EXPECT_EQ(disagreement(bits_of(pair_at(state, 6, lane)), bits_of(want_n), Kind::kF64,
                             Match::kFloat),
                "")
          << where;
      EXPECT_EQ((state.sgpr[4 + lane / 32] >> (lane % 32)) & 1, u32{flag_d}) << where;
      EXPECT_EQ((state.vcc >> lane) & 1, u64{flag_n}) << where;
    }
  }
}

TEST(DivisionDouble, ExpansionByTheCompilerRoundsCorrectly) {
  // LLVM's f64 division (AMDGPULegalizerInfo::legalizeFDIV64).
  const std::string text =
      "v_div_scale_f64 v[4:5], s[4:5], v[0:1], v[0:1], v[2:3]\n"
      "v_rcp_f64_e32 v[6:7], v[4:5]\n"
      "v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0\nv_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]\n"
      "v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0\nv_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]\n"
      "v_div_scale_f64 v[10:11], vcc, v[2:3], v[0:1], v[2:3]\n"
      "v_mul_f64 v[8:9], v[10:11], v[6:7]\nv_fma_f64 v[4:5], -v[4:5], v[8:9], v[10:11]\n"
      "v_div_fmas_f64 v[4:5], v[4:5], v[6:7], v[8:9]\n"
      "v_div_fixup_f64 v[12:13], v[4:5], v[0:1], v[2:3]";
  for (u64 round = 0; round < 200; ++round) {
    WaveState state = two_doubles(9000000 + round * 128);
    Memory memory;
    const Outcome outcome = run_snippet(text, "gfx942", memory, state);
    ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
    for (unsigned lane = 0; lane < 64; ++lane) {
      const double d = pair_at(state, 0, lane), n = pair_at(state, 2, lane);
      // Newton's step for the reciprocal misses by one unit where the mantissa is all ones, on any
      // machine. Source: Markstein, Computation of elementary functions on the IBM RISC System/6000
      // processor (1990).
      if ((bits_of(d) & 0xfffffffffffffull) == 0xfffffffffffffull) continue;
      ASSERT_EQ(disagreement(bits_of(pair_at(state, 12, lane)), bits_of(n / d), Kind::kF64,
                             Match::kFloat),
                "")
          << n << " / " << d;
    }
  }
}

TEST(DivisionDouble, FmasScalesByVcc) {
  WaveState state;
  state.vcc = 0x5555555555555555ull;
  const auto put = [&state](int reg, unsigned lane, double x) {
    state.vgpr[reg * 64 + lane] = static_cast<u32>(bits_of(x));
    state.vgpr[(reg + 1) * 64 + lane] = static_cast<u32>(bits_of(x) >> 32);
  };
  for (unsigned lane = 0; lane < 64; ++lane) {
    put(0, lane, 0.25 + lane);
    put(2, lane, 1.5);
    put(4, lane, lane < 32 ? 0x1p40 : 0x1p-40);
  }
  Memory memory;
  const Outcome outcome =
      run_snippet("v_div_fmas_f64 v[6:7], v[0:1], v[2:3], v[4:5]", "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const double sum = std::fma(0.25 + lane, 1.5, lane < 32 ? 0x1p40 : 0x1p-40);
    const double factor = lane % 2 ? 1.0 : lane < 32 ? 0x1p128 : 0x1p-128;
    EXPECT_EQ(pair_at(state, 6, lane), sum * factor) << lane;
  }
}

}  // namespace attest::emulator::opcode_tests
