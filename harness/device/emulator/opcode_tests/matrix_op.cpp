#include "harness/device/emulator/opcode_tests/matrix_op.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace attest::emulator::opcode_tests {
namespace {

const std::vector<Mfma> kMfmas = {
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
    {"v_mfma_f32_16x16x8_xf32", kMi300, 16, 8, 1, Element::kXf32, Element::kXf32},
    {"v_mfma_f32_32x32x4_xf32", kMi300, 32, 4, 1, Element::kXf32, Element::kXf32},
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
    {"v_mfma_f32_32x32x2bf16", kMi200, 32, 2, 2, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_16x16x2bf16", kMi200, 16, 2, 4, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_4x4x2bf16", kMi200, 4, 2, 16, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_32x32x4bf16", kMi200, 32, 4, 1, Element::kBf16, Element::kBf16},
    {"v_mfma_f32_16x16x8bf16", kMi200, 16, 8, 1, Element::kBf16, Element::kBf16},
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

u64 moderate(Element e, u64 seed) {
  const u64 r = draw(Kind::kU64, seed * 2 + 1) * 0x9e3779b97f4a7c15ull + seed;
  const double unit = static_cast<double>((r >> 11) & 0xfffff) / 0x80000 - 1;
  switch (e) {
    case Element::kF64:
      return bits_of(unit);
    case Element::kF32:
    case Element::kXf32:
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

int result_elements(const Mfma& op) { return op.m * op.m * op.blocks / 64; }  // a lane

int per_lane(const Mfma& op) { return op.m * op.k * op.blocks / 64; }

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

}  // namespace

const std::vector<Mfma>& mfmas() { return kMfmas; }

int bits_of_element(Element e) {
  switch (e) {
    case Element::kF64:
      return 64;
    case Element::kF32:
    case Element::kXf32:
      return 32;
    case Element::kF16:
    case Element::kBf16:
      return 16;
    default:
      return 8;
  }
}

double element_value(Element e, u64 code) {
  switch (e) {
    case Element::kF64:
      return as_double(code);
    case Element::kF32:
      return as_float(code);
    case Element::kXf32: {  // ten bits of mantissa, ties to even
      int exponent = 0;
      const double m = std::frexp(static_cast<double>(as_float(code)), &exponent);
      return std::ldexp(std::nearbyint(std::ldexp(m, 11)), exponent - 11);
    }
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

u64 small_integer(Element e, int v) {
  switch (e) {
    case Element::kF64:
      return bits_of(double(v));
    case Element::kF32:
    case Element::kXf32:
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

bool integers(const Mfma& op) { return op.a == Element::kI8; }

int result_dwords(const Mfma& op) { return result_elements(op) * (op.a == Element::kF64 ? 2 : 1); }

int source_dwords(const Mfma& op, Element e) { return per_lane(op) * bits_of_element(e) / 32; }

std::string registers(char file, int first, int dwords) {
  return dwords == 1 ? fmt::format("{}{}", file, first)
                     : fmt::format("{}[{}:{}]", file, first, first + dwords - 1);
}

WaveState start_mfma(const Mfma& op, bool exact, u64 seed) {
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
void compare_mfma(const Mfma& op, const WaveState& before, const std::vector<u32>& got, int first,
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

void run_mfma(const std::string& text, const char* target, WaveState& state) {
  Memory memory;
  const Outcome outcome = run_snippet(text, target, memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
}

}  // namespace attest::emulator::opcode_tests
