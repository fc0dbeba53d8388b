// The per-token terms of the bounds (error_bound.md): one source for the host, 8 rows at once, and
// for a device, one row. Masked tokens get weight 0.
#pragma once
#include "reference/p_rounding.hpp"
#include "reference/split_errors.hpp"
#include "reference/sums.hpp"

namespace attest {

// Beyond this variance of a weight's log, errors count in full. At 8 sigma = 0.08 below it e^d - 1
// is 4 % more than d: kTail, on the variance.
inline constexpr double kWild = 1e-4, kTail = 1.1;
inline constexpr double kOwnShift = 0x1p-14;  // of the reference's own fp32 sums of w pi v
// An error that no bound survives; finite, so that it times 0 is 0.
inline constexpr double kDead = 1e30f;
inline constexpr double kMinusInfinity = -__builtin_huge_val();

// At least e^x - 1, for x >= 0. e^x <= (2 + x) / (2 - x), the first diagonal Pade approximant, for
// 0 <= x < 2.
ATTEST_BOTH Reals growth(const Reals& x) {
  const Masks narrow = x <= 0.5;
  const Reals pade = x / (1 - x / 2);
  if (!any(!narrow)) return pade;
  return narrow ? pade : (exponential(smaller(x, splat(700.0))) - 1) * (1 + 0x1p-20);
}

ATTEST_BOTH Singles single(const Reals& x) { return narrowed(smaller(x, splat(kDead))); }

// What of a contract enters besides SplitErrors.
struct WeighRules {
  double p_scale = 1;
  bool declared = false;  // Plan::declared
  PRounding round;
};

// What of a row and its split enters.
struct RowFactors {
  Reals max, top, visible;
  Reals every_weight, accumulates, accumulates_p, coherent;
};

ATTEST_BOTH RowFactors row_factors(const SplitErrors& e, const Reals& largest_score,
                                   const Reals& top, const Reals& rescales, const Reals& visible) {
  RowFactors c;
  c.max = largest_score > kMinusInfinity ? largest_score : splat(0.0);
  c.top = top;
  c.visible = visible;
  c.every_weight = e.weight_exp + rescales * e.weight_rescale;
  c.coherent = e.weight_coherent + rescales * e.weight_rescale;
  c.accumulates = e.accumulate + rescales * e.accumulate_rescale;
  c.accumulates_p = kLambda * kU * square_root((e.accumulate_roundings + rescales) / 3);
  return c;
}

// A token as the rows see it.
struct TokenView {
  Reals x, below, spread, w;  // below: M - x
  Reals off, exponent, theta;
  Masks seen, top, flushed;
};

ATTEST_BOTH Reals plain_weight(const Reals& max, const Reals& visible, const Reals& x, int index) {
  return splat(index) < visible ? exponential(x - max) : splat(0.0);
}

ATTEST_BOTH TokenView view_token(const RowFactors& c, const SplitErrors& e, const Reals& x,
                                 const Reals& spread, int index) {
  TokenView t;
  t.seen = splat(index) < c.visible;
  t.top = c.top == splat(index);
  t.x = t.seen ? x : c.max;
  t.spread = t.seen ? spread : splat(0.0);
  t.below = c.max - t.x;
  t.w = t.seen ? exponential(-t.below) : splat(0.0);
  t.off = e.dot * t.spread + e.logit * magnitude(t.x);
  t.exponent = smaller(t.off + e.exp_argument * t.below + c.every_weight, splat(700.0));
  const Reals grown = growth(t.exponent);
  t.flushed = -t.below - t.exponent < kFlushLogit;
  t.theta = t.flushed ? larger(grown, splat(1.0)) : grown;
  return t;
}

// What multiplies V of a token.
struct Weights {
  Reals w{}, square{};                  // of v, v^2
  Singles absolute[kAbsSums] = {};      // of |v|
  Singles with_sign[kSignedSums] = {};  // of v
};

// Weighs tokens. kTiers: for T1, T2 and T2p too.
template <bool kTiers>
class Weigher {
 public:
  ATTEST_BOTH Weigher(const WeighRules& rules, const SplitErrors& errors, const RowFactors& row)
      : a_(rules), e_(errors), c_(row) {
    clear();
  }

  // Sums of all tokens since clear().
  ATTEST_BOTH void clear() {
    for (int i = 0; i < kRowSums; ++i) sum_[i] = Reals{};
    least_linear_ = splat(kNoLinear);
    worst_ = splat(kNoExponent);
    logit_min_ = splat(-kMinusInfinity);
  }

