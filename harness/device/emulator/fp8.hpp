// The fp8 formats of gfx942, e4m3fnuz ("fp8") and e5m2fnuz ("bf8"): biases 8 and 16, no infinities,
// no -0, 0x80 the only NaN. Source: MI300 ISA, chapter 7.2.
#pragma once
#include <array>

#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

struct Fnuz {
  u32 mantissa_bits;
  int bias;
};
inline constexpr Fnuz kFp8{3, 8}, kBf8{2, 16};

// Exact: every code is a normal f32.
constexpr u32 decode_fnuz(u32 code, Fnuz format) {
  if (code == 0x80) return 0x7fc00000;
  const u32 sign = (code & 0x80) << 24, magnitude = code & 0x7f;
  if (magnitude == 0) return sign;
  const u32 implicit = 1u << format.mantissa_bits;
  int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  u32 mantissa = magnitude & (implicit - 1);
  if (exponent == 0) {  // subnormal: moved up to its leading one
    exponent = 1;
    while (mantissa < implicit) mantissa <<= 1, --exponent;
  }
  return sign | static_cast<u32>(exponent - format.bias + 127) << 23 |
         (mantissa & (implicit - 1)) << (23 - format.mantissa_bits);
}
constexpr std::array<u32, 256> fnuz_table(Fnuz format) {
  std::array<u32, 256> table{};
  for (u32 code = 0; code < 256; ++code) table[code] = decode_fnuz(code, format);
  return table;
}
inline constexpr std::array<u32, 256> kFp8Values = fnuz_table(kFp8), kBf8Values = fnuz_table(kBf8);

// The f32 `bits` as fp8: to nearest, ties to even, or toward zero. MODE.FP16_OVFL (`saturate`)
// makes the largest value of what is beyond it; else that, and an infinity, is NaN.
constexpr u32 encode_fnuz(u32 bits, Fnuz format, bool saturate, bool truncate) {
  const u32 sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x80;
  const int exponent = magnitude < 0x00800000 ? 1 : static_cast<int>(magnitude >> 23);
  const u32 mantissa = (magnitude & 0x7fffff) | (magnitude < 0x00800000 ? 0 : 0x800000);
  const int wanted = exponent - 127 + format.bias, used = wanted < 1 ? 1 : wanted;
  const int drop = 23 - static_cast<int>(format.mantissa_bits) + used - wanted;
  if (drop > 25) return 0;  // below half of the least subnormal
  const u64 wide = mantissa, half = u64{1} << (drop - 1), rest = wide & (2 * half - 1);
  u64 code = wide >> drop;
  if (!truncate && (rest > half || (rest == half && (code & 1)))) ++code;
  // A carry out of the mantissa moves the exponent by itself.
  code += static_cast<u64>(used - 1) << format.mantissa_bits;
  if (code > 0x7f) return saturate ? sign | 0x7f : 0x80;
  return code == 0 ? 0 : sign | static_cast<u32>(code);
}

}  // namespace attest::emulator
