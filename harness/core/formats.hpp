// Exact codecs of the stored formats, and the conversions that real kernels use in their place,
// each by name. Every decode is exact in float. Encoders take a double: a float converts exactly,
// so one rounding is all there is. Sources: OCP OFP8 and MX specifications; amd_hip_fp8.h and
// hip_float8_impl.h (HIP); CK's e8m0.hpp and type_convert.hpp; cuda_fp8.hpp (NVIDIA).
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace attest {

enum class Rounding { kNearestEven, kTowardZero };

// ---- bf16 ----
constexpr float decode_bf16(std::uint16_t code) {
  return std::bit_cast<float>(std::uint32_t{code} << 16);
}
std::uint16_t encode_bf16(double value,
                          Rounding rounding = Rounding::kNearestEven);  // NaN: quiet, sign kept
double half_ulp_bf16(double magnitude);  // largest RNE error of a value up to `magnitude` in bf16

// Conversions of fp32 found in kernels; they differ in rounding and in what becomes of NaN.
enum class Bf16Conversion {
  kNearestQuiet,      // RNE; a NaN keeps sign and high payload and is made quiet
  kNearestSetLowBit,  // CK_TILE mode 0: RNE; a NaN gets bit 16 set, so a signalling NaN stays
                      // signalling
  kNearestOneNan,     // CK's inline assembly: RNE; every NaN becomes 0x7FFF
  kTruncateKeepNan,   // CK_TILE mode 1: high half; a NaN stays a NaN
  kTruncatePlain,     // CK_TILE mode 2 (its default): high half; a NaN with payload in the low half
                      // becomes inf
};
std::uint16_t convert_bf16(float value, Bf16Conversion conversion);

// ---- fp8 e4m3 ----
enum class Fp8 {
  kE4m3fn,    // OCP (gfx950, NVIDIA): bias 7, NaN 0x7F and 0xFF, largest 448
  kE4m3fnuz,  // gfx942: bias 8, NaN 0x80 alone, no -0, largest 240
};
enum class Fp8Overflow {
  kSaturate,           // OCP: beyond the largest, and inf, becomes the largest
  kNan,                // OCP, not saturating: rounds first; beyond the largest becomes NaN
  kHipSaturate,        // HIP cast_to_f8 with SATFINITE: as kSaturate, but inf becomes NaN
  kHipNanBeforeRound,  // HIP cast_to_f8 without: NaN for all beyond the largest before rounding
                       // (448 < x <= 464)
};
float decode_fp8(std::uint8_t code, Fp8 format);
std::uint8_t encode_fp8(double value, Fp8 format, Fp8Overflow overflow = Fp8Overflow::kSaturate,
                        Rounding rounding = Rounding::kNearestEven);
// The value of each code of e4m3fnuz.
const std::array<float, 256>& fnuz_values();
constexpr double largest_fp8(Fp8 format) { return format == Fp8::kE4m3fn ? 448.0 : 240.0; }

// ---- E8M0 scales (UE8M0): 2^(code - 127), 255 is NaN ----
enum class E8m0Decode {
  kOcp,    // code 0 is 2^-127, a subnormal of fp32
  kCk,     // CK: code 0 is 2^-126
  kZero,   // CANN's comment: code 0 is 0
  kShift,  // code << 23: code 0 is 0, code 255 is +inf
};
constexpr float decode_e8m0(std::uint8_t code, E8m0Decode variant = E8m0Decode::kOcp) {
  if (code == 255 && variant != E8m0Decode::kShift) return std::numeric_limits<float>::quiet_NaN();
  if (code == 0 && variant == E8m0Decode::kOcp) return 0x1p-127f;
  if (code == 0 && variant == E8m0Decode::kCk) return 0x1p-126f;
  return std::bit_cast<float>(std::uint32_t{code} << 23);
}
enum class E8m0Rounding {
  kUp,    // NVIDIA's cvt.rp: the least power of two that is not below the value
  kDown,  // OCP MX: the greatest that is not above it
};
// Of |value|; beyond the range it saturates to codes 0 and 254, as SATFINITE does. NaN: 255.
std::uint8_t encode_e8m0(double value, E8m0Rounding rounding = E8m0Rounding::kUp);
// FlashMLA's quantiser: 2^ceil(log2(max(largest / 448, 1e-4))), of the largest magnitude in a
// block.
std::uint8_t flashmla_scale_code(float largest);

}  // namespace attest
