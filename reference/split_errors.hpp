// The factors of one split's bound that no data enters, for host and device: error_bound.cpp forms
// them.
#pragma once
#include "reference/lanes.hpp"

namespace attest {

inline constexpr double kU = 0x1p-24;  // unit roundoff of fp32
// A sum of errors modelled as independent exceeds 8 sigma with probability 2 e^-32 = 2.5e-14.
inline constexpr double kLambda = 8;
inline constexpr double kLn2 = 0.693147180559945309417;
// x - max below this, natural: exp is under 2^-126, which hardware flushes to zero.
inline constexpr double kFlushLogit = -126 * kLn2;
// A sum of n fp32 terms >= 0, each rounded thrice, is low by at most (n + 3) 2^-24: here n <=
// kChunkTokens.
inline constexpr double kInflate = 1 + 0x1p-13;

struct SplitErrors {
  double dot = 0;           // of a logit, over |sm_scale| * sum|q k|
  double logit = 0;         // of a logit, over |x|
  double exp_argument = 0;  // of a weight, over max - x
  double weight_exp = 0;    // of a weight: its own exp2, and that of the join of the waves
  bool l_from_rounded_p = false;
  double p_relative = 0;  // u_P
  double p_absolute = 0;  // eta_P: of a P below p_min_normal
  double p_min_normal = 0;
  double p_saturation = 0;  // of a P beyond the format's largest
  double p_scaling = 0;     // of P, multiplied by a p_scale that is no power of two
  double accumulate = 0;    // of o, over sum a|v|
  double denominator = 0;   // gamma_l: of l, over l
  // What each rescale adds to the three.
  double weight_rescale = 0, accumulate_rescale = 0, denominator_rescale = 0;

  // The same for the probabilistic tiers: variances of errors modelled as independent, relative as
  // above, and what is common to many tokens and so adds up.
  double dot_variance = 0, logit_variance = 0, exp_variance = 0;
  double weight_coherent = 0;
  double p_variance = 0, p_bias = 0;  // T1: of a P whose place between two boundaries is not known
  double accumulate_roundings = 0;    // each of at most u, a rescale adds one
  double accumulate_bias = 0;         // of roundings that are no roundings to nearest
  double denominator_tile = 0;        // the sum within a tile, and the join, over l
  double denominator_roundings = 0;   // the sum of tiles

  double every_weight(double rescales) const { return weight_exp + rescales * weight_rescale; }
  double accumulates(double rescales) const { return accumulate + rescales * accumulate_rescale; }
  double denominates(double rescales) const { return denominator + rescales * denominator_rescale; }
};

// Variance of a score, absolute: of the part that differs from token to token.
ATTEST_BOTH double logit_variance(const SplitErrors& errors, double x, double spread) {
  return errors.dot_variance * spread * spread + errors.logit_variance * x * x;
}
// Of a score, absolute: its part in the order of scores. The common error of sm_scale * log2e
// reorders nothing.
ATTEST_BOTH double logit_error(const SplitErrors& errors, double x, double spread) {
  return errors.dot * spread + errors.logit * (x < 0 ? -x : x);
}

}  // namespace attest
