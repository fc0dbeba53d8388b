// Single-lane floating-point rules shared by the vector, packed and compare semantics.
// Source: AMD Instinct MI300 ISA, chapters 6.3 (min/max and NaN rules) and 12.
#pragma once
#include <bit>
#include <cmath>

#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

inline bool is_snan32(u32 a) { return is_nan32(a) && !(a & 0x00400000); }
inline u32 quiet32(u32 a) { return a | 0x00400000; }
inline u64 bits64(double a) { return std::bit_cast<u64>(a); }
inline bool is_nan64(u64 a) { return (a & 0x7fffffffffffffff) > 0x7ff0000000000000; }
inline u64 quiet64(u64 a) { return a | 0x0008000000000000; }

// MODE's denormals, honoured by the host's control word, are flushed by arithmetic; min and max
// need it said.
inline u32 canonical32(u32 a) { return as_bits(as_float(a) * kOpaqueOne); }
// An input alone: a comparison sees denormals as zeros when the control word says so.
inline float input32(u32 a) { return as_float(as_float(a) == kOpaqueZero ? a & 0x80000000 : a); }

// Orders the zeros: -0 < +0. A NaN gives the other source; in IEEE mode a signalling one gives its
// quiet self.
template <bool kIeee>
u32 min32(u32 a, u32 b) {
  if (kIeee && is_snan32(a)) return quiet32(a);
  if (kIeee && is_snan32(b)) return quiet32(b);
  if (is_nan32(a)) return canonical32(b);
  if (is_nan32(b)) return canonical32(a);
  const float x = as_float(canonical32(a)), y = as_float(canonical32(b));
  if (x == 0 && y == 0) return canonical32(a) | canonical32(b);
  return as_bits(x < y ? x : y);
}
template <bool kIeee>
u32 max32(u32 a, u32 b) {
  if (kIeee && is_snan32(a)) return quiet32(a);
  if (kIeee && is_snan32(b)) return quiet32(b);
  if (is_nan32(a)) return canonical32(b);
  if (is_nan32(b)) return canonical32(a);
  const float x = as_float(canonical32(a)), y = as_float(canonical32(b));
  if (x == 0 && y == 0) return canonical32(a) & canonical32(b);
  return as_bits(x > y ? x : y);
}
template <bool kIeee>
u32 med3_32(u32 a, u32 b, u32 c) {
  if (is_nan32(a) || is_nan32(b) || is_nan32(c)) return min32<kIeee>(min32<kIeee>(a, b), c);
  return max32<kIeee>(min32<kIeee>(a, b), min32<kIeee>(max32<kIeee>(a, b), c));
}
// One of two handlers by MODE's IEEE bit.
template <Handler kIeee, Handler kPlain>
Flow by_ieee(Wave& w, const Inst& in) {
  return w.mode & kModeIeee ? kIeee(w, in) : kPlain(w, in);
}

// MODE's denormals of f16: no host control word does them.
struct HalfMode {
  bool keep_in, keep_out;
  explicit HalfMode(const Wave& w) : keep_in(w.mode & 0x40), keep_out(w.mode & 0x80) {}
  static u32 flushed(u32 half, bool keep) {
    return !keep && (half & 0x7c00) == 0 ? half & 0x8000 : half;
  }
  u32 in(u32 half) const { return flushed(half & 0xffff, keep_in); }
  u32 out(u32 half) const { return flushed(half, keep_out); }
};
inline bool is_nan16(u32 a) { return (a & 0x7fff) > 0x7c00; }
inline bool is_snan16(u32 a) { return is_nan16(a) && !(a & 0x0200); }

inline float half_to_float(u32 bits) {
  return static_cast<float>(std::bit_cast<_Float16>(static_cast<u16>(bits)));
}
inline u32 float_to_half(float value) { return std::bit_cast<u16>(static_cast<_Float16>(value)); }
inline u32 add_f32(u32 a, u32 b) { return as_bits(as_float(a) + as_float(b)); }
inline u32 add_f16(u32 a, u32 b) {
  return float_to_half(half_to_float(a & 0xffff) + half_to_float(b & 0xffff));
}
// bf16, rounded once: the sum in f64 is taken to odd in f32 on its way.
inline u32 add_bf16(u32 a, u32 b) {
  const double sum = static_cast<double>(as_float(a << 16)) + as_float(b << 16);
  const auto near = static_cast<float>(sum);
  u32 bits = as_bits(near);
  if (sum != sum) return 0x7fc0;
  if (near != sum)
    bits = (std::fabs(static_cast<double>(near)) > std::fabs(sum) ? bits - 1 : bits) | 1;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
template <bool kIeee>
double min64(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    const bool signals =
        (std::isnan(a) && !(bits64(a) >> 51 & 1)) || (std::isnan(b) && !(bits64(b) >> 51 & 1));
    return kIeee && signals ? a + b : (std::isnan(a) ? b : a) * kOpaqueOne;
  }
  a *= kOpaqueOne;  // flushes denormals when MODE says so
  b *= kOpaqueOne;
  return a == 0 && b == 0 ? (std::signbit(a) ? a : b) : a < b ? a : b;
}
template <bool kIeee>
double max64(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return min64<kIeee>(a, b);
  a *= kOpaqueOne;
  b *= kOpaqueOne;
  return a == 0 && b == 0 ? (std::signbit(a) ? b : a) : a > b ? a : b;
}

