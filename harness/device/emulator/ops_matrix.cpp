// MFMA. Layouts by one closed form (wave64, M x N x K with B blocks, kpl = M K B / 64 elements a
// lane):
//   A: i = l mod M, block = (l / M) mod B, k = (l / M / B) kpl + e; B the same with j for i;
//   C and D, N = 32: i = 8 (r mod 16 / 4) + 4 (l / 32) + r mod 4, block = r / 16; N = 16: i = 4 (l
//   / 16) + r mod 4, block = r / 4; N = 4: i = r, block = l / 4; f64 16x16x4: i = 4 r + l / 16; j =
//   l mod N always.
// Source: AMD matrix instruction calculator's published layouts; MI300 ISA, chapter 7.
// Arithmetic: each element is a chain of f32 FMAs over k in ascending order, which hardware's is
// not; gfx90a flushes subnormal inputs and results, gfx942 keeps them.
#include <fmt/format.h>

#include "harness/device/emulator/float_ops.hpp"
#include "harness/device/emulator/fp8.hpp"

namespace attest::emulator {
namespace {

enum class Element { kF32, kF16, kBf16, kFp8, kBf8 };
struct Shape {
  int m, n, k, blocks;
};

template <Element kE>
float element(const u32 (*rows)[kLanes], int lane, int e, bool flush_half) {
  if constexpr (kE == Element::kF32) return as_float(rows[e][lane]);
  if constexpr (kE == Element::kF16)
    return half_to_float(
        HalfMode::flushed(rows[e / 2][lane] >> 16 * (e % 2) & 0xffff, !flush_half));
  if constexpr (kE == Element::kBf16)
    return as_float(e % 2 ? rows[e / 2][lane] & 0xffff0000 : rows[e / 2][lane] << 16);
  const u32 code = rows[e / 4][lane] >> 8 * (e % 4) & 0xff;
  return as_float((kE == Element::kFp8 ? kFp8Values : kBf8Values)[code]);
}

constexpr int row_of(const Shape& s, int lane, int r) {
  if (s.n == 32) return 8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4;
  return s.n == 16 ? 4 * (lane / 16) + r % 4 : r;
}
constexpr int block_of(const Shape& s, int lane, int r) {
  if (s.n == 32) return r / 16;
  return s.n == 16 ? r / 4 : lane / 4;
}

// C's rows, or the constant in all of them.
void accumulator(Wave& w, const Inst& in, int registers, u32 (*c)[kLanes]) {
  for (int r = 0; r < registers; ++r) {
    if (in.op[3].kind == Operand::Kind::kVector) {
      std::memcpy(c[r], w.v[in.op[3].reg + r], sizeof c[r]);
    } else {
      std::memcpy(c[r], in.op[3].row, sizeof c[r]);
    }
  }
}

u32 matrix_control(const Wave& w) {
  return host_control_f32(w.program->flush_matrix_denormals ? 0 : 0x30);
}

template <Shape kS, Element kA, Element kB>
Flow mfma(Wave& w, const Inst& in) {
  if (in.cbsz || in.abid || in.blgp)
    return fault(w, in, "MFMA broadcast modifiers (cbsz, abid, blgp) are not modelled");
  constexpr int kPerLane = kS.m * kS.k * kS.blocks / 64, kRegisters = kS.m * kS.n * kS.blocks / 64;
  HostControl control(host_control_f32(w.mode), matrix_control(w));
  alignas(64) static thread_local float a[kS.blocks][kS.k][kS.m], b[kS.blocks][kS.k][kS.n],
      d[kS.blocks][kS.m][kS.n];
  const auto* ra = &w.v[in.op[1].reg];
  const auto* rb = &w.v[in.op[2].reg];
  // The host's control word flushes bf16's subnormals, which are f32's, but not those of f16.
  const bool flush_half = w.program->flush_matrix_denormals;
  for (int l = 0; l < kLanes; ++l) {
    for (int e = 0; e < kPerLane; ++e) {
      a[l / kS.m % kS.blocks][l / kS.m / kS.blocks * kPerLane + e][l % kS.m] =
          element<kA>(ra, l, e, flush_half);
      b[l / kS.n % kS.blocks][l / kS.n / kS.blocks * kPerLane + e][l % kS.n] =
          element<kB>(rb, l, e, flush_half);
    }
  }
  alignas(64) u32 c[kRegisters][kLanes];
  accumulator(w, in, kRegisters, c);
  for (int r = 0; r < kRegisters; ++r) {
    for (int l = 0; l < kLanes; ++l)
      d[block_of(kS, l, r)][row_of(kS, l, r)][l % kS.n] = as_float(c[r][l]);
  }
  for (int block = 0; block < kS.blocks; ++block) {
    for (int i = 0; i < kS.m; ++i) {
      for (int k = 0; k < kS.k; ++k) {
        const float x = a[block][k][i];
        for (int j = 0; j < kS.n; ++j)
          d[block][i][j] = __builtin_fmaf(x, b[block][k][j], d[block][i][j]);
      }
    }
  }
  for (int r = 0; r < kRegisters; ++r) {
    for (int l = 0; l < kLanes; ++l)
      c[r][l] = as_bits(d[block_of(kS, l, r)][row_of(kS, l, r)][l % kS.n]);
    std::memcpy(w.v[in.op[0].reg + r], c[r], sizeof c[r]);  // MFMA ignores EXEC
  }
  return Flow::kNext;
}

using Float16 = float __attribute__((vector_size(64)));
using Bits16 = u32 __attribute__((vector_size(64)));

// The attention kernels' instruction, with the same rule as mfma() above: 16 x 16 x 16, bf16. A row
// of D is 16 lanes of one register, so that sixteen row accumulators stay in vector registers.
Flow mfma_16x16x16_bf16(Wave& w, const Inst& in) {
  if (in.cbsz || in.abid || in.blgp)
    return fault(w, in, "MFMA broadcast modifiers (cbsz, abid, blgp) are not modelled");
  HostControl control(host_control_f32(w.mode), matrix_control(w));
  alignas(64) float a[4][4][16];  // [k / 4][k % 4][i]
  Float16 b[4][4];                // [k / 4][k % 4] over j
  const auto* ra = &w.v[in.op[1].reg];
  const auto* rb = &w.v[in.op[2].reg];
  for (int g = 0; g < 4; ++g) {
    for (int h = 0; h < 2; ++h) {
      const Bits16 pa = *reinterpret_cast<const Bits16*>(&ra[h][16 * g]),
                   pb = *reinterpret_cast<const Bits16*>(&rb[h][16 * g]);
      *reinterpret_cast<Float16*>(a[g][2 * h]) = std::bit_cast<Float16>(pa << 16);
      *reinterpret_cast<Float16*>(a[g][2 * h + 1]) = std::bit_cast<Float16>(pa & 0xffff0000u);
      b[g][2 * h] = std::bit_cast<Float16>(pb << 16);
      b[g][2 * h + 1] = std::bit_cast<Float16>(pb & 0xffff0000u);
    }
  }
  Float16 d[16];
  for (int i = 0; i < 16; ++i) {
    const u32* c = in.op[3].kind == Operand::Kind::kVector
                       ? &w.v[in.op[3].reg + i % 4][16 * (i / 4)]
                       : in.op[3].row;
    d[i] = *reinterpret_cast<const Float16*>(c);
  }
  for (int k = 0; k < 16; ++k) {
    const float* x = a[k / 4][k % 4];
    const Float16 y = b[k / 4][k % 4];
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; ++i) d[i] = __builtin_elementwise_fma(Float16{} + x[i], y, d[i]);
  }
  for (int i = 0; i < 16; ++i)
    *reinterpret_cast<Float16*>(&w.v[in.op[0].reg + i % 4][16 * (i / 4)]) = d[i];
  return Flow::kNext;
}

template <Shape kS>
Flow mfma_i8(Wave& w, const Inst& in) {
  if (in.cbsz || in.abid || in.blgp)
    return fault(w, in, "MFMA broadcast modifiers (cbsz, abid, blgp) are not modelled");
  constexpr int kPerLane = kS.m * kS.k * kS.blocks / 64, kRegisters = kS.m * kS.n * kS.blocks / 64;
  const auto byte = [](const u32(*rows)[kLanes], int lane, int e) {
    return static_cast<i32>(static_cast<std::int8_t>(rows[e / 4][lane] >> 8 * (e % 4)));
  };
  static thread_local i32 a[kS.blocks][kS.k][kS.m], b[kS.blocks][kS.k][kS.n];
  for (int l = 0; l < kLanes; ++l) {
    for (int e = 0; e < kPerLane; ++e) {
      a[l / kS.m % kS.blocks][l / kS.m / kS.blocks * kPerLane + e][l % kS.m] =
          byte(&w.v[in.op[1].reg], l, e);
      b[l / kS.n % kS.blocks][l / kS.n / kS.blocks * kPerLane + e][l % kS.n] =
          byte(&w.v[in.op[2].reg], l, e);
    }
  }
  u32 c[kRegisters][kLanes];
  accumulator(w, in, kRegisters, c);
  for (int r = 0; r < kRegisters; ++r) {
    for (int l = 0; l < kLanes; ++l) {
      const int block = block_of(kS, l, r), i = row_of(kS, l, r), j = l % kS.n;
      for (int k = 0; k < kS.k; ++k) c[r][l] += static_cast<u32>(a[block][k][i] * b[block][k][j]);
    }
    std::memcpy(w.v[in.op[0].reg + r], c[r], sizeof c[r]);
  }
  return Flow::kNext;
}

// f64: blgp's bits negate A, B and C instead of broadcasting.
template <Shape kS>
Flow mfma_f64(Wave& w, const Inst& in) {
  HostControl control(host_control_f32(w.mode), host_control_f64(w.mode | 0xc0));
  constexpr int kRegisters = kS.m * kS.n * kS.blocks / 64;
  const auto at = [&](int slot, int lane, int r, bool negate) {
    const Operand& op = in.op[slot];
    const double x = op.kind == Operand::Kind::kVector
                         ? as_double(w.v[op.reg + 2 * r][lane], w.v[op.reg + 2 * r + 1][lane])
                         : std::bit_cast<double>(op.value);
    return negate ? -x : x;
  };
  u64 out[kRegisters][kLanes];
  for (int r = 0; r < kRegisters; ++r) {
    for (int l = 0; l < kLanes; ++l) {
      const int i = kS.m == 16 ? 4 * r + l / 16 : l / 16, j = l % kS.n,
                block = kS.m == 16 ? 0 : l / 4 % 4;
      double sum = at(3, l, r, in.blgp & 4 || in.neg_lo & 4);
      for (int k = 0; k < kS.k; ++k) {
        const int la = (k * kS.blocks + block) * kS.m + i, lb = (k * kS.blocks + block) * kS.n + j;
        sum = __builtin_fma(at(1, la, 0, in.blgp & 1 || in.neg_lo & 1),
                            at(2, lb, 0, in.blgp & 2 || in.neg_lo & 2), sum);
      }
      out[r][l] = bits64(sum);
    }
  }
  for (int r = 0; r < kRegisters; ++r) {
    for (int l = 0; l < kLanes; ++l) {
      w.v[in.op[0].reg + 2 * r][l] = static_cast<u32>(out[r][l]);
      w.v[in.op[0].reg + 2 * r + 1][l] = static_cast<u32>(out[r][l] >> 32);
    }
  }
  return Flow::kNext;
}

template <Shape kS, Element kA, Element kB = kA>
Semantics entry(std::string_view name) {
  return {name, mfma<kS, kA, kB>};
}

}  // namespace

