// Ragged lengths of a batch, with most weight where a kernel's walk has a seam.
#pragma once
#include <functional>

#include "fuzz/problems/draw_source.hpp"
#include "harness/core/contract.hpp"
#include "harness/core/problem.hpp"

namespace attest {

// Where lengths are special.
struct Seams {
  int s_q = 1;
  int tile_tokens = 64;
  int page_size = 1;
  SplitRule split_rule;
  int num_splits = 1;
};

// 0..max.
rc::Gen<int> length_up_to(int max, const Seams& seams);

// What all tokens of a batch may cost, and what those of one sequence do, which grows with them.
struct LengthBudget {
  double total_ms = 0;
  std::function<double(int sequence, int length)> cost_ms;
};

// Draws s_kv and shared_prefix of a problem whose other fields are set. `seams.s_q` is not read.
void draw_lengths(Draw draw, const LengthBudget& budget, Seams seams, Problem& p);

}  // namespace attest
