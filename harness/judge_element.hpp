// One element's judgement: the rule that all others rest on.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/core/formats.hpp"
#include "harness/core/poison.hpp"

namespace attest {

// The format of a tensor's elements, and how a kernel rounds to it.
enum class Stored { kBf16, kBf16Truncated, kFp32 };

enum class Fault {
  kNone,
  kUnwritten,    // still poison where a value belongs
  kNonFinite,    // NaN or inf where a finite value belongs
  kWrong,        // not within the bound; also a NaN bound
  kOverwritten,  // not poison any more where nothing belongs
};

inline double value_of(Stored stored, std::uint32_t bits) {
  return stored == Stored::kFp32 ? std::bit_cast<float>(bits)
                                 : decode_bf16(static_cast<std::uint16_t>(bits));
}

// What a kernel stores that has `value` before the last rounding.
inline std::uint32_t stored_bits(Stored stored, double value) {
  if (stored == Stored::kFp32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return encode_bf16(value,
                     stored == Stored::kBf16 ? Rounding::kNearestEven : Rounding::kTowardZero);
}

inline bool is_poison(Stored stored, std::uint32_t bits) {
  return bits == (stored == Stored::kFp32 ? kPoison32 : kPoison16);
}

// Of a bf16's magnitude: less than the way to where rounding to nearest leaves it, 2^-9 or more of
// it on either side, at a power of two too.
inline constexpr double kHalfWay = 0x1.fffp-10;

// R(expected - bound) <= actual <= R(expected + bound) for bf16, R the kernel's rounding: exact, as
// every rounding is monotone. For fp32 the last rounding is part of the bound. Written so that a
// NaN anywhere is a failure.
inline bool is_within(Stored stored, double actual, double expected, double bound) {
  if (!std::isfinite(expected) || !(bound >= 0)) return false;
  // Rounding cannot take away what is inside; to nearest, nor what is within half the way outside.
  const double half_way = stored == Stored::kBf16 ? kHalfWay * std::abs(actual) : 0;
  if (std::abs(actual - expected) <= bound + half_way) return true;
  if (stored == Stored::kFp32) return false;
  return value_of(stored, stored_bits(stored, expected - bound)) <= actual &&
         actual <= value_of(stored, stored_bits(stored, expected + bound));
}

inline Fault fault_of(Stored stored, std::uint32_t bits, double expected, double bound) {
  if (is_poison(stored, bits)) return Fault::kUnwritten;
  const double actual = value_of(stored, bits);
  if (std::isinf(expected) && actual == expected) return Fault::kNone;
  if (!std::isfinite(actual)) return Fault::kNonFinite;
  return is_within(stored, actual, expected, bound) ? Fault::kNone : Fault::kWrong;
}

// The error in units of what was allowed: for fp32 the bound; for bf16 also half an ulp, or a whole
// one where it truncates. Just beside a power of two, where bf16's ulp changes, an element can fail
// with a ratio between 1/2 and 1: is_within() decides, the ratio reports.
inline double ratio_of(Stored stored, double actual, double expected, double bound) {
  const double error = std::abs(actual - expected);
  if (!(bound >= 0)) return std::numeric_limits<double>::infinity();
  if (actual == expected) return 0;
  double allowed = bound;
  if (stored != Stored::kFp32) {
    allowed +=
        half_ulp_bf16(std::abs(expected) + bound) * (stored == Stored::kBf16Truncated ? 2 : 1);
  }
  if (!std::isfinite(error) || !(allowed > 0)) return std::numeric_limits<double>::infinity();
  return error / allowed;
}

// False only if ratio_of() is at most `ratio`: cheap, for the search of the largest.
inline bool ratio_may_exceed(double ratio, Stored stored, double actual, double expected,
                             double bound) {
  const double half_ulp = stored == Stored::kFp32 ? 0 : kHalfWay * std::abs(expected);
  return !(std::abs(actual - expected) <= ratio * (bound + half_ulp));
}

}  // namespace attest
