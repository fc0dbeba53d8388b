// What one lane of an instruction sees, and plain scalar arithmetic on it, for the rules of the
// opcode tables. Nothing here comes from the executor: the rules restate the "AMD Instinct MI300"
// (CDNA3) and "MI200" (CDNA2) ISA guides, chapter "Instructions", in ordinary C++.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace attest::emulator::opcode_tests {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using Int128 = __int128;
using Uint128 = unsigned __int128;

inline float as_float(u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); }
inline double as_double(u64 bits) { return std::bit_cast<double>(bits); }
inline u64 bits_of(float x) { return std::bit_cast<u32>(x); }
inline u64 bits_of(double x) { return std::bit_cast<u64>(x); }

inline bool is_nan32(u32 b) { return (b & 0x7fffffffu) > 0x7f800000u; }
inline bool is_nan16(u32 b) { return (b & 0x7fffu) > 0x7c00u; }
inline bool is_nan64(u64 b) { return (b & ~(1ull << 63)) > 0x7ff0000000000000ull; }
inline bool is_signalling32(u32 b) { return is_nan32(b) && !(b & 0x400000u); }
inline bool is_signalling16(u32 b) { return is_nan16(b) && !(b & 0x200u); }
inline bool is_signalling64(u64 b) { return is_nan64(b) && !(b & (1ull << 51)); }
inline bool is_denormal32(u32 b) { return (b & 0x7f800000u) == 0 && (b & 0x7fffffu) != 0; }
inline bool is_denormal16(u32 b) { return (b & 0x7c00u) == 0 && (b & 0x3ffu) != 0; }
inline bool is_denormal64(u64 b) {
  return (b & 0x7ff0000000000000ull) == 0 && (b & 0xfffffffffffffull) != 0;
}

// FP_DENORM of hwreg(HW_REG_MODE): bit 0 of each pair lets input denormals through, bit 1 lets
// results through.
struct Mode {
  u32 bits = 0xf0;
  bool in32() const { return bits & 0x10; }
  bool out32() const { return bits & 0x20; }
  bool in16_64() const { return bits & 0x40; }
  bool out16_64() const { return bits & 0x80; }
  bool dx10_clamp() const { return bits & 0x100; }
  bool ieee() const { return bits & 0x200; }
};

inline bool is_tiny(double wide) { return std::fabs(wide) < 0x1p-126 * (1 - 0x1p-25); }
inline bool is_tiny64(long double wide) { return std::fabs(wide) < 0x1p-1022L * (1 - 0x1p-54L); }

inline u32 flushed32(u32 b, bool keep) { return !keep && is_denormal32(b) ? b & 0x80000000u : b; }
inline u32 flushed16(u32 b, bool keep) { return !keep && is_denormal16(b) ? b & 0x8000u : b; }
inline u64 flushed64(u64 b, bool keep) { return !keep && is_denormal64(b) ? b & (1ull << 63) : b; }

