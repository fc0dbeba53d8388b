// Rows of a problem, and where they are.
#pragma once
#include <cstdint>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/problem.hpp"

namespace attest {

struct RowAt {
  int sequence = 0, query_token = 0, head = 0;
  std::int64_t row = 0;
};

std::vector<RowAt> rows_of(const Problem& problem);  // in order
std::int64_t row_at(const Problem& problem, int sequence, int query_token, int head);
inline int visible_at(const Problem& problem, const RowAt& at) {
  return problem.visible(at.sequence, at.query_token);
}

// The parts of the first `visible` tokens that the splits of a sequence hold, those without a token
// left out: two rows whose parts are the same tokens go through the same sums.
std::vector<TokenRange> seen_splits(const SplitRule& rule, int s_kv, int num_splits, int visible);

}  // namespace attest
