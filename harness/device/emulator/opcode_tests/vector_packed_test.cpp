// VOP3P: packed f16, i16, u16 and f32 instructions, dot products and mixed-precision fma, with
// op_sel, op_sel_hi, neg_lo, neg_hi. Rules: CDNA3 ISA guide, "VOP3P instructions" and "Packed
// math".
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind kF = Kind::kF32, kP = Kind::kPkHalf, kI = Kind::kPk16, kQ = Kind::kPkF32,
               kU = Kind::kU32;
constexpr Match kAnyNan = Match::kFloat;

template <u32 (*kHalf)(const Lane&, u32, u32, u32)>
u64 each_half(const Lane& x) {
  const u32 low = kHalf(x, x.u(0) & 0xffff, x.u(1) & 0xffff, x.u(2) & 0xffff);
  const u32 high = kHalf(x, x.u(0) >> 16, x.u(1) >> 16, x.u(2) >> 16);
  return (low & 0xffff) | (high & 0xffff) << 16;
}
template <u64 (*kPart)(const Lane&)>
u64 each_float(const Lane& x) {
  Lane low = x, high = x;
  for (int k = 0; k < 3; ++k) {
    low.s[k] = x.s[k] & 0xffffffffu;
    high.s[k] = x.s[k] >> 32;
  }
  return kPart(low) | kPart(high) << 32;
}

u32 in(const Lane& x, u32 h) { return flushed16(h, x.mode.in16_64()); }
u32 result(const Lane& x, double r) {
  return static_cast<u32>(x.out_half(std::isnan(r) ? 0x7e00u : half_from(r)));
}
u32 add(const Lane& x, u32 a, u32 b, u32) {
  return result(x, half_value(in(x, a)) + half_value(in(x, b)));
}
u32 mul(const Lane& x, u32 a, u32 b, u32) {
  return result(x, half_value(in(x, a)) * half_value(in(x, b)));
}
u32 fma16(const Lane& x, u32 a, u32 b, u32 c) {
  return static_cast<u32>(x.out_half(half_fma(in(x, a), in(x, b), in(x, c))));
}
u32 extreme(const Lane& x, u32 a, u32 b, bool greater) {
  if (x.mode.ieee() && (is_signalling16(a) || is_signalling16(b))) return 0x7e00;
  a = in(x, a);
  b = in(x, b);
  if (is_nan16(a)) return is_nan16(b) ? 0x7e00 : static_cast<u32>(x.out_half(b));
  if (is_nan16(b)) return static_cast<u32>(x.out_half(a));
  const double va = half_value(a), vb = half_value(b);
  const bool a_less = va == vb ? (a & 0x8000) != 0 : va < vb;
  return static_cast<u32>(x.out_half(a_less != greater ? a : b));
}
u32 min16(const Lane& x, u32 a, u32 b, u32) { return extreme(x, a, b, false); }
u32 max16(const Lane& x, u32 a, u32 b, u32) { return extreme(x, a, b, true); }

i32 s16(u32 v) { return static_cast<i16>(v); }
u32 add_int(const Lane&, u32 a, u32 b, u32) { return a + b; }
u32 sub_int(const Lane&, u32 a, u32 b, u32) { return a - b; }
u32 mul_int(const Lane&, u32 a, u32 b, u32) { return a * b; }
u32 mad_int(const Lane&, u32 a, u32 b, u32 c) { return a * b + c; }
u32 shl(const Lane&, u32 a, u32 b, u32) { return b << (a & 15); }
u32 shr(const Lane&, u32 a, u32 b, u32) { return b >> (a & 15); }
u32 sar(const Lane&, u32 a, u32 b, u32) { return static_cast<u32>(s16(b) >> (a & 15)); }
u32 umin(const Lane&, u32 a, u32 b, u32) { return std::min(a, b); }
u32 umax(const Lane&, u32 a, u32 b, u32) { return std::max(a, b); }
u32 imin(const Lane&, u32 a, u32 b, u32) { return static_cast<u32>(std::min(s16(a), s16(b))); }
u32 imax(const Lane&, u32 a, u32 b, u32) { return static_cast<u32>(std::max(s16(a), s16(b))); }
u32 limited(i32 v, i32 low, i32 high) { return static_cast<u32>(std::clamp(v, low, high)); }
u32 add_u_sat(const Lane&, u32 a, u32 b, u32) { return limited(i32(a + b), 0, 65535); }
u32 sub_u_sat(const Lane&, u32 a, u32 b, u32) { return limited(i32(a) - i32(b), 0, 65535); }
u32 add_i_sat(const Lane&, u32 a, u32 b, u32) { return limited(s16(a) + s16(b), -32768, 32767); }
u32 sub_i_sat(const Lane&, u32 a, u32 b, u32) { return limited(s16(a) - s16(b), -32768, 32767); }

