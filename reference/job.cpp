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

BlockJob::BlockJob(const Problem& problem, const Contract& contract, int num_splits, int sequence,
                   int first_row)
    : block(make_block(problem, sequence, first_row)),
      splits(live_splits(contract.split_rule, problem.s_kv[sequence], num_splits)) {
  // A chunk begins at a tile of its split.
  const int tile_tokens = contract.arithmetic.tile_tokens;
  ATTEST_CHECK(tile_tokens > 0 && tile_tokens <= kChunkTokens);
  const int chunk_tokens = kChunkTokens / tile_tokens * tile_tokens;
  int covered = 0;
  for (int split = 0; split < static_cast<int>(splits.size()); ++split) {
    const auto [begin, end] = splits[split];
    ATTEST_CHECK(begin == covered && end > begin);
    covered = end;
    errors.push_back(split_errors(contract.arithmetic, end - begin, descales_of(problem)));
    first_chunk.push_back(chunks.size());
    for (int at = begin; at < end; at += chunk_tokens) {
      chunks.push_back({split, at, std::min(at + chunk_tokens, end)});
    }
  }
  first_chunk.push_back(chunks.size());
  ATTEST_CHECK(covered == problem.s_kv[sequence]);
}

std::size_t BlockJob::bytes(const Plan& plan) const {
  const std::size_t tokens = chunks.empty() ? 0 : static_cast<std::size_t>(chunks.back().end);
  const std::size_t of_token = sizeof(double) + 2 * sizeof(float);
  static_assert(int{kAbsSums} + int{kSignedSums} == 5);
  std::size_t of_column = 2 * sizeof(double) + 5 * sizeof(float);
  if (plan.blocks) of_column += kChunkTokens / kValueTile * sizeof(float);
  return (tokens * of_token + chunks.size() * kDV * of_column) * kBlockRows;
}

void BlockJob::allocate(const Plan& plan, bool on_device) {
  const std::size_t tokens = chunks.empty() ? 0 : static_cast<std::size_t>(chunks.back().end);
  // A device keeps them, unless they are tested.
  if (!on_device || plan.blocks) {
    scores.x.resize(tokens * kBlockRows);
    if (plan.bounds) scores.spread.resize(tokens * kBlockRows);
    if (plan.tiers) scores.repeat.resize(tokens * kBlockRows);
  }
  chunk_largest.resize(chunks.size());
  split_largest.resize(splits.size());
  sums.resize(chunks.size());
}

void BlockJob::release() {
  scores = {};
  sums = {};
  columns = {};
  tile_lanes = {};
  chunk_largest = {};
  split_largest = {};
}

}  // namespace attest
