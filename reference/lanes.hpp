// The numbers that a formula works on where host and device share its source: 8 rows at once on the
// host, one on a device. The same IEEE operations in the same order, so the same bits: neither is
// compiled with contraction, and every fma is explicit. Device code includes neither the standard
// library nor a vendor's headers.
#pragma once

#if defined(__HIP__) || defined(__CUDACC__)
#define ATTEST_ON_DEVICE 1
#if defined(__HIP__)
#define __device__ __attribute__((device))
#endif
#define ATTEST_BOTH __device__ inline __attribute__((always_inline))

namespace attest {

using Reals = double;
using Masks = bool;
using Singles = float;

#if defined(__HIP__)
ATTEST_BOTH double fused_multiply_add(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
ATTEST_BOTH float fused_multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ATTEST_BOTH double square_root(double a) { return __builtin_elementwise_sqrt(a); }
ATTEST_BOTH long bits_of(double a) { return __builtin_bit_cast(long, a); }
ATTEST_BOTH double with_bits(long bits) { return __builtin_bit_cast(double, bits); }
#else
ATTEST_BOTH double fused_multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
ATTEST_BOTH float fused_multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
ATTEST_BOTH double square_root(double a) { return __dsqrt_rn(a); }
ATTEST_BOTH long bits_of(double a) { return __double_as_longlong(a); }
ATTEST_BOTH double with_bits(long bits) { return __longlong_as_double(bits); }
#endif
// A NaN in `a` gives `b`.
template <class T>
ATTEST_BOTH T larger(T a, T b) {
  return a > b ? a : b;
}
template <class T>
ATTEST_BOTH T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
ATTEST_BOTH T magnitude(T a) {
  return a < 0 ? -a : a;
}
ATTEST_BOTH double splat(double value) { return value; }
ATTEST_BOTH double widened(float a) { return a; }
ATTEST_BOTH float narrowed(double a) { return static_cast<float>(a); }
ATTEST_BOTH bool any(bool mask) { return mask; }

}  // namespace attest
#else
#define ATTEST_BOTH inline

#include "reference/vector.hpp"

namespace attest {

using Reals = Double8;
using Masks = Long8;
using Singles = Float8;

inline Long8 bits_of(const Double8& a) {
  Long8 bits;
  std::memcpy(&bits, &a, sizeof bits);
  return bits;
}
inline Double8 with_bits(const Long8& bits) {
  Double8 a;
  std::memcpy(&a, &bits, sizeof a);
  return a;
}
inline Double8 widened(const Float8& a) { return __builtin_convertvector(a, Double8); }
inline Float8 narrowed(const Double8& a) { return __builtin_convertvector(a, Float8); }
inline bool any(const Long8& mask) {
  bool found = false;
  for (int i = 0; i < 8; ++i) found |= mask[i] != 0;
  return found;
}

}  // namespace attest
#endif

namespace attest {

// e^x to 2 ulp for x <= 709; 0 below -708, where fp32 has long been 0. NaN stays NaN.
// x = n ln2 + r, |r| <= ln2 / 2, ln2 in two parts so that n * high is exact; Taylor to r^13, whose
// remainder is 1e-17.
ATTEST_BOTH Reals exponential(const Reals& x) {
  constexpr double kMagic = 0x1.8p52;  // adding it leaves round(y) in the low bits
  constexpr double kOver[] = {1.0 / 479001600.0,
                              1.0 / 39916800.0,
                              1.0 / 3628800.0,
                              1.0 / 362880.0,
                              1.0 / 40320.0,
                              1.0 / 5040.0,
                              1.0 / 720.0,
                              1.0 / 120.0,
                              1.0 / 24.0,
                              1.0 / 6.0,
                              1.0 / 2.0,
                              1.0,
                              1.0};  // factorials
  const Reals clamped = x < -708.0 ? splat(-708.0) : x;
  const Reals shifted = fused_multiply_add(clamped, splat(0x1.71547652b82fep0), splat(kMagic));
  const Reals n = shifted - kMagic;
  Reals r = fused_multiply_add(n, splat(-6.93147180369123816490e-01), clamped);
  r = fused_multiply_add(n, splat(-1.90821492927058770002e-10), r);
  Reals sum = splat(1.0 / 6227020800);
  for (const double over : kOver) sum = fused_multiply_add(sum, r, splat(over));
  const Reals scale = with_bits((bits_of(shifted) + 1023) << 52);
  return x < -708.0 ? splat(0.0) : sum * scale;
}

}  // namespace attest
