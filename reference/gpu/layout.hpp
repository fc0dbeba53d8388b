// What host and device hand each other: one struct of arguments, the work of a group of jobs
// (job.hpp), and arrays. Rows are those of a job's block, always 16; [tokens] counts the tokens of
// all jobs of the group, one job's after another's.
#pragma once
#include "reference/split_errors.hpp"
#include "reference/sums.hpp"
#include "reference/weighing.hpp"

namespace attest {

#if ATTEST_ON_DEVICE
template <class T>
using DevicePointer = T*;
#else
template <class T>
using DevicePointer = unsigned long;
#endif

inline constexpr int kKeyColumns = 576;                          // kDQk
inline constexpr int kValueColumns = 512;                        // kDV
inline constexpr int kGpuThreads = 128;                          // of every workgroup
inline constexpr int kGpuParts = kChunkTokens / kGpuThreads;     // of a chunk: one token a thread
inline constexpr int kGpuStrips = kValueColumns / kGpuThreads;   // of V: one column a thread
inline constexpr int kRowValues = (kRowSums + 3) * kBlockRows;   // doubles of RowSums
inline constexpr int kBlockValues = kBlockRows * kValueColumns;  // of one sum over columns

struct GpuJob {
  long tokens_before = 0;  // of earlier jobs of the group
  long first_slot = 0;     // of row 0 in `keys` and `counts`
  int slots = 0;           // of each row, a power of two
  int first_page = 0;      // in `pages`
  int rows = 0;
  int visible[kBlockRows] = {};
};

struct GpuChunk {
  int job = 0, split = 0;  // of the group's
  int begin = 0, end = 0;  // tokens of the sequence
  int first_tile = 0;      // in `tiles`
  int first_value_tile = 0;
};

struct GpuSplit {
  SplitErrors errors;
  double score[kBlockRows] = {}, token[kBlockRows] = {}, rescales[kBlockRows] = {};  // SplitLargest
  int first_chunk = 0, end_chunk = 0;  // of the group's
};

// ChunkLargest without its tiles.
struct GpuLargest {
  double all[kBlockRows], logit_error[kBlockRows];
  int token[kBlockRows];
};

// TileMax.
struct GpuTile {
  double max[kBlockRows], high[kBlockRows], high_p[kBlockRows];
};

struct GpuArguments {
  DevicePointer<const void> kv;      // [pages, page_size, 576] stored bits
  DevicePointer<const int> pages;    // page in `kv` of each entry of the page table
  DevicePointer<const float> codes;  // [256] values of fp8
  DevicePointer<const float> q;      // [jobs, 576, 16]
  DevicePointer<const GpuJob> jobs;
  DevicePointer<const GpuChunk> chunks;
  DevicePointer<const GpuSplit> splits;
  DevicePointer<double> x;            // [tokens, 16], as Scores
  DevicePointer<float> spread;        // [tokens, 16]
  DevicePointer<float> repeat;        // [tokens, 16]
  DevicePointer<double> norm;         // [tokens] |v|_1
  DevicePointer<unsigned long> keys;  // what was counted; repeats.cpp
  DevicePointer<unsigned> counts;     // how often
  DevicePointer<GpuLargest> largest;  // [chunks]
  DevicePointer<GpuTile> tiles;       // of the jobs, in order
  DevicePointer<double> w;            // [tokens, 16], as Weights
  DevicePointer<double> square;       // [tokens, 16]
  DevicePointer<float> single;        // [5, tokens, 16] absolute, with_sign
  DevicePointer<double> row_sums;     // [chunks] RowSums
  DevicePointer<double> o, squares;   // [chunks, 16, 512]
  DevicePointer<float> singles;       // [5, chunks, 16, 512]
  DevicePointer<float> largest_v;     // [chunks, 512]
  DevicePointer<float> blocks;        // [value tiles, 16, 512]
  DevicePointer<float> block_weight;  // [value tiles, 16]
  // Of the score tests; the rows as in a job's block.
  DevicePointer<const double> over_variance;  // [jobs, 16, 512] e / s^2
  DevicePointer<const double> inverse;        // [jobs, 16, 512] 1 / s^2
  DevicePointer<const double> centre;         // [jobs, 16, 512] o
  DevicePointer<const double> scales;         // [splits, 16] of w, to shares of the row
  DevicePointer<double> lanes;                // [value tiles, 16, 2, 8] along, squared
  DevicePointer<double> of_splits;            // [ColumnSum, splits, 16, 512]
  DevicePointer<double> largest_of_splits;    // [splits, 512]
  long tokens = 0, slots = 0;
  int num_chunks = 0, num_splits = 0;
  int kv_is_fp8 = 0, page_shift = 0, tile_tokens = 0;
  int bounds = 0, tiers = 0, with_blocks = 0;  // Plan
  int bins = 0;                                // of PlaceCounts
  double scale = 0;                            // of a score
  double unit = 1;                             // of V: its values over its codes
  WeighRules rules;
};

}  // namespace attest
