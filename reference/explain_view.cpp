#include "reference/explain_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest::slow {
namespace {

// |v - o| and what the reference has in its place: |v| + |o|, but for the top token.
double apart(const View& view, double v, double o, bool exempt) {
  return view.majorised && !exempt ? std::fabs(v) + std::fabs(o) : std::fabs(v - o);
}

// What an error of the weight of `t` multiplies. With the declared rounding of P the numerator
// moves by (1 + pi) v, and so does a denominator that sums rounded P. One that does not moves by
// the error of the token's own score, where the rounded P has lost that: nothing cancels. But the
// token that is the max has one P in both, and where another takes its place that one counts in
// full.
double moved_by_weight(const View& view, const Token& t, double v, double o, bool may_be_exempt) {
  if (!view.declared()) return apart(view, v, o, may_be_exempt && t.top);
  const double size = 1 + std::fabs(t.pi);
  if (may_be_exempt && t.top && t.pi == 0) return std::fabs(v - o);
  return view.moves_alike() ? (1 + t.pi) * std::fabs(v - o) : size * (std::fabs(v) + std::fabs(o));
}

using Add = void (Terms::*)(Name, double);

// theta of a P as it is, or as it is rounded.
void add_theta(const Token& t, bool rounded, double scale, Add add, Terms& terms) {
  if (rounded) (terms.*add)(Name::kMax, scale * (t.theta_rounded - t.theta));
  if (t.flushed && t.theta == 1) return (terms.*add)(Name::kExp, scale);
  const double each = scale * t.theta / t.exponent();
  (terms.*add)(Name::kDot, each * t.dot);
  (terms.*add)(Name::kLogit, each * t.logit);
  (terms.*add)(Name::kExp, each * (t.argument + t.exp2));
  (terms.*add)(Name::kRescale, each * t.rescale);
}

// T0 and T2.
void add_token_at_worst(const View& view, const Split& s, const Token& t, double o, double scale,
                        Terms& terms) {
  const bool lr = view.a.l_from_rounded_p;
  const double v = view.v(t), a = t.w / view.l(s);
  const double grown = 1 + (view.declared() ? t.theta_rounded : t.theta);
  add_theta(t, view.declared(), scale * a * moved_by_weight(view, t, v, o, true), &Terms::add,
            terms);
  const double rounding = view.declared() ? t.flip : t.rho;
  const bool exempt = view.tier == Tier::kT0 && t.top;
  terms.add(view.declared() ? Name::kFlip : Name::kRounding,
            scale * a * grown * rounding * (lr ? apart(view, v, o, exempt) : std::fabs(v)));
  const double stored = 1 + rounding + (view.declared() ? std::fabs(t.pi) : 0);
  terms.add(Name::kAccumulate, scale * a * grown * stored * std::fabs(v) * kHalfUlp *
                                   (s.factors.accumulations + s.rescales));
  if (view.declared() && view.majorised)
    terms.add(Name::kOwnShift, scale * a * std::fabs(t.pi) * 0x1p-14 * std::fabs(v));
}

void add_denominator_at_worst(const View& view, const Split& s, double o, double scale,
                              Terms& terms) {
  double wrong = 0;
  for (const Token& t : s.tokens) {
    const double a = t.w / view.l(s);
    const bool of_rounded = view.declared() && view.a.l_from_rounded_p;
    const double each = a * (of_rounded ? 1 + std::fabs(t.pi) : 1);
    const double theta = of_rounded ? t.theta_rounded : t.theta;
    add_theta(t, of_rounded, scale * each, &Terms::add_to_denominator, terms);
    wrong += each * theta;
    if (!view.a.l_from_rounded_p) continue;
    const double rounding = a * (1 + theta) * (view.declared() ? t.flip : t.rho);
    terms.add_to_denominator(view.declared() ? Name::kFlip : Name::kRounding, scale * rounding);
    wrong += rounding;
  }
  const double gamma = kHalfUlp * (s.factors.denominations + s.rescales) * (1 + wrong);
  terms.add(Name::kDenominator, scale * gamma * std::fabs(o));
  terms.add_to_denominator(Name::kDenominator, scale * gamma);
}

// What T1 adds in full for P.
double coherent_rounding(const Factors& f, const Token& t) {
  return std::max(t.subnormal ? t.rho : f.p_bias, f.saturation);
}

// Sums of equal summands round one way: what repeats adds up, up to the worst case.
double likely_accumulation(const Split& s, const Token& t) {
  const Factors& f = s.factors;
  const double chance =
      kSigmas * kHalfUlp * std::sqrt((f.probable_accumulations + s.rescales) / 3 * t.repeats);
  return std::min(f.accumulation_bias + chance, kHalfUlp * (f.accumulations + s.rescales));
}

// Summands below 2^-21 of the sum, a few of its spacings, may all be rounded one way, or be lost.
// The reference counts by thresholds 2^-5, 2^-8, ... 2^-20, the least that is above.
double stagnant(const View& view, const Split& s) {
  double limit = s.l * 0x1p-21;
  if (view.majorised) {
    if (limit > 0x1p-5) return static_cast<double>(s.tokens.size());
    double power = 0x1p-5;
    for (int k = 0; k < 5 && limit <= power / 8; ++k) power /= 8;
    limit = power;
  }
  return static_cast<double>(
      std::count_if(s.tokens.begin(), s.tokens.end(), [&](const Token& t) { return t.w < limit; }));
}

// What T1 and T2p add in full of a token whose errors are too large to leave to chance.
double sure_theta(const View& view, const Token& t) {
  if (!t.wild) return 0;
  return view.declared() ? t.theta_rounded * (1 + std::fabs(t.pi)) : t.theta;
}
double sure_flip(const View& view, const Token& t) {
  return t.wild && view.declared() ? (1 + t.theta_rounded) * t.flip : 0;
}

// All that multiplies |v| of a token, in full.
double full_likely(const View& view, const Split& s, const Token& t) {
  const double size = view.declared() ? 1 + std::fabs(t.pi) : 1 + t.rho;
  return likely_accumulation(s, t) * size + t.kappa * (view.declared() ? size : 1) +
         (view.declared() ? std::fabs(t.pi) * 0x1p-14 : coherent_rounding(s.factors, t)) +
         sure_theta(view, t) + sure_flip(view, t);
}

// At least sum a|v|: the reference has only the sum of a|v| times an error, and the least error.
double sum_of_values(const View& view, const Split& s) {
  double sum = 0, weighted = 0, least = std::numeric_limits<double>::infinity();
  for (const Token& t : s.tokens) {
    const double a = t.w / view.l(s) * std::fabs(view.v(t));
    const double error = full_likely(view, s, t);
    sum += a;
    weighted += a * error;
    least = std::min(least, error);
  }
  return view.majorised ? weighted / least : sum;
}

double stagnant_accumulation(const View& view, const Split& s) {
  return kHalfUlp * std::min(stagnant(view, s), s.factors.accumulations + s.rescales);
}

// A variance of N tokens that may all err alike.
void add_variance(Name name, double value, const Token& t, Add add, Terms& terms) {
  (terms.*add)(name, value);
  (terms.*add)(Name::kRepeats, value * (t.repeats - 1));
}

// The part of a token's variance that one root holds; the reference has two, of numerator and
// denominator.
void add_token_variance(const View& view, const Split& s, const Token& t, double o, double scale,
                        Terms& terms) {
  const bool declared = view.declared(), lr = view.a.l_from_rounded_p;
  const double a = scale * t.w / view.l(s), v = view.v(t);
  const double size = declared ? 1 + std::fabs(t.pi) : 1;
  const bool exempt = t.top && (!declared || t.pi == 0);
  const double of_weight = a * a * t.variance;
  double of_p = a * a;
  if (declared) {
    of_p *= t.flip_likely * t.flip_likely / 4;
  } else {
    of_p *= t.subnormal ? 0 : s.factors.p_variance;
  }
  const Name name_of_p = declared ? Name::kFlip : Name::kRounding;
  const auto squared = [](double x) { return x * x; };
  if (!view.majorised && (!declared || view.moves_alike())) {
    add_variance(Name::kScoreNoise, of_weight * squared(moved_by_weight(view, t, v, o, true)), t,
                 &Terms::add_square, terms);
    add_variance(name_of_p, of_p * squared(v - (lr ? o : 0)), t, &Terms::add_square, terms);
    return;
  }
  add_variance(Name::kScoreNoise, of_weight * squared(exempt ? v - o : size * v), t,
               &Terms::add_square, terms);
  if (!exempt)
    add_variance(Name::kScoreNoise, of_weight * squared(size), t, &Terms::add_square_of_o, terms);
  add_variance(name_of_p, of_p * v * v, t, &Terms::add_square, terms);
  if (lr) add_variance(name_of_p, of_p, t, &Terms::add_square_of_o, terms);
}

// T1 and T2p.
void add_token_likely(const View& view, const Split& s, const Token& t, double o, double scale,
                      Terms& terms) {
  const double v = view.v(t), a = scale * t.w / view.l(s);
  const double size = view.declared() ? 1 + std::fabs(t.pi) : 1 + t.rho;
  const double moved = a * moved_by_weight(view, t, v, o, false);
  terms.add(Name::kExp, (t.kappa - t.rescale) * moved);
  terms.add(Name::kRescale, t.rescale * moved);
  if (t.wild) {
    terms.add(Name::kScoreNoise, (view.declared() ? t.theta_rounded : t.theta) * moved);
    const bool centred = view.majorised || view.a.l_from_rounded_p;
    terms.add(Name::kFlip,
              a * sure_flip(view, t) * (centred ? apart(view, v, o, false) : std::fabs(v)));
  }
  terms.add(Name::kAccumulate, a * likely_accumulation(s, t) * size * std::fabs(v));
  if (!view.declared()) {
    terms.add(Name::kRounding,
              a * coherent_rounding(s.factors, t) *
                  (view.a.l_from_rounded_p ? apart(view, v, o, false) : std::fabs(v)));
  } else if (view.majorised) {
    terms.add(Name::kOwnShift, a * std::fabs(t.pi) * 0x1p-14 * std::fabs(v));
  }
  add_token_variance(view, s, t, o, scale, terms);
}

// The sum of a tile in full; that of the tiles as chance has it, repeated weights alike, and what
// stagnates; at most the worst case.
double likely_denominator(const View& view, const Split& s) {
  const Factors& f = s.factors;
  double repeats = 0;
  for (const Token& t : s.tokens) repeats += t.w / s.l * t.repeats;
  const double alike = stagnant(view, s) / view.a.tile_tokens + 1;
  const double chance = kSigmas * std::sqrt(f.tiles / 3 * repeats);
  return kHalfUlp * (f.denominations - f.tiles + s.rescales + std::min(f.tiles, chance + alike));
}

void add_denominator_likely(const View& view, const Split& s, double o, double scale,
                            Terms& terms) {
  const bool declared = view.declared(), lr = view.a.l_from_rounded_p;
  for (const Token& t : s.tokens) {
    const double a = scale * t.w / view.l(s);
    const bool moves = declared && (view.majorised || lr);
    const double size = moves ? 1 + std::fabs(t.pi) : 1;
    const Add square = &Terms::add_square_to_denominator;
    terms.add_to_denominator(Name::kExp, a * (t.kappa - t.rescale) * size);
    terms.add_to_denominator(Name::kRescale, a * t.rescale * size);
    add_variance(Name::kScoreNoise, a * a * t.variance * size * size, t, square, terms);
    terms.add_to_denominator(Name::kScoreNoise, a * sure_theta(view, t));
    if (moves) terms.add_to_denominator(Name::kFlip, a * sure_flip(view, t));
    const double of_max = growth_of(t.m.off_likely, view.majorised);
    if (declared && lr) terms.add_to_denominator(Name::kMax, a * of_max);
    if (declared && !lr) terms.add(Name::kMax, a * of_max * std::fabs(o));
    if (!lr) continue;
    if (declared) {
      add_variance(Name::kFlip, a * a * t.flip_likely * t.flip_likely / 4, t, square, terms);
    } else {
      terms.add_to_denominator(Name::kRounding, a * coherent_rounding(s.factors, t));
      if (!t.subnormal)
        add_variance(Name::kRounding, a * a * s.factors.p_variance, t, square, terms);
    }
  }
  const double gamma = scale * likely_denominator(view, s);
  terms.add(Name::kDenominator, gamma * std::fabs(o));
  terms.add_to_denominator(Name::kDenominator, gamma);
}

}  // namespace

