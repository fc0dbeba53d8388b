// The factors of the bounds that no data enters, from the tables of error_bound.md: what
// explain.cpp multiplies. split_errors() is the fast path's own copy; a test holds both together.
#pragma once
#include "harness/core/contract.hpp"
#include "harness/core/problem.hpp"

namespace attest::slow {

inline constexpr double kHalfUlp = 0x1p-24;  // u
inline constexpr double kUlp = 0x1p-23;
inline constexpr double kNaturalOfLog2 = 0.693147180559945309417;
inline constexpr double kSigmas = 8;  // lambda

double steps_of(MatrixUnit unit, double k);

// Multiplications by descale factors that are no powers of two.
struct Descalings {
  int of_logit = 0, of_o = 0;
};
Descalings descalings_of(const Problem& problem);

struct Factors {
  Factors(const Arithmetic& arithmetic, int split_tokens, Descalings descalings = {});

  double dot = 0;                       // over the sum of |products|
  double logit = 0;                     // of a logit
  double argument = 0;                  // of a difference of logits
  double exp2 = 0, join = 0, lazy = 0;  // of every weight
  double rescale = 0;                   // of every weight, each
  double u_p = 0, eta = 0, least_normal = 0, saturation = 0;
  double p_scaling = 0;                         // of P, where S_P is no power of two
  double accumulations = 0, denominations = 0;  // without rescales, each of u
  double tiles = 0;                             // of the denominations: one a tile
  // Modelled as independent: variances, or numbers of roundings of variance u^2 / 3.
  double dot_variance = 0, logit_variance = 0, exp2_variance = 0;
  double probable_accumulations = 0, accumulation_bias = 0;
  double p_variance = 0, p_bias = 0;
};

// Of a stored lse.
double lse_error(const Arithmetic& arithmetic, double max, double log_l, int logit_descalings);
// What the merge does to the weight of a split; `below`: the largest lse less this split's.
double exponent_of_share(const Arithmetic& arithmetic, int live, double max, double log_l,
                         double below, int logit_descalings);

// P as the contract stores it.
double round_p(const Arithmetic& arithmetic, double p);

}  // namespace attest::slow
