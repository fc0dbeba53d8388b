// Conversions between f32 and fp8. Rules: CDNA3 ISA guide, chapter 7.2 and V_CVT_*_FP8_*. The rules
// here search the 256 values of a format instead of handling bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind kU = Kind::kU32, kF = Kind::kF32, kW = Kind::kU64;
constexpr u32 kSaturate = 1u << 23;  // MODE.FP16_OVFL

// Magnitudes 0x00 to 0x7f of a format, ascending; 0x80 is NaN, so that there is no -0.
struct Format {
  int mantissa_bits, bias;
  double value(u32 magnitude) const {
    const int e = static_cast<int>(magnitude) >> mantissa_bits;
    const int m = static_cast<int>(magnitude) & ((1 << mantissa_bits) - 1);
    return e == 0 ? std::ldexp(m, 1 - bias - mantissa_bits)
                  : std::ldexp((1 << mantissa_bits) + m, e - bias - mantissa_bits);
  }
  // What would follow the largest: at half the way to it values overflow, the largest being odd.
  double beyond() const { return 2 * value(0x7f) - value(0x7e); }
};
constexpr Format kFp8{3, 8}, kBf8{2, 16};

u32 with_sign(u32 magnitude, bool negative) {
  return magnitude == 0 || !negative ? magnitude : magnitude | 0x80;
}
u32 overflowed(bool negative, u32 mode) {
  return mode & kSaturate ? with_sign(0x7f, negative) : 0x80;
}

