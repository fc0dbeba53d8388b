#include "fuzz/properties/parts/rows.hpp"

#include <algorithm>
#include <numeric>

namespace attest {

std::vector<RowAt> rows_of(const Problem& problem) {
  std::vector<RowAt> rows;
  rows.reserve(problem.rows());
  for (int seq = 0; seq < problem.b(); ++seq) {
    for (int i = 0; i < problem.s_q[seq]; ++i) {
      for (int head = 0; head < problem.h_q; ++head) {
        rows.push_back({seq, i, head, static_cast<std::int64_t>(rows.size())});
      }
    }
  }
  return rows;
}

std::int64_t row_at(const Problem& problem, int sequence, int query_token, int head) {
  const auto begin = problem.s_q.begin();
  const std::int64_t token = std::accumulate(begin, begin + sequence, std::int64_t{query_token});
  return token * problem.h_q + head;
}

std::vector<TokenRange> seen_splits(const SplitRule& rule, int s_kv, int num_splits, int visible) {
  std::vector<TokenRange> seen;
  for (const TokenRange& split : live_splits(rule, s_kv, num_splits)) {
    if (split.begin < visible) seen.push_back({split.begin, std::min(split.end, visible)});
  }
  return seen;
}

}  // namespace attest
