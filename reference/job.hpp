// A job: one block of rows of one sequence, cut into chunks that threads take one by one.
#pragma once
#include <vector>

#include "reference/reference.hpp"
#include "reference/tile.hpp"

namespace attest {

// Of all rows, the block's first.
inline std::int64_t first_row_of(const Problem& problem, const Inputs& inputs,
                                 const RowBlock& block) {
  return std::int64_t{inputs.qo_indptr[block.sequence]} * problem.h_q + block.first_row;
}

// One split's sums over columns where a device formed them, over all its chunks, in units of V's
// values.
struct SplitColumns {
  const double* sum[kColumnSums] = {};  // [16, 512]; nullptr: not formed
  const double* largest_v = nullptr;    // [512]
};

struct BlockJob {
  RowBlock block;
  std::vector<TokenRange> splits;           // live, in order
  std::vector<Chunk> chunks;                // in order; none crosses a split
  std::vector<std::size_t> first_chunk;     // [splits + 1]
  std::vector<SplitErrors> errors;          // [splits]
  std::vector<ChunkLargest> chunk_largest;  // [chunks]
  std::vector<SplitLargest> split_largest;  // [splits]
  Scores scores;
  std::vector<ChunkSums> sums;        // [chunks]
  std::vector<SplitColumns> columns;  // [splits] of a device; else empty, and in `sums`
  // [observed] of a device: [value tiles, 16, 2, 8] along and squared of ScoreTests' tiles, of the
  // columns d with one d % 8 each.
  std::vector<const double*> tile_lanes;

  BlockJob(const Problem& problem, const Contract& contract, int num_splits, int sequence,
           int first_row);
  std::size_t bytes(const Plan& plan) const;  // that it holds while it runs
  void allocate(const Plan& plan, bool on_device);
  void release();
};

// Between the scores and the weights (schedule.cpp): each split's largest scores and, where tiers
// are wanted, the max in force at each of its tiles.
void schedule_split(const Problem& problem, const Arithmetic& arithmetic, const Plan& plan,
                    int split, BlockJob& job);
// Fills scores.repeat of one row (repeats.cpp).
void count_repeats(const Arithmetic& arithmetic, const Plan& plan, int row_of_block, BlockJob& job);

// Writes the row's parts of `result`, from the job's sums.
void finish_row(const Problem& problem, const Inputs& inputs, const Contract& contract,
                const Plan& plan, const BlockJob& job, int row_of_block, Reference& result);

}  // namespace attest
