// The work on a chunk of one sequence's tokens for a block of 16 rows that share its K: scores,
// then weighted sums.
#pragma once
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"
#include "reference/error_bound.hpp"

namespace attest {

// std::vector aligned to cache lines: a vector load that straddles two of them costs twice.
template <class T>
struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{64}); }
  template <class U>
  bool operator==(const CacheLineAllocator<U>&) const {
    return true;
  }
};
template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

inline constexpr int kBlockRows = 16;
inline constexpr int kChunkTokens = 1024;  // fp32 sums within it stay good to 2^-14

// Up to 16 rows of one sequence: rows first_row .. of its s_q * h_q, in order.
struct RowBlock {
  int sequence = 0, first_row = 0, rows = 0;
  int visible[kBlockRows] = {};  // tokens each row sees, nondecreasing
};

struct Chunk {
  int split = 0;
  int begin = 0, end = 0;  // tokens of the sequence
};

// Sums over a chunk or a split, of each row of a block. Weights w are relative to the split's
// largest score.
struct RowSums {
  alignas(64) double l[kBlockRows];               // sum w
  alignas(64) double theta[kBlockRows];           // sum w * relative error of w
  alignas(64) double rounding[kBlockRows];        // sum w * relative error of the rounded P
  alignas(64) double least_error[kBlockRows];     // least error of a token's w |v|, relative
  alignas(64) double worst_exponent[kBlockRows];  // largest error of a token's log w
  // Of the token with the largest score, whose w is 1: what multiplies v - o. It is not part of
  // `weighted`: where one token holds most of the weight, |v| + |o| would be far above |v - o|.
  alignas(64) double top_error[kBlockRows];
  void clear();
  void add(const RowSums& other);
};

// A chunk's largest visible scores.
struct ChunkLargest {
  double all[kBlockRows];
  int token[kBlockRows];           // the first that has it
  double logit_error[kBlockRows];  // the largest of a visible score
  std::vector<double> tiles;       // [tiles, 16]: of each tile_tokens of the chunk
};

// What a split's rows need before its weights can be formed.
struct SplitLargest {
  alignas(64) double score[kBlockRows];
  alignas(64) double token[kBlockRows];  // of the sequence, the first that has the score; -1: none
  alignas(64) double rescales[kBlockRows];
};

struct ChunkSums {
  RowSums rows;
  AlignedVector<double> o;         // [16, 512] sum w v
  AlignedVector<float> weighted;   // [16, 512] sum w |v| * relative error of the token's term
  AlignedVector<float> largest_v;  // [512] of the finite |v| in the chunk
};

// Scores of a block: token-major, so that a token's 16 rows lie together.
struct Scores {
  AlignedVector<double> x;      // [tokens, 16] sm_scale q.k
  AlignedVector<float> spread;  // [tokens, 16] at least |sm_scale| sum|q k|
};

// K of a token, and V: [576] bf16.
const std::uint16_t* token_row(const Problem& problem, const Inputs& inputs, int sequence,
                               int token);

class TileWorker {  // one a thread
 public:
  TileWorker(const Problem& problem, const Inputs& inputs, int tile_tokens);
  ~TileWorker();
  // Fills the chunk's part of `scores`, and `largest` (NaN ignored).
  void score(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors, Scores& scores,
             ChunkLargest& largest);
  // `largest`: of the chunk's split.
  void accumulate(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors,
                  const Scores& scores, const SplitLargest& largest, ChunkSums& sums);

 private:
  struct Scratch;
  const std::uint16_t* token(int sequence, int index) const {
    return token_row(problem_, inputs_, sequence, index);
  }
  void pack_queries(const RowBlock& block);
  void pack_keys(int sequence, int begin, int tokens);
  void weigh(const RowBlock& block, const SplitErrors& errors, const Scores& scores,
             const SplitLargest& largest, int begin, int tokens, RowSums& rows);
  void keep_scores(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors, int index,
                   int slot, Scores& scores, ChunkLargest& largest) const;
  void add_values(int sequence, int begin, int tokens, ChunkSums& sums);
  void add_tail_token(const RowBlock& block, int index, int slot, ChunkSums& sums);

  const Problem& problem_;
  const Inputs& inputs_;
  const int tile_tokens_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace attest
