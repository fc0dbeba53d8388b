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
inline constexpr int kChunkTokens = 1024;  // at most; fp32 sums within it stay good to 2^-13
inline constexpr int kValueTile = 64;      // tokens whose weights and V are unpacked at once

// Up to 16 rows of one sequence: rows first_row .. of its s_q * h_q, in order.
struct RowBlock {
  int sequence = 0, first_row = 0, rows = 0;
  int visible[kBlockRows] = {};  // tokens each row sees, nondecreasing
};

struct Chunk {
  int split = 0;
  int begin = 0, end = 0;  // tokens of the sequence; begins at a tile of the split
};

// Sums over a chunk or a split, of each row of a block. Weights w = e^(x - M) are relative to the
// split's largest score M; `top` is the token that has it, kept apart from what multiplies v - o:
// where one token holds most of the weight, |v| + |o| would be far above |v - o|.
enum RowSum {
  kL,            // sum w
  kTheta,        // sum w theta: relative error of w
  kRounding,     // sum w rho (1 + theta): of the rounding of P, in the worst case
  kTopTheta,     // T0: what multiplies v_top - o
  kShift,        // sum w pi: what the declared rounding does, signed
  kFlip,         // sum w (1 + theta) * relative size of the roundings that may go the other way
  kTopRigorous,  // T2: what multiplies v_top - o
  kCentred,      // T2: sum w of what multiplies the other v - o
  kLinear,       // sum w of the coherent errors of w (kappa)
  kSquareOfO,    // variance of sum w theta, without the top token: multiplies o^2
  kSquareOfTop,  // variance of the top token's w: multiplies (v_top - o)^2
  kSquareOfP,    // variance of sum w pi, of the roundings that are not known
  kSquaredW,     // sum w^2
  kFlushed,      // sum of the w whose P is rounded to 0
  kScaled,       // sum w (x - M)
  kNorm,         // sum w |v|_1
  kOfMax,        // sum w of what the max in force may be off: a rounded P leaves it
  kRepeated,     // sum w N: N tokens may have one and the same error
  kSmall,        // kSmallSums counts of tokens: w < 2^-5, 2^-8, ...
  kRowSums = kSmall + 6
};
inline constexpr int kSmallSums = kRowSums - kSmall;
inline constexpr double kLargestSmall = 0x1p-5, kSmallStep = 0x1p-3;
struct RowSums {
  alignas(64) double sum[kRowSums][kBlockRows];
  alignas(64) double least_linear[kBlockRows];    // least error of a token's w |v|: T1 or T2p
  alignas(64) double worst_exponent[kBlockRows];  // largest error of a token's log w
  alignas(64) double logit_min[kBlockRows];
  void clear();
  void add(const RowSums& other);
};

// Sums over tokens of a weight times |v|, v or v^2, of each row and column.
enum AbsSum { kAbsT0, kAbsRigorous, kAbsLinear, kAbsSums };   // the errors of T0; T2; T1 or T2p
enum SignedSum { kSignedShift, kSignedScaled, kSignedSums };  // w pi; w (x - M)

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
  class Weigher;
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
  const float scaled_q_;  // fp32(sm_scale * log2 e)
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace attest
