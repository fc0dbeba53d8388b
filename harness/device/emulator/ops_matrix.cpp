// MFMA and SMFMAC. Source: MI300 ISA, chapter 7. Arithmetic: each element is a chain of f32 FMAs
// over k in ascending order, which hardware's is not; gfx90a flushes subnormal inputs and results,
// gfx942 keeps them.
#include <fmt/format.h>

#include <algorithm>

#include "harness/device/emulator/dot_product.hpp"
#include "harness/device/emulator/float_ops.hpp"
#include "harness/device/emulator/fp8.hpp"
#include "harness/device/emulator/matrix_layout.hpp"

namespace attest::emulator {
namespace {

enum class Element { kF32, kXf32, kF16, kBf16, kFp8, kBf8 };

// f32 with ten bits of mantissa, to nearest, ties to even: an assumption, no manual says how.
u32 round_xf32(u32 bits) {
  if (is_nan32(bits)) return quiet32(bits);
  return (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
}
template <Element kE>
float element(const u32 (*rows)[kLanes], int lane, int e, bool flush_half) {
  if constexpr (kE == Element::kF32) return as_float(rows[e][lane]);
  if constexpr (kE == Element::kXf32) return as_float(round_xf32(rows[e][lane]));
  if constexpr (kE == Element::kF16)
    return half_to_float(
        HalfMode::flushed(rows[e / 2][lane] >> 16 * (e % 2) & 0xffff, !flush_half));
  if constexpr (kE == Element::kBf16)
    return as_float(e % 2 ? rows[e / 2][lane] & 0xffff0000 : rows[e / 2][lane] << 16);
  const u32 code = rows[e / 4][lane] >> 8 * (e % 4) & 0xff;
  return as_float((kE == Element::kFp8 ? kFp8Values : kBf8Values)[code]);
}
i32 byte_element(const u32 (*rows)[kLanes], int lane, int e) {
  return static_cast<std::int8_t>(rows[e / 4][lane] >> 8 * (e % 4));
}

// CBSZ: A's block `abid` of each 2^cbsz is used by all of them. BLGP: which lanes B comes from. Not
// every instruction has them. Source: AMD matrix instruction calculator, by instruction.
template <Shape kS>
Flow check_broadcast(Wave& w, const Inst& in, bool has_blgp) {
  const bool has_cbsz = kS.blocks > 1;
  const int together = 1 << in.cbsz;
  if ((in.blgp && !has_blgp) || (in.cbsz && !has_cbsz) || together > kS.blocks ||
      in.abid >= together)
    return fault(w, in, "these cbsz, abid and blgp are not defined for this instruction");
  return Flow::kNext;
}
int broadcast_block(const Inst& in, int block) { return (block >> in.cbsz << in.cbsz) + in.abid; }

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

// Single-block f16 and bf16 have BLGP on gfx90a only.
template <Shape kS, Element kA>
bool has_blgp(const Wave& w) {
  if (kA == Element::kXf32 || kA == Element::kFp8 || kA == Element::kBf8) return false;
  return kS.blocks > 1 || kA == Element::kF32 || w.program->flush_matrix_denormals;
}

template <Element kE>
constexpr DotInput dot_input() {
  if (kE == Element::kFp8 || kE == Element::kBf8) return DotInput::kFp8;
  return kE == Element::kF16 || kE == Element::kBf16 ? DotInput::kHalf : DotInput::kF32;
}

// A block's D by a model of a matrix unit, sixteen columns at a time; those beyond n are zeros.
template <Shape kS, Element kE>
void multiply_modelled(Arith arith, const float (&a)[kS.k][kS.m], const float (&b)[kS.k][kS.n],
                       float (&d)[kS.m][kS.n]) {
  static_assert(kS.k <= kDotDepth);
  constexpr int kWide = kS.n < kDotColumns ? kS.n : kDotColumns;
  for (int first = 0; first < kS.n; first += kWide) {
    float columns[kS.k][kDotColumns] = {};
    for (int k = 0; k < kS.k; ++k) std::copy_n(&b[k][first], kWide, columns[k]);
    for (int i = 0; i < kS.m; ++i) {
      float row[kS.k], sum[kDotColumns] = {};
      for (int k = 0; k < kS.k; ++k) row[k] = a[k][i];
      std::copy_n(&d[i][first], kWide, sum);
      add_dot_product(arith, {row, columns, kS.k, dot_input<kE>()}, sum);
      std::copy_n(sum, kWide, &d[i][first]);
    }
  }
}

template <Shape kS, Element kA, Element kB>
Flow mfma(Wave& w, const Inst& in) {
  if (Flow f = check_broadcast<kS>(w, in, has_blgp<kS, kA>(w)); f != Flow::kNext) return f;
  constexpr int kRegisters = result_count(kS);
  HostControl control(host_control_f32(w.mode), matrix_control(w));
  alignas(64) static thread_local float a[kS.blocks][kS.k][kS.m], b[kS.blocks][kS.k][kS.n],
      d[kS.blocks][kS.m][kS.n];
  const auto* ra = &w.v[in.op[1].reg];
  const auto* rb = &w.v[in.op[2].reg];
  // The host's control word flushes bf16's subnormals, which are f32's, but not those of f16.
  const bool flush_half = w.program->flush_matrix_denormals;
  for (int l = 0; l < kLanes; ++l) {
    const int from = broadcast_lane(l, in.blgp);
    for (int e = 0; e < source_count(kS); ++e) {
      const SourcePlace p = source_place(kS, l, e);
      a[p.block][p.k][p.outer] = element<kA>(ra, l, e, flush_half);
      b[p.block][p.k][p.outer] = element<kB>(rb, from, e, flush_half);
    }
  }
  alignas(64) u32 c[kRegisters][kLanes];
  accumulator(w, in, kRegisters, c);
  for (int r = 0; r < kRegisters; ++r) {
    for (int l = 0; l < kLanes; ++l) {
      const ResultPlace p = result_place(kS, l, r);
      d[p.block][p.row][p.column] = as_float(c[r][l]);
    }
  }
  for (int block = 0; block < kS.blocks; ++block) {
    const auto& rows = a[broadcast_block(in, block)];
    if (w.group->arith != Arith::kFma) {
      // The models flush by themselves, but for f32, which no model changes.
      const bool chain = dot_input<kA>() == DotInput::kF32;
      HostControl nearest(matrix_control(w), chain ? matrix_control(w) : host_control_f32(0x30));
      multiply_modelled<kS, kA>(w.group->arith, rows, b[block], d[block]);
      continue;
    }
    for (int i = 0; i < kS.m; ++i) {
      for (int k = 0; k < kS.k; ++k) {
        const float x = rows[k][i];
        for (int j = 0; j < kS.n; ++j)
          d[block][i][j] = __builtin_fmaf(x, b[block][k][j], d[block][i][j]);
      }
    }
  }
  for (int r = 0; r < kRegisters; ++r) {
    for (int l = 0; l < kLanes; ++l) {
      const ResultPlace p = result_place(kS, l, r);
      c[r][l] = as_bits(d[p.block][p.row][p.column]);
    }
    std::memcpy(w.v[in.op[0].reg + r], c[r], sizeof c[r]);  // MFMA ignores EXEC
  }
  return Flow::kNext;
}

using Float16 = float __attribute__((vector_size(64)));
using Bits16 = u32 __attribute__((vector_size(64)));

// The attention kernels' instruction, with the same rule as mfma() above: 16 x 16 x 16, bf16. A row
// of D is 16 lanes of one register, so that sixteen row accumulators stay in vector registers.
Flow mfma_16x16x16_bf16(Wave& w, const Inst& in) {
  if (in.cbsz || in.abid || in.blgp || w.group->arith != Arith::kFma)
    return mfma<Shape{16, 16, 16, 1}, Element::kBf16, Element::kBf16>(w, in);
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
  const bool has_blgp = kS.blocks > 1 || w.program->flush_matrix_denormals;
  if (Flow f = check_broadcast<kS>(w, in, has_blgp); f != Flow::kNext) return f;
  static thread_local i32 a[kS.blocks][kS.k][kS.m], b[kS.blocks][kS.k][kS.n];
  for (int l = 0; l < kLanes; ++l) {
    const int from = broadcast_lane(l, in.blgp);
    for (int e = 0; e < source_count(kS); ++e) {
      const SourcePlace p = source_place(kS, l, e);
      a[p.block][p.k][p.outer] = byte_element(&w.v[in.op[1].reg], l, e);
      b[p.block][p.k][p.outer] = byte_element(&w.v[in.op[2].reg], from, e);
    }
  }
  constexpr int kRegisters = result_count(kS);
  u32 c[kRegisters][kLanes];
  accumulator(w, in, kRegisters, c);
  for (int r = 0; r < kRegisters; ++r) {
    for (int l = 0; l < kLanes; ++l) {
      const ResultPlace p = result_place(kS, l, r);
      const auto& rows = a[broadcast_block(in, p.block)];
      for (int k = 0; k < kS.k; ++k)
        c[r][l] += static_cast<u32>(rows[k][p.row] * b[p.block][k][p.column]);
    }
    std::memcpy(w.v[in.op[0].reg + r], c[r], sizeof c[r]);
  }
  return Flow::kNext;
}

// f64: blgp's bits negate A, B and C instead of broadcasting.
template <Shape kS>
Flow mfma_f64(Wave& w, const Inst& in) {
  if (Flow f = check_broadcast<Shape{kS.m, kS.n, kS.k, 1}>(w, in, true); f != Flow::kNext) return f;
  HostControl control(host_control_f32(w.mode), host_control_f64(w.mode | 0xc0));
  const u32 negated = in.blgp | in.neg_lo;
  const auto at = [&](int slot, int lane, int r) {
    const Operand& op = in.op[slot];
    const double x = op.kind == Operand::Kind::kVector
                         ? as_double(w.v[op.reg + 2 * r][lane], w.v[op.reg + 2 * r + 1][lane])
                         : std::bit_cast<double>(op.value);
    return negated >> (slot - 1) & 1 ? -x : x;
  };
  double a[kS.blocks][kS.k][kS.m], b[kS.blocks][kS.k][kS.n];
  for (int l = 0; l < kLanes; ++l) {
    const SourcePlace p = source_place(kS, l, 0);  // an element a lane
    a[p.block][p.k][p.outer] = at(1, l, 0);
    b[p.block][p.k][p.outer] = at(2, l, 0);
  }
  constexpr int kResults = result_count(kS);
  u64 out[kResults][kLanes];
  for (int r = 0; r < kResults; ++r) {
    for (int l = 0; l < kLanes; ++l) {
      const ResultPlace p = result_place(kS, l, r);
      double sum = at(3, l, r);
      for (int k = 0; k < kS.k; ++k)
        sum = __builtin_fma(a[p.block][k][p.row], b[p.block][k][p.column], sum);
      out[r][l] = bits64(sum);
    }
  }
  for (int r = 0; r < kResults; ++r) {
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
  // gfx90a's older bf16, with half the k.
  all.push_back(entry<Shape{32, 32, 2, 2}, kBf16>("v_mfma_f32_32x32x2bf16"));
  all.push_back(entry<Shape{16, 16, 2, 4}, kBf16>("v_mfma_f32_16x16x2bf16"));
  all.push_back(entry<Shape{4, 4, 2, 16}, kBf16>("v_mfma_f32_4x4x2bf16"));
  all.push_back(entry<Shape{32, 32, 4, 1}, kBf16>("v_mfma_f32_32x32x4bf16"));
  all.push_back(entry<Shape{16, 16, 8, 1}, kBf16>("v_mfma_f32_16x16x8bf16"));
  all.push_back(entry<Shape{16, 16, 8, 1}, kXf32>("v_mfma_f32_16x16x8_xf32"));
  all.push_back(entry<Shape{32, 32, 4, 1}, kXf32>("v_mfma_f32_32x32x4_xf32"));
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
  both({"v_mfma_f64_16x16x4f64", mfma_f64<Shape{16, 16, 4, 1, 1}>, Type::kF64},
       "v_mfma_f64_16x16x4_f64");
  both({"v_mfma_f64_4x4x4f64", mfma_f64<Shape{4, 4, 4, 4, 1}>, Type::kF64},
       "v_mfma_f64_4x4x4_4b_f64");
  return all;
}

}  // namespace attest::emulator