// Bodies of the float atomics: memory, data.
inline u64 atomic_min_f64(u64 m, u64 x) {
  return bits64(min64<true>(std::bit_cast<double>(m), std::bit_cast<double>(x)));
}
inline u64 atomic_max_f64(u64 m, u64 x) {
  return bits64(max64<true>(std::bit_cast<double>(m), std::bit_cast<double>(x)));
}
inline u64 atomic_add_f64(u64 m, u64 x) {
  return bits64(std::bit_cast<double>(m) + std::bit_cast<double>(x));
}
inline u32 atomic_pk_add_f16(u32 m, u32 x) {
  return add_f16(m, x) | add_f16(m >> 16, x >> 16) << 16;
}
inline u32 atomic_pk_add_bf16(u32 m, u32 x) {
  return add_bf16(m & 0xffff, x & 0xffff) | add_bf16(m >> 16, x >> 16) << 16;
}

// min and max of f16, as min32 and max32.
inline u32 extreme16(u32 a, u32 b, bool ieee, bool greater) {
  if (ieee && is_snan16(a)) return a | 0x0200;
  if (ieee && is_snan16(b)) return b | 0x0200;
  if (is_nan16(a)) return is_nan16(b) ? b | 0x0200 : b;
  if (is_nan16(b)) return a;
  // As integers: the order of the values, with -0 < +0.
  const auto order = [](u32 h) {
    return h & 0x8000 ? 0x7fff - static_cast<i32>(h) : static_cast<i32>(h);
  };
  return (order(a) < order(b)) == greater ? b : a;
}
// a * b + c rounded once: the sum is taken to odd in f64, so that the second rounding does no harm.
// Source: Boldo and Melquiond, Emulation of FMA and correctly rounded sums (2008).
inline double fma_to_odd(float a, float b, float c) {
  const double p = static_cast<double>(a) * b, z = c;
  const double s = p + z, t = s - p, error = (p - (s - t)) + (z - t);
  u64 bits = bits64(s);
  if (std::isfinite(s) && error != 0 && !(bits & 1)) bits += (error > 0) == (s > 0) ? 1 : -1;
  return std::bit_cast<double>(bits);
}
inline u32 fma_half(u32 a, u32 b, u32 c) {
  const double sum = fma_to_odd(half_to_float(a), half_to_float(b), half_to_float(c));
  return std::bit_cast<u16>(static_cast<_Float16>(sum));
}
// f32 -> f16 toward zero, for v_cvt_pkrtz.
inline u32 float_to_half_rtz(float value) {
  const u32 half = float_to_half(value);
  const float back = half_to_float(half);
  if (std::isnan(value) || std::fabs(back) <= std::fabs(value)) return half;
  if (std::isinf(value)) return half;
  return half - 1;  // one step towards zero: works for both signs, and inf becomes the largest
                    // finite value
}

// Transcendentals: the hardware's are within 1 ulp; these are evaluated in double and rounded once.
// They flush f32 subnormals of input and output, as v_exp_f32 and v_log_f32 do. Source: LLVM
// AMDGPU, llvm.amdgcn.exp2 / log.
inline float flush32(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

inline float exp2_f32(float x) {
  // Clamped so that a NaN is -200 too: n goes through an integer.
  const double v = x > -200 ? (x < 200 ? x : 200.0) : -200.0, n = std::nearbyint(v), t = v - n;
  // Taylor of 2^t, |t| <= 1/2: the next term is below 3e-14 relative.
  double p = 1.0178086009239699e-07;
  p = p * t + 1.3215486790144309e-06;
  p = p * t + 1.5252733804059841e-05;
  p = p * t + 1.5403530393381609e-04;
  p = p * t + 1.3333558146428443e-03;
  p = p * t + 9.6181291076284772e-03;
  p = p * t + 5.5504108664821580e-02;
  p = p * t + 2.4022650695910071e-01;
  p = p * t + 6.9314718055994531e-01;
  p = p * t + 1.0;
  const double scale = std::bit_cast<double>(static_cast<u64>(static_cast<i64>(n) + 1023) << 52);
  return x != x ? as_float(quiet32(as_bits(x))) : flush32(static_cast<float>(p * scale));
}
inline float log2_f32(float x) {
  const float f = flush32(x);
  return f != f  ? as_float(quiet32(as_bits(f)))
         : f < 0 ? as_float(0x7fc00000)
                 : static_cast<float>(std::log2(static_cast<double>(f)));
}

}  // namespace attest::emulator
