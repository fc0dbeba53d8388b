// What a decode kernel computes outside the matrix unit: exp2, log2 and 1/x within their declared
// errors, and the rounding of P to its declared format.
#pragma once
#include <cstdint>

#include "harness/core/contract.hpp"
#include "reference/model/kernel_model.hpp"

namespace attest::model {

class Units {
 public:
  Units(const Arithmetic& arithmetic, const ModelOptions& options);

  float exp2(float x) const;  // 1 at 0 exactly; 0 where the result would be below 2^-126
  float log2(float x) const;  // 0 at 1 exactly
  // a / b with an error of divide_u: one IEEE division, or a times an approximate 1 / b.
  float divide(float a, float b) const { return divides_ ? a / b : a * reciprocal(b); }
  float reciprocal(float x) const;
  bool divides() const { return divides_; }

 private:
  float within(double exact, double ulp, std::uint32_t argument) const;

  Transcendental mode_;
  std::uint64_t seed_;
  double exp_ulp_, log_ulp_, reciprocal_ulp_;
  bool divides_;
};

// P's format as a rounding of fp32 values >= 0.
class PFormat {
 public:
  explicit PFormat(const Arithmetic& arithmetic);
  float round(float p) const;

 private:
  int dropped_bits_;  // of fp32's significand; 0: P is not rounded
  bool truncates_;
  float least_normal_, quantum_, largest_;
};

}  // namespace attest::model
