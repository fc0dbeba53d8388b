// The scores of a chunk's tokens, and the largest of each tile.
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/formats.hpp"
#include "reference/multiply_add.hpp"
#include "reference/scratch.hpp"
#include "reference/tile.hpp"

namespace attest {

TileWorker::TileWorker(const Problem& problem, const Inputs& inputs, const Arithmetic& arithmetic,
                       const Plan& plan)
    : problem_(problem),
      inputs_(inputs),
      arithmetic_(arithmetic),
      plan_(plan),
      scratch_(std::make_unique<Scratch>()) {}
TileWorker::~TileWorker() = default;

Elements token_row(const Problem& problem, const Inputs& inputs, int sequence, int token) {
  const int page_size = problem.page_size;
  const std::int64_t page = inputs.kv_indices[inputs.kv_indptr[sequence] + token / page_size];
  return inputs.kv_elements() + (page * page_size + token % page_size) * kDQk;
}

void packed_queries(const Problem& problem, const Inputs& inputs, const Plan& plan,
                    const RowBlock& block, float* to) {
  const float scaled_q = problem.sm_scale * 1.44269504f;  // fp32(sm_scale * log2 e)
  for (int r = 0; r < kBlockRows; ++r) {
    const int row = block.first_row + std::min(r, block.rows - 1);
    const std::int64_t query = inputs.qo_indptr[block.sequence] + row / problem.h_q;
    const Elements q = inputs.q_elements() +
                       (query * problem.q_stride_t() + row % problem.h_q * problem.q_stride_h());
    for (int d = 0; d < kDQk; ++d) {
      float value = q[d];
      if (plan.scaled_q) value = decode_bf16(encode_bf16(value * scaled_q));
      to[d * kBlockRows + r] = value;
    }
  }
}

void TileWorker::pack_queries(const RowBlock& block) {
  Scratch& s = *scratch_;
  packed_queries(problem_, inputs_, plan_, block, &s.q_magnitude[0][0]);
  for (int d = 0; d < kDQk; ++d) {
    for (int r = 0; r < kBlockRows; ++r) {
      s.q[d][r] = s.q_magnitude[d][r];
      s.q_magnitude[d][r] = std::fabs(s.q_magnitude[d][r]);
    }
  }
}

void TileWorker::pack_keys(int sequence, int begin, int tokens) {
  for (int t = 0; t < kKeyTile; ++t) {
    const Elements k = token(sequence, begin + std::min(t, tokens - 1));
    for (int d = 0; d < kDQk; d += 8) {
      const Float8 key = load_elements(k + d);
      store(&scratch_->k[t][d], __builtin_convertvector(key, Double8));
      store(&scratch_->k_magnitude[t][d], key < 0 ? -key : key);
    }
  }
}

void TileWorker::score(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors,
                       Scores& scores, ChunkLargest& largest) {
  Scratch& s = *scratch_;
  const int tile_tokens = arithmetic_.tile_tokens;
  std::fill_n(largest.all, kBlockRows, -std::numeric_limits<double>::infinity());
  std::fill_n(largest.token, kBlockRows, -1);
  std::fill_n(largest.logit_error, kBlockRows, 0.0);
  TileMax none;
  for (auto* values : {none.max, none.high, none.high_p})
    std::fill_n(values, kBlockRows, -std::numeric_limits<double>::infinity());
  largest.tiles.assign((chunk.end - chunk.begin + tile_tokens - 1) / tile_tokens, none);
  pack_queries(block);
  for (int begin = chunk.begin; begin < chunk.end; begin += kKeyTile) {
    const int tokens = std::min(kKeyTile, chunk.end - begin);
    pack_keys(block.sequence, begin, tokens);
    std::fill_n(&s.x[0][0], kKeyTile * kBlockRows, 0.0);
    multiply_add<Double8, double>({&s.k[0][0], kDQk, 1}, &s.q[0][0], kBlockRows, kDQk, &s.x[0][0],
                                  kBlockRows, kKeyTile, 2);
    if (plan_.bounds) {
      std::fill_n(&s.spread[0][0], kKeyTile * kBlockRows, 0.0f);
      multiply_add<Float16, float>({&s.k_magnitude[0][0], kDQk, 1}, &s.q_magnitude[0][0],
                                   kBlockRows, kDQk, &s.spread[0][0], kBlockRows, kKeyTile, 1);
    }
    for (int t = 0; t < tokens; ++t)
      keep_scores(block, chunk, errors, begin + t, t, scores, largest);
  }
}

void TileWorker::keep_scores(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors,
                             int index, int slot, Scores& scores, ChunkLargest& largest) const {
  const double scale = plan_.scaled_q ? kLn2 : problem_.logit_scale();
  const double spread_scale = std::fabs(scale) * kInflate;
  const std::size_t at = std::size_t{1} * index * kBlockRows;
  TileMax& tile = largest.tiles[(index - chunk.begin) / arithmetic_.tile_tokens];
  for (int r = 0; r < kBlockRows; ++r) {
    const double x = scale * scratch_->x[slot][r];
    scores.x[at + r] = x;
    const bool seen = index < block.visible[r];
    largest.token[r] = seen && x > largest.all[r] ? index : largest.token[r];
    largest.all[r] = seen && x > largest.all[r] ? x : largest.all[r];
    tile.max[r] = seen && x > tile.max[r] ? x : tile.max[r];
  }
  if (!plan_.bounds) return;
  for (int r = 0; r < kBlockRows; ++r) {
    const double x = scores.x[at + r];
    const auto spread = static_cast<float>(spread_scale * scratch_->spread[slot][r]);
    scores.spread[at + r] = spread;
    const bool seen = index < block.visible[r];
    const double off = logit_error(errors, x, spread);
    const double high = x + off;
    const double high_p = x + kLambda * std::sqrt(logit_variance(errors, x, spread));
    largest.logit_error[r] = seen && off > largest.logit_error[r] ? off : largest.logit_error[r];
    tile.high[r] = seen && high > tile.high[r] ? high : tile.high[r];
    tile.high_p[r] = seen && high_p > tile.high_p[r] ? high_p : tile.high_p[r];
  }
}

}  // namespace attest
