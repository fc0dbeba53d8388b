// The weights of a span's tokens, 8 rows at once, and the sums over them (weighing.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/contract.hpp"
#include "reference/scratch.hpp"
#include "reference/weighing.hpp"

namespace attest {
namespace {

RowFactors factors_of(const RowBlock& block, const SplitErrors& e, const SplitLargest& split,
                      int half) {
  Double8 visible;
  for (int r = 0; r < 8; ++r) visible[r] = block.visible[half + r];
  return row_factors(e, load<Double8>(split.score + half), load<Double8>(split.token + half),
                     load<Double8>(split.rescales + half), visible);
}

}  // namespace

PRounding p_rounding(const Arithmetic& a) {
  return {.rounds = a.p_bits < 24,
          .truncates = a.p_truncates,
          .shift = 53 - a.p_bits,
          .min_normal = std::ldexp(1.0, a.p_min_exponent),
          .grid = std::ldexp(1.0, a.p_min_exponent + 1 - a.p_bits),
          .largest = a.p_largest};
}

WeighRules weigh_rules(const Arithmetic& a, const Plan& plan) {
  return {.p_scale = a.p_scale, .declared = plan.declared, .round = p_rounding(a)};
}

void RowSums::clear() {
  std::fill_n(&sum[0][0], kRowSums * kBlockRows, 0.0);
  std::fill_n(least_linear, kBlockRows, kNoLinear);
  std::fill_n(worst_exponent, kBlockRows, kNoExponent);
  std::fill_n(logit_min, kBlockRows, std::numeric_limits<double>::infinity());
}

void RowSums::add(const RowSums& other) {
  for (int r = 0; r < kBlockRows; ++r) {
    for (int i = 0; i < kRowSums; ++i) sum[i][r] += other.sum[i][r];
    least_linear[r] = std::min(least_linear[r], other.least_linear[r]);
    worst_exponent[r] = std::max(worst_exponent[r], other.worst_exponent[r]);
    logit_min[r] = std::min(logit_min[r], other.logit_min[r]);
  }
}

template <bool kTiers>
void TileWorker::weigh_half(const Span& span, int half, RowSums& rows) {
  const WeighRules rules = weigh_rules(arithmetic_, plan_);
  const RowFactors factors = factors_of(span.block, span.errors, span.split, half);
  Weigher<kTiers> weigher(rules, span.errors, factors);
  for (int i = 0; i < kRowSums; ++i) weigher.sum(i) = load<Double8>(rows.sum[i] + half);
  weigher.least_linear() = load<Double8>(rows.least_linear + half);
  weigher.worst_exponent() = load<Double8>(rows.worst_exponent + half);
  weigher.logit_min() = load<Double8>(rows.logit_min + half);
  Scratch& s = *scratch_;
  const TileMax* entered = nullptr;
  for (int i = 0; i < span.tokens; ++i) {
    const int index = span.begin + i;
    const std::size_t at = std::size_t{1} * index * kBlockRows + half;
    Double8 repeats{}, norm{};
    if constexpr (kTiers) {
      const TileMax* tile = &span.tiles.tiles[(index - span.chunk.begin) / arithmetic_.tile_tokens];
      if (tile != entered)
        weigher.enter_tile(load<Double8>(tile->max + half), load<Double8>(tile->high + half),
                           load<Double8>(tile->high_p + half));
      entered = tile;
      repeats = widened(load<Float8>(&span.scores.repeat[at]));
      norm = splat(s.norm[i]);
    }
    Weights made;
    weigher.weigh(load<Double8>(&span.scores.x[at]), widened(load<Float8>(&span.scores.spread[at])),
                  repeats, norm, index, made);
    store(&s.w[i][half], made.w);
    store(&s.absolute[kAbsT0][i][half], made.absolute[kAbsT0]);
    if constexpr (kTiers) {
      for (int k : {kAbsRigorous, kAbsLinear}) store(&s.absolute[k][i][half], made.absolute[k]);
      for (int k = 0; k < kSignedSums; ++k) store(&s.with_sign[k][i][half], made.with_sign[k]);
      store(&s.square[i][half], made.square);
    }
  }
  for (int i = 0; i < kRowSums; ++i) store(rows.sum[i] + half, weigher.sum(i));
  store(rows.least_linear + half, weigher.least_linear());
  store(rows.worst_exponent + half, weigher.worst_exponent());
  store(rows.logit_min + half, weigher.logit_min());
}

void TileWorker::weigh_plainly(const Span& span, RowSums& rows) {
  for (int half = 0; half < kBlockRows; half += 8) {
    const RowFactors c = factors_of(span.block, span.errors, span.split, half);
    Double8 l = load<Double8>(rows.sum[kL] + half);
    for (int i = 0; i < span.tokens; ++i) {
      const int index = span.begin + i;
      const Double8 x = load<Double8>(&span.scores.x[std::size_t{1} * index * kBlockRows + half]);
      const Double8 w = plain_weight(c.max, c.visible, x, index);
      store(&scratch_->w[i][half], w);
      l += w;
    }
    store(rows.sum[kL] + half, l);
  }
}

void TileWorker::weigh(const Span& span, RowSums& rows) {
  if (!plan_.bounds) return weigh_plainly(span, rows);
  for (int half = 0; half < kBlockRows; half += 8) {
    if (plan_.tiers) {
      weigh_half<true>(span, half, rows);
    } else {
      weigh_half<false>(span, half, rows);
    }
  }
}

}  // namespace attest