  // The tile whose tokens follow: TileMax, as scheduled.
  ATTEST_BOTH void enter_tile(const Reals& max, const Reals& high, const Reals& high_p) {
    tile_max_ = max > kMinusInfinity ? max : c_.max;
    // An unrounded P goes with the max in force; it is what a rounded one leaves.
    tile_off_ = e_.p_relative > 0 ? high : Reals{};
    tile_off_p_ = e_.p_relative > 0 ? high_p : Reals{};
    to_tile_ = exponential(smaller(c_.max - tile_max_, splat(700.0)));
  }

  // norm: |v|_1 of the token. Unused without kTiers, as `repeats`.
  ATTEST_BOTH void weigh(const Reals& x, const Reals& spread, const Reals& repeats,
                         const Reals& norm, int index, Weights& to) {
    const TokenView t = view_token(c_, e_, x, spread, index);
    to.w = t.w;
    const Reals rho = t0(t, to);
    if constexpr (kTiers) tiers(t, repeats, norm, rho, to);
  }

  // As RowSums.
  ATTEST_BOTH Reals& sum(int i) { return sum_[i]; }
  ATTEST_BOTH Reals& least_linear() { return least_linear_; }
  ATTEST_BOTH Reals& worst_exponent() { return worst_; }
  ATTEST_BOTH Reals& logit_min() { return logit_min_; }

 private:
  // What the tiers beyond T0 share.
  struct Tight {
    Reals p, inverse, r, pi;  // P scaled, 1 / P, P rounded, its relative error
    Masks wild;
    Reals below_tile, variance, repeats, squared_w, kappa, accumulates_p;
  };

  // The relative error of the rounding of P, in the worst case.
  ATTEST_BOTH Reals t0(const TokenView& t, Weights& to) {
    const Reals p = a_.p_scale * t.w;  // the least that P can be: the max in force is at most M
    const Reals of_format =
        p >= e_.p_min_normal ? splat(e_.p_relative) : smaller(e_.p_absolute / p, splat(1.0));
    const Reals rho = larger(of_format, splat(e_.p_saturation));
    const Reals rounded = (1 + t.theta) * rho;
    // What multiplies v - o, and what multiplies v alone.
    const Reals centred = e_.l_from_rounded_p ? t.theta + rounded : t.theta;
    const Reals alone =
        (1 + t.theta) * (1 + rho) * c_.accumulates + (e_.l_from_rounded_p ? Reals{} : rounded);
    const Reals error = t.top ? alone : centred + alone;
    to.absolute[kAbsT0] = single(t.w * error);
    sum_[kL] += t.w;
    sum_[kTheta] += t.w * t.theta;
    sum_[kRounding] += t.w * rounded;
    sum_[kTopTheta] = t.top ? centred : sum_[kTopTheta];
    worst_ = t.seen ? larger(t.exponent, worst_) : worst_;
    return rho;
  }

  ATTEST_BOTH void tiers(const TokenView& t, const Reals& repeats, const Reals& norm,
                         const Reals& rho, Weights& to) {
    Tight g;
    g.below_tile = magnitude(tile_max_ - t.x);
    const Reals of_max = tile_off_p_ * (1 / kLambda);
    const Reals of_score = e_.dot_variance * t.spread * t.spread + e_.logit_variance * t.x * t.x;
    // A rounded P takes the error of its own score with it, and leaves that of the max in force.
    g.variance = (a_.declared ? larger(of_score, of_max * of_max) : of_score) +
                 e_.logit_variance * g.below_tile * g.below_tile + e_.exp_variance;
    // The token that is the max has P = p_scale exactly: a product of two exponentials may fall
    // just below it, and truncation go a whole spacing down.
    g.p =
        t.x == tile_max_ ? splat(a_.p_scale) : smaller(t.w * to_tile_ * a_.p_scale, splat(0x1p120));
    g.inverse = g.p > 0.0 ? 1 / g.p : Reals{};
    g.r = a_.round(g.p);
    g.pi = (g.r - g.p) * g.inverse;
    g.repeats = repeats;
    g.squared_w = t.w * t.w * g.repeats;
    // Sums of equal summands round one way: what repeats adds up, up to the worst case.
    g.accumulates_p =
        smaller(e_.accumulate_bias + c_.accumulates_p * square_root(g.repeats), c_.accumulates);
    g.kappa = e_.exp_argument * t.below + c_.coherent;
    // e^d of an error d is off by d while d is small, and by d^2 / 2 on average. Where it is not
    // small, nothing is left to chance.
    g.wild = g.variance > kWild;
    g.kappa += g.wild ? Reals{} : g.variance;
    g.variance = g.wild ? Reals{} : g.variance * kTail;
    g.kappa = t.flushed ? larger(g.kappa, splat(1.0)) : g.kappa;
    const Reals linear = a_.declared ? tight_of_schedule(t, g, to) : tight_of_any(t, g, rho, to);
    to.absolute[kAbsLinear] = single(t.w * linear);
    to.with_sign[kSignedScaled] = single(-t.w * t.below);
    sum_[kShift] += t.w * g.pi;
    sum_[kSquaredW] += t.w * t.w;
    sum_[kFlushed] += g.r == 0.0 ? t.w : Reals{};
    sum_[kScaled] -= t.w * t.below;
    sum_[kNorm] += t.w * norm;
    sum_[kRepeated] += t.w * g.repeats;
    double small = kLargestSmall;
    for (int k = 0; k < kSmallSums; ++k, small *= kSmallStep)
      sum_[kSmall + k] += (t.seen & (t.w < small)) ? splat(1.0) : Reals{};
    least_linear_ = t.seen ? smaller(linear, least_linear_) : least_linear_;
    logit_min_ = t.seen ? smaller(t.x, logit_min_) : logit_min_;
  }