u64 pk_add(const Lane& x) { return x.out(x.f(0) + x.f(1)); }
u64 pk_mul(const Lane& x) { return x.out_from(double{x.f(0)} * x.f(1)); }
u64 pk_fma(const Lane& x) {
  const double wide = std::fma(double{x.f(0)}, x.f(1), x.f(2));
  if (!x.out32() && is_tiny(wide)) return std::signbit(wide) ? 0x80000000u : 0;
  return bits_of(std::fma(x.f(0), x.f(1), x.f(2)));
}

template <int kBits, bool kSigned>
u64 dot(const Lane& x) {
  i64 sum = kSigned ? i64{x.i(2)} : i64{x.u(2)};
  for (int at = 0; at < 32; at += kBits) {
    const u32 mask = (1u << kBits) - 1, a = (x.u(0) >> at) & mask, b = (x.u(1) >> at) & mask;
    sum += kSigned ? sign_extended(a, kBits) * sign_extended(b, kBits) : i64(a) * b;
  }
  return static_cast<u32>(sum);
}

// The same, onto the destination.
template <int kBits>
u64 dot_into(const Lane& x) {
  Lane y = x;
  y.s[2] = x.d;
  return dot<kBits, true>(y);
}
// CDNA3 ISA guide, V_DOT2_F32_F16: the addend, then the low product, then the high one, each sum
// rounded; subnormals are flushed on the way in and out whatever the mode.
u64 dot_halves(const Lane& x) {
  float sum = as_float(flushed32(x.u(2), false));
  for (int at : {0, 16}) {
    const auto half = [&](int k) { return half_value(flushed16(x.u(k) >> at & 0xffff, false)); };
    const double product = half(0) * half(1);  // exact
    const double wide = product + sum;
    sum = std::fma(static_cast<float>(half(0)), static_cast<float>(half(1)), sum);
    if (is_tiny(wide)) sum = std::copysign(0.0f, sum);
  }
  return bits_of(sum);
}
u64 dot_halves_into(const Lane& x) {
  Lane y = x;
  y.s[2] = x.d;
  return dot_halves(y);
}

