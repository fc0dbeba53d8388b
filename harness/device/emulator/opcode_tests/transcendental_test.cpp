// v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin, v_cos: within one unit in the last place of libm's
// double (the CDNA3 ISA guide gives 1 ulp for exp, log, rcp, rsq, sqrt), exact on the special
// values; f32 denormals are flushed on both sides whatever the mode says (LLVM,
// AMDGPULegalizerInfo: the f32 instructions do not handle denormals; OCML scales around them).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

using Exact = double (*)(double);
struct Function {
  const char* name;
  Exact exact;
  Kind kind;
  double slack_ulp;
};

double reciprocal(double x) { return 1.0 / x; }
double reciprocal_root(double x) {
  return x == 0 ? std::copysign(INFINITY, x) : 1.0 / std::sqrt(x);
}
double base2_log(double x) { return std::log2(x); }

// v_rcp_f64 and v_rsq_f64 are seeds for Newton steps: the guide promises no more than 2^29 ulp of
// f64.
const Function kFunctions[] = {
    {"v_exp_f32", std::exp2, Kind::kF32, 1},
    {"v_log_f32", base2_log, Kind::kF32, 1},
    {"v_rcp_f32", reciprocal, Kind::kF32, 1},
    {"v_rcp_iflag_f32", reciprocal, Kind::kF32, 1},
    {"v_rsq_f32", reciprocal_root, Kind::kF32, 1},
    {"v_sqrt_f32", std::sqrt, Kind::kF32, 1},
    {"v_rcp_f64", reciprocal, Kind::kF64, 0x1p29},
    {"v_rsq_f64", reciprocal_root, Kind::kF64, 0x1p29},
    {"v_sqrt_f64", std::sqrt, Kind::kF64, 0x1p29},
    {"v_rcp_f16", reciprocal, Kind::kF16, 1},
    {"v_rsq_f16", reciprocal_root, Kind::kF16, 1},
    {"v_sqrt_f16", std::sqrt, Kind::kF16, 1},
    {"v_exp_f16", std::exp2, Kind::kF16, 1},
    {"v_log_f16", base2_log, Kind::kF16, 1},
};

double value_of(Kind kind, u64 bits) {
  if (kind == Kind::kF32) return as_float(flushed32(static_cast<u32>(bits), false));
  return kind == Kind::kF64 ? as_double(bits) : half_value(bits & 0xffff);
}

// Unit in the last place at `x`, of the format's normal numbers.
double ulp(Kind kind, double x) {
  const int digits = kind == Kind::kF32 ? 24 : kind == Kind::kF64 ? 53 : 11;
  const int least = kind == Kind::kF32 ? -126 : kind == Kind::kF64 ? -1022 : -14;
  int e = 0;
  std::frexp(x, &e);
  return std::ldexp(1.0, std::max(e - 1, least) - (digits - 1));
}

// Why `got` is not the right answer for `x`; empty when it is.
std::string objection(const Function& f, u64 x_bits, u64 got_bits) {
  const double x = value_of(f.kind, x_bits), want = f.exact(x);
  const u64 raw = f.kind == Kind::kF16 ? got_bits & 0xffff : got_bits;
  const double got = f.kind == Kind::kF32   ? as_float(raw)
                     : f.kind == Kind::kF64 ? as_double(raw)
                                            : half_value(raw);
  const std::string text = fmt::format("{}({:#x} = {}) gave {:#x} = {}, libm {}", f.name, x_bits, x,
                                       got_bits, got, want);
  if (std::isnan(want)) return std::isnan(got) ? "" : text;
  if (std::isnan(got)) return text;
  if (want == 0 || std::isinf(want)) {
    return got == want && std::signbit(got) == std::signbit(want) ? "" : text;
  }
  const double largest = f.kind == Kind::kF32   ? 0x1.fffffep127
                         : f.kind == Kind::kF64 ? 0x1.fffffffffffffp1023
                                                : 65504;
  const double step = ulp(f.kind, std::min(std::fabs(want), largest));
  if (std::fabs(want) >= largest + step / 2)
    return std::isinf(got) && (got > 0) == (want > 0) ? "" : text;
  if (f.kind == Kind::kF32 && std::fabs(want) < 0x1p-126) {
    // A denormal result is flushed; next to the least normal number either is within one unit.
    if (got == 0) return "";
    return std::fabs(got) == 0x1p-126 && std::fabs(want) > 0x1p-126 - step ? "" : text;
  }
  return std::fabs(got - want) <= f.slack_ulp * step ? "" : text;
}

u64 input(const Function& f, u64 point) {
  const auto& edges = interesting(f.kind);
  if (point < edges.size()) return edges[point];
  if (f.kind == Kind::kF16) return point & 0xffff;
  if (f.kind == Kind::kF32 && point % 4 == 0 && std::string(f.name) == "v_exp_f32") {
    return bits_of(static_cast<float>(
        -150.0 + 0.0123 * static_cast<double>(point % 24000)));  // the range that matters
  }
  return draw(f.kind, point);
}

