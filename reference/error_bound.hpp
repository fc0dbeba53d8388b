// The factors of the bounds: how far a kernel that keeps its Contract can be from the formula, in
// the worst case and at lambda standard deviations. Derived term by term in error_bound.md.
// reference() evaluates them for every element; explain.hpp every tier for one, apart and in the
// open.
#pragma once
#include <cstdint>
#include <string_view>

#include "harness/core/contract.hpp"
#include "harness/core/problem.hpp"

namespace attest {

// Of the derivation. It changes whenever a bound may become another: a report that compares two runs
// says so.
inline constexpr std::string_view kBoundsVersion = "1";

inline constexpr double kU = 0x1p-24;  // unit roundoff of fp32
// A sum of errors modelled as independent exceeds 8 sigma with probability 2 e^-32 = 2.5e-14.
inline constexpr double kLambda = 8;
inline constexpr double kLn2 = 0.693147180559945309417;
// x - max below this, natural: exp is under 2^-126, which hardware flushes to zero.
inline constexpr double kFlushLogit = -126 * kLn2;

// |error| of a dot product of length k <= accumulation_steps(unit, k) * u * sum|products|.
double accumulation_steps(MatrixUnit unit, std::int64_t k);

// The factors of one split's bound that no data enters.
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
// Multiplications by descale factors of fp8 tensors that round: those by no power of two.
struct Descales {
  int of_logit = 0;   // in the factor of a logit, besides sm_scale: by q_scale, by kv_scale
  int of_o = 0;       // of the result: by kv_scale
  double values = 1;  // kv_scale: V is its codes times this
};
Descales descales_of(const Problem& problem);

SplitErrors split_errors(const Arithmetic& arithmetic, int split_tokens,
                         const Descales& descales = {});

// Variance of a score, absolute: of the part that differs from token to token.
inline double logit_variance(const SplitErrors& errors, double x, double spread) {
  return errors.dot_variance * spread * spread + errors.logit_variance * x * x;
}

// The most rescales that any running max of a split may need, from the largest scores of its tiles
// when each score may be off by `logit_error`: tiles whose max may exceed all that came before
// them. Over one running max, and over each of `waves` that take the tiles in turn. A tile that
// moves no max is multiplied by exp2(0) = 1, exactly.
int most_rescales(const double* tile_largest, std::size_t tiles, double logit_error, int waves);
// The same where other rows decide too when a lazy max moves: it may stay below a tile's largest
// score, and rise to less at a later one. The longest chain of tiles that may each lie above the
// one before.
int most_rises(const double* tile_largest, std::size_t tiles, double logit_error, int waves);
// Of a score, absolute: its part in the order of scores. The common error of sm_scale * log2e
// reorders nothing.
inline double logit_error(const SplitErrors& errors, double x, double spread) {
  return errors.dot * spread + errors.logit * (x < 0 ? -x : x);
}

// Of a stored lse, and so of the weight that a merge gives its split, apart from the error of l
// itself.
double stored_lse_error(const Arithmetic& arithmetic, double max, double log_l,
                        int logit_descales = 0);
// phi_s: of the weight of a split among `live` splits, relative.
double merge_weight_error(const Arithmetic& arithmetic, int live, double max, double log_l,
                          double lse_below_largest, int logit_descales = 0);
double merge_denominator_error(int live);                    // over the sum of the weights
double merge_accumulate_error(const Arithmetic&, int live);  // over sum A_s |o_s|
// What Merge::kDivisionFree adds, over |o|. `spread`: sum A_s |lse_s - lse|, `sizes`: sum A_s
// |lse_s|.
double division_free_error(const Arithmetic&, int live, double lse, double sizes, double spread);
double merged_lse_error(const Arithmetic&, double lse, double lse_above_largest);

}  // namespace attest
