// The sums over tokens of a chunk: weights times V, |V| and V^2.
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/check.hpp"
#include "harness/core/formats.hpp"
#include "reference/multiply_add.hpp"
#include "reference/scratch.hpp"

namespace attest {
namespace {

constexpr int kTile = kBlockRows * kDV;

template <class Vector>
Vector absolute(const Vector& v) {
  return v < 0 ? -v : v;
}

}  // namespace

void TileWorker::start(ChunkSums& sums, std::size_t value_tiles) const {
  sums.rows.clear();
  sums.o.assign(kTile, 0.0);
  sums.largest_v.assign(kDV, 0.0f);
  if (!plan_.bounds) return;
  sums.absolute[kAbsT0].assign(kTile, 0.0f);
  if (!plan_.tiers) return;
  if (plan_.declared) sums.absolute[kAbsRigorous].assign(kTile, 0.0f);
  sums.absolute[kAbsLinear].assign(kTile, 0.0f);
  if (plan_.declared) sums.with_sign[kSignedShift].assign(kTile, 0.0f);
  sums.with_sign[kSignedScaled].assign(kTile, 0.0f);
  sums.square.assign(kTile, 0.0);
  if (!plan_.blocks) return;
  sums.blocks.assign(value_tiles * kTile, 0.0f);
  sums.block_weight.assign(value_tiles * kBlockRows, 0.0f);
}

// One strip of columns of a value tile. Each step overwrites the strip with what the next needs.
void TileWorker::add_strip(const Span& span, const Elements* values, int column, ChunkSums& sums) {
  Scratch& s = *scratch_;
  const int tokens = span.tokens;
  for (int part = 0; part < kStrip; part += 8) {
    Float8 largest = load<Float8>(&sums.largest_v[column + part]);
    for (int t = 0; t < tokens; ++t) {
      const Float8 v = load_elements(values[t] + (column + part)), size = absolute(v);
      store(&s.v[t][part], __builtin_convertvector(v, Double8));
      store(&s.v_single[t][part], v);
      largest = larger(size < std::numeric_limits<float>::infinity() ? size : Float8{}, largest);
    }
    store(&sums.largest_v[column + part], largest);
  }
  const auto add_single = [&](const float* weights, AlignedVector<float>& to) {
    if (to.empty()) return;
    multiply_add<Float16, float>({weights, 1, kBlockRows}, &s.v_single[0][0], kStrip, tokens,
                                 &to[column], kDV, kBlockRows, kStrip / 16);
  };
  add_values_of_strip(span, column, sums);
  for (int i = 0; i < kSignedSums; ++i) add_single(&s.with_sign[i][0][0], sums.with_sign[i]);
  if (!plan_.bounds) return;
  for (int t = 0; t < tokens; ++t) {
    for (int part = 0; part < kStrip; part += 16)
      store(&s.v_single[t][part], absolute(load<Float16>(&s.v_single[t][part])));
  }
  for (int i = 0; i < kAbsSums; ++i) add_single(&s.absolute[i][0][0], sums.absolute[i]);
  if (!plan_.tiers) return;
  for (int t = 0; t < tokens; ++t) {
    for (int part = 0; part < kStrip; part += 8) {
      const Double8 v = load<Double8>(&s.v[t][part]);
      store(&s.v[t][part], v * v);
    }
  }
  multiply_add<Double8, double>({&s.square[0][0], 1, kBlockRows}, &s.v[0][0], kStrip, tokens,
                                &sums.square[column], kDV, kBlockRows, kStrip / 8);
}

// sum w v of the strip; apart for the tile when its own is wanted.
void TileWorker::add_values_of_strip(const Span& span, int column, ChunkSums& sums) {
  Scratch& s = *scratch_;
  const auto multiply = [&](double* to, int stride) {
    multiply_add<Double8, double>({&s.w[0][0], 1, kBlockRows}, &s.v[0][0], kStrip, span.tokens, to,
                                  stride, kBlockRows, kStrip / 8);
  };
  if (!plan_.blocks) return multiply(&sums.o[column], kDV);
  alignas(64) double tile[kBlockRows][kStrip] = {};
  multiply(&tile[0][0], kStrip);
  float* block =
      &sums.blocks[std::size_t{1} * (span.begin - span.chunk.begin) / kValueTile * kTile];
  for (int r = 0; r < kBlockRows; ++r) {
    for (int d = 0; d < kStrip; ++d) {
      sums.o[r * kDV + column + d] += tile[r][d];
      block[r * kDV + column + d] += static_cast<float>(tile[r][d]);
    }
  }
}

void TileWorker::add_values(const Span& span, ChunkSums& sums) {
  Elements rows[kValueTile];
  for (int t = 0; t < span.tokens; ++t) rows[t] = token(span.block.sequence, span.begin + t);
  for (int column = 0; column < kDV; column += kStrip) add_strip(span, rows, column, sums);
}

// Row by row: a token that a row does not see must not reach it even as 0 * NaN.
void TileWorker::add_tail_token(const Span& span, int slot, ChunkSums& sums) {
  const Scratch& s = *scratch_;
  const int index = span.begin + slot;
  const Elements values = token(span.block.sequence, index);
  const std::size_t tile = std::size_t{1} * (index - span.chunk.begin) / kValueTile;
  for (int r = 0; r < span.block.rows; ++r) {
    if (index >= span.block.visible[r]) continue;
    const double w = s.w[slot][r];
    for (int d = 0; d < kDV; ++d) {
      const float v = values[d], size = std::fabs(v);
      const int at = r * kDV + d;
      sums.o[at] += w * v;
      for (int i = 0; i < kAbsSums; ++i) {
        if (!sums.absolute[i].empty()) sums.absolute[i][at] += s.absolute[i][slot][r] * size;
      }
      for (int i = 0; i < kSignedSums; ++i) {
        if (!sums.with_sign[i].empty()) sums.with_sign[i][at] += s.with_sign[i][slot][r] * v;
      }
      if (!sums.square.empty()) sums.square[at] += s.square[slot][r] * (double{size} * size);
      if (!sums.blocks.empty()) sums.blocks[tile * kTile + at] += static_cast<float>(w * v);
      if (size < std::numeric_limits<float>::infinity()) {
        sums.largest_v[d] = std::max(sums.largest_v[d], size);
      }
    }
  }
}

// |V|_1 of each token, and the weights' sums of the tiles.
void TileWorker::weigh_span(const Span& span, ChunkSums& sums) {
  Scratch& s = *scratch_;
  for (int t = 0; plan_.tiers && t < span.tokens; ++t) {
    const Elements values = token(span.block.sequence, span.begin + t);
    Float8 norm{};
    for (int d = 0; d < kDV; d += 8) norm += absolute(load_elements(values + d));
    s.norm[t] = 0;
    for (int i = 0; i < 8; ++i) s.norm[t] += norm[i];
  }
  weigh(span, sums.rows);
  for (int t = 0; plan_.blocks && t < span.tokens; ++t) {
    const std::size_t tile = std::size_t{1} * (span.begin + t - span.chunk.begin) / kValueTile;
    for (int r = 0; r < kBlockRows; ++r)
      sums.block_weight[tile * kBlockRows + r] += static_cast<float>(s.w[t][r]);
  }
}

void TileWorker::accumulate(const RowBlock& block, const Chunk& chunk, const SplitErrors& errors,
                            const Scores& scores, const SplitLargest& split,
                            const ChunkLargest& tiles, ChunkSums& sums) {
  start(sums, (chunk.end - chunk.begin + kValueTile - 1) / kValueTile);
  const auto span = [&](int begin, int end) {
    return Span{block, chunk, errors, scores, split, tiles, begin, end - begin};
  };
  const int seen_by_all = std::clamp(block.visible[0], chunk.begin, chunk.end);
  for (int begin = chunk.begin; begin < seen_by_all; begin += kValueTile) {
    const Span tile = span(begin, std::min(begin + kValueTile, seen_by_all));
    weigh_span(tile, sums);
    add_values(tile, sums);
  }
  const int end = std::clamp(block.visible[block.rows - 1], seen_by_all, chunk.end);
  ATTEST_CHECK(end - seen_by_all < kMaxQueryTokens);
  const Span tail = span(seen_by_all, end);
  weigh_span(tail, sums);
  for (int i = 0; i < tail.tokens; ++i) add_tail_token(tail, i, sums);
}

}  // namespace attest
