#include "harness/blame_merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/problem.hpp"

namespace attest {
namespace {

constexpr double kUnit = 0x1p-24;        // unit roundoff of fp32
constexpr double kTiny = 0x1p-126;       // a weight below it may be flushed
constexpr double kLeastQuotient = 0.05;  // below, first-order terms say nothing

struct Weights {
  std::vector<double> share;     // A_s = exp(lse_s - lse)
  std::vector<double> relative;  // error of the kernel's weight of split s, relative
  double lse = -std::numeric_limits<double>::infinity(), largest = lse;
};

// With the stored lse_s exact, exp(lse_s - largest) as exp2 of a product has: the difference, its
// factor log2e, the product (3 u of the gap, 4 with the second order), and exp2 itself; a running
// largest multiplies by at most one more exp2 a split, whose gaps add up to the same gap.
Weights weigh(const Arithmetic& a, std::span<const PartialResult> splits) {
  Weights w;
  for (const auto& s : splits) w.largest = std::max(w.largest, s.lse);
  double sum = 0;
  for (const auto& s : splits) sum += std::exp(s.lse - w.largest);
  w.lse = w.largest + std::log(sum);
  const double exp_error = a.exp_ulp * 0x1p-23 * static_cast<double>(1 + splits.size());
  for (const auto& s : splits) {
    const bool none = std::isinf(s.lse) && s.lse < 0;
    const double above = a.merge == Merge::kDivisionFree ? w.lse : w.largest;
    w.share.push_back(none ? 0 : std::exp(s.lse - w.lse));
    w.relative.push_back(none ? 0 : std::expm1(4 * kUnit * std::fabs(above - s.lse) + exp_error));
  }
  return w;
}

}  // namespace

// lse = largest + ln sum w: the sum is off by its weights and by two roundings a split, relative;
// its logarithm (log2 times ln 2: log_ulp and 2 u of it), and the last sum (u), round too.
// o = sum w o / sum w: a weight's error multiplies o_s - o, for it is in both sums; the
// denominator's own roundings multiply o, the numerator's (one fma a split, a rescale a split, 1 /
// sum and the product with it) sum A_s |o_s|. Without a division the weights are over the stored
// lse, whose error is in every one of them and nowhere else: uncentred.
Remerged merge_again(const Arithmetic& a, std::span<const PartialResult> splits) {
  const Weights w = weigh(a, splits);
  Remerged m{std::vector<double>(kDV), std::vector<double>(kDV), w.lse};
  if (std::isinf(w.lse) && w.lse < 0) return m;
  const auto live = static_cast<double>(splits.size());
  const bool divides = a.merge != Merge::kDivisionFree;
  const double sums = kUnit * (2 * live + 1);
  double weights = 0;
  for (std::size_t s = 0; s < splits.size(); ++s) weights += w.share[s] * w.relative[s];
  const double quotient = 1 - weights - sums;
  const double log_sum = w.lse - w.largest;
  m.lse_bound = quotient < kLeastQuotient
                    ? std::numeric_limits<double>::infinity()
                    : (weights + sums) / quotient + a.log_ulp * 0x1p-23 * log_sum +
                          kUnit * (2 * log_sum + 3 * std::fabs(w.lse));
  const double common = divides ? sums : std::expm1(m.lse_bound) + sums;
  const double accumulate = kUnit * (2 * live + 3 + a.divide_u);
  for (int d = 0; d < kDV; ++d) {
    double error = 0, floor = 0;
    for (std::size_t s = 0; s < splits.size(); ++s) {
      if (w.share[s] > 0) m.o[d] += w.share[s] * splits[s].o[d];
    }
    for (std::size_t s = 0; s < splits.size(); ++s) {
      if (std::isinf(splits[s].lse)) continue;
      const double size = std::fabs(splits[s].o[d]);
      const double centred = divides ? std::fabs(splits[s].o[d] - m.o[d]) : size;
      error += w.share[s] * (w.relative[s] * centred + accumulate * size);
      floor += kTiny * (1 + size);
    }
    m.o_bound[d] =
        (error + common * std::fabs(m.o[d])) / std::max(quotient, kLeastQuotient) + floor;
  }
  return m;
}

}  // namespace attest
