#include "fuzz/problems/cost.hpp"

#include <algorithm>

namespace attest {
namespace {

// Least squares over 250 drawn cases on a shared AMD EPYC core, in nanoseconds: nine of ten took
// 0.8 to 1.6 times of what this says.
constexpr double kCase = 1.3e6;
constexpr double kTileToken = 2700;   // 16 heads of a query token, and a token of its sequence
constexpr double kRowToken = 300;     // a row and a token of its sequence
constexpr double kWorkgroup = 13400;  // of stage 1, whether it has something to do or not
constexpr double kLiveRow = 62e3;     // a row of a live split: 512 bounds
constexpr double kRow = 35e3;         // a row of the output
constexpr double kPartialRow = 5500;  // a row of any split: 512 elements of memory
constexpr double kToken = 2000;       // a token of the cache

int tiles(int h_q, int of_heads) { return (h_q + of_heads - 1) / of_heads; }

}  // namespace

double cost_ms(const Problem& p, const Kernel& kernel) {
  const int splits = kernel.num_splits(p);
  const SplitRule rule = kernel.contract(p).split_rule;
  double row_tokens = 0, live_rows = 0;  // of one head
  for (int seq = 0; seq < p.b(); ++seq) {
    row_tokens += 1.0 * p.s_q[seq] * p.s_kv[seq];
    live_rows += 1.0 * p.s_q[seq] * live_splits(rule, p.s_kv[seq], splits).size();
  }
  // One wave a split means a head tile of 64.
  const int head_tile = kernel.contract(p).arithmetic.waves_per_split == 1 ? 64 : 16;
  const double grid = 1.0 * p.b() * p.max_s_q() * splits * tiles(p.h_q, head_tile);
  const double rows = static_cast<double>(p.rows());
  const double ns = kCase + row_tokens * (kTileToken * tiles(p.h_q, 16) + kRowToken * p.h_q) +
                    kWorkgroup * grid + kLiveRow * live_rows * p.h_q + kRow * rows +
                    kPartialRow * rows * splits + kToken * static_cast<double>(p.total_kv());
  return ns / 1e6;
}

}  // namespace attest
