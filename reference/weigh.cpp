// The per-token terms of the bounds (error_bound.md), for 8 rows at once. Masked tokens get weight
// 0.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/p_rounding.hpp"
#include "reference/scratch.hpp"

namespace attest {
namespace {

// Beyond this variance of a weight's log, errors count in full. At 8 sigma = 0.08 below it e^d - 1
// is 4 % more than d: kTail, on the variance.
constexpr double kWild = 1e-4, kTail = 1.1;
constexpr double kOwnShift = 0x1p-14;  // of the reference's own fp32 sums of w pi v
constexpr float kDead = 1e30f;  // an error that no bound survives; finite, so that it times 0 is 0

bool any_above(const Double8& values, double limit) {
  bool any = false;
  for (int r = 0; r < 8; ++r) any |= !(values[r] <= limit);
  return any;
}

// At least e^x - 1, for x >= 0.
Double8 growth(const Double8& x) {
  // e^x <= (2 + x) / (2 - x), the first diagonal Pade approximant, for 0 <= x < 2.
  if (!any_above(x, 0.5)) return x / (1 - x / 2);
  return (exponential(smaller(x, splat(700.0))) - 1) * (1 + 0x1p-20);
}

Float8 single(const Double8& x) {
  return __builtin_convertvector(smaller(x, splat(kDead)), Float8);
}

}  // namespace

void RowSums::clear() {
  std::fill_n(&sum[0][0], kRowSums * kBlockRows, 0.0);
  std::fill_n(least_linear, kBlockRows, 1e300);
  std::fill_n(worst_exponent, kBlockRows, 0.0);
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

namespace {

// A token as 8 rows see it.
struct TokenView {
  Double8 x, below, spread, w;  // below: M - x
  Double8 off, exponent, theta;
  Long8 seen, top, flushed;
};

struct RowConstants {
  Double8 max, top, visible;
  Double8 every_weight, accumulates, accumulates_p, bias, coherent;
};

RowConstants constants_of(const RowBlock& block, const SplitErrors& e, const SplitLargest& split,
                          int half) {
  RowConstants c;
  const Double8 max = load<Double8>(split.score + half);
  c.max = max > -std::numeric_limits<double>::infinity() ? max : splat(0.0);
  c.top = load<Double8>(split.token + half);
  const Double8 rescales = load<Double8>(split.rescales + half);
  c.every_weight = e.weight_exp + rescales * e.weight_rescale;
  c.bias = splat(e.accumulate_bias);
  c.coherent = e.weight_coherent + rescales * e.weight_rescale;
  c.accumulates = e.accumulate + rescales * e.accumulate_rescale;
  for (int r = 0; r < 8; ++r) {
    c.visible[r] = block.visible[half + r];
    c.accumulates_p[r] = kLambda * kU * std::sqrt((e.accumulate_roundings + rescales[r]) / 3);
  }
  return c;
}

TokenView view_token(const RowConstants& c, const SplitErrors& e, const Scores& scores, int index,
                     int half) {
  TokenView t;
  const std::size_t at = std::size_t{1} * index * kBlockRows + half;
  t.seen = splat(index) < c.visible;
  t.top = c.top == splat(index);
  t.x = t.seen ? load<Double8>(&scores.x[at]) : c.max;
  t.spread = __builtin_convertvector(load<Float8>(&scores.spread[at]), Double8);
  t.spread = t.seen ? t.spread : splat(0.0);
  t.below = c.max - t.x;
  t.w = t.seen ? exponential(-t.below) : splat(0.0);
  t.off = e.dot * t.spread + e.logit * magnitude(t.x);
  t.exponent = smaller(t.off + e.exp_argument * t.below + c.every_weight, splat(700.0));
  const Double8 grown = growth(t.exponent);
  t.flushed = -t.below - t.exponent < kFlushLogit;
  t.theta = t.flushed ? larger(grown, splat(1.0)) : grown;
  return t;
}

}  // namespace

// Weighs tokens of a span for 8 rows.
template <bool kTiers>
class TileWorker::Weigher {
 public:
  Weigher(const TileWorker& worker, const Span& span, int half, RowSums& rows)
      : a_(worker.arithmetic_),
        declared_(worker.plan_.declared),
        s_(*worker.scratch_),
        span_(span),
        e_(span.errors),
        half_(half),
        c_(constants_of(span.block, span.errors, span.split, half)),
        round_(worker.arithmetic_),
        rows_(rows) {
    for (int i = 0; i < kRowSums; ++i) sum_[i] = load<Double8>(rows.sum[i] + half);
    least_linear_ = load<Double8>(rows.least_linear + half);
    worst_ = load<Double8>(rows.worst_exponent + half);
    logit_min_ = load<Double8>(rows.logit_min + half);
  }
  void all() {
    for (int i = 0; i < span_.tokens; ++i) {
      const int index = span_.begin + i;
      const TokenView t = view_token(c_, e_, span_.scores, index, half_);
      store(&s_.w[i][half_], t.w);
      const Double8 rho = t0(i, t);
      if constexpr (kTiers) tiers(i, index, t, rho);
    }
    for (int i = 0; i < kRowSums; ++i) store(rows_.sum[i] + half_, sum_[i]);
    store(rows_.least_linear + half_, least_linear_);
    store(rows_.worst_exponent + half_, worst_);
    store(rows_.logit_min + half_, logit_min_);
  }

 private:
  // What the tiers beyond T0 share.
  struct Tight {
    Double8 p, inverse, r, pi;  // P scaled, 1 / P, P rounded, its relative error
    Long8 wild;
    Double8 below_tile, variance, repeats, squared_w, kappa, accumulates_p;
  };

  // The relative error of the rounding of P, in the worst case.
  Double8 t0(int i, const TokenView& t) {
    const Double8 p = a_.p_scale * t.w;  // the least that P can be: the max in force is at most M
    const Double8 of_format =
        p >= e_.p_min_normal ? splat(e_.p_relative) : smaller(e_.p_absolute / p, splat(1.0));
    const Double8 rho = larger(of_format, splat(e_.p_saturation));
    const Double8 rounded = (1 + t.theta) * rho;
    // What multiplies v - o, and what multiplies v alone.
    const Double8 centred = e_.l_from_rounded_p ? t.theta + rounded : t.theta;
    const Double8 alone =
        (1 + t.theta) * (1 + rho) * c_.accumulates + (e_.l_from_rounded_p ? Double8{} : rounded);
    const Double8 error = t.top ? alone : centred + alone;
    store(&s_.absolute[kAbsT0][i][half_], single(t.w * error));
    sum_[kL] += t.w;
    sum_[kTheta] += t.w * t.theta;
    sum_[kRounding] += t.w * rounded;
    sum_[kTopTheta] = t.top ? centred : sum_[kTopTheta];
    worst_ = t.seen ? larger(t.exponent, worst_) : worst_;
    return rho;
  }

  void enter_tile(int index) {
    const TileMax* tile = &span_.tiles.tiles[(index - span_.chunk.begin) / a_.tile_tokens];
    if (tile == tile_) return;
    tile_ = tile;
    const Double8 max = load<Double8>(tile->max + half_);
    tile_max_ = max > -std::numeric_limits<double>::infinity() ? max : c_.max;
    // An unrounded P goes with the max in force; it is what a rounded one leaves.
    tile_off_ = e_.p_relative > 0 ? load<Double8>(tile->high + half_) : Double8{};
    tile_off_p_ = e_.p_relative > 0 ? load<Double8>(tile->high_p + half_) : Double8{};
    to_tile_ = exponential(smaller(c_.max - tile_max_, splat(700.0)));
  }

  void tiers(int i, int index, const TokenView& t, const Double8& rho) {
    enter_tile(index);
    Tight g;
    g.below_tile = magnitude(tile_max_ - t.x);
    const Double8 of_max = tile_off_p_ * (1 / kLambda);
    const Double8 of_score = e_.dot_variance * t.spread * t.spread + e_.logit_variance * t.x * t.x;
    // A rounded P takes the error of its own score with it, and leaves that of the max in force.
    g.variance = (declared_ ? larger(of_score, of_max * of_max) : of_score) +
                 e_.logit_variance * g.below_tile * g.below_tile + e_.exp_variance;
    // The token that is the max has P = p_scale exactly: a product of two exponentials may fall
    // just below it, and truncation go a whole spacing down.
    g.p =
        t.x == tile_max_ ? splat(a_.p_scale) : smaller(t.w * to_tile_ * a_.p_scale, splat(0x1p120));
    g.inverse = g.p > 0.0 ? 1 / g.p : Double8{};
    g.r = round_(g.p);
    g.pi = (g.r - g.p) * g.inverse;
    const auto* repeat = &span_.scores.repeat[std::size_t{1} * index * kBlockRows + half_];
    g.repeats = __builtin_convertvector(load<Float8>(repeat), Double8);
    g.squared_w = t.w * t.w * g.repeats;
    // Sums of equal summands round one way: what repeats adds up, up to the worst case.
    g.accumulates_p = smaller(c_.bias + c_.accumulates_p * square_root(g.repeats), c_.accumulates);
    g.kappa = e_.exp_argument * t.below + c_.coherent;
    // e^d of an error d is off by d while d is small, and by d^2 / 2 on average. Where it is not
    // small, nothing is left to chance.
    g.wild = g.variance > kWild;
    g.kappa += g.wild ? Double8{} : g.variance;
    g.variance = g.wild ? Double8{} : g.variance * kTail;
    g.kappa = t.flushed ? larger(g.kappa, splat(1.0)) : g.kappa;
    const Double8 linear = declared_ ? tight_of_schedule(i, t, g) : tight_of_any(i, t, g, rho);
    store(&s_.absolute[kAbsLinear][i][half_], single(t.w * linear));
    store(&s_.with_sign[kSignedScaled][i][half_], single(-t.w * t.below));
    sum_[kShift] += t.w * g.pi;
    sum_[kSquaredW] += t.w * t.w;
    sum_[kFlushed] += g.r == 0.0 ? t.w : Double8{};
    sum_[kScaled] -= t.w * t.below;
    sum_[kNorm] += t.w * s_.norm[i];
    sum_[kRepeated] += t.w * g.repeats;
    double small = kLargestSmall;
    for (int k = 0; k < kSmallSums; ++k, small *= kSmallStep)
      sum_[kSmall + k] += (t.seen & (t.w < small)) ? splat(1.0) : Double8{};
    least_linear_ = t.seen ? smaller(linear, least_linear_) : least_linear_;
    logit_min_ = t.seen ? smaller(t.x, logit_min_) : logit_min_;
  }

  // How far P rounds from r, relative, when P may be off by `window`, relative.
  Double8 flips(const Tight& g, const Double8& window) const {
    if (e_.p_relative == 0) return Double8{};
    const Double8 up = round_(g.p + g.p * growth(window)) - g.r;
    const Double8 down = g.r - round_(g.p * larger(1 - window, Double8{}));
    return larger(up, down) * g.inverse;
  }

  // T2 and T2p: P is rounded as declared, but where its error may carry it over a boundary.
  Double8 tight_of_schedule(int i, const TokenView& t, const Tight& g) {
    const Double8 common = e_.exp_argument * g.below_tile + e_.p_scaling;
    const Double8 flip = flips(g, t.off + tile_off_ + common + e_.weight_exp);
    const Double8 flip_p =
        g.wild ? flip : flips(g, kLambda * square_root(g.variance) + tile_off_p_ + common);
    const auto top = t.top & (g.pi == 0.0);
    const Double8 grows = 1 + magnitude(g.pi);
    const Double8 theta = larger(
        t.theta,
        growth(smaller(larger(t.off, tile_off_) + e_.exp_argument * t.below + c_.every_weight,
                       splat(700.0))));
    const Double8 centred = theta * grows;
    const Double8 own = magnitude(g.pi) * kOwnShift;
    const Double8 alone = (1 + theta) * (flip + c_.accumulates * (grows + flip)) + own;
    store(&s_.absolute[kAbsRigorous][i][half_], single(t.w * (top ? alone : centred + alone)));
    store(&s_.with_sign[kSignedShift][i][half_], single(t.w * g.pi));
    sum_[kFlip] += t.w * (1 + theta) * flip;
    sum_[kOfMax] += t.w * growth(tile_off_p_);
    sum_[kTopRigorous] = top ? centred : sum_[kTopRigorous];
    sum_[kCentred] += top ? Double8{} : t.w * centred;
    const auto likely = g.wild == 0;
    add_squares(i, top, g, g.variance * grows * grows, likely ? flip_p * flip_p * 0.25 : Double8{});
    const Double8 sure = likely ? Double8{} : theta * grows + (1 + theta) * flip;
    sum_[kLinear] += t.w * (g.kappa * grows + sure);
    return (g.kappa + g.accumulates_p) * grows + own + sure;
  }

  // T1: the schedule, and so P's place between two boundaries, is not known.
  Double8 tight_of_any(int i, const TokenView& t, const Tight& g, const Double8& rho) {
    const auto subnormal = a_.p_scale * t.w < e_.p_min_normal;
    const Double8 biased = larger(subnormal ? rho : splat(e_.p_bias), splat(e_.p_saturation));
    add_squares(i, t.top, g, g.variance, subnormal ? Double8{} : splat(e_.p_variance));
    const Double8 sure = g.wild ? t.theta : Double8{};
    sum_[kLinear] += t.w * (g.kappa + sure + (e_.l_from_rounded_p ? biased : Double8{}));
    return g.kappa + g.accumulates_p * (1 + rho) + biased + sure;
  }

  void add_squares(int i, const Long8& top, const Tight& g, const Double8& of_weight,
                   const Double8& of_p) {
    const Double8 others = top ? Double8{} : g.squared_w * of_weight;
    store(&s_.square[i][half_], others + g.squared_w * of_p);
    sum_[kSquareOfO] += others;
    sum_[kSquareOfTop] = top ? g.squared_w * of_weight : sum_[kSquareOfTop];
    sum_[kSquareOfP] += g.squared_w * of_p;
  }

  const Arithmetic& a_;
  const bool declared_;
  Scratch& s_;
  const Span& span_;
  const SplitErrors& e_;
  const int half_;
  const RowConstants c_;
  const PRounding round_;
  RowSums& rows_;
  Double8 sum_[kRowSums], least_linear_, worst_, logit_min_;
  const TileMax* tile_ = nullptr;
  Double8 tile_max_{}, tile_off_{}, tile_off_p_{}, to_tile_{};
};

void TileWorker::weigh_plainly(const Span& span, RowSums& rows) {
  for (int half = 0; half < kBlockRows; half += 8) {
    const RowConstants c = constants_of(span.block, span.errors, span.split, half);
    Double8 l = load<Double8>(rows.sum[kL] + half);
    for (int i = 0; i < span.tokens; ++i) {
      const int index = span.begin + i;
      const Double8 x = load<Double8>(&span.scores.x[std::size_t{1} * index * kBlockRows + half]);
      const Double8 w = splat(index) < c.visible ? exponential(x - c.max) : splat(0.0);
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
      Weigher<true>(*this, span, half, rows).all();
    } else {
      Weigher<false>(*this, span, half, rows).all();
    }
  }
}

}  // namespace attest
