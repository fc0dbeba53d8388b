// MFMA: which element of A, B, C and D each register of each lane holds, and what is computed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "harness/device/emulator/opcode_tests/matrix_op.hpp"

namespace attest::emulator::opcode_tests {
namespace {

void check_mfma(const Mfma& op, bool exact, u64 seed) {
  WaveState state = start_mfma(op, exact, seed);
  state.exec = seed % 2 ? 0x1 : ~u64{0};  // "MFMA ignores EXEC"
  const WaveState before = state;
  const int n = result_dwords(op);
  const std::string a = registers('v', kA, source_dwords(op, op.a)),
                    b = registers('v', kB, source_dwords(op, op.b));
  const std::string text =
      fmt::format("{0} {1}, {2}, {3}, {4}\n{0} {5}, {2}, {3}, 0\n{0} {6}, {2}, {3}, {6}", op.name,
                  registers('v', kD, n), a, b, registers('v', kC, n), registers('a', 64, n),
                  registers('a', 0, n));
  std::copy_n(state.vgpr.begin() + kC * 64, n * 64, state.agpr.begin());
  run_mfma(text, op.target, state);
  if (::testing::Test::HasFatalFailure()) return;
  compare_mfma(op, before, state.vgpr, kD, true, exact, text);
  compare_mfma(op, before, state.agpr, 64, false, exact, text + " (C = 0)");
  compare_mfma(op, before, state.agpr, 0, true, exact, text + " (in place)");
}

}  // namespace

std::vector<std::string> matrix_mnemonics() {
  std::vector<std::string> names;
  for (const Mfma& op : mfmas()) names.push_back(op.name);
  return names;
}

TEST(Matrix, SmallIntegersAreExactInEveryLayout) {
  for (const Mfma& op : mfmas()) {
    if (!implemented(op.name)) continue;
    SCOPED_TRACE(op.name);
    for (u64 seed : {0, 1, 2}) check_mfma(op, true, seed);
  }
}

TEST(Matrix, RandomValuesAreWithinTheRoundingBound) {
  for (const Mfma& op : mfmas()) {
    if (!implemented(op.name)) continue;
    SCOPED_TRACE(op.name);
    for (u64 seed : {10, 11}) check_mfma(op, integers(op), seed);
    if (integers(op)) check_mfma(op, false, 12);
  }
}

TEST(Matrix, Cdna3KeepsSubnormalInputsAndCdna2FlushesThem) {
  // Source: MMA-Sim (arXiv 2511.10909), checked by its authors on MI250X and MI300X: CDNA2 flushes
  // f16 and bf16 subnormals.
  struct Case {
    const char* text;
    const char* target;
    u32 tiny, large;
    float kept;
  };
  const Case cases[] = {
      {"v_mfma_f32_16x16x16_bf16 v[96:99], v[0:1], v[8:9], 0", kMi300, 0x0001, 0x7f00,
       0x1p-133f * 0x1p127f},
      {"v_mfma_f32_16x16x16bf16_1k v[96:99], v[0:1], v[8:9], 0", kMi200, 0x0001, 0x7f00, 0},
      {"v_mfma_f32_16x16x16_f16 v[96:99], v[0:1], v[8:9], 0", kMi300, 0x0001, 0x7800,
       0x1p-24f * 0x1p15f},
      {"v_mfma_f32_16x16x16f16 v[96:99], v[0:1], v[8:9], 0", kMi200, 0x0001, 0x7800, 0},
  };
  for (const Case& c : cases) {
    WaveState state;
    for (int lane = 0; lane < 16; ++lane) {
      state.vgpr[kA * 64 + lane] = c.tiny;   // A[i][0]
      state.vgpr[kB * 64 + lane] = c.large;  // B[0][j]
    }
    run_mfma(c.text, c.target, state);
    for (int lane = 0; lane < 64; ++lane)
      EXPECT_EQ(as_float(state.vgpr[kD * 64 + lane]), c.kept) << c.text << ", lane " << lane;
  }
}

// No model changes what f32 inputs give.
TEST(Matrix, SubnormalsOfF32AreTheSameUnderEachArithmetic) {
  for (const char* const target : {kMi200, kMi300}) {
    for (const Arith arith : kAriths) {
      WaveState state;
      state.arith = arith;
      for (int lane = 0; lane < 16; ++lane) {
        state.vgpr[kA * 64 + lane] = 1;                                       // A[i][0] = 2^-149
        state.vgpr[kB * 64 + lane] = std::bit_cast<std::uint32_t>(0x1p127f);  // B[0][j]
      }
      run_mfma(target == std::string(kMi200) ? "v_mfma_f32_16x16x4f32 v[96:99], v0, v8, 0"
                                             : "v_mfma_f32_16x16x4_f32 v[96:99], v0, v8, 0",
               target, state);
      const float kept = target == std::string(kMi200) ? 0 : 0x1p-22f;
      EXPECT_EQ(as_float(state.vgpr[kD * 64]), kept) << target << " " << to_string(arith);
    }
  }
}

TEST(Matrix, NansAndInfinitiesReachTheElementsThatUseThem) {
  WaveState state;
  for (int lane = 0; lane < 64; ++lane) {
    for (int r = 0; r < 2; ++r) {
      state.vgpr[(kA + r) * 64 + lane] = 0x3f803f80u;  // ones
      state.vgpr[(kB + r) * 64 + lane] = 0x3f803f80u;
    }
  }
  state.vgpr[kA * 64 + 3] = 0x7fc03f80u;             // A[3][1] = NaN
  state.vgpr[kA * 64 + 16 + 5] = 0x3f807f80u;        // A[5][4] = inf
  state.vgpr[(kB + 1) * 64 + 32 + 7] = 0x3f80ff80u;  // B[10][7] = -inf
  run_mfma("v_mfma_f32_16x16x16_bf16 v[96:99], v[0:1], v[8:9], 0", kMi300, state);
  for (int lane = 0; lane < 64; ++lane) {
    for (int r = 0; r < 4; ++r) {
      const int i = 4 * (lane / 16) + r, j = lane % 16;
      const float got = as_float(state.vgpr[(kD + r) * 64 + lane]);
      if (i == 3 || (i == 5 && j == 7)) {
        EXPECT_TRUE(std::isnan(got)) << i << " " << j;
      } else {
        EXPECT_EQ(got, i == 5 ? INFINITY : j == 7 ? -INFINITY : 16.0f) << i << " " << j;
      }
    }
  }
}

}  // namespace attest::emulator::opcode_tests