void check_function(const Function& f, u32 mode, u64 points) {
  constexpr u64 kCopies = 16;
  const int width = width_of(f.kind);
  std::string text;
  for (unsigned c = 0; c < kCopies; ++c) {
    text += width == 2 ? fmt::format("{} v[{}:{}], v[{}:{}]\n", f.name, 64 + 2 * c, 65 + 2 * c,
                                     2 * c, 2 * c + 1)
                       : fmt::format("{} v{}, v{}\n", f.name, 64 + 2 * c, 2 * c);
  }
  for (u64 first = 0; first < points; first += kCopies * 64) {
    WaveState state;
    state.mode = mode;
    for (u64 n = 0; n < kCopies * 64; ++n) {
      const u64 x = input(f, first + n), at = 2 * (n / 64) * 64 + n % 64;
      state.vgpr[at] = static_cast<u32>(x);
      state.vgpr[at + 64] = static_cast<u32>(x >> 32);
    }
    Memory memory;
    const Outcome outcome = run_snippet(text, "gfx942", memory, state);
    ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
    for (u64 n = 0; n < kCopies * 64; ++n) {
      const u64 at = (64 + 2 * (n / 64)) * 64 + n % 64;
      const u64 got = state.vgpr[at] | (width == 2 ? u64{state.vgpr[at + 64]} << 32 : 0);
      ASSERT_EQ(objection(f, input(f, first + n), got), "") << fmt::format("mode {:#x}", mode);
    }
  }
}

// v_sin, v_cos take turns (x / 2 pi). The guide gives no bound in ulp: the error is absolute, and
// |x| > 256 is out of range.
void check_wave(const char* name, double (*f)(double)) {
  if (!implemented(name)) return;
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const float turns =
        lane < 33 ? (static_cast<float>(lane) - 16) / 8 : as_float(draw(Kind::kF32, lane));
    state.vgpr[lane] = static_cast<u32>(bits_of(turns));
  }
  state.vgpr[60] = 0x7f800000u;
  state.vgpr[61] = 0x7fc00000u;
  const WaveState before = state;
  Memory memory;
  const Outcome outcome = run_snippet(fmt::format("{} v1, v0", name), "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const double turns = as_float(before.vgpr[lane]), got = as_float(state.vgpr[64 + lane]);
    if (!std::isfinite(turns)) {
      EXPECT_TRUE(std::isnan(got)) << name << " of " << turns;
      continue;
    }
    if (std::fabs(turns) > 256) continue;
    // Source: AMD's OpenCL native_sin documentation gives an absolute error of 2^-20 or so; f32
    // itself rounds at 2^-24.
    EXPECT_NEAR(got, f(2 * 3.14159265358979323846 * (turns - std::rint(turns))), 0x1p-20)
        << name << " of " << turns;
  }
}

}  // namespace

std::vector<std::string> transcendental_mnemonics() {
  std::vector<std::string> names = {"v_sin_f32", "v_cos_f32"};
  for (const Function& f : kFunctions) names.push_back(f.name);
  return names;
}

TEST(Transcendental, WithinOneUlpOfLibm) {
  for (const Function& f : kFunctions) {
    if (!implemented(f.name)) continue;
    SCOPED_TRACE(f.name);
    const u64 points = f.kind == Kind::kF16 ? 65536 + 64 : 64 * 1024;
    check_function(f, 0xf0, points);
    if (f.kind == Kind::kF32) check_function(f, 0xc0, 4096);
  }
}

TEST(Transcendental, SineAndCosineOfTurns) {
  check_wave("v_sin_f32", std::sin);
  check_wave("v_cos_f32", std::cos);
}

TEST(Transcendental, SpecialValuesAreExact) {
  struct Case {
    const char* text;
    u32 input, want;
  };
  const Case cases[] = {
      {"v_exp_f32 v1, v0", 0x00000000, 0x3f800000}, {"v_exp_f32 v1, v0", 0xff800000, 0x00000000},
      {"v_exp_f32 v1, v0", 0x7f800000, 0x7f800000}, {"v_exp_f32 v1, v0", 0x43000000, 0x7f800000},
      {"v_exp_f32 v1, v0", 0xc2fc0000, 0x00800000}, {"v_exp_f32 v1, v0", 0xc3800000, 0x00000000},
      {"v_exp_f32 v1, v0", 0x3f800000, 0x40000000}, {"v_log_f32 v1, v0", 0x3f800000, 0x00000000},
      {"v_log_f32 v1, v0", 0x00000000, 0xff800000}, {"v_log_f32 v1, v0", 0x80000000, 0xff800000},
      {"v_log_f32 v1, v0", 0x7f800000, 0x7f800000}, {"v_log_f32 v1, v0", 0x00000001, 0xff800000},
      {"v_rcp_f32 v1, v0", 0x00000000, 0x7f800000}, {"v_rcp_f32 v1, v0", 0x80000000, 0xff800000},
      {"v_rcp_f32 v1, v0", 0x7f800000, 0x00000000}, {"v_rcp_f32 v1, v0", 0xff800000, 0x80000000},
      {"v_rcp_f32 v1, v0", 0x40000000, 0x3f000000}, {"v_rsq_f32 v1, v0", 0x40800000, 0x3f000000},
      {"v_rsq_f32 v1, v0", 0x80000000, 0xff800000}, {"v_sqrt_f32 v1, v0", 0x80000000, 0x80000000},
      {"v_sqrt_f32 v1, v0", 0x40800000, 0x40000000}};
  for (const Case& c : cases) {
    WaveState state;
    state.vgpr[0] = c.input;
    state.exec = 1;
    Memory memory;
    const Outcome outcome = run_snippet(c.text, "gfx942", memory, state);
    ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
    EXPECT_EQ(state.vgpr[64], c.want)
        << c.text
        << fmt::format(" of {:#x}: got {:#x}, want {:#x}", c.input, state.vgpr[64], c.want);
  }
}

}  // namespace attest::emulator::opcode_tests
