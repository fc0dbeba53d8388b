// The declared rounding of P, in fp64: exact, since P's formats have at most 24 significand bits.
#pragma once
#include "reference/lanes.hpp"

namespace attest {

struct Arithmetic;

struct PRounding {
  bool rounds = false, truncates = false;
  int shift = 0;  // significand bits of a double that P's format has not
  double min_normal = 0, grid = 0, largest = 0;

  // p >= 0, not NaN.
  ATTEST_BOTH Reals operator()(const Reals& p) const {
    if (!rounds) return p;
    const long mask = (1L << shift) - 1;
    auto bits = bits_of(p);
    if (!truncates) bits += (mask >> 1) + ((bits >> shift) & 1);  // to nearest, ties to even
    bits &= ~mask;
    const Reals normal = with_bits(bits);
    // Below the least normal all spacings are one: adding 1.5 * 2^52 of them rounds to it.
    const double magic = grid * 0x1.8p52;
    Reals subnormal = (p + magic) - magic;
    if (truncates) subnormal = subnormal > p ? subnormal - grid : subnormal;
    return smaller(p < min_normal ? subnormal : normal, splat(largest));
  }
};

PRounding p_rounding(const Arithmetic& arithmetic);  // weigh.cpp

}  // namespace attest