// Exact value of an f16, and an exact fixed-point number (units of 2^-48) rounded to the nearest
// f16, ties to even.
inline double half_value(u32 h) {
  const int exponent = (h >> 10) & 31;
  const double mantissa = h & 0x3ff;
  const double sign = h & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa != 0 ? sign * std::nan("") : sign * INFINITY;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0 + mantissa, exponent - 25));
}
inline u32 half_from_units(Int128 units, bool negative_zero) {
  if (units == 0) return negative_zero ? 0x8000u : 0u;
  const u32 sign = units < 0 ? 0x8000u : 0u;
  Uint128 magnitude = units < 0 ? -static_cast<Uint128>(units) : static_cast<Uint128>(units);
  int top = 127;
  while (!((magnitude >> top) & 1)) --top;
  const int drop = top - 10 > 24 ? top - 10 : 24;  // 2^-24 is the unit of f16 denormals
  const Uint128 half = Uint128{1} << (drop - 1), rest = magnitude & ((Uint128{1} << drop) - 1);
  Uint128 kept = magnitude >> drop;
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  // `kept` is at most 2^11; a carry into 2^11 moves the exponent by itself.
  const Uint128 code = kept < 1024 ? kept : (static_cast<Uint128>(drop - 24) << 10) + kept;
  return sign | (code >= 0x7c00 ? 0x7c00u : static_cast<u32>(code));
}
inline Int128 half_units(u32 h) {  // finite values only
  const int exponent = (h >> 10) & 31;
  const Int128 m = exponent == 0 ? (h & 0x3ff) : (h & 0x3ff) + 1024;
  const Int128 magnitude = m << (24 + (exponent == 0 ? 0 : exponent - 1));
  return h & 0x8000 ? -magnitude : magnitude;
}
inline bool half_finite(u32 h) { return (h & 0x7c00) != 0x7c00; }
// a * b + c rounded once.
inline u32 half_fma(u32 a, u32 b, u32 c) {
  if (!half_finite(a) || !half_finite(b) || !half_finite(c)) {
    const double r = half_value(a) * half_value(b) + half_value(c);
    return std::isnan(r) ? 0x7e00u : r < 0 ? 0xfc00u : 0x7c00u;
  }
  const bool product_negative = ((a ^ b) & 0x8000) != 0;
  const Int128 product = (half_units(a) >> 24) * (half_units(b) >> 24);
  const bool both_negative = product_negative && (c & 0x8000);
  return half_from_units(product + half_units(c), both_negative);
}
// A double rounded to the nearest f16.
inline u32 half_from(double x) {
  const u32 sign = std::signbit(x) ? 0x8000u : 0u;
  if (std::isnan(x)) return sign | 0x7e00u;
  const double a = std::fabs(x);
  if (a >= 65520.0) return sign | 0x7c00u;
  int exponent = 0;
  std::frexp(a, &exponent);  // a = m * 2^exponent, m in [0.5, 1)
  const int unit = exponent - 11 < -24 ? -24 : exponent - 11;
  const u32 kept = static_cast<u32>(std::nearbyint(std::ldexp(a, -unit)));
  return sign | (kept < 1024 ? kept : (static_cast<u32>(unit + 24) << 10) + kept);
}
inline u32 half_truncated(double x) {  // toward zero: too large becomes the largest finite value
  u32 h = half_from(x);
  if (is_nan16(h) || std::isinf(x)) return h;
  if (std::fabs(half_value(h)) > std::fabs(x)) --h;  // codes are ordered by magnitude
  return h;
}

// Sign extension of the low `width` bits.
inline i64 sign_extended(u64 x, int width) {
  return static_cast<i64>(x << (64 - width)) >> (64 - width);
}

// Operands of one lane after neg and abs, and what else a rule may look at.
struct Lane {
  u64 s[3] = {0, 0, 0};
  u64 d = 0;           // the destination before the instruction
  bool carry = false;  // the lane's bit of vcc, or of the carry-in operand
  unsigned lane = 0;
  Mode mode;

  u32 u(int i) const { return static_cast<u32>(s[i]); }
  i32 i(int k) const { return static_cast<i32>(s[k]); }
  // As the arithmetic sees them: input denormals flushed when the mode says so.
  float f(int k) const { return as_float(flushed32(u(k), mode.in32())); }
  double g(int k) const { return as_double(flushed64(s[k], mode.in16_64())); }
  u32 h(int k) const { return flushed16(u(k) & 0xffff, mode.in16_64()); }
  bool out32() const { return mode.out32(); }
  float old_f() const { return as_float(flushed32(static_cast<u32>(d), mode.in32())); }
  double old_g() const { return as_double(flushed64(d, mode.in16_64())); }
  // A result: output denormals flushed when the mode says so.
  u64 out(float x) const { return flushed32(static_cast<u32>(bits_of(x)), mode.out32()); }
  u64 out(double x) const { return flushed64(bits_of(x), mode.out16_64()); }
  // A result whose value before rounding is `wide`: it is flushed when, rounded to 24 bits with an
  // unbounded exponent, it is below the least normal number; so (1 - 2^-24) * 2^-126 is, though it
  // would round up on the denormal grid.
  u64 out_from(double wide) const {
    const float x = static_cast<float>(wide);
    return !out32() && is_tiny(wide) ? bits_of(x) & 0x80000000u : bits_of(x);
  }
  u64 out_half(u32 x) const { return flushed16(x, mode.out16_64()); }
};

}  // namespace attest::emulator::opcode_tests
