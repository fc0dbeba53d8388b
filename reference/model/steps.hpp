// The steps of the modelled kernel, each a plain function of what the step before left: rows of a
// tile, scores, running maxima, weights, accumulation, the end of a split, the merge, the stores. A
// planted defect changes one of them.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"
#include "reference/model/kernel_model.hpp"
#include "reference/model/units.hpp"

namespace attest::model {

inline constexpr float kLog2e = 0x1.715476p+0f;  // as fp32 holds them
inline constexpr float kLn2Single = 0x1.62e43p-1f;
inline constexpr float kNoScore = -std::numeric_limits<float>::infinity();

// One launch.
struct Setup {
  Setup(const Problem& problem, const Inputs& inputs, const Contract& contract,
        const ModelOptions& options);

  const Problem& problem;
  const Inputs& inputs;
  const Contract& contract;
  const Arithmetic arithmetic;  // the contract's, but for a planted rounding
  const ModelOptions& options;
  Units units;
  PFormat p_format;
  // Scores are in log2 units, or in natural ones: a kernel that forms lse there, and multiplies by
  // log2 e on the way into exp2.
  bool log2_scores;
  // Of q before it is rounded to bf16 again (1: it is not), of q.k, and of the result: the descale
  // factors of fp8 are in the two last.
  float q_scale, dot_scale, o_scale;
};

// The part of a split that one query token sees.
struct Place {
  int sequence = 0, query_token = 0, split = 0;
  std::int64_t token = 0;  // query token of the whole batch
  TokenRange tokens;       // of the sequence
};

// The cache rows that a tile takes its keys and its values from.
struct TileRows {
  std::vector<std::int64_t> keys, values;
};

struct Tile {
  int tokens = 0, lanes = 0;  // lanes: tokens, up to a multiple of kLanes
  std::vector<float> keys;    // [576, lanes]
  std::vector<float> values;  // [tokens, 512]
};

// One running max with its sums.
struct Wave {
  float max = kNoScore, l = 0;
  std::vector<float> o = std::vector<float>(kDV, 0.0f);
};

struct Head {
  std::vector<float> q;       // [576]
  std::vector<Wave> waves;    // [waves_per_split]
  std::vector<float> scores;  // [lanes] of the tile at hand
  float tile_max = kNoScore;
};

// A result before its last rounding.
struct RowResult {
  float lse = kNoScore;
  std::array<float, kDV> o = {};
};

// ---- stage 1 ----
std::vector<float> query_of(const Setup& setup, const Place& place, int head);
TileRows rows_of_tile(const Setup& setup, const Place& place, TokenRange tokens);
void load_tile(const Setup& setup, const TileRows& rows, Tile& tile);
void score_tile(const Setup& setup, const Tile& tile, Head& head);
// e^difference, or 2^difference, by the units of the scores.
float weight_of(const Setup& setup, float difference);
// Replaces the running max of `wave` in every head whose group must, and scales its sums.
void move_maxima(const Setup& setup, int wave, std::span<Head> heads);
void rescale(const Setup& setup, float max, Wave& wave);
// P of a tile, rounded; the denominator grows by what is declared.
void weigh_tile(const Setup& setup, const Head& head, const Tile& tile, Wave& wave,
                std::vector<float>& p);
void accumulate_tile(const Setup& setup, std::span<const float> p, const Tile& tile, Wave& wave);
Wave join_waves(const Setup& setup, std::vector<Wave>& waves);
RowResult finish_split(const Setup& setup, const Wave& wave);

// ---- stage 2 ----
RowResult merge_splits(const Setup& setup, std::span<const RowResult> splits);

// ---- stores ----
struct Stores {
  Stores(const Setup& setup, ModelResult& result);
  void partial(const Place& place, int head, const RowResult& value);
  void copy_partials(const Place& place, const ModelResult& from);  // of all heads
  void final(std::int64_t token, int head, const RowResult& value);
  RowResult stored_partial(std::int64_t token, int split, int head) const;  // as the merge reads it

 private:
  std::int64_t partial_index(std::int64_t token, int split, int head) const;
  const Setup& setup_;
  ModelResult& result_;
};

}  // namespace attest::model