u32 nearest(const Format& f, float x, u32 mode) {
  if (std::isnan(x)) return 0x80;
  const double a = std::fabs(static_cast<double>(x));
  if (a >= (f.value(0x7f) + f.beyond()) / 2) return overflowed(std::signbit(x), mode);
  u32 best = 0;
  for (u32 code = 1; code < 0x80; ++code) {
    const double now = std::fabs(f.value(code) - a), before = std::fabs(f.value(best) - a);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  return with_sign(best, std::signbit(x));
}
// The seed's top bits, in units in the last place of x, are added to |x|; then the largest value
// that is not above is taken.
u32 stochastic(const Format& f, float x, u32 seed, u32 mode) {
  if (std::isnan(x)) return 0x80;
  if (std::isinf(x)) return overflowed(std::signbit(x), mode);
  const double a = std::fabs(static_cast<double>(x));
  const int exponent = a < 0x1p-126 ? -126 : std::ilogb(a);
  const u32 random = seed >> (32 - (23 - f.mantissa_bits));
  const double sum = a + std::ldexp(static_cast<double>(random), exponent - 23);
  if (sum >= f.beyond()) return overflowed(std::signbit(x), mode);
  u32 code = 0x7f;
  while (f.value(code) > sum) --code;
  return with_sign(code, std::signbit(x));
}
u64 widened(const Format& f, u32 code) {
  if ((code & 0xff) == 0x80) return 0x7fc00000;
  const double v = f.value(code & 0x7f);
  return bits_of(static_cast<float>(code & 0x80 ? -v : v));
}

template <const Format& kFormat, int kHalf>
u64 pair_rule(const Lane& x) {
  const u64 pair = nearest(kFormat, as_float(x.s[0]), x.mode.bits) |
                   nearest(kFormat, as_float(x.s[1]), x.mode.bits) << 8;
  return kHalf == 0 ? (x.d & 0xffff0000) | pair : (x.d & 0xffff) | pair << 16;
}
template <const Format& kFormat, int kByte>
u64 stochastic_rule(const Lane& x) {
  const u64 code = stochastic(kFormat, as_float(x.s[0]), x.u(1), x.mode.bits);
  return (x.d & ~(u64{0xff} << 8 * kByte)) | code << 8 * kByte;
}
template <const Format& kFormat>
u64 widen_rule(const Lane& x) {
  return widened(kFormat, x.u(0));
}
template <const Format& kFormat>
u64 widen_pair_rule(const Lane& x) {
  return widened(kFormat, x.u(0)) | widened(kFormat, x.u(0) >> 8) << 32;
}

VectorOp row(const char* name, Rule rule, Kind second, const char* tail) {
  return {name, kVop3, kU, {kF, second}, rule, Match::kBits, nullptr, "gfx942", tail};
}

const std::vector<VectorOp> kOps = {
    row("v_cvt_pk_fp8_f32", pair_rule<kFp8, 0>, kF, ""),
    row("v_cvt_pk_fp8_f32", pair_rule<kFp8, 1>, kF, " op_sel:[0,0,1]"),
    row("v_cvt_pk_bf8_f32", pair_rule<kBf8, 0>, kF, ""),
    row("v_cvt_pk_bf8_f32", pair_rule<kBf8, 1>, kF, " op_sel:[0,0,1]"),
    row("v_cvt_sr_fp8_f32", stochastic_rule<kFp8, 0>, kU, ""),
    row("v_cvt_sr_fp8_f32", stochastic_rule<kFp8, 1>, kU, " op_sel:[0,0,1,0]"),
    row("v_cvt_sr_fp8_f32", stochastic_rule<kFp8, 2>, kU, " op_sel:[0,0,0,1]"),
    row("v_cvt_sr_fp8_f32", stochastic_rule<kFp8, 3>, kU, " op_sel:[0,0,1,1]"),
    row("v_cvt_sr_bf8_f32", stochastic_rule<kBf8, 0>, kU, ""),
    row("v_cvt_sr_bf8_f32", stochastic_rule<kBf8, 1>, kU, " op_sel:[0,0,1,0]"),
    row("v_cvt_sr_bf8_f32", stochastic_rule<kBf8, 2>, kU, " op_sel:[0,0,0,1]"),
    row("v_cvt_sr_bf8_f32", stochastic_rule<kBf8, 3>, kU, " op_sel:[0,0,1,1]"),
    {"v_cvt_f32_fp8", kE32 | kE64 | kDpp, kU, {kU}, widen_rule<kFp8>},
    {"v_cvt_f32_bf8", kE32 | kE64 | kDpp, kU, {kU}, widen_rule<kBf8>},
    {"v_cvt_pk_f32_fp8", kE32 | kE64, kW, {kU}, widen_pair_rule<kFp8>},
    {"v_cvt_pk_f32_bf8", kE32 | kE64, kW, {kU}, widen_pair_rule<kBf8>},
};

// Every value of the format, every middle of two, and the floats beside them.
std::vector<u32> around_every_value(const Format& f) {
  std::vector<u32> all;
  for (u32 code = 0; code < 0x80; ++code) {
    const double v = f.value(code), next = code == 0x7f ? f.beyond() : f.value(code + 1);
    for (double x : {v, (v + next) / 2, next}) {
      const u32 bits = static_cast<u32>(bits_of(static_cast<float>(x)));
      for (u32 near : {bits - 1, bits, bits + 1}) {
        if (near > 0x7f800001) continue;  // below zero
        all.push_back(near);
        all.push_back(near | 0x80000000);
      }
    }
  }
  while (all.size() % 64 != 0) all.push_back(0x7fc00000);
  return all;
}

WaveState run(const std::string& text, WaveState state) {
  Memory memory;
  const Outcome outcome = run_snippet(text, "gfx942", memory, state);
  EXPECT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  return state;
}

void check_edges(const char* name, const Format& f, u32 mode) {
  const std::vector<u32> values = around_every_value(f);
  for (std::size_t at = 0; at < values.size(); at += 64) {
    WaveState state;
    state.mode = 0xf0 | mode;
    for (unsigned lane = 0; lane < 64; ++lane) {
      state.vgpr[lane] = values[at + lane];
      state.vgpr[64 + lane] = values[at + 63 - lane];
      state.vgpr[192 + lane] = static_cast<u32>(draw(Kind::kU32, at + lane));
    }
    const WaveState after =
        run(fmt::format("v_cvt_pk_{0}_f32 v2, v0, v1\nv_cvt_sr_{0}_f32 v4, v0, v3", name), state);
    for (unsigned lane = 0; lane < 64; ++lane) {
      const float a = as_float(state.vgpr[lane]), b = as_float(state.vgpr[64 + lane]);
      EXPECT_EQ(after.vgpr[128 + lane] & 0xffff, nearest(f, a, mode) | nearest(f, b, mode) << 8)
          << name << " of " << a << " and " << b << ", mode " << mode;
      EXPECT_EQ(after.vgpr[256 + lane] & 0xff, stochastic(f, a, state.vgpr[192 + lane], mode))
          << name << " of " << a << ", seed " << state.vgpr[192 + lane] << ", mode " << mode;
    }
  }
}

}  // namespace

