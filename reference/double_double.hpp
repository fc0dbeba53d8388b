// Numbers of about 106 significant bits: the unevaluated sum of two doubles, |low| <= half an ulp
// of high. What the streaming oracle counts in.
//   two_sum: Knuth, TAOCP vol. 2, 4.2.2, theorem B. fast_two_sum, and the idea of the pair: Dekker,
//   "A floating-point technique for extending the available precision", Numer. Math. 18, 1971.
//   Sums and products of pairs: Joldes, Muller, Popescu, "Tight and rigorous error bounds for basic
//   building blocks of double-word arithmetic", ACM TOMS 44(2), 2017: 3 u^2 and 5 u^2 relative,
//   u = 2^-53. Quotients, exp: Hida, Li, Bailey, "Algorithms for quad-double precision floating
//   point arithmetic", ARITH 2001.
// Exact steps need every rounding where it is written: no contraction (-ffp-contract=off), no
// reordering. Values whose low part would be subnormal (below 2^-969) lose precision.
#pragma once
#include <cmath>

namespace attest {

struct DoubleDouble {
  double high = 0, low = 0;
};

// a + b = high + low, exactly.
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
// The same where |a| >= |b| or a is 0.
inline DoubleDouble fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
// a b = high + low, exactly.
inline DoubleDouble two_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

inline DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }

inline DoubleDouble operator+(DoubleDouble a, double b) {
  const DoubleDouble s = two_sum(a.high, b);
  return fast_two_sum(s.high, s.low + a.low);
}
inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble s = two_sum(a.high, b.high), t = two_sum(a.low, b.low);
  const DoubleDouble v = fast_two_sum(s.high, s.low + t.high);
  return fast_two_sum(v.high, v.low + t.low);
}
inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }
inline DoubleDouble operator-(DoubleDouble a, double b) { return a + -b; }

inline DoubleDouble operator*(DoubleDouble a, double b) {
  const DoubleDouble p = two_product(a.high, b);
  return fast_two_sum(p.high, std::fma(a.low, b, p.low));
}
inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble p = two_product(a.high, b.high);
  const double cross = std::fma(a.low, b.high, std::fma(a.high, b.low, a.low * b.low));
  return fast_two_sum(p.high, p.low + cross);
}

// Long division, three digits of 53 bits.
DoubleDouble operator/(DoubleDouble a, DoubleDouble b);

// 1e-30 relative. exp: for x in [-670, 700]; below it goes to 0, as double does. log: for x > 0.
DoubleDouble exp(DoubleDouble x);
DoubleDouble log(DoubleDouble x);

}  // namespace attest
