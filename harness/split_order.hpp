// A problem and its inputs as one judges a kernel whose splits take tiles in turn (SplitRule:
// dealt_tile). Each query token becomes a sequence of its own, of the tokens that it sees, in the
// order of the splits: a split's tokens are one run of them again, and so are those that a masked
// query token sees of it. Attention does not depend on the order of tokens, and rows of q, o, lse
// and partials stay where they are.
#pragma once
#include "harness/core/contract.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/output.hpp"
#include "harness/core/problem.hpp"

namespace attest {

struct InSplitOrder {
  Problem problem;  // [total_q] sequences of one query token, page_size 1
  Inputs inputs;    // the same q and kv, other tables
};

InSplitOrder in_split_order(const Problem& problem, const SplitRule& rule, int num_splits,
                            Inputs inputs);

// A split that has tiles of the sequence, but none that a query token sees, may leave -inf as its
// lse and anything as its o: the merge gives it no weight. What is judged has no such split; they
// become poison in `output`, of `problem` as it was.
void forget_masked_splits(const Problem& problem, const SplitRule& rule, int num_splits,
                          Output& output);

}  // namespace attest
