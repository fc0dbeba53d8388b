#include "harness/core/contract.hpp"

#include <algorithm>

namespace attest {
namespace {

std::vector<TokenRange> dealt_splits(int tile, int s_kv, int num_splits) {
  std::vector<TokenRange> ranges;
  const int round = tile * num_splits;  // tokens of a tile for each split
  int begin = 0;
  for (int split = 0; split < num_splits && split * tile < s_kv; ++split) {
    const int last = std::clamp(s_kv % round - split * tile, 0, tile);
    const int end = begin + s_kv / round * tile + last;
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

}  // namespace

std::vector<TokenRange> live_splits(const SplitRule& rule, int s_kv, int num_splits) {
  std::vector<TokenRange> ranges;
  if (s_kv == 0) return ranges;
  if (rule.dealt_tile > 0) return dealt_splits(rule.dealt_tile, s_kv, num_splits);
  const int length = std::max(rule.min_tokens, s_kv / num_splits);
  const int live = std::min((s_kv + length - 1) / length, num_splits);
  for (int split = 0; split < live; ++split) {
    ranges.push_back({split * length, split + 1 == live ? s_kv : (split + 1) * length});
  }
  return ranges;
}

}  // namespace attest
