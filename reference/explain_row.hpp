// One row as explain.cpp reads it: every token of every split with all that may be wrong with it.
#pragma once
#include <span>
#include <vector>

#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"
#include "reference/explain_factors.hpp"

namespace attest::slow {

// The running max where a token's P is rounded.
struct InForce {
  double max = 0;
  double off = 0, off_likely = 0;  // by how much the kernel's may differ: at worst; at lambda sigma
};

struct Token {
  int index = 0;
  double x = 0, spread = 0;  // score; abs(sm_scale) sum |q k|
  bool top = false;          // the first with the largest score of its split
  double w = 0;              // e^(x - M)
  InForce m;
  // theta and what it is made of: errors of log w.
  double dot = 0, logit = 0, argument = 0, exp2 = 0, rescale = 0;
  double theta = 0, theta_rounded = 0;  // rounded: of a P that keeps the error of the max in force
  bool flushed = false;                 // its exp2 may come out as zero
  double rho = 0;                       // of P, at worst
  bool subnormal = false;
  double p = 0, pi = 0, flip = 0, flip_likely = 0;
  double variance = 0, kappa = 0;  // of the weight: independent, and common
  bool wild = false;               // its independent errors are too large for first order
  double repeats = 1;              // N
  double exponent() const { return dot + logit + argument + exp2 + rescale; }
};

struct Split {
  Split(const Arithmetic& arithmetic, Descalings descalings, TokenRange range)
      : factors(arithmetic, range.end - range.begin, descalings),
        descalings(descalings),
        range(range) {}
  Factors factors;
  Descalings descalings;
  TokenRange range;
  std::vector<Token> tokens;  // that the row sees
  double rescales = 0;
  bool ambiguous = false;
  double max = 0, l = 0, log_l = 0, lse = 0;
  double l_declared = 0, lse_declared = 0;  // with the declared rounding of P
};

using Splits = std::span<const Split>;

struct Row {
  std::vector<Split> splits;  // those that show the row a token
  // `majorised`: spreads and small exponentials as the reference does. `declared`: the schedule;
  // else N is T1's. `exact_q`: as stored, whatever the contract rounds.
  Row(const Problem& problem, const Inputs& inputs, const Contract& contract, int num_splits,
      std::int64_t row, bool majorised, bool declared, bool exact_q);
};

// e^x - 1, or the bound of it that error_bound.md names.
double growth_of(double x, bool majorised);

}  // namespace attest::slow
