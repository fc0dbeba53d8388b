#include "reference/explain_factors.hpp"

#include <algorithm>
#include <cmath>

#include "harness/core/formats.hpp"

namespace attest::slow {
namespace {

// What part of a unit's roundings may all be of one sign, in u: error_bound.md, "what is
// independent". `all`: none is to nearest.
struct OneSided {
  bool all = false;
  double bias = 0;
};
OneSided one_sided(MatrixUnit unit) {
  switch (unit) {
    case MatrixUnit::kHopperBf16:
    case MatrixUnit::kUnknown:
      return {.all = true};
    case MatrixUnit::kCdna2Bf16:
      return {.bias = 2};
    case MatrixUnit::kCdna3Bf16:
      return {.bias = 9.1};
    case MatrixUnit::kCdna3Fp8:
      return {.bias = 19.1};
    case MatrixUnit::kSequentialFma:
    case MatrixUnit::kCdna1Bf16:
      break;
  }
  return {};
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5;
}

// To `bits` significand bits, spacings below the least normal all one.
double round_to_bits(const Arithmetic& a, double p) {
  int exponent = 0;
  std::frexp(p, &exponent);  // p = f 2^exponent, f in [1/2, 1)
  const double spacing = std::ldexp(1.0, std::max(exponent - 1, a.p_min_exponent) - a.p_bits + 1);
  const double units = p / spacing;
  const double rounded = a.p_truncates ? std::floor(units) : std::nearbyint(units);
  return std::min(rounded * spacing, a.p_largest);
}

}  // namespace

double steps_of(MatrixUnit unit, double k) {
  switch (unit) {
    case MatrixUnit::kSequentialFma:
      break;
    case MatrixUnit::kCdna1Bf16:
      return std::ceil(k / 2);
    case MatrixUnit::kCdna2Bf16:
      return std::ceil(k / 4) + 2;
    case MatrixUnit::kCdna3Bf16:
      return std::ceil(k / 8) * (1 + 1 / 64.0) + 9.1;
    case MatrixUnit::kCdna3Fp8:
      return std::ceil(k / 16) * (1 + 1 / 64.0) + 19.1;
    case MatrixUnit::kHopperBf16:
      return std::ceil(k / 16) * 2 + 18;
    case MatrixUnit::kUnknown:
      return std::ceil(k / 4) + 20;
  }
  return k;
}

Descalings descalings_of(const Problem& p) {
  const int of_kv = is_power_of_two(p.kv_scale) ? 0 : 1;
  return {(is_power_of_two(p.q_scale) ? 0 : 1) + of_kv, of_kv};
}

Factors::Factors(const Arithmetic& a, int split_tokens, Descalings descalings) {
  const double u = kHalfUlp;
  const double of_dot = steps_of(a.matrix_unit, 576),
               of_sum = steps_of(a.matrix_unit, split_tokens);
  const double waves = a.waves_per_split > 1 ? a.waves_per_split + 1 : 0;
  dot = of_dot * u + a.k_relative;
  exp2 = rescale = a.exp_ulp * kUlp;
  join = waves > 0 ? a.exp_ulp * kUlp : 0;
  logit = (1 + descalings.of_logit) * u;
  argument = (5 + descalings.of_logit) * u;
  lazy = 2 * argument * kNaturalOfLog2 * a.lazy_rescale;
  least_normal = std::ldexp(1.0, a.p_min_exponent);
  if (a.p_bits < 24) {
    u_p = std::ldexp(1.0, (a.p_truncates ? 1 : 0) - a.p_bits);
    eta = std::ldexp(1.0, a.p_min_exponent + (a.p_truncates ? 1 : 0) - a.p_bits);
    // A lazy max lies below the score by at most its threshold, to within the weight's own error.
    const double largest =
        a.p_scale * std::exp2(a.lazy_rescale) * (1 + (a.lazy_rescale > 0 ? exp2 + lazy : 0));
    if (largest > a.p_largest) saturation = 1 - a.p_largest / largest;
    p_variance = std::ldexp(1.0, 2 * (1 - a.p_bits)) / 12;
    if (a.p_truncates) {
      p_bias = std::ldexp(1.0, -a.p_bits);
    } else if (!a.l_from_rounded_p) {
      p_bias = std::ldexp(1.0, -2 * a.p_bits) / 3;
    }
  }
  p_scaling = is_power_of_two(a.p_scale) ? 0 : u;
  const double other =
      2 + waves + a.divide_u + (is_power_of_two(a.p_scale) ? 0 : 2) + descalings.of_o;
  accumulations = of_sum + other;
  tiles = std::ceil(split_tokens / static_cast<double>(a.tile_tokens));
  denominations = std::min(a.tile_tokens, split_tokens) + tiles + waves;
  const OneSided biased = one_sided(a.matrix_unit);
  dot_variance = (biased.all ? std::pow(of_dot * u / kSigmas, 2) : of_dot * u * u / 3) +
                 a.k_relative * a.k_relative / 3;
  logit_variance = (1 + descalings.of_logit) * u * u / 3;
  exp2_variance = exp2 * exp2 / 3;
  probable_accumulations = (biased.all ? 0 : of_sum) + other;
  accumulation_bias = (biased.all ? of_sum : biased.bias) * u;
}

double lse_error(const Arithmetic& a, double max, double log_l, int logit_descalings) {
  const double log2_units = a.lse_in_log2 ? 4 * std::fabs(max) : 0;
  return a.log_ulp * kUlp * std::fabs(log_l) +
         kHalfUlp * (2 * std::fabs(log_l) + std::fabs(max + log_l) + log2_units +
                     logit_descalings * std::fabs(max));
}

double exponent_of_share(const Arithmetic& a, int live, double max, double log_l, double below,
                         int logit_descalings) {
  return lse_error(a, max, log_l, logit_descalings) + 4 * kHalfUlp * below +
         (1 + live) * a.exp_ulp * kUlp;
}

double round_p(const Arithmetic& a, double p) {
  if (a.p_bits >= 24) return p;
  const Rounding rounding = a.p_truncates ? Rounding::kTowardZero : Rounding::kNearestEven;
  const auto is = [&](int bits, int least, double largest) {
    return a.p_bits == bits && a.p_min_exponent == least && a.p_largest == largest;
  };
  if (is(8, -126, 0x1.fep127)) return decode_bf16(encode_bf16(p, rounding));
  for (const auto& [format, least] : {std::pair{Fp8::kE4m3fn, -6}, {Fp8::kE4m3fnuz, -7}}) {
    if (is(4, least, largest_fp8(format)))
      return decode_fp8(encode_fp8(p, format, Fp8Overflow::kSaturate, rounding), format);
  }
  return round_to_bits(a, p);
}

}  // namespace attest::slow
