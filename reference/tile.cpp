#include "reference/tile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/check.hpp"
#include "harness/core/formats.hpp"
#include "reference/multiply_add.hpp"

namespace attest {
namespace {

constexpr int kKeyTile = 16;    // tokens whose K is unpacked at once
constexpr int kValueTile = 64;  // tokens whose weights and V are
constexpr int kStrip = 32;      // columns of V
// A sum of n fp32 terms >= 0, each rounded thrice, is low by at most (n + 3) 2^-24: here n <=
// kChunkTokens.
constexpr double kInflate = 1 + 0x1p-13;
constexpr float kDead = 1e30f;  // an error that no bound survives; finite, so that it times 0 is 0

}  // namespace

struct TileWorker::Scratch {
  alignas(64) double q[kDQk][kBlockRows];
  alignas(64) float q_magnitude[kDQk][kBlockRows];
  alignas(64) double k[kKeyTile][kDQk];
  alignas(64) float k_magnitude[kKeyTile][kDQk];
  alignas(64) double x[kKeyTile][kBlockRows];
  alignas(64) float spread[kKeyTile][kBlockRows];
  alignas(64) double w[kValueTile][kBlockRows];
  alignas(64) float weighted[kValueTile][kBlockRows];  // w * relative error of the token's term
  alignas(64) double v[kValueTile][kStrip];
  alignas(64) float v_magnitude[kValueTile][kStrip];
};

void RowSums::clear() {
  std::fill_n(l, kBlockRows, 0.0);
  std::fill_n(theta, kBlockRows, 0.0);
  std::fill_n(rounding, kBlockRows, 0.0);
  std::fill_n(least_error, kBlockRows, 1e300);
  std::fill_n(worst_exponent, kBlockRows, 0.0);
  std::fill_n(top_error, kBlockRows, 0.0);
}

void RowSums::add(const RowSums& other) {
  for (int r = 0; r < kBlockRows; ++r) {
    l[r] += other.l[r];
    theta[r] += other.theta[r];
    rounding[r] += other.rounding[r];
    top_error[r] += other.top_error[r];
    least_error[r] = std::min(least_error[r], other.least_error[r]);
    worst_exponent[r] = std::max(worst_exponent[r], other.worst_exponent[r]);
  }
}

TileWorker::TileWorker(const Problem& problem, const Inputs& inputs, int tile_tokens)
    : problem_(problem),
      inputs_(inputs),
      tile_tokens_(tile_tokens),
      scratch_(std::make_unique<Scratch>()) {}
TileWorker::~TileWorker() = default;

const std::uint16_t* token_row(const Problem& problem, const Inputs& inputs, int sequence,
                               int token) {
  const int page_size = problem.page_size;
  const std::int64_t page = inputs.kv_indices[inputs.kv_indptr[sequence] + token / page_size];
  return inputs.kv.data<std::uint16_t>() + (page * page_size + token % page_size) * kDQk;
}

void TileWorker::pack_queries(const RowBlock& block) {
  for (int r = 0; r < kBlockRows; ++r) {
    const int row = block.first_row + std::min(r, block.rows - 1);  // the last row fills the block
    const std::int64_t query = inputs_.qo_indptr[block.sequence] + row / problem_.h_q;
    const std::uint16_t* q = inputs_.q.data<std::uint16_t>() + query * problem_.q_stride_t() +
                             row % problem_.h_q * problem_.q_stride_h();
    for (int d = 0; d < kDQk; ++d) {
      scratch_->q[d][r] = decode_bf16(q[d]);
      scratch_->q_magnitude[d][r] = std::fabs(decode_bf16(q[d]));
    }
  }
}

void TileWorker::pack_keys(int sequence, int begin, int tokens) {
  for (int t = 0; t < kKeyTile; ++t) {
    const std::uint16_t* k = token(sequence, begin + std::min(t, tokens - 1));
    for (int d = 0; d < kDQk; d += 8) {
      const Float8 key = load_bf16(k + d);
      store(&scratch_->k[t][d], __builtin_convertvector(key, Double8));
      store(&scratch_->k_magnitude[t][d], key < 0 ? -key : key);
    }
  }
}

void TileWorker::score(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors,
                       Scores& scores, ChunkLargest& largest) {
  Scratch& s = *scratch_;
  const int tiles = (chunk.end - chunk.begin + tile_tokens_ - 1) / tile_tokens_;
  std::fill_n(largest.all, kBlockRows, -std::numeric_limits<double>::infinity());
  std::fill_n(largest.token, kBlockRows, -1);
  std::fill_n(largest.logit_error, kBlockRows, 0.0);
  largest.tiles.assign(std::size_t{kBlockRows} * tiles, -std::numeric_limits<double>::infinity());
  pack_queries(block);
  for (int begin = chunk.begin; begin < chunk.end; begin += kKeyTile) {
    const int tokens = std::min(kKeyTile, chunk.end - begin);
    pack_keys(block.sequence, begin, tokens);
    std::fill_n(&s.x[0][0], kKeyTile * kBlockRows, 0.0);
    std::fill_n(&s.spread[0][0], kKeyTile * kBlockRows, 0.0f);
    multiply_add<Double8, double>({&s.k[0][0], kDQk, 1}, &s.q[0][0], kBlockRows, kDQk, &s.x[0][0],
                                  kBlockRows, kKeyTile, 2);
    multiply_add<Float16, float>({&s.k_magnitude[0][0], kDQk, 1}, &s.q_magnitude[0][0], kBlockRows,
                                 kDQk, &s.spread[0][0], kBlockRows, kKeyTile, 1);
    for (int t = 0; t < tokens; ++t)
      keep_scores(block, chunk, errors, begin + t, t, scores, largest);
  }
}

void TileWorker::keep_scores(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors,
                             int index, int slot, Scores& scores, ChunkLargest& largest) const {
  const double scale = problem_.sm_scale, spread_scale = std::fabs(scale) * kInflate;
  const std::size_t at = std::size_t{1} * index * kBlockRows;
  double* tile = &largest.tiles[std::size_t{1} * (index - chunk.begin) / tile_tokens_ * kBlockRows];
  for (int r = 0; r < kBlockRows; ++r) {
    const double x = scale * scratch_->x[slot][r];
    const auto spread = static_cast<float>(spread_scale * scratch_->spread[slot][r]);
    scores.x[at + r] = x;
    scores.spread[at + r] = spread;
    const bool seen = index < block.visible[r];
    const double off = logit_error(errors, x, spread);
    largest.token[r] = seen && x > largest.all[r] ? index : largest.token[r];
    largest.all[r] = seen && x > largest.all[r] ? x : largest.all[r];
    tile[r] = seen && x > tile[r] ? x : tile[r];
    largest.logit_error[r] = seen && off > largest.logit_error[r] ? off : largest.logit_error[r];
  }
}

// The per-token terms of the bound (error_bound.cpp), for 8 rows at once. Masked tokens get weight
// 0.
void TileWorker::weigh(const RowBlock& block, const SplitErrors& errors, const Scores& scores,
                       const SplitLargest& largest, int begin, int tokens, RowSums& rows) {
  for (int half = 0; half < kBlockRows; half += 8) {
    const Double8 max = load<Double8>(largest.score + half);
    const Double8 rescales = load<Double8>(largest.rescales + half);
    const Double8 every_weight = errors.weight_exp + rescales * errors.weight_rescale;
    const Double8 accumulates = errors.accumulate + rescales * errors.accumulate_rescale;
    Double8 visible;
    for (int r = 0; r < 8; ++r) visible[r] = block.visible[half + r];
    Double8 l = load<Double8>(rows.l + half), theta_sum = load<Double8>(rows.theta + half);
    Double8 rounding = load<Double8>(rows.rounding + half);
    Double8 least = load<Double8>(rows.least_error + half);
    Double8 worst = load<Double8>(rows.worst_exponent + half);
    Double8 top_error = load<Double8>(rows.top_error + half);
    const Double8 top = load<Double8>(largest.token + half);
    for (int t = 0; t < tokens; ++t) {
      const std::size_t at = std::size_t{1} * (begin + t) * kBlockRows + half;
      const Double8 x = load<Double8>(&scores.x[at]);
      const Double8 spread = __builtin_convertvector(load<Float8>(&scores.spread[at]), Double8);
      const auto seen = splat(begin + t) < visible;
      const Double8 w = seen ? exponential(x - max) : splat(0.0);
      const Double8 exponent = smaller(errors.dot * spread + errors.logit * magnitude(x) +
                                           errors.exp_argument * (max - x) + every_weight,
                                       splat(700.0));
      const Double8 grown = (exponential(exponent) - 1) * (1 + 0x1p-20);
      const Double8 theta = x - max - exponent < kFlushLogit ? larger(grown, splat(1.0)) : grown;
      const Double8 rho = w >= errors.p_min_normal ? splat(errors.p_relative)
                                                   : smaller(errors.p_absolute / w, splat(1.0));
      const Double8 rounded = (1 + theta) * rho;
      // What multiplies v - o, and what multiplies v alone.
      const Double8 centred = errors.l_from_rounded_p ? theta + rounded : theta;
      const Double8 alone =
          (1 + theta) * accumulates + (errors.l_from_rounded_p ? Double8{} : rounded);
      const auto is_top = top == splat(begin + t);
      const Double8 error = is_top ? alone : centred + alone;
      store(&scratch_->w[t][half], w);
      store(&scratch_->weighted[t][half],
            __builtin_convertvector(smaller(w * error, splat(kDead)), Float8));
      l += w;
      theta_sum += w * theta;
      rounding += w * rounded;
      top_error = is_top ? centred : top_error;
      least = seen ? smaller(error, least) : least;
      worst = seen ? larger(exponent, worst) : worst;
    }
    store(rows.l + half, l);
    store(rows.theta + half, theta_sum);
    store(rows.rounding + half, rounding);
    store(rows.least_error + half, least);
    store(rows.worst_exponent + half, worst);
    store(rows.top_error + half, top_error);
  }
}

void TileWorker::add_values(int sequence, int begin, int tokens, ChunkSums& sums) {
  Scratch& s = *scratch_;
  const std::uint16_t* rows[kValueTile];
  for (int t = 0; t < tokens; ++t) rows[t] = token(sequence, begin + t);
  for (int column = 0; column < kDV; column += kStrip) {
    for (int part = 0; part < kStrip; part += 8) {
      Float8 largest = load<Float8>(&sums.largest_v[column + part]);
      for (int t = 0; t < tokens; ++t) {
        const Float8 v = load_bf16(rows[t] + column + part), size = v < 0 ? -v : v;
        store(&s.v[t][part], __builtin_convertvector(v, Double8));
        store(&s.v_magnitude[t][part], size);
        largest = larger(size < std::numeric_limits<float>::infinity() ? size : Float8{}, largest);
      }
      store(&sums.largest_v[column + part], largest);
    }
    multiply_add<Double8, double>({&s.w[0][0], 1, kBlockRows}, &s.v[0][0], kStrip, tokens,
                                  &sums.o[column], kDV, kBlockRows, kStrip / 8);
    multiply_add<Float16, float>({&s.weighted[0][0], 1, kBlockRows}, &s.v_magnitude[0][0], kStrip,
                                 tokens, &sums.weighted[column], kDV, kBlockRows, kStrip / 16);
  }
}

// Row by row: a token that a row does not see must not reach it even as 0 * NaN.
void TileWorker::add_tail_token(const RowBlock& block, int index, int slot, ChunkSums& sums) {
  const std::uint16_t* values = token(block.sequence, index);
  for (int r = 0; r < block.rows; ++r) {
    if (index >= block.visible[r]) continue;
    const double w = scratch_->w[slot][r];
    const float weighted = scratch_->weighted[slot][r];
    for (int d = 0; d < kDV; ++d) {
      const float v = decode_bf16(values[d]), size = std::fabs(v);
      sums.o[r * kDV + d] += w * v;
      sums.weighted[r * kDV + d] += weighted * size;
      if (size < std::numeric_limits<float>::infinity()) {
        sums.largest_v[d] = std::max(sums.largest_v[d], size);
      }
    }
  }
}

void TileWorker::accumulate(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors,
                            const Scores& scores, const SplitLargest& largest, ChunkSums& sums) {
  sums.rows.clear();
  sums.o.assign(kBlockRows * kDV, 0.0);
  sums.weighted.assign(kBlockRows * kDV, 0.0f);
  sums.largest_v.assign(kDV, 0.0f);
  const int seen_by_all = std::clamp(block.visible[0], chunk.begin, chunk.end);
  for (int begin = chunk.begin; begin < seen_by_all; begin += kValueTile) {
    const int tokens = std::min(kValueTile, seen_by_all - begin);
    weigh(block, errors, scores, largest, begin, tokens, sums.rows);
    add_values(block.sequence, begin, tokens, sums);
  }
  const int end = std::clamp(block.visible[block.rows - 1], seen_by_all, chunk.end);
  ATTEST_CHECK(end - seen_by_all < kMaxQueryTokens);
  weigh(block, errors, scores, largest, seen_by_all, end - seen_by_all, sums.rows);
  for (int index = seen_by_all; index < end; ++index) {
    add_tail_token(block, index, index - seen_by_all, sums);
  }
}

}  // namespace attest