const std::vector<VectorOp>& vector_fp8_ops() { return kOps; }

TEST(Fp8, FollowsTheIsaGuide) { check(vector_fp8_ops()); }

TEST(Fp8, RoundsRightBesideEveryValueAndMiddle) {
  for (u32 mode : {0u, kSaturate}) {
    check_edges("fp8", kFp8, mode);
    check_edges("bf8", kBf8, mode);
  }
}

TEST(Fp8, LimitsAreThoseOfTheFnuzFormats) {
  EXPECT_EQ(kFp8.value(0x7f), 240);
  EXPECT_EQ(kBf8.value(0x7f), 57344);
  EXPECT_EQ(kFp8.value(1), 0x1p-10);
  EXPECT_EQ(kBf8.value(1), 0x1p-17);
  WaveState state;
  const float values[] = {240, 247.9f, 248, -248, INFINITY, -INFINITY, -0.0f, -0x1p-12f, NAN};
  const u32 codes[] = {0x7f, 0x7f, 0x80, 0x80, 0x80, 0x80, 0, 0, 0x80},
            saturated[] = {0x7f, 0x7f, 0x7f, 0xff, 0x7f, 0xff, 0, 0, 0x80};
  for (unsigned lane = 0; lane < 9; ++lane)
    state.vgpr[lane] = static_cast<u32>(bits_of(values[lane]));
  for (u32 mode : {0u, kSaturate}) {
    state.mode = 0xf0 | mode;
    const WaveState after = run("v_cvt_pk_fp8_f32 v1, v0, 0", state);
    for (unsigned lane = 0; lane < 9; ++lane)
      EXPECT_EQ(after.vgpr[64 + lane], (mode ? saturated : codes)[lane]) << values[lane];
  }
}

TEST(Fp8, DppBroadcastsWhatIsWidened) {
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[lane] = 0x2100 + lane * 0x0103;
  const WaveState after = run("v_cvt_pk_f32_fp8_dpp v[2:3], v0 row_newbcast:9", state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u32 source = state.vgpr[lane / 16 * 16 + 9];
    EXPECT_EQ(after.vgpr[2 * 64 + lane], widened(kFp8, source));
    EXPECT_EQ(after.vgpr[3 * 64 + lane], widened(kFp8, source >> 8));
  }
}

TEST(Fp8, SdwaNamesTheByteOrWordThatIsWidened) {
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane)
    state.vgpr[lane] = static_cast<u32>(draw(Kind::kU32, lane + 900)) * 2654435761u;
  for (u32 part = 0; part < 4; ++part) {
    const WaveState after = run(fmt::format("v_cvt_f32_fp8_sdwa v2, v0 src0_sel:BYTE_{0}\n"
                                            "v_cvt_f32_bf8_sdwa v3, v0 src0_sel:BYTE_{0}\n"
                                            "v_cvt_pk_f32_fp8_sdwa v[4:5], v0 src0_sel:WORD_{1}\n"
                                            "v_cvt_pk_f32_bf8_sdwa v[6:7], v0 src0_sel:WORD_{1}",
                                            part, part % 2),
                                state);
    for (unsigned lane = 0; lane < 64; ++lane) {
      const u32 byte = state.vgpr[lane] >> 8 * part, word = state.vgpr[lane] >> 16 * (part % 2);
      EXPECT_EQ(after.vgpr[2 * 64 + lane], widened(kFp8, byte)) << part;
      EXPECT_EQ(after.vgpr[3 * 64 + lane], widened(kBf8, byte)) << part;
      EXPECT_EQ(after.vgpr[4 * 64 + lane], widened(kFp8, word)) << part;
      EXPECT_EQ(after.vgpr[5 * 64 + lane], widened(kFp8, word >> 8)) << part;
      EXPECT_EQ(after.vgpr[6 * 64 + lane], widened(kBf8, word)) << part;
      EXPECT_EQ(after.vgpr[7 * 64 + lane], widened(kBf8, word >> 8)) << part;
    }
  }
}

}  // namespace attest::emulator::opcode_tests
