// One element's judgement: the rule that all others rest on.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/core/formats.hpp"
#include "harness/poison.hpp"

namespace attest {

enum class Stored { kBf16, kFp32 };

enum class Fault {
  kNone,
  kUnwritten,    // still poison where a value belongs
  kNonFinite,    // NaN or inf where a finite value belongs
  kWrong,        // not within the bound; also a NaN bound
  kOverwritten,  // not poison any more where nothing belongs
};

inline double value_of(Stored stored, std::uint32_t bits) {
  return stored == Stored::kBf16 ? decode_bf16(static_cast<std::uint16_t>(bits))
                                 : std::bit_cast<float>(bits);
}

inline bool is_poison(Stored stored, std::uint32_t bits) {
  return bits == (stored == Stored::kBf16 ? kPoison16 : kPoison32);
}

// RN(expected - bound) <= actual <= RN(expected + bound) for bf16: exact, as rounding is monotone.
// For fp32 the last rounding is part of the bound. Written so that a NaN anywhere is a failure.
inline bool is_within(Stored stored, double actual, double expected, double bound) {
  if (std::isnan(expected) || !(bound >= 0)) return false;
  if (std::abs(actual - expected) <= bound) return true;  // rounding cannot take that away
  if (stored == Stored::kFp32) return false;
  return decode_bf16(encode_bf16(expected - bound)) <= actual &&
         actual <= decode_bf16(encode_bf16(expected + bound));
}

inline Fault fault_of(Stored stored, std::uint32_t bits, double expected, double bound) {
  if (is_poison(stored, bits)) return Fault::kUnwritten;
  const double actual = value_of(stored, bits);
  if (std::isinf(expected) && actual == expected) return Fault::kNone;
  if (!std::isfinite(actual)) return Fault::kNonFinite;
  return is_within(stored, actual, expected, bound) ? Fault::kNone : Fault::kWrong;
}

// |error| in units of what was allowed: bound and half an ulp for bf16, bound for fp32. Just beside
// a power of two, where bf16's ulp changes, an element can fail with a ratio between 1/2 and 1:
// is_within() decides, the ratio reports.
inline double ratio_of(Stored stored, double actual, double expected, double bound) {
  const double error = std::abs(actual - expected);
  if (!(bound >= 0)) return std::numeric_limits<double>::infinity();
  if (actual == expected) return 0;
  double allowed = bound;
  if (stored == Stored::kBf16) allowed += half_ulp_bf16(std::abs(expected) + bound);
  if (!std::isfinite(error) || !(allowed > 0)) return std::numeric_limits<double>::infinity();
  return error / allowed;
}

}  // namespace attest