double View::o(const Split& s) const {
  double sum = 0;
  for (const Token& t : s.tokens) sum += t.w / l(s) * (declared() ? 1 + t.pi : 1) * v(t);
  return sum;
}

void add_split(const View& view, const Split& s, double o, double scale, Terms& terms) {
  const bool likely = view.likely();
  for (const Token& t : s.tokens) {
    if (view.column < 0) break;
    likely ? add_token_likely(view, s, t, o, scale, terms)
           : add_token_at_worst(view, s, t, o, scale, terms);
  }
  if (likely && view.column >= 0)
    terms.add(Name::kAccumulate, scale * stagnant_accumulation(view, s) * sum_of_values(view, s));
  likely ? add_denominator_likely(view, s, o, scale, terms)
         : add_denominator_at_worst(view, s, o, scale, terms);
}

double cap_of(const View& view, const Split& s) {
  double largest = 0;
  for (const Token& t : s.tokens) {
    if (std::isfinite(view.v(t))) largest = std::max(largest, std::fabs(view.v(t)));
  }
  const double p_grows = s.factors.least_normal > 0x1p-126 ? 1 : s.factors.u_p;
  const double sums = s.factors.denominations + s.factors.accumulations + 2 * s.rescales;
  return (1 + 2 * (p_grows + kHalfUlp * sums)) * largest;
}