const std::vector<VectorOp> kOps = {
    {"v_pk_add_f16", kVop3p, kP, {kP, kP}, each_half<add>, kAnyNan},
    {"v_pk_mul_f16", kVop3p, kP, {kP, kP}, each_half<mul>, kAnyNan},
    {"v_pk_fma_f16", kVop3p, kP, {kP, kP, kP}, each_half<fma16>, kAnyNan},
    {"v_pk_min_f16", kVop3p, kP, {kP, kP}, each_half<min16>, kAnyNan},
    {"v_pk_max_f16", kVop3p, kP, {kP, kP}, each_half<max16>, kAnyNan},
    {"v_pk_add_u16", kVop3p, kI, {kI, kI}, each_half<add_int>, Match::kBits, each_half<add_u_sat>},
    {"v_pk_add_i16", kVop3p, kI, {kI, kI}, each_half<add_int>, Match::kBits, each_half<add_i_sat>},
    {"v_pk_sub_u16", kVop3p, kI, {kI, kI}, each_half<sub_int>, Match::kBits, each_half<sub_u_sat>},
    {"v_pk_sub_i16", kVop3p, kI, {kI, kI}, each_half<sub_int>, Match::kBits, each_half<sub_i_sat>},
    {"v_pk_mul_lo_u16", kVop3p, kI, {kI, kI}, each_half<mul_int>},
    {"v_pk_mad_u16", kVop3p, kI, {kI, kI, kI}, each_half<mad_int>},
    {"v_pk_mad_i16", kVop3p, kI, {kI, kI, kI}, each_half<mad_int>},
    {"v_pk_lshlrev_b16", kVop3p, kI, {kI, kI}, each_half<shl>},
    {"v_pk_lshrrev_b16", kVop3p, kI, {kI, kI}, each_half<shr>},
    {"v_pk_ashrrev_i16", kVop3p, kI, {kI, kI}, each_half<sar>},
    {"v_pk_min_u16", kVop3p, kI, {kI, kI}, each_half<umin>},
    {"v_pk_max_u16", kVop3p, kI, {kI, kI}, each_half<umax>},
    {"v_pk_min_i16", kVop3p, kI, {kI, kI}, each_half<imin>},
    {"v_pk_max_i16", kVop3p, kI, {kI, kI}, each_half<imax>},
    {"v_pk_add_f32", kVop3p, kQ, {kQ, kQ}, each_float<pk_add>, kAnyNan},
    {"v_pk_mul_f32", kVop3p, kQ, {kQ, kQ}, each_float<pk_mul>, kAnyNan},
    {"v_pk_fma_f32", kVop3p, kQ, {kQ, kQ, kQ}, each_float<pk_fma>, kAnyNan},
    // Without op_sel both results take the low half of their operand: op_sel_hi plays no part.
    {"v_pk_mov_b32",
     kVop3p,
     Kind::kU64,
     {Kind::kU64, Kind::kU64},
     [](const Lane& x) { return u64(x.u(0) | x.s[1] << 32); }},
    {"v_dot4_i32_i8", kVop3p, kU, {kU, kU, kU}, dot<8, true>},
    {"v_dot4_u32_u8", kVop3p, kU, {kU, kU, kU}, dot<8, false>},
    {"v_dot8_i32_i4", kVop3p, kU, {kU, kU, kU}, dot<4, true>},
    {"v_dot8_u32_u4", kVop3p, kU, {kU, kU, kU}, dot<4, false>},
    {"v_dot2_i32_i16", kVop3p, kU, {kU, kU, kU}, dot<16, true>},
    {"v_dot2_u32_u16", kVop3p, kU, {kU, kU, kU}, dot<16, false>},
    {"v_dot8c_i32_i4", kE32, kU, {kU, kU}, dot_into<4>},
    {"v_dot4c_i32_i8", kE32, kU, {kU, kU}, dot_into<8>},
    {"v_dot2c_i32_i16", kE32, kU, {kU, kU}, dot_into<16>},
    {"v_dot2_f32_f16", kVop3p, kF, {kP, kP, kF}, dot_halves, kAnyNan},
    {"v_dot2c_f32_f16", kE32, kF, {kP, kP}, dot_halves_into, kAnyNan},
};

}  // namespace

const std::vector<VectorOp>& vector_packed_ops() { return kOps; }

TEST(VectorPacked, FollowsTheIsaGuide) { check(vector_packed_ops()); }