  // How far P rounds from r, relative, when P may be off by `window`, relative.
  ATTEST_BOTH Reals flips(const Tight& g, const Reals& window) const {
    if (e_.p_relative == 0) return Reals{};
    const Reals up = a_.round(g.p + g.p * growth(window)) - g.r;
    const Reals down = g.r - a_.round(g.p * larger(1 - window, Reals{}));
    return larger(up, down) * g.inverse;
  }

  // T2 and T2p: P is rounded as declared, but where its error may carry it over a boundary.
  ATTEST_BOTH Reals tight_of_schedule(const TokenView& t, const Tight& g, Weights& to) {
    const Reals common = e_.exp_argument * g.below_tile + e_.p_scaling;
    const Reals flip = flips(g, t.off + tile_off_ + common + e_.weight_exp);
    const Reals flip_p =
        g.wild ? flip : flips(g, kLambda * square_root(g.variance) + tile_off_p_ + common);
    const Masks top = t.top & (g.pi == 0.0);
    const Reals grows = 1 + magnitude(g.pi);
    const Reals theta = larger(
        t.theta,
        growth(smaller(larger(t.off, tile_off_) + e_.exp_argument * t.below + c_.every_weight,
                       splat(700.0))));
    const Reals centred = theta * grows;
    const Reals own = magnitude(g.pi) * kOwnShift;
    const Reals alone = (1 + theta) * (flip + c_.accumulates * (grows + flip)) + own;
    to.absolute[kAbsRigorous] = single(t.w * (top ? alone : centred + alone));
    to.with_sign[kSignedShift] = single(t.w * g.pi);
    sum_[kFlip] += t.w * (1 + theta) * flip;
    sum_[kOfMax] += t.w * growth(tile_off_p_);
    sum_[kTopRigorous] = top ? centred : sum_[kTopRigorous];
    sum_[kCentred] += top ? Reals{} : t.w * centred;
    const Masks likely = !g.wild;
    add_squares(top, g, g.variance * grows * grows, likely ? flip_p * flip_p * 0.25 : Reals{}, to);
    const Reals sure = likely ? Reals{} : theta * grows + (1 + theta) * flip;
    sum_[kLinear] += t.w * (g.kappa * grows + sure);
    return (g.kappa + g.accumulates_p) * grows + own + sure;
  }

  // T1: the schedule, and so P's place between two boundaries, is not known.
  ATTEST_BOTH Reals tight_of_any(const TokenView& t, const Tight& g, const Reals& rho,
                                 Weights& to) {
    const Masks subnormal = a_.p_scale * t.w < e_.p_min_normal;
    const Reals biased = larger(subnormal ? rho : splat(e_.p_bias), splat(e_.p_saturation));
    add_squares(t.top, g, g.variance, subnormal ? Reals{} : splat(e_.p_variance), to);
    const Reals sure = g.wild ? t.theta : Reals{};
    sum_[kLinear] += t.w * (g.kappa + sure + (e_.l_from_rounded_p ? biased : Reals{}));
    return g.kappa + g.accumulates_p * (1 + rho) + biased + sure;
  }

  ATTEST_BOTH void add_squares(const Masks& top, const Tight& g, const Reals& of_weight,
                               const Reals& of_p, Weights& to) {
    const Reals others = top ? Reals{} : g.squared_w * of_weight;
    to.square = others + g.squared_w * of_p;
    sum_[kSquareOfO] += others;
    sum_[kSquareOfTop] = top ? g.squared_w * of_weight : sum_[kSquareOfTop];
    sum_[kSquareOfP] += g.squared_w * of_p;
  }

  const WeighRules& a_;
  const SplitErrors& e_;
  const RowFactors& c_;
  Reals sum_[kRowSums], least_linear_, worst_, logit_min_;
  Reals tile_max_{}, tile_off_{}, tile_off_p_{}, to_tile_{};
};

}  // namespace attest
