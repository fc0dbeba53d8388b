#include "reference/double_double.hpp"

namespace attest {
namespace {

// ln 2 = kLn2Short + kLn2Rest to 2^-156. The short part has 40 bits, so that its product with an
// exponent is exact.
constexpr double kLn2Short = 0x1.62e42fefa2p-1;
constexpr DoubleDouble kLn2Rest = {0x1.9ef35793c7673p-41, 0x1.f97b57a079a19p-103};

// e^t - 1 for |t| < 7e-4, by Horner's rule on Taylor: t^11 / 11! is under 1e-39 t.
DoubleDouble expm1_small(DoubleDouble t) {
  DoubleDouble sum = {1, 0};
  for (int n = 10; n >= 2; --n) sum = sum * t / DoubleDouble{static_cast<double>(n), 0} + 1.0;
  return sum * t;
}

// log(x) for |x - 1| < 2^-6: 2 atanh(z), z = (x - 1) / (x + 1), |z| < 2^-7; z^18 is under 2^-125.
DoubleDouble log_near_one(DoubleDouble x) {
  const DoubleDouble z = (x - 1.0) / (x + 1.0), square = z * z;
  DoubleDouble sum;
  for (int n = 17; n >= 1; n -= 2) {
    sum = sum * square + DoubleDouble{1, 0} / DoubleDouble{static_cast<double>(n), 0};
  }
  return sum * z * 2.0;
}

}  // namespace

DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double first = a.high / b.high;
  DoubleDouble rest = a - b * first;
  const double second = rest.high / b.high;
  rest = rest - b * second;
  return fast_two_sum(first, second) + rest.high / b.high;
}

// x = n ln 2 + 512 t; e^(512 t) - 1 by nine times (1 + s)^2 - 1 = 2 s + s^2, which keeps the error
// relative to s small where e^t itself would lose its leading 1's bits.
DoubleDouble exp(DoubleDouble x) {
  if (std::isnan(x.high) || x.high > 710) return {std::exp(x.high), 0};
  if (x.high < -746) return {};
  const double n = std::nearbyint(x.high / 0.6931471805599453);
  const DoubleDouble r = x + -n * kLn2Short - kLn2Rest * n;
  DoubleDouble s = expm1_small({r.high * 0x1p-9, r.low * 0x1p-9});
  for (int i = 0; i < 9; ++i) s = s * 2.0 + s * s;
  s = s + 1.0;
  return {std::ldexp(s.high, static_cast<int>(n)), std::ldexp(s.low, static_cast<int>(n))};
}

// x = 2^n f: log x = n ln 2 + y + log(f e^-y). With y from libm, f e^-y = 1 + d and |d| < 2^-52, so
// that d is its logarithm to 2^-105.
DoubleDouble log(DoubleDouble x) {
  if (!(x.high > 0) || std::isinf(x.high)) return {std::log(x.high), 0};
  if (std::fabs(x.high - 1) < 0x1p-6) return log_near_one(x);
  int exponent = 0;
  const double fraction = std::frexp(x.high, &exponent);
  const DoubleDouble scaled = {fraction, std::ldexp(x.low, -exponent)};
  const double y = std::log(fraction);
  const DoubleDouble d = scaled * exp({-y, 0}) - 1.0;
  const double n = exponent;
  return DoubleDouble{n * kLn2Short, 0} + kLn2Rest * n + y + d;
}

}  // namespace attest