namespace {

// Selection by op_sel (for the low result), op_sel_hi (for the high one) and negation by neg_lo,
// neg_hi.
struct Selection {
  unsigned low, high, neg_low, neg_high;  // bit k: operand k
};

std::string bit_list(const char* name, unsigned bits, int count) {
  std::string text = fmt::format(" {}:[", name);
  for (int k = 0; k < count; ++k) text += fmt::format("{}{}", k ? "," : "", (bits >> k) & 1);
  return text + "]";
}

// The operands as the instruction sees them after selection: each half taken from the half that the
// bits name.
u64 selected(u64 value, int half_bits, int operand, const Selection& s, bool floats) {
  const u64 mask = (u64{1} << half_bits) - 1, sign = u64{1} << (half_bits - 1);
  u64 low = (s.low >> operand) & 1 ? value >> half_bits : value & mask;
  u64 high = (s.high >> operand) & 1 ? value >> half_bits : value & mask;
  low &= mask;
  high &= mask;
  if (floats && ((s.neg_low >> operand) & 1)) low ^= sign;
  if (floats && ((s.neg_high >> operand) & 1)) high ^= sign;
  return low | high << half_bits;
}

void check_selection(const VectorOp& op, const Selection& s) {
  if (!implemented(op.name)) return;
  const int count = static_cast<int>(op.sources.size());
  const bool wide = width_of(op.result) == 2;
  const bool floats = op.result == Kind::kPkHalf || op.result == Kind::kPkF32;
  std::string text = fmt::format("{} {}", op.name, wide ? "v[8:9]" : "v8");
  for (int k = 0; k < count; ++k)
    text += wide ? fmt::format(", v[{}:{}]", 2 * k, 2 * k + 1) : fmt::format(", v{}", 2 * k);
  text += bit_list("op_sel", s.low, count) + bit_list("op_sel_hi", s.high, count);
  if (floats) text += bit_list("neg_lo", s.neg_low, count) + bit_list("neg_hi", s.neg_high, count);
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (int k = 0; k < count; ++k) {
      const u64 value = draw(op.sources[k], lane * 8 + k + s.low * 1000);
      state.vgpr[2 * k * 64 + lane] = static_cast<u32>(value);
      state.vgpr[(2 * k + 1) * 64 + lane] = static_cast<u32>(value >> 32);
    }
  }
  const WaveState before = state;
  Memory memory;
  const Outcome outcome = run_snippet(text, op.target, memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    Lane x;
    for (int k = 0; k < count; ++k) {
      const u64 value = before.vgpr[2 * k * 64 + lane] | u64{before.vgpr[(2 * k + 1) * 64 + lane]}
                                                             << 32;
      x.s[k] = selected(value, wide ? 32 : 16, k, s, floats);
    }
    const u64 got = state.vgpr[8 * 64 + lane] | (wide ? u64{state.vgpr[9 * 64 + lane]} << 32 : 0);
    EXPECT_EQ(disagreement(got, op.rule(x), op.result, op.match), "") << text << ", lane " << lane;
  }
}

}  // namespace

TEST(VectorPacked, SelectsAndNegatesHalvesAsToldByOpSel) {
  for (const VectorOp& op : vector_packed_ops()) {
    const std::string name = op.name;
    if (name.find("_dot") != name.npos || name.find("_mov") != name.npos) continue;
    SCOPED_TRACE(name);
    const unsigned all = (1u << op.sources.size()) - 1;
    for (unsigned low = 0; low <= all; ++low) {
      for (unsigned high : {0u, low, all, all ^ low})
        check_selection(op, {low, high, all ^ low, low & high});
    }
  }
}

TEST(VectorPacked, MovTakesTheHalvesThatOpSelNames) {
  // v_pk_mov_b32: op_sel[0] picks the half of S0 for the low result, op_sel[1] the half of S1 for
  // the high one.
  for (unsigned bits = 0; bits < 4; ++bits) {
    WaveState state;
    for (unsigned r = 0; r < 4; ++r) {
      for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[r * 64 + lane] = 1000 * r + lane;
    }
    Memory memory;
    const std::string text =
        fmt::format("v_pk_mov_b32 v[8:9], v[0:1], v[2:3] op_sel:[{},{}]", bits & 1, bits >> 1);
    const Outcome outcome = run_snippet(text, "gfx942", memory, state);
    ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
    for (unsigned lane = 0; lane < 64; ++lane) {
      EXPECT_EQ(state.vgpr[8 * 64 + lane], 1000 * (bits & 1) + lane) << text;
      EXPECT_EQ(state.vgpr[9 * 64 + lane], 1000 * (2 + (bits >> 1)) + lane) << text;
    }
  }
}

