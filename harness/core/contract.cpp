#include "harness/core/contract.hpp"

#include <algorithm>

namespace attest {

std::vector<TokenRange> live_splits(const SplitRule& rule, int s_kv, int num_splits) {
  std::vector<TokenRange> ranges;
  if (s_kv == 0) return ranges;
  const int length = std::max(rule.min_tokens, s_kv / num_splits);
  const int live = std::min((s_kv + length - 1) / length, num_splits);
  for (int split = 0; split < live; ++split) {
    ranges.push_back({split * length, split + 1 == live ? s_kv : (split + 1) * length});
  }
  return ranges;
}

}  // namespace attest
