// The factors of the bounds: how far a kernel that keeps its Contract can be from the formula, in
// the worst case and at lambda standard deviations. Derived term by term in error_bound.md.
// reference() evaluates them for every element; explain.hpp every tier for one, apart and in the
// open.
#pragma once
#include <cstdint>
#include <string_view>

#include "harness/core/contract.hpp"
#include "harness/core/problem.hpp"
#include "reference/split_errors.hpp"

namespace attest {

// Of the derivation. It changes whenever a bound may become another: a report that compares two runs
// says so.
inline constexpr std::string_view kBoundsVersion = "3";

// |error| of a dot product of length k <= accumulation_steps(unit, k) * u * sum|products|.
double accumulation_steps(MatrixUnit unit, std::int64_t k);
// Of a dot product of 576, what may be of one sign in all of them: the part of its relative error, in terms
// of sum |q k|, that is not rounded to nearest.
double dot_bias(MatrixUnit unit);
// Whether all roundings of a unit's sums may be of one sign, so that none averages out.
bool rounds_one_way(MatrixUnit unit);

// Multiplications by descale factors of fp8 tensors that round: those by no power of two.
struct Descales {
  int of_logit = 0;   // in the factor of a logit, besides sm_scale: by q_scale, by kv_scale
  int of_o = 0;       // of the result: by kv_scale
  double values = 1;  // kv_scale: V is its codes times this
};
Descales descales_of(const Problem& problem);

SplitErrors split_errors(const Arithmetic& arithmetic, int split_tokens,
                         const Descales& descales = {});

// The most rescales that any running max of a split may need, from the largest scores of its tiles
// when each score may be off by `logit_error`: tiles whose max may exceed all that came before
// them. Over one running max, and over each of `waves` that take the tiles in turn. A tile that
// moves no max is multiplied by exp2(0) = 1, exactly.
int most_rescales(const double* tile_largest, std::size_t tiles, double logit_error, int waves);
// The same where other rows decide too when a lazy max moves: it may stay below a tile's largest
// score, and rise to less at a later one. The longest chain of tiles that may each lie above the
// one before.
int most_rises(const double* tile_largest, std::size_t tiles, double logit_error, int waves);
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
