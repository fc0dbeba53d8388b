// The declared rounding of P, for 8 rows at once, in fp64: exact, since P's formats have at most 24
// significand bits.
#pragma once
#include <cmath>
#include <cstdint>

#include "harness/core/contract.hpp"
#include "reference/vector.hpp"

namespace attest {

class PRounding {
 public:
  explicit PRounding(const Arithmetic& a)
      : rounds_(a.p_bits < 24),
        truncates_(a.p_truncates),
        shift_(53 - a.p_bits),
        min_normal_(std::ldexp(1.0, a.p_min_exponent)),
        grid_(std::ldexp(1.0, a.p_min_exponent + 1 - a.p_bits)),
        largest_(a.p_largest) {}

  // p >= 0, not NaN.
  Double8 operator()(const Double8& p) const {
    if (!rounds_) return p;
    const Long8 mask = (Long8{} + 1 << shift_) - 1;
    Long8 bits;
    std::memcpy(&bits, &p, sizeof bits);
    if (!truncates_) bits += (mask >> 1) + ((bits >> shift_) & 1);  // to nearest, ties to even
    bits &= ~mask;
    Double8 normal;
    std::memcpy(&normal, &bits, sizeof normal);
    // Below the least normal all spacings are one: adding 1.5 * 2^52 of them rounds to it.
    const double magic = grid_ * 0x1.8p52;
    Double8 subnormal = (p + magic) - magic;
    if (truncates_) subnormal = subnormal > p ? subnormal - grid_ : subnormal;
    return smaller(p < min_normal_ ? subnormal : normal, splat(largest_));
  }

 private:
  bool rounds_, truncates_;
  int shift_;
  double min_normal_, grid_, largest_;
};

}  // namespace attest
