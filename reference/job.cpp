#include "reference/job.hpp"

#include <algorithm>
#include <limits>

#include "harness/core/check.hpp"

namespace attest {
namespace {

RowBlock make_block(const Problem& problem, int sequence, int first_row) {
  RowBlock block;
  block.sequence = sequence;
  block.first_row = first_row;
  block.rows = std::min(kBlockRows, problem.s_q[sequence] * problem.h_q - first_row);
  for (int r = 0; r < kBlockRows; ++r) {
    const int row = first_row + std::min(r, block.rows - 1);
    block.visible[r] = problem.visible(sequence, row / problem.h_q);
  }
  return block;
}

}  // namespace

Job::Job(const Problem& problem, const Contract& contract, int num_splits, int sequence,
         int first_row)
    : block(make_block(problem, sequence, first_row)),
      splits(live_splits(contract.split_rule, problem.s_kv[sequence], num_splits)) {
  int covered = 0;
  for (int split = 0; split < static_cast<int>(splits.size()); ++split) {
    const auto [begin, end] = splits[split];
    ATTEST_CHECK(begin == covered && end > begin);
    covered = end;
    errors.push_back(split_errors(contract.arithmetic, end - begin));
    for (int at = begin; at < end; at += kChunkTokens) {
      chunks.push_back({split, at, std::min(at + kChunkTokens, end)});
    }
  }
  ATTEST_CHECK(covered == problem.s_kv[sequence]);
}

std::size_t Job::bytes() const {
  const std::size_t tokens = chunks.empty() ? 0 : static_cast<std::size_t>(chunks.back().end);
  const std::size_t scores_bytes = tokens * kBlockRows * (sizeof(double) + sizeof(float));
  return scores_bytes + chunks.size() * kBlockRows * kDV * (sizeof(double) + sizeof(float));
}

void Job::allocate() {
  const std::size_t tokens = chunks.empty() ? 0 : static_cast<std::size_t>(chunks.back().end);
  scores.x.resize(tokens * kBlockRows);
  scores.spread.resize(tokens * kBlockRows);
  chunk_largest.resize(chunks.size());
  split_largest.resize(splits.size());
  sums.resize(chunks.size());
}

void Job::release() {
  scores = {};
  sums = {};
  chunk_largest = {};
  split_largest = {};
}

void Job::merge_largest(const Arithmetic& arithmetic) {
  // Tiles of a split are tiles of its chunks only where they divide the chunks; else every tile may
  // rescale.
  const bool known = kChunkTokens % arithmetic.tile_tokens == 0;
  std::vector<double> tiles;  // [tiles, 16] of one split
  for (std::size_t c = 0; c < chunks.size();) {
    const int split = chunks[c].split;
    SplitLargest& largest = split_largest[split];
    std::fill_n(largest.score, kBlockRows, -std::numeric_limits<double>::infinity());
    std::fill_n(largest.token, kBlockRows, -1.0);
    double off[kBlockRows] = {};
    tiles.clear();
    for (; c < chunks.size() && chunks[c].split == split; ++c) {
      for (int r = 0; r < kBlockRows; ++r) {
        if (chunk_largest[c].all[r] > largest.score[r]) {
          largest.score[r] = chunk_largest[c].all[r];
          largest.token[r] = chunk_largest[c].token[r];
        }
        off[r] = std::max(off[r], chunk_largest[c].logit_error[r]);
      }
      tiles.insert(tiles.end(), chunk_largest[c].tiles.begin(), chunk_largest[c].tiles.end());
    }
    const std::size_t count = tiles.size() / kBlockRows;
    for (int r = 0; r < kBlockRows; ++r) {
      largest.rescales[r] =
          known ? most_rescales(&tiles[r], count, kBlockRows, off[r], arithmetic.waves_per_split)
                : (splits[split].end - splits[split].begin + arithmetic.tile_tokens - 1) /
                      arithmetic.tile_tokens;
    }
  }
}

}  // namespace attest
