#include "harness/core/formats.hpp"

#include <algorithm>
#include <cmath>

namespace attest {
namespace {

// The code of |value| in a format whose range had no upper end: codes of a small float are integers
// in the order of the values they stand for, one apart where the values are neighbours.
std::uint64_t magnitude_code(double value, int fraction_bits, int min_exponent, Rounding rounding) {
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return 0;
  const int exponent = std::max(std::ilogb(magnitude), min_exponent);
  const double steps = std::scalbn(magnitude, fraction_bits - exponent);  // exact: a power of two
  const double whole = std::floor(steps), rest = steps - whole;
  auto code = static_cast<std::uint64_t>(whole);
  if (rounding == Rounding::kNearestEven && (rest > 0.5 || (rest == 0.5 && code % 2 == 1))) ++code;
  return (static_cast<std::uint64_t>(exponent - min_exponent) << fraction_bits) + code;
}

std::uint16_t nearest_bf16(std::uint32_t bits) {  // of a value that is no NaN
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

std::uint16_t encode_bf16(double value, Rounding rounding) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7FC0;
  if (std::isinf(value)) return sign | 0x7F80;
  const std::uint64_t largest = rounding == Rounding::kNearestEven ? 0x7F80 : 0x7F7F;
  return sign |
         static_cast<std::uint16_t>(std::min(magnitude_code(value, 7, -126, rounding), largest));
}

double half_ulp_bf16(double magnitude) {
  if (!std::isfinite(magnitude)) return std::numeric_limits<double>::infinity();
  const int exponent = magnitude == 0 ? -126 : std::max(std::ilogb(magnitude), -126);
  return std::scalbn(1.0, exponent - 8);
}

std::uint16_t convert_bf16(float value, Bf16Conversion conversion) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto high = static_cast<std::uint16_t>(bits >> 16);
  const bool nan = std::isnan(value);
  switch (conversion) {
    case Bf16Conversion::kNearestQuiet:
      return nan ? high | 0x40 : nearest_bf16(bits);
    case Bf16Conversion::kNearestSetLowBit:
      return nan ? high | 1 : nearest_bf16(bits);
    case Bf16Conversion::kNearestOneNan:
      return nan ? 0x7FFF : nearest_bf16(bits);
    case Bf16Conversion::kTruncateKeepNan:
      return nan ? high | 1 : high;
    case Bf16Conversion::kTruncatePlain:
      break;
  }
  return high;
}

float decode_fp8(std::uint8_t code, Fp8 format) {
  const bool fn = format == Fp8::kE4m3fn;
  if (fn ? (code & 0x7F) == 0x7F : code == 0x80) return std::numeric_limits<float>::quiet_NaN();
  const int exponent = (code >> 3) & 15, fraction = code & 7, bias = fn ? 7 : 8;
  const float magnitude = exponent == 0
                              ? std::scalbn(static_cast<float>(fraction), -2 - bias)
                              : std::scalbn(static_cast<float>(8 + fraction), exponent - bias - 3);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

const std::array<float, 256>& fnuz_values() {
  static const std::array<float, 256> kValues = [] {
    std::array<float, 256> values{};
    for (int code = 0; code < 256; ++code) {
      values[code] = decode_fp8(static_cast<std::uint8_t>(code), Fp8::kE4m3fnuz);
    }
    return values;
  }();
  return kValues;
}

std::uint8_t encode_fp8(double value, Fp8 format, Fp8Overflow overflow, Rounding rounding) {
  const bool fn = format == Fp8::kE4m3fn;
  const std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const std::uint8_t nan = fn ? sign | 0x7F : 0x80;
  const std::uint8_t largest = fn ? 0x7E : 0x7F;
  const bool saturates =
      overflow == Fp8Overflow::kSaturate || overflow == Fp8Overflow::kHipSaturate;
  if (std::isnan(value)) return nan;
  if (std::isinf(value)) return overflow == Fp8Overflow::kSaturate ? sign | largest : nan;
  if (overflow == Fp8Overflow::kHipNanBeforeRound && std::fabs(value) > largest_fp8(format))
    return nan;
  const std::uint64_t code = magnitude_code(value, 3, fn ? -6 : -7, rounding);
  if (code > largest) return saturates ? sign | largest : nan;
  if (code == 0 && !fn) return 0;  // 0x80 would be the NaN
  return sign | static_cast<std::uint8_t>(code);
}

std::uint8_t encode_e8m0(double value, E8m0Rounding rounding) {
  if (std::isnan(value)) return 255;
  const double magnitude = std::fabs(value);
  if (magnitude <= 0x1p-127) return 0;
  if (magnitude >= 0x1p127) return 254;
  const int exponent = std::ilogb(magnitude);
  const bool up = rounding == E8m0Rounding::kUp && std::scalbn(1.0, exponent) < magnitude;
  return static_cast<std::uint8_t>(exponent + 127 + (up ? 1 : 0));
}

std::uint8_t flashmla_scale_code(float largest) {
  return encode_e8m0(std::max(largest / 448.0f, 1e-4f), E8m0Rounding::kUp);
}

}  // namespace attest