TEST(VectorPacked, ScalarAndConstantOperandsOfPackedFloat) {
  // An SGPR pair gives both halves; an inline constant is the low half, the high half of it is 0
  // for a 64-bit operand unless op_sel_hi is cleared, which makes both results use the low half.
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = static_cast<u32>(bits_of(float(lane)));
    state.vgpr[64 + lane] = static_cast<u32>(bits_of(float(2 * lane + 1)));
  }
  state.sgpr[2] = static_cast<u32>(bits_of(3.0f));
  state.sgpr[3] = static_cast<u32>(bits_of(5.0f));
  Memory memory;
  const Outcome outcome = run_snippet(
      "v_pk_mul_f32 v[8:9], v[0:1], s[2:3]\nv_pk_mul_f32 v[10:11], v[0:1], s[2:3] op_sel_hi:[1,0]\n"
      "v_pk_add_f32 v[12:13], v[0:1], 4.0 op_sel_hi:[1,0]",
      "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const float low = float(lane), high = float(2 * lane + 1);
    const float want[] = {3 * low, 5 * high, 3 * low, 3 * high, low + 4, high + 4};
    for (int k = 0; k < 6; ++k) EXPECT_EQ(as_float(state.vgpr[(8 + k) * 64 + lane]), want[k]) << k;
  }
}

namespace {

// v_fma_mix*: op_sel_hi[k] says that operand k is an f16 (else an f32), op_sel[k] that it is the
// high half.
void check_mix(const std::string& name, unsigned is_half, unsigned is_high) {
  if (!implemented(name)) return;
  const std::string text =
      name + " v8, v0, v1, v2" + bit_list("op_sel", is_high, 3) + bit_list("op_sel_hi", is_half, 3);
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (int k = 0; k < 3; ++k) {
      const Kind kind = (is_half >> k) & 1 ? Kind::kPkHalf : Kind::kF32;
      state.vgpr[k * 64 + lane] = static_cast<u32>(draw(kind, lane * 8 + k + 512 * is_half));
    }
    state.vgpr[8 * 64 + lane] = 0xabcd1234u + lane;
  }
  const WaveState before = state;
  Memory memory;
  const Outcome outcome = run_snippet(text, "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    float v[3];
    for (int k = 0; k < 3; ++k) {
      const u32 bits = before.vgpr[k * 64 + lane];
      const u32 half = (is_high >> k) & 1 ? bits >> 16 : bits & 0xffff;
      v[k] = (is_half >> k) & 1 ? static_cast<float>(half_value(half)) : as_float(bits);
    }
    const float r = std::fma(v[0], v[1], v[2]);
    const u64 old = before.vgpr[8 * 64 + lane], got = state.vgpr[8 * 64 + lane];
    if (name == "v_fma_mix_f32") {
      EXPECT_EQ(disagreement(got, bits_of(r), Kind::kF32, kAnyNan), "")
          << text << ", lane " << lane;
      continue;
    }
    const bool high = name == "v_fma_mixhi_f16";
    const u32 half = std::isnan(r) ? 0x7e00u : half_from(r);
    EXPECT_EQ(disagreement(high ? got >> 16 : got & 0xffff, half, Kind::kF16, kAnyNan), "")
        << text << ", lane " << lane;
    EXPECT_EQ(high ? got & 0xffff : got >> 16, high ? old & 0xffff : old >> 16)
        << text << ", lane " << lane;
  }
}

}  // namespace

TEST(VectorPacked, MixedFmaTakesEachOperandInItsOwnFormat) {
  for (const char* name : {"v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"}) {
    for (unsigned is_half = 0; is_half < 8; ++is_half) {
      for (unsigned is_high : {0u, is_half, is_half & 5}) check_mix(name, is_half, is_high);
    }
  }
}

}  // namespace attest::emulator::opcode_tests
