// MFMA: which element of A, B, C and D each register of each lane holds, and what is computed.
// Layout rule: CDNA3 ISA guide, "Matrix fused-multiply-add", in the closed form that AMD's matrix
// instruction calculator confirms.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

enum class Element { kF64, kF32, kF16, kBf16, kI8, kFp8, kBf8 };

int bits_of_element(Element e) {
  switch (e) {
    case Element::kF64:
      return 64;
    case Element::kF32:
      return 32;
    case Element::kF16:
    case Element::kBf16:
      return 16;
    default:
      return 8;
  }
}

struct Mfma {
  const char* name;
  const char* target;
  int m, k, blocks;
  Element a, b;
};
constexpr const char *kMi200 = "gfx90a", *kMi300 = "gfx942";
const Mfma kMfmas[] = {
    {"v_mfma_f32_32x32x1_2b_f32", kMi300, 32, 1, 2, Element::kF32, Element::kF32},
    {"v_mfma_f32_16x16x1_4b_f32", kMi300, 16, 1, 4, Element::kF32, Element::kF32},
    {"v_mfma_f32_4x4x1_16b_f32", kMi300, 4, 1, 16, Element::kF32, Element::kF32},
    {"v_mfma_f32_32x32x2_f32", kMi300, 32, 2, 1, Element::kF32, Element::kF32},
    {"v_mfma_f32_16x16x4_f32", kMi300, 16, 4, 1, Element::kF32, Element::kF32},
    {"v_mfma_f32_32x32x4_2b_f16", kMi300, 32, 4, 2, Element::kF16, Element::kF16},
    {"v_mfma_f32_16x16x4_4b_f16", kMi300, 16, 4, 4, Element::kF16, Element::kF16},
    {"v_mfma_f32_4x4x4_16b_f16", kMi300, 4, 4, 16, Element::kF16, Element::kF16},
    {"v_mfma_f32_32x32x8_f16", kMi300, 32, 8, 1, Element::kF16, Element::kF16},
    {"v_mfma_f32_16x16x16_f16", kMi300, 16, 16, 1, Element::kF16, Element::kF16},
    {"v_mfma_f32_32x32x4_2b_bf16", kMi300, 32, 4, 2, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_16x16x4_4b_bf16", kMi300, 16, 4, 4, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_4x4x4_16b_bf16", kMi300, 4, 4, 16, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_32x32x8_bf16", kMi300, 32, 8, 1, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_16x16x16_bf16", kMi300, 16, 16, 1, Element::kBf16, Element::kBf16},
    {"v_mfma_i32_32x32x4_2b_i8", kMi300, 32, 4, 2, Element::kI8, Element::kI8},
    {"v_mfma_i32_16x16x4_4b_i8", kMi300, 16, 4, 4, Element::kI8, Element::kI8},
    {"v_mfma_i32_4x4x4_16b_i8", kMi300, 4, 4, 16, Element::kI8, Element::kI8},
    {"v_mfma_i32_32x32x16_i8", kMi300, 32, 16, 1, Element::kI8, Element::kI8},
    {"v_mfma_i32_16x16x32_i8", kMi300, 16, 32, 1, Element::kI8, Element::kI8},
    {"v_mfma_f32_16x16x32_bf8_bf8", kMi300, 16, 32, 1, Element::kBf8, Element::kBf8},
    {"v_mfma_f32_16x16x32_bf8_fp8", kMi300, 16, 32, 1, Element::kBf8, Element::kFp8},
    {"v_mfma_f32_16x16x32_fp8_bf8", kMi300, 16, 32, 1, Element::kFp8, Element::kBf8},
    {"v_mfma_f32_16x16x32_fp8_fp8", kMi300, 16, 32, 1, Element::kFp8, Element::kFp8},
    {"v_mfma_f32_32x32x16_bf8_bf8", kMi300, 32, 16, 1, Element::kBf8, Element::kBf8},
    {"v_mfma_f32_32x32x16_bf8_fp8", kMi300, 32, 16, 1, Element::kBf8, Element::kFp8},
    {"v_mfma_f32_32x32x16_fp8_bf8", kMi300, 32, 16, 1, Element::kFp8, Element::kBf8},
    {"v_mfma_f32_32x32x16_fp8_fp8", kMi300, 32, 16, 1, Element::kFp8, Element::kFp8},
    {"v_mfma_f64_16x16x4_f64", kMi300, 16, 4, 1, Element::kF64, Element::kF64},
    {"v_mfma_f64_4x4x4_4b_f64", kMi300, 4, 4, 4, Element::kF64, Element::kF64},
    {"v_mfma_f32_32x32x1f32", kMi200, 32, 1, 2, Element::kF32, Element::kF32},
    {"v_mfma_f32_16x16x1f32", kMi200, 16, 1, 4, Element::kF32, Element::kF32},
    {"v_mfma_f32_4x4x1f32", kMi200, 4, 1, 16, Element::kF32, Element::kF32},
    {"v_mfma_f32_32x32x2f32", kMi200, 32, 2, 1, Element::kF32, Element::kF32},
    {"v_mfma_f32_16x16x4f32", kMi200, 16, 4, 1, Element::kF32, Element::kF32},
    {"v_mfma_f32_32x32x4f16", kMi200, 32, 4, 2, Element::kF16, Element::kF16},
    {"v_mfma_f32_16x16x4f16", kMi200, 16, 4, 4, Element::kF16, Element::kF16},
    {"v_mfma_f32_4x4x4f16", kMi200, 4, 4, 16, Element::kF16, Element::kF16},
    {"v_mfma_f32_32x32x8f16", kMi200, 32, 8, 1, Element::kF16, Element::kF16},
    {"v_mfma_f32_16x16x16f16", kMi200, 16, 16, 1, Element::kF16, Element::kF16},
    {"v_mfma_f32_32x32x4bf16_1k", kMi200, 32, 4, 2, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_16x16x4bf16_1k", kMi200, 16, 4, 4, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_4x4x4bf16_1k", kMi200, 4, 4, 16, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_32x32x8bf16_1k", kMi200, 32, 8, 1, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_16x16x16bf16_1k", kMi200, 16, 16, 1, Element::kBf16, Element::kBf16},
    {"v_mfma_i32_32x32x4i8", kMi200, 32, 4, 2, Element::kI8, Element::kI8},
    {"v_mfma_i32_16x16x4i8", kMi200, 16, 4, 4, Element::kI8, Element::kI8},
    {"v_mfma_i32_4x4x4i8", kMi200, 4, 4, 16, Element::kI8, Element::kI8},
    {"v_mfma_i32_32x32x8i8", kMi200, 32, 8, 1, Element::kI8, Element::kI8},
    {"v_mfma_i32_16x16x16i8", kMi200, 16, 16, 1, Element::kI8, Element::kI8},
    {"v_mfma_f64_16x16x4f64", kMi200, 16, 4, 1, Element::kF64, Element::kF64},
    {"v_mfma_f64_4x4x4f64", kMi200, 4, 4, 4, Element::kF64, Element::kF64},
};

