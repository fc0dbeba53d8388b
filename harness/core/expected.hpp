// Expected: what the formula gives for the stored inputs, and how far a kernel under its contract may be from it.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/core/contract.hpp"

namespace attest {

// Row-major tensors of one stage. A row that sees no token has o = 0 and lse = -inf.
struct Expected {
  std::int64_t rows = 0;
  int num_splits = 1;
  std::vector<double> o;            // [rows, 512]
  std::vector<double> lse;          // [rows] natural log
  std::vector<double> partial_o;    // [rows, num_splits, 512]; empty when num_splits == 1
  std::vector<double> partial_lse;  // [rows, num_splits]; -inf where a split shows the row no token
};

// Absolute bounds on the value before its last rounding to the stored format; same shapes as Expected. Empty: there is
// none of that kind.
struct Bound {
  std::vector<float> o, lse, partial_o, partial_lse;
  bool empty() const { return o.empty() && lse.empty(); }
};

// The tiers of a bound (reference/error_bound.md).
enum class Tier {
  kT0,   // rigorous: the worst case of the declared arithmetic
  kT1,   // probabilistic (lambda = 8), for kernels whose schedule is not declared
  kT2,   // rigorous, about the formula with the declared rounding of P on the declared schedule
  kT2p,  // probabilistic (lambda = 8), about the same
};
std::string_view to_string(Tier tier);  // "T0", "T1", "T2", "T2p"

struct Tiers {
  Bound t0, t1;       // about Expected + q_shift
  Bound t2, t2p;      // about Expected + p_shift; empty unless the schedule is declared
  Bound q_shift;      // signed: what a declared rounding of q does to the exact result; empty where none is
  Bound p_shift;      // signed: what the declared roundings of q and P do to it; empty with t2
};

// One tier as the judge reads it: |actual - (expected + shift)| <= radius, at the rounded ends.
struct Gate {
  Tier tier = Tier::kT0;
  const Bound* radius = nullptr;
  const Bound* shift = nullptr;  // null: no shift
};
// The gates of a verdict, all of them hard, loosest first: T0, then T2 and T2p where they exist, else T1 where it does.
std::vector<Gate> gates_of(const Tiers& tiers);

}  // namespace attest
