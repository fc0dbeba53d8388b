// One split as one row sees it, from the job's sums to values and bounds. The job's sums are over
// the codes of V; here they are over its values.
#pragma once
#include "reference/job.hpp"

namespace attest {

// The reference's own error has the same terms as the kernel's with 2^-53 for 2^-24; fp32 sums of
// positive terms are low by at most 2^-14.
inline constexpr double kOwnError = 1 + 0x1p-20;
// Below this 1 - sum a theta, first-order terms say nothing.
inline constexpr double kLeastQuotient = 0.05;

// What is wrong with numerator and denominator of one tier, relative to the tier's own l.
struct TierSums {
  double denominator = 0;          // all that is wrong with l
  double times_o = 0;              // what multiplies |o|
  double top = 0;                  // what multiplies |v_top - o|
  double variance_o = 0;           // multiplies o^2
  double variance_top = 0;         // multiplies (v_top - o)^2
  AlignedVector<double> weighted;  // [512] what multiplies |v| or is summed with it
  AlignedVector<double> variance;  // [512] of the numerator
  AlignedVector<double> radius;    // [512] of the split's own result
};

struct SplitOfRow {
  int split = 0, tokens = 0;
  Descales descales;
  bool ambiguous = false;
  double max = 0, l = 0, log_l = 0, lse = 0;
  double least_linear = 0;
  double worst_exponent = 0;  // of log l, whatever else is lost
  double cap_factor = 0;      // |o| of any kernel <= cap_factor * largest |v|
  double accumulates = 0;     // of o, over sum a|v|, in the worst case
  double share = 1;           // A_s, in the merge
  double phi = 0;             // relative error of the share
  RowSums sums;               // only one row's entries are meant
  double lse_shift = 0, tight_share = 1;
  AlignedVector<double> o, largest_v, top_v;  // [512]
  AlignedVector<double> o_tight;              // [512] with the declared rounding of P
  AlignedVector<double> scaled;               // [512] sum a (x - M) v
  TierSums t0, rigorous, probable;            // T0; T2; T1 or T2p
};

// With every tier's radii.
SplitOfRow sum_split(const Problem& problem, const Inputs& inputs, const Arithmetic& arithmetic,
                     const Plan& plan, const BlockJob& job, int split, int row_of_block);

// Of a column: what flushed products, sums, and a flushed product with the descale factor may lose.
double floor_of(const SplitOfRow& s, int column);
// Of a partial lse (or the only one): `relative`, all that may be wrong with l.
double lse_radius(const TierSums& tier, const Arithmetic& arithmetic, const SplitOfRow& s);
// The error of a logarithm whose argument is off by `relative`; `worst_exponent` holds when that is
// too much.
double log_error(double relative, double worst_exponent);
// lambda sigma of all that is wrong with l.
double probable_denominator(const TierSums& tier);
float rounded_up(double bound);

// Merges splits of one row into its final result (merge.cpp).
void store_merged(const Contract& contract, const Plan& plan, std::int64_t row,
                  std::vector<SplitOfRow>& splits, Reference& result);

}  // namespace attest