// fp8 and bf8 of gfx942 are the FNUZ formats: bias one larger than OCP's, 0x80 is the only NaN, no
// -0, no infinities.
double fnuz(u32 code, int mantissa_bits, int bias) {
  if (code == 0x80) return std::nan("");
  const int e = (code & 0x7f) >> mantissa_bits, m = code & ((1 << mantissa_bits) - 1);
  const double magnitude = e == 0 ? std::ldexp(m, 1 - bias - mantissa_bits)
                                  : std::ldexp((1 << mantissa_bits) + m, e - bias - mantissa_bits);
  return code & 0x80 ? -magnitude : magnitude;
}

double element_value(Element e, u64 code) {
  switch (e) {
    case Element::kF64:
      return as_double(code);
    case Element::kF32:
      return as_float(code);
    case Element::kF16:
      return half_value(static_cast<u32>(code));
    case Element::kBf16:
      return as_float(code << 16);
    case Element::kI8:
      return static_cast<double>(sign_extended(code, 8));
    case Element::kFp8:
      return fnuz(static_cast<u32>(code), 3, 8);
    default:
      return fnuz(static_cast<u32>(code), 2, 16);
  }
}

// A code whose value is a small integer, and a code of any moderate value.
u64 small_integer(Element e, int v) {
  switch (e) {
    case Element::kF64:
      return bits_of(double(v));
    case Element::kF32:
      return bits_of(float(v));
    case Element::kF16:
      return half_from(v);
    case Element::kBf16:
      return bits_of(float(v)) >> 16;
    case Element::kI8:
      return static_cast<u32>(v) & 0xff;
    default:
      break;
  }
  for (u32 code = 0; code < 256; ++code) {
    if (code != 0x80 && element_value(e, code) == v) return code;
  }
  return 0;
}
u64 moderate(Element e, u64 seed) {
  const u64 r = draw(Kind::kU64, seed * 2 + 1) * 0x9e3779b97f4a7c15ull + seed;
  const double unit = static_cast<double>((r >> 11) & 0xfffff) / 0x80000 - 1;
  switch (e) {
    case Element::kF64:
      return bits_of(unit);
    case Element::kF32:
      return bits_of(float(unit));
    case Element::kF16:
      return half_from(unit);
    case Element::kBf16:
      return bits_of(float(unit)) >> 16;
    case Element::kI8:
      return (r >> 20) & 0xff;
    default: {
      const u32 code = (r >> 20) & 0xff;
      return code == 0x80 ? 1 : code;
    }
  }
}

