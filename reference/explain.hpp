// The bound of one element by every tier, term by term, written from error_bound.md apart from the
// fast path: token after token in fp64, nothing merged, slow and in the open. Where reference()
// gives something away for speed, this does not, unless asked: with kAsReference it majorises as
// error_bound.md ("What the fast path gives away") says, and must then agree with reference().
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/expected.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

enum class Majorised { kNo, kAsReference };

struct Explained {
  double radius = 0;             // the sum of the terms; 0 where there is nothing to judge
  double shift = 0;              // what the tier is about, less the formula
  std::vector<BoundTerm> terms;  // largest first
};

// One row's bounds. `split` -1: the final result.
class RowBounds {
 public:
  // The tiers are those that the contract's schedule_declared gives.
  RowBounds(const Problem& problem, const Inputs& inputs, const Contract& contract, int num_splits,
            std::int64_t row, Majorised majorised = Majorised::kNo);
  ~RowBounds();
  Explained o(Tier tier, int split, int column) const;
  Explained lse(Tier tier, int split) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace attest
