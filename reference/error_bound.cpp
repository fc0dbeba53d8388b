#include "reference/error_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/core/problem.hpp"

namespace attest {

// Depth of the published models of the matrix units: MMA-Sim, arXiv:2511.10909 (CDNA), and its
// T-FDPA model of Hopper, for which the depth is our own; what an H200
// did agrees with both (reports/results/h200.md). Every product of two bf16 is
// exact in fp32.
double accumulation_steps(MatrixUnit unit, std::int64_t k) {
  const auto groups_of = [&](std::int64_t size) {
    return static_cast<double>((k + size - 1) / size);
  };
  switch (unit) {
    case MatrixUnit::kSequentialFma:
      break;
    case MatrixUnit::kCdna1Bf16:  // pairs, exact, one rounding
      return groups_of(2);
    case MatrixUnit::kCdna2Bf16:  // four products pairwise, then the sum: two roundings above the
                                  // chain
      return groups_of(4) + 2;
    case MatrixUnit::kCdna3Bf16:  // eight products truncated to 24 fractional bits: 9.1 u of the
                                  // largest
      return groups_of(8) * (1 + 0x1p-6) + 9.1;
    case MatrixUnit::kCdna3Fp8:  // sixteen products in two halves
      return groups_of(16) * (1 + 0x1p-6) + 19.1;
    case MatrixUnit::kUnknown:
      return groups_of(4) + 20;
    case MatrixUnit::kHopperBf16:  // sixteen products at 25 bits, result truncated
      return 2 * groups_of(16) + 18;
  }
  return static_cast<double>(k);
}

namespace {

// How the roundings of a unit's sums add up when they are modelled as independent.
struct Probable {
  double roundings = 0;  // each of at most u, to nearest
  double bias = 0;       // u times what is not to nearest, and so may be of one sign
};
Probable probable(MatrixUnit unit, std::int64_t k) {
  const double steps = accumulation_steps(unit, k);
  switch (unit) {
    case MatrixUnit::kSequentialFma:
    case MatrixUnit::kCdna1Bf16:
      return {steps, 0};
    case MatrixUnit::kCdna2Bf16:
      return {steps, 2};
    case MatrixUnit::kCdna3Bf16:
      return {steps, 9.1};
    case MatrixUnit::kCdna3Fp8:
      return {steps, 19.1};
    case MatrixUnit::kHopperBf16:  // truncates: all errors of one sign
    case MatrixUnit::kUnknown:
      break;
  }
  return {0, steps};
}

double squared(double x) { return x * x; }

bool is_power_of_two(double x) { return std::exp2(std::round(std::log2(x))) == x; }

// Descale factors may be multiplied into sm_scale once, which is common to all logits, or into each
// of them: a rounding of every logit, and of their differences.
void add_descales(const Arithmetic& a, const Descales& descales, SplitErrors& e) {
  const double of_logit = descales.of_logit * kU;
  e.logit += of_logit;
  e.exp_argument += of_logit;
  e.weight_exp += 2 * of_logit * a.lazy_rescale * kLn2;
  e.accumulate += e.accumulate_rescale * descales.of_o;
}

// The probabilistic part of split_errors().
void add_variances(const Arithmetic& a, int split_tokens, const Descales& descales,
                   SplitErrors& e) {
  const Probable dot = probable(a.matrix_unit, kDQk);
  // What is biased counts in full: lambda sigma is its worst case.
  e.dot_variance =
      dot.roundings > 0 ? dot.roundings * squared(kU) / 3 : squared(dot.bias * kU / kLambda);
  e.dot_variance += squared(a.k_relative) / 3;
  e.logit_variance = squared(kU) / 3;
  e.logit_variance += descales.of_logit * squared(kU) / 3;
  e.exp_variance = squared(a.exp_ulp * 0x1p-23) / 3;
  e.weight_coherent = e.weight_exp;
  if (a.p_bits < 24) {
    const double spacing = std::ldexp(1.0, 1 - a.p_bits);  // relative, at most
    e.p_variance = squared(spacing) / 12;
    e.p_bias = a.p_truncates ? spacing / 2 : a.l_from_rounded_p ? 0 : squared(spacing / 2) / 3;
  }
  const Probable sum = probable(a.matrix_unit, split_tokens);
  e.accumulate_roundings = e.accumulate / e.accumulate_rescale -
                           accumulation_steps(a.matrix_unit, split_tokens) + sum.roundings;
  e.accumulate_bias = sum.bias * kU;
  e.denominator_roundings = (split_tokens + a.tile_tokens - 1) / a.tile_tokens;
  e.denominator_tile = e.denominator - e.denominator_roundings * kU;
}

}  // namespace

double dot_bias(MatrixUnit unit) { return probable(unit, kDQk).bias * kU; }
bool rounds_one_way(MatrixUnit unit) { return probable(unit, kDQk).roundings == 0; }

Descales descales_of(const Problem& p) {
  const int of_q = is_power_of_two(p.q_scale) ? 0 : 1;
  const int of_kv = is_power_of_two(p.kv_scale) ? 0 : 1;
  return {.of_logit = of_q + of_kv, .of_o = of_kv, .values = p.kv_scale};
}

SplitErrors split_errors(const Arithmetic& a, int split_tokens, const Descales& descales) {
  // The longest chain is that of one running max; where waves share the tiles theirs are shorter,
  // and joined at the end.
  const int tiles = (split_tokens + a.tile_tokens - 1) / a.tile_tokens;
  const bool waves = a.waves_per_split > 1;
  const int joins = waves ? a.waves_per_split + 1 : 0;  // scale and add each wave's sums
  SplitErrors e;
  e.dot = accumulation_steps(a.matrix_unit, kDQk) * kU + a.k_relative;
  e.logit = kU;  // dot times scale, rounded once
  // Relative to max - x: rounding of sm_scale * log2e and of log2e (2 u: the shift by the max
  // cancels the rest), of the difference (1 u), of its own factor log2e where exp is exp2 of a
  // product (2 u). Rescales' arguments telescope: the max in force at a token lies between x and
  // the last max, so that both parts together are at most max - x; a lazy one may lie below x, by
  // no more than its threshold.
  e.exp_argument = 5 * kU;
  e.weight_rescale = a.exp_ulp * 0x1p-23;
  e.weight_exp = e.weight_rescale * (waves ? 2 : 1) + 2 * e.exp_argument * a.lazy_rescale * kLn2;
  // Rounding to p significand bits; p = 24 keeps P in fp32 as it is. Of a subnormal: half its
  // spacing.
  const bool rounds = a.p_bits < 24;
  e.l_from_rounded_p = a.l_from_rounded_p;
  e.p_relative = rounds ? std::ldexp(1.0, a.p_truncates ? 1 - a.p_bits : -a.p_bits) : 0;
  e.p_min_normal = std::ldexp(1.0, a.p_min_exponent);
  e.p_absolute = e.p_relative * e.p_min_normal;
  // A lazy max lies below the score by its threshold, to within what a weight is off.
  const double largest_p =
      a.p_scale * std::exp2(a.lazy_rescale) *
      (a.lazy_rescale > 0 ? 1 + e.weight_rescale + 2 * e.exp_argument * a.lazy_rescale * kLn2 : 1);
  e.p_saturation = rounds && largest_p > a.p_largest ? 1 - a.p_largest / largest_p : 0;
  // A rescale multiplies the sum (1 u each), the result is scaled by 1 / l, and where P was scaled
  // by no power of two, so were P and the result once more.
  const double scalings = std::exp2(std::round(std::log2(a.p_scale))) == a.p_scale ? 0 : 2;
  e.p_scaling = scalings > 0 ? kU : 0;
  e.accumulate_rescale = kU;
  e.accumulate = e.accumulate_rescale * (accumulation_steps(a.matrix_unit, split_tokens) + 2 +
                                         joins + a.divide_u + scalings);
  // l: a tile's sum, one addition a tile, the join of the waves.
  e.denominator_rescale = kU;
  e.denominator = kU * (std::min(a.tile_tokens, split_tokens) + tiles + joins);
  add_descales(a, descales, e);
  add_variances(a, split_tokens, descales, e);
  return e;
}

int most_rescales(const double* tile_largest, std::size_t tiles, double logit_error, int waves) {
  int most = 0;
  for (int step : {1, waves}) {
    for (int wave = 0; wave < step; ++wave) {
      double largest = -std::numeric_limits<double>::infinity();
      int rescales = 0;
      for (std::size_t t = wave; t < tiles; t += step) {
        const double now = tile_largest[t];
        if (largest > -std::numeric_limits<double>::infinity() &&
            !(now + 2 * logit_error <= largest)) {
          ++rescales;
        }
        largest = std::max(largest, now);
      }
      most = std::max(most, rescales);
    }
  }
  return most;
}

int most_rises(const double* tile_largest, std::size_t tiles, double logit_error, int waves) {
  int most = 0;
  std::vector<int> chain(tiles);
  for (std::size_t step : {1, waves}) {
    for (std::size_t t = 0; t < tiles; ++t) {
      chain[t] = 0;
      for (std::size_t before = t % step; before < t; before += step) {
        if (tile_largest[before] > -std::numeric_limits<double>::infinity() &&
            !(tile_largest[t] + 2 * logit_error <= tile_largest[before])) {
          chain[t] = std::max(chain[t], chain[before] + 1);
        }
      }
      most = std::max(most, chain[t]);
    }
  }
  return most;
}

// lse = m * ln2 + log2(l) * ln2: m carries sm_scale * log2e (2 u), both products a constant and a
// rounding (2 u each), the sum one.
// In natural units m is exact: the sum, and ln l as log2(l) * ln2.
double stored_lse_error(const Arithmetic& a, double max, double log_l, int logit_descales) {
  const double of_factor = kU * logit_descales * std::fabs(max);
  if (!a.lse_in_log2) {
    return a.log_ulp * 0x1p-23 * std::fabs(log_l) +
           kU * (2 * std::fabs(log_l) + std::fabs(max + log_l)) + of_factor;
  }
  return a.log_ulp * 0x1p-23 * std::fabs(log_l) +
         kU * (4 * std::fabs(max) + 2 * std::fabs(log_l) + std::fabs(max + log_l)) + of_factor;
}

// The merge reads lse_s from fp32, forms exp(lse_s - largest) (difference, factor log2e and their
// roundings: 4 u), and rescales at most once a split when it keeps a running largest.
double merge_weight_error(const Arithmetic& a, int live, double max, double log_l,
                          double lse_below_largest, int logit_descales) {
  return stored_lse_error(a, max, log_l, logit_descales) + 4 * kU * lse_below_largest +
         a.exp_ulp * 0x1p-23 * (1 + live);
}

double merge_denominator_error(int live) { return kU * (2 * live + 1); }

double merge_accumulate_error(const Arithmetic& a, int live) {
  const int each = a.merge == Merge::kSequential ? 3 : 2;  // rescale, multiply, add
  return kU * (each * live + 3 + a.divide_u);
}

// Weights exp(lse_s - lse) do not sum to one where lse itself is off: its rounding (2 u), its
// logarithm and exp2, the sum under the logarithm, the arguments. No division takes it away again
// (Blanchard, Higham, Higham, arXiv:1909.03469, section 4).
double division_free_error(const Arithmetic& a, int live, double lse, double sizes, double spread) {
  if (a.merge != Merge::kDivisionFree) return 0;
  return std::expm1(kU * (4 * std::fabs(lse) + sizes + 4 * spread + live + 2) +
                    (a.log_ulp * std::log(live + 1.0) + a.exp_ulp) * 0x1p-23);
}

double merged_lse_error(const Arithmetic& a, double lse, double lse_above_largest) {
  return a.log_ulp * 0x1p-23 * lse_above_largest +
         kU * (2 * lse_above_largest + 3 * std::fabs(lse));
}

}  // namespace attest
