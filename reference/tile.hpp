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
#include "reference/sums.hpp"

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

// Up to 16 rows of one sequence: rows first_row .. of its s_q * h_q, in order.
struct RowBlock {
  int sequence = 0, first_row = 0, rows = 0;
  int visible[kBlockRows] = {};  // tokens each row sees, nondecreasing
};

struct Chunk {
  int split = 0;
  int begin = 0, end = 0;  // tokens of the sequence; begins at a tile of the split
};

// Of each row of a block (sums.hpp). A device writes the same doubles in the same order.
struct RowSums {
  alignas(64) double sum[kRowSums][kBlockRows];
  alignas(64) double least_linear[kBlockRows];    // least error of a token's w |v|: T1 or T2p
  alignas(64) double worst_exponent[kBlockRows];  // largest error of a token's log w
  alignas(64) double logit_min[kBlockRows];
  void clear();
  void add(const RowSums& other);
};

// A tile of the split, as each row of the block sees it.
struct TileMax {
  alignas(64) double max[kBlockRows];   // largest score; after scheduling: the max in force
  alignas(64) double high[kBlockRows];  // largest score + its error; then: by how much the max may
  alignas(64) double high_p[kBlockRows];  // be off; the same with lambda sigma
};

// A chunk's largest visible scores.
struct ChunkLargest {
  double all[kBlockRows];
  int token[kBlockRows];           // the first that has it
  double logit_error[kBlockRows];  // the largest of a visible score
  AlignedVector<TileMax> tiles;
};

// What a split's rows need before its weights can be formed.
struct SplitLargest {
  alignas(64) double score[kBlockRows];
  alignas(64) double token[kBlockRows];  // of the sequence, the first that has the score; -1: none
  alignas(64) double rescales[kBlockRows];
  bool ambiguous[kBlockRows] = {};  // rounding decides which max is in force
};

struct ChunkSums {
  RowSums rows;
  AlignedVector<double> o;                      // [16, 512] sum w v
  AlignedVector<float> absolute[kAbsSums];      // [16, 512]
  AlignedVector<float> with_sign[kSignedSums];  // [16, 512]
  AlignedVector<double> square;                 // [16, 512] variance of the numerator
  AlignedVector<float> largest_v;               // [512] of the finite |v| in the chunk
  AlignedVector<float> blocks;        // [value tiles, 16, 512] sum w v of each; for scores
  AlignedVector<float> block_weight;  // [value tiles, 16] sum w
};

// Scores of a block: token-major, so that a token's 16 rows lie together.
struct Scores {
  AlignedVector<double> x;      // [tokens, 16] natural units
  AlignedVector<float> spread;  // [tokens, 16] at least the sum of |products|, in the same units
  AlignedVector<float> repeat;  // [tokens, 16] tokens of the row whose rounding errors may be equal
};

// What is to be formed.
struct Plan {
  bool bounds = false;    // T0
  bool tiers = false;     // and the others, facts, temperature
  bool declared = false;  // T2 and T2p; else T1
  bool blocks = false;    // sums of each value tile
  bool scaled_q = false;  // q is rounded as declared
};

struct WeighRules;
WeighRules weigh_rules(const Arithmetic& arithmetic, const Plan& plan);  // weigh.cpp

// What enters Q.K of the block's rows; the last row fills the block.
void packed_queries(const Problem& problem, const Inputs& inputs, const Plan& plan,
                    const RowBlock& block, float* to /* [576, 16] */);

// K of a token, and V: its 576 codes.
Elements token_row(const Problem& problem, const Inputs& inputs, int sequence, int token);

class TileWorker {  // one a thread
 public:
  TileWorker(const Problem& problem, const Inputs& inputs, const Arithmetic& arithmetic,
             const Plan& plan);
  ~TileWorker();
  // Fills the chunk's part of `scores`, and `largest` (NaN ignored).
  void score(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors, Scores& scores,
             ChunkLargest& largest);
  // `split`: of the chunk; its tiles are scheduled.
  void accumulate(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors,
                  const Scores& scores, const SplitLargest& split, const ChunkLargest& tiles,
                  ChunkSums& sums);

 private:
  struct Scratch;
  struct Span {  // tokens of a chunk whose weights are formed together
    const RowBlock& block;
    const Chunk& chunk;
    const SplitErrors& errors;
    const Scores& scores;
    const SplitLargest& split;
    const ChunkLargest& tiles;
    int begin, tokens;
  };
  Elements token(int sequence, int index) const {
    return token_row(problem_, inputs_, sequence, index);
  }
  void pack_queries(const RowBlock& block);
  void pack_keys(int sequence, int begin, int tokens);
  void keep_scores(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors, int index,
                   int slot, Scores& scores, ChunkLargest& largest) const;
  // weigh.cpp
  void weigh(const Span& span, RowSums& rows);
  void weigh_plainly(const Span& span, RowSums& rows);
  template <bool kTiers>
  void weigh_half(const Span& span, int half, RowSums& rows);
  // accumulate.cpp
  void start(ChunkSums& sums, std::size_t value_tiles) const;
  void add_values(const Span& span, ChunkSums& sums);
  void add_strip(const Span& span, const Elements* values, int column, ChunkSums& sums);
  void add_values_of_strip(const Span& span, int column, ChunkSums& sums);
  void add_tail_token(const Span& span, int slot, ChunkSums& sums);
  void weigh_span(const Span& span, ChunkSums& sums);

  const Problem& problem_;
  const Inputs& inputs_;
  const Arithmetic arithmetic_;
  const Plan plan_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace attest