struct Place {  // of one element of D
  int i, j, block;
};
Place place_of_result(const Mfma& op, int reg, int lane) {
  if (op.a == Element::kF64) {
    if (op.m == 16) return {4 * reg + lane / 16, lane % 16, 0};
    return {lane / 16, lane % 4, lane / 4 % 4};
  }
  if (op.m == 32) return {8 * (reg % 16 / 4) + 4 * (lane / 32) + reg % 4, lane % 32, reg / 16};
  if (op.m == 16) return {4 * (lane / 16) + reg % 4, lane % 16, reg / 4};
  return {reg, lane % 4, lane / 4};
}

bool integers(const Mfma& op) { return op.a == Element::kI8; }
int result_elements(const Mfma& op) { return op.m * op.m * op.blocks / 64; }  // a lane
int result_dwords(const Mfma& op) { return result_elements(op) * (op.a == Element::kF64 ? 2 : 1); }
int per_lane(const Mfma& op) { return op.m * op.k * op.blocks / 64; }
int source_dwords(const Mfma& op, Element e) { return per_lane(op) * bits_of_element(e) / 32; }

// Element (row or column, k) of block `block` of an operand, from the registers at `first`.
double source_at(const Mfma& op, Element e, const std::vector<u32>& v, int first, int row, int k,
                 int block) {
  const int kpl = per_lane(op), lane = row + op.m * (block + op.blocks * (k / kpl));
  const int bit = (k % kpl) * bits_of_element(e);
  u64 code = v[(first + bit / 32) * 64 + lane] >> (bit % 32);
  if (e == Element::kF64) code |= u64{v[(first + bit / 32 + 1) * 64 + lane]} << 32;
  if (bits_of_element(e) < 32) code &= (u64{1} << bits_of_element(e)) - 1;
  return element_value(e, code);
}

double result_value(const Mfma& op, const std::vector<u32>& v, int first, int element, int lane) {
  const u64 low = v[(first + element * (op.a == Element::kF64 ? 2 : 1)) * 64 + lane];
  if (integers(op)) return static_cast<i32>(low);
  if (op.a != Element::kF64) return as_float(low);
  return as_double(low | u64{v[(first + 2 * element + 1) * 64 + lane]} << 32);
}

constexpr int kA = 0, kB = 8, kC = 32, kD = 96;  // first registers

std::string registers(char file, int first, int dwords) {
  return dwords == 1 ? fmt::format("{}{}", file, first)
                     : fmt::format("{}[{}:{}]", file, first, first + dwords - 1);
}

