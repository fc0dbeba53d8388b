// Who checks the reference: its own error against what the gates allow, and the streaming oracle
// where that is not small or where a kernel is about to be called wrong. A failure that is reported
// says that the reference was certified; trouble of the reference itself is never a kernel's.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/output.hpp"
#include "harness/core/problem.hpp"
#include "reference/reference.hpp"

namespace attest {

// The reference's own error may be this share of what the tightest gate allows, at most.
inline constexpr double kOwnShare = 1e-3;

// Bounds on |reference() - formula| at an element, from T0 there and T0 of the same result's lse.
// Derived in certify.cpp.
double own_error_of_o(double t0_o, double t0_lse);
double own_error_of_lse(double t0_lse);

// Whether that bound is below kOwnShare of the tightest gate at every element of the row, partial
// results included. True where nothing is promised or finite, and without bounds (Detail::kPlain).
bool fp64_is_enough(const Contract& contract, std::int64_t row, const Reference& reference);

// Replaces the expected values of the rows for which it is not; returns these rows. The signed
// shifts (Tiers::p_shift) stay as they are: their own error is of the same relative size.
std::vector<std::int64_t> escalate(const Problem& problem, const Inputs& inputs,
                                   const Contract& contract, Reference& reference, int threads);

// How far the reference is from the streaming oracle in one row.
struct Certificate {
  std::int64_t row = 0;
  int split = -1;           // whose partial result was recomputed too; -1: none
  double relative_o = 0;    // largest, over sum a|v|
  double relative_lse = 0;  // over max(1, |lse|)
  double of_allowed = 0;    // largest error in units of what the tightest gate allows
  bool finite = true;       // false: the row holds NaN or inf, which no oracle weighs
  bool trusted() const { return finite && of_allowed < kOwnShare; }
  bool trouble() const { return finite && !trusted(); }
  std::string text() const;  // "reference certified to 3e-16", or the trouble
};

// Recomputes the row's o and lse, and the partial result of `split` unless it is -1.
Certificate certify_row(const Problem& problem, const Inputs& inputs, const Contract& contract,
                        std::int64_t row, int split, const Reference& reference);

struct RowToCertify {
  std::int64_t row = 0;
  std::string why;  // "largest error / bound"
};
// The rows of a run that say most about the reference: largest error / bound of the kernel, largest
// and smallest sum a|v| / |o|, and one at random; without repetitions, none that sees no token.
std::vector<RowToCertify> rows_to_certify(const Output& output, const Reference& reference,
                                          std::uint64_t seed);

}  // namespace attest