std::vector<Semantics> matrix_semantics() {
  using enum Element;
  std::vector<Semantics> all;
  // gfx90a and gfx942 spell the same instruction differently; gfx942's "_1k" bf16 lost its suffix.
  const auto both = [&](Semantics s, std::string_view gfx942) {
    all.push_back(s);
    all.push_back({gfx942, s.run, s.type});
  };
  both(entry<Shape{32, 32, 1, 2}, kF32>("v_mfma_f32_32x32x1f32"), "v_mfma_f32_32x32x1_2b_f32");
  both(entry<Shape{16, 16, 1, 4}, kF32>("v_mfma_f32_16x16x1f32"), "v_mfma_f32_16x16x1_4b_f32");
  both(entry<Shape{4, 4, 1, 16}, kF32>("v_mfma_f32_4x4x1f32"), "v_mfma_f32_4x4x1_16b_f32");
  both(entry<Shape{32, 32, 2, 1}, kF32>("v_mfma_f32_32x32x2f32"), "v_mfma_f32_32x32x2_f32");
  both(entry<Shape{16, 16, 4, 1}, kF32>("v_mfma_f32_16x16x4f32"), "v_mfma_f32_16x16x4_f32");
  both(entry<Shape{32, 32, 4, 2}, kF16>("v_mfma_f32_32x32x4f16"), "v_mfma_f32_32x32x4_2b_f16");
  both(entry<Shape{16, 16, 4, 4}, kF16>("v_mfma_f32_16x16x4f16"), "v_mfma_f32_16x16x4_4b_f16");
  both(entry<Shape{4, 4, 4, 16}, kF16>("v_mfma_f32_4x4x4f16"), "v_mfma_f32_4x4x4_16b_f16");
  both(entry<Shape{32, 32, 8, 1}, kF16>("v_mfma_f32_32x32x8f16"), "v_mfma_f32_32x32x8_f16");
  both(entry<Shape{16, 16, 16, 1}, kF16>("v_mfma_f32_16x16x16f16"), "v_mfma_f32_16x16x16_f16");
  both(entry<Shape{32, 32, 4, 2}, kBf16>("v_mfma_f32_32x32x4bf16_1k"),
       "v_mfma_f32_32x32x4_2b_bf16");
  both(entry<Shape{16, 16, 4, 4}, kBf16>("v_mfma_f32_16x16x4bf16_1k"),
       "v_mfma_f32_16x16x4_4b_bf16");
  both(entry<Shape{4, 4, 4, 16}, kBf16>("v_mfma_f32_4x4x4bf16_1k"), "v_mfma_f32_4x4x4_16b_bf16");
  both(entry<Shape{32, 32, 8, 1}, kBf16>("v_mfma_f32_32x32x8bf16_1k"), "v_mfma_f32_32x32x8_bf16");
  both({"v_mfma_f32_16x16x16bf16_1k", mfma_16x16x16_bf16}, "v_mfma_f32_16x16x16_bf16");
  both({"v_mfma_i32_32x32x4i8", mfma_i8<Shape{32, 32, 4, 2}>}, "v_mfma_i32_32x32x4_2b_i8");
  both({"v_mfma_i32_16x16x4i8", mfma_i8<Shape{16, 16, 4, 4}>}, "v_mfma_i32_16x16x4_4b_i8");
  both({"v_mfma_i32_4x4x4i8", mfma_i8<Shape{4, 4, 4, 16}>}, "v_mfma_i32_4x4x4_16b_i8");
  all.push_back({"v_mfma_i32_32x32x8i8", mfma_i8<Shape{32, 32, 8, 1}>});
  all.push_back({"v_mfma_i32_16x16x16i8", mfma_i8<Shape{16, 16, 16, 1}>});
  all.push_back({"v_mfma_i32_32x32x16_i8", mfma_i8<Shape{32, 32, 16, 1}>});
  all.push_back({"v_mfma_i32_16x16x32_i8", mfma_i8<Shape{16, 16, 32, 1}>});
  all.push_back(entry<Shape{16, 16, 32, 1}, kFp8, kFp8>("v_mfma_f32_16x16x32_fp8_fp8"));
  all.push_back(entry<Shape{16, 16, 32, 1}, kFp8, kBf8>("v_mfma_f32_16x16x32_fp8_bf8"));
  all.push_back(entry<Shape{16, 16, 32, 1}, kBf8, kFp8>("v_mfma_f32_16x16x32_bf8_fp8"));
  all.push_back(entry<Shape{16, 16, 32, 1}, kBf8, kBf8>("v_mfma_f32_16x16x32_bf8_bf8"));
  all.push_back(entry<Shape{32, 32, 16, 1}, kFp8, kFp8>("v_mfma_f32_32x32x16_fp8_fp8"));
  all.push_back(entry<Shape{32, 32, 16, 1}, kFp8, kBf8>("v_mfma_f32_32x32x16_fp8_bf8"));
  all.push_back(entry<Shape{32, 32, 16, 1}, kBf8, kFp8>("v_mfma_f32_32x32x16_bf8_fp8"));
  all.push_back(entry<Shape{32, 32, 16, 1}, kBf8, kBf8>("v_mfma_f32_32x32x16_bf8_bf8"));
  both({"v_mfma_f64_16x16x4f64", mfma_f64<Shape{16, 16, 4, 1}>, Type::kF64},
       "v_mfma_f64_16x16x4_f64");
  both({"v_mfma_f64_4x4x4f64", mfma_f64<Shape{4, 4, 4, 4}>, Type::kF64}, "v_mfma_f64_4x4x4_4b_f64");
  return all;
}

}  // namespace attest::emulator