WaveState start(const Mfma& op, bool exact, u64 seed) {
  WaveState state;
  const auto fill = [&](int first, Element e, int dwords, u64 salt) {
    for (int lane = 0; lane < 64; ++lane) {
      for (int bit = 0; bit < dwords * 32; bit += bits_of_element(e)) {
        const u64 n = seed + salt + static_cast<u64>(lane * 512 + bit);
        const u64 code = exact ? small_integer(e, static_cast<int>((n * 2654435761u >> 13) % 9) - 4)
                               : moderate(e, n);
        state.vgpr[(first + bit / 32) * 64 + lane] |= static_cast<u32>(code << (bit % 32));
        if (e == Element::kF64)
          state.vgpr[(first + bit / 32 + 1) * 64 + lane] = static_cast<u32>(code >> 32);
      }
    }
  };
  fill(kA, op.a, source_dwords(op, op.a), 1);
  fill(kB, op.b, source_dwords(op, op.b), 100003);
  for (int lane = 0; lane < 64; ++lane) {
    for (int r = 0; r < result_elements(op); ++r) {
      const int value = (lane * 7 + r * 13) % 101 - 50;
      if (op.a == Element::kF64) {
        const u64 code = bits_of(exact ? double(value) : value * 0.37);
        state.vgpr[(kC + 2 * r) * 64 + lane] = static_cast<u32>(code);
        state.vgpr[(kC + 2 * r + 1) * 64 + lane] = static_cast<u32>(code >> 32);
      } else {
        state.vgpr[(kC + r) * 64 + lane] =
            integers(op) ? static_cast<u32>(value)
                         : static_cast<u32>(bits_of(exact ? float(value) : value * 0.37f));
      }
    }
  }
  return state;
}

// D = A B + C by the definition, with sums in double; `slack` units of 2^-24 (2^-53) of the
// magnitudes are allowed.
void compare(const Mfma& op, const WaveState& before, const std::vector<u32>& got, int first,
             bool with_c, bool exact, const std::string& text) {
  const double unit = exact ? 0 : op.a == Element::kF64 ? 0x1p-53 : 0x1p-24;
  for (int lane = 0; lane < 64; ++lane) {
    for (int r = 0; r < result_elements(op); ++r) {
      const Place p = place_of_result(op, r, lane);
      double sum = with_c ? result_value(op, before.vgpr, kC, r, lane) : 0,
             magnitude = std::fabs(sum);
      for (int k = 0; k < op.k; ++k) {
        const double product = source_at(op, op.a, before.vgpr, kA, p.i, k, p.block) *
                               source_at(op, op.b, before.vgpr, kB, p.j, k, p.block);
        sum += product;
        magnitude += std::fabs(product);
      }
      // Source: any order of K fused or rounded additions is within (K + 1) u sum|p| (Higham,
      // Accuracy and Stability, 3.1).
      const double bound = (op.k + 1) * 2 * unit * magnitude;
      ASSERT_LE(std::fabs(result_value(op, got, first, r, lane) - sum), bound)
          << text
          << fmt::format(", lane {}, element {} (i {}, j {}, block {})", lane, r, p.i, p.j,
                         p.block);
    }
  }
}

void run(const std::string& text, const char* target, WaveState& state) {
  Memory memory;
  const Outcome outcome = run_snippet(text, target, memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
}

void check_mfma(const Mfma& op, bool exact, u64 seed) {
  WaveState state = start(op, exact, seed);
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
  run(text, op.target, state);
  if (::testing::Test::HasFatalFailure()) return;
  compare(op, before, state.vgpr, kD, true, exact, text);
  compare(op, before, state.agpr, 64, false, exact, text + " (C = 0)");
  compare(op, before, state.agpr, 0, true, exact, text + " (in place)");
}

}  // namespace

std::vector<std::string> matrix_mnemonics() {
  std::vector<std::string> names;
  for (const Mfma& op : kMfmas) names.push_back(op.name);
  return names;
}

TEST(Matrix, SmallIntegersAreExactInEveryLayout) {
  for (const Mfma& op : kMfmas) {
    if (!implemented(op.name)) continue;
    SCOPED_TRACE(op.name);
    for (u64 seed : {0, 1, 2}) check_mfma(op, true, seed);
  }
}

TEST(Matrix, RandomValuesAreWithinTheRoundingBound) {
  for (const Mfma& op : kMfmas) {
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
    run(c.text, c.target, state);
    for (int lane = 0; lane < 64; ++lane)
      EXPECT_EQ(as_float(state.vgpr[kD * 64 + lane]), c.kept) << c.text << ", lane " << lane;
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
  run("v_mfma_f32_16x16x16_bf16 v[96:99], v[0:1], v[8:9], 0", kMi300, state);
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
