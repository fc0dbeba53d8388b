// One tier of one column of one row, for explain.cpp: from its tokens to named terms.
#pragma once
#include "harness/core/expected.hpp"
#include "reference/explain_row.hpp"
#include "reference/explain_terms.hpp"
#include "reference/row_view.hpp"

namespace attest::slow {

// `column` -1: the lse.
struct View {
  const Arithmetic& a;
  Tier tier;
  bool majorised;
  const RowView& row;
  int column = -1;

  double v(const Token& t) const { return row.k(t.index, column); }
  bool declared() const { return tier == Tier::kT2 || tier == Tier::kT2p; }
  bool likely() const { return tier == Tier::kT1 || tier == Tier::kT2p; }
  // Whether an error of a weight moves both sums, with the declared rounding of P.
  bool moves_alike() const { return !majorised && (a.p_bits >= 24 || a.l_from_rounded_p); }
  double l(const Split& s) const { return declared() ? s.l_declared : s.l; }
  double lse(const Split& s) const { return declared() ? s.lse_declared : s.lse; }
  double o(const Split& s) const;
};

// All of a split, about `o`, its weight times `scale`. Of an lse: the denominator alone.
void add_split(const View& view, const Split& split, double o, double scale, Terms& terms);
// |N / l| of any kernel: weights are positive.
double cap_of(const View& view, const Split& split);
double floor_of(const View& view, const Split& split);
// Over the denominator, or the cap where first-order terms say nothing.
void divide(double quotient, double cap, double floor, Terms& terms);
// What the likely tiers of an fp32 partial result add to of_split(): it has no rounding to hide in
// what is alike in a column's products though no token repeats, so its accumulation counts in full.
double partial_accumulation(const View& view, const Split& split);
// A split's result, about its own o.
Terms of_split(const View& view, const Split& split);

}  // namespace attest::slow