double floor_of(const View& view, const Split& s) {
  double largest = 0;
  for (const Token& t : s.tokens) largest = std::max(largest, std::fabs(view.v(t)));
  // Products of codes are flushed before they are multiplied by the descale factor, and then once.
  const double unit = view.row.kv_scale(), descaled = unit == 1 ? 0 : 0x1p-126;
  return static_cast<double>(s.tokens.size()) * (0x1p-126 * unit + 0x1p-149 * largest) + descaled;
}

void divide(double quotient, double cap, double floor, Terms& terms) {
  const double error = terms.sum() / quotient;
  if (quotient > slow::kLeastDenominator && error <= cap) {
    terms.scale(1 / quotient);
  } else {
    terms.only(Name::kCap, cap);
  }
  terms.add(Name::kFloor, floor);
}

double partial_accumulation(const View& view, const Split& s) {
  double sum = sum_of_values(view, s);
  // The reference multiplies a sum that holds what stagnates already.
  if (view.majorised) {
    double least = std::numeric_limits<double>::infinity();
    for (const Token& t : s.tokens) least = std::min(least, full_likely(view, s, t));
    sum *= 1 + stagnant_accumulation(view, s) / least;
  }
  return sum * kHalfUlp * (s.factors.accumulations + s.rescales);
}

Terms of_split(const View& view, const Split& s) {
  Terms terms;
  const double o = view.o(s);
  add_split(view, s, o, 1, terms);
  terms.take_roots(o);
  divide(1 - terms.denominator(), cap_of(view, s) + std::fabs(o), floor_of(view, s), terms);
  return terms;
}

}  // namespace attest::slow
