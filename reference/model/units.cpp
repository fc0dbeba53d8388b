#include "reference/model/units.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/core/random.hpp"

namespace attest::model {
namespace {

constexpr double kUlp = 0x1p-23;  // of a declared error
constexpr float kLeastNormal = 0x1p-126f;

// `value` to fp32 without leaving [-|value|, |value|], or without entering it.
float rounded_inward(double value) {
  const float nearest = static_cast<float>(value);
  return std::fabs(double{nearest}) > std::fabs(value) ? std::nextafter(nearest, 0.0f) : nearest;
}
float rounded_outward(double value) {
  const float nearest = static_cast<float>(value);
  return std::fabs(double{nearest}) < std::fabs(value)
             ? std::nextafter(nearest, std::copysign(INFINITY, nearest))
             : nearest;
}

}  // namespace

Units::Units(const Arithmetic& a, const ModelOptions& options)
    : mode_(options.transcendental),
      seed_(options.seed),
      exp_ulp_(a.exp_ulp),
      log_ulp_(a.log_ulp),
      // The product a * (1 / b) takes 1 u of divide_u; an ulp is 2 u.
      reciprocal_ulp_((a.divide_u - 1) / 2),
      divides_(options.ieee_division || a.divide_u < 2) {}

// An fp32 within ulp * 2^-23 of `exact`, relative. Between exact and exact * (1 +- 2^-23) there is
// always one; where less is allowed, the nearest is within 2^-24.
float Units::within(double exact, double ulp, std::uint32_t argument) const {
  if (ulp < 1) return static_cast<float>(exact);
  switch (mode_) {
    case Transcendental::kNearest:
      break;
    case Transcendental::kHigh:
      return rounded_inward(exact * (1 + ulp * kUlp));
    case Transcendental::kLow:
      return rounded_outward(exact * (1 - ulp * kUlp));
    case Transcendental::kRandom: {
      const double at = 2 * Stream{mix64(seed_)}.uniform(argument) - 1;
      return static_cast<float>(exact * (1 + at * (ulp - 0.5) * kUlp));
    }
  }
  return static_cast<float>(exact);
}

float Units::exp2(float x) const {
  if (x == 0) return 1;
  const double exact = std::exp2(double{x});
  if (exact < double{kLeastNormal}) return 0;
  return std::max(within(exact, exp_ulp_, std::bit_cast<std::uint32_t>(x)), kLeastNormal);
}

float Units::log2(float x) const {
  if (x == 1) return 0;
  return within(std::log2(double{x}), log_ulp_, std::bit_cast<std::uint32_t>(x));
}

float Units::reciprocal(float x) const {
  return within(1 / double{x}, reciprocal_ulp_, std::bit_cast<std::uint32_t>(x));
}

PFormat::PFormat(const Arithmetic& a)
    : dropped_bits_(std::max(0, 24 - a.p_bits)),
      truncates_(a.p_truncates),
      least_normal_(std::ldexp(1.0f, a.p_min_exponent)),
      quantum_(std::ldexp(1.0f, a.p_min_exponent - a.p_bits + 1)),
      largest_(static_cast<float>(a.p_largest)) {}

float PFormat::round(float p) const {
  if (dropped_bits_ == 0) return p;
  if (p < least_normal_) {  // a fixed spacing
    const double steps = double{p} / quantum_;
    return static_cast<float>((truncates_ ? std::trunc(steps) : std::nearbyint(steps)) * quantum_);
  }
  const std::uint32_t mask = (1u << dropped_bits_) - 1;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(p);
  if (!truncates_) bits += (mask >> 1) + ((bits >> dropped_bits_) & 1);
  return std::min(std::bit_cast<float>(bits & ~mask), largest_);
}

}  // namespace attest::model
