#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/formats.hpp"
#include "reference/finish.hpp"
#include "reference/scratch.hpp"

namespace attest {
double probable_denominator(const TierSums& tier) {
  const double variance = tier.variance_o + tier.variance_top;
  return tier.denominator + (variance > 0 ? kLambda * std::sqrt(variance) : 0);
}

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The columns of a split that a device summed.
void take_columns(const SplitColumns& columns, int r, SplitOfRow& s) {
  const auto take = [&](ColumnSum sum, AlignedVector<double>& to) {
    if (const double* from = columns.sum[sum]) to.assign(from + r * kDV, from + r * kDV + kDV);
  };
  take(kColumnO, s.o);
  take(kColumnT0, s.t0.weighted);
  take(kColumnRigorous, s.rigorous.weighted);
  take(kColumnLinear, s.probable.weighted);
  take(kColumnShift, s.o_tight);
  take(kColumnScaled, s.scaled);
  take(kColumnSquare, s.probable.variance);
  s.largest_v.assign(columns.largest_v, columns.largest_v + kDV);
}

// Sums the split's chunks; the columns are not yet over l.
void sum_chunks(const Plan& plan, const BlockJob& job, int split, int r, SplitOfRow& s) {
  s.sums.clear();
  const double unit = s.descales.values;
  const auto add = [&](const auto& from, AlignedVector<double>& to) {
    if (from.empty()) return;
    to.resize(kDV);
    for (int d = 0; d < kDV; ++d) to[d] += unit * from[r * kDV + d];
  };
  s.largest_v.assign(kDV, 0.0);
  const bool on_device = !job.columns.empty();
  if (on_device) take_columns(job.columns[split], r, s);
  for (std::size_t c = job.first_chunk[split]; c < job.first_chunk[split + 1]; ++c) {
    const ChunkSums& chunk = job.sums[c];
    s.sums.add(chunk.rows);
    if (on_device) continue;
    add(chunk.o, s.o);
    for (int d = 0; d < kDV; ++d)
      s.largest_v[d] = std::max(s.largest_v[d], unit * chunk.largest_v[d]);
    if (!plan.bounds) continue;
    add(chunk.absolute[kAbsT0], s.t0.weighted);
    add(chunk.absolute[kAbsRigorous], s.rigorous.weighted);
    add(chunk.absolute[kAbsLinear], s.probable.weighted);
    add(chunk.with_sign[kSignedShift], s.o_tight);
    add(chunk.with_sign[kSignedScaled], s.scaled);
    add(chunk.square, s.probable.variance);
  }
  for (double& value : s.probable.variance) value *= unit;  // of V squared
}

// T0: relative to l.
void fill_t0(const SplitErrors& e, double rescales, int r, SplitOfRow& s) {
  const auto sum = [&](RowSum i) { return s.sums.sum[i][r] / s.l; };
  const double rounding = e.l_from_rounded_p ? sum(kRounding) : 0;
  const double wrong = sum(kTheta) + rounding;
  s.t0.denominator = wrong + e.denominates(rescales) * (1 + wrong);
  s.t0.top = sum(kTopTheta);
  s.t0.times_o = s.t0.denominator - s.t0.top;
  for (double& value : s.t0.weighted) value *= kInflate / s.l;
}

// Additions that may be too small beside the sum for their roundings to be independent: a summand
// below 2^-21 of the sum, a few of its spacings, is rounded one way again and again, or lost.
double stagnant(const SplitOfRow& s, int r) {
  double small = kLargestSmall;
  if (s.l * 0x1p-21 > small) return s.tokens;
  int k = 0;
  for (; k + 1 < kSmallSums && s.l * 0x1p-21 <= small * kSmallStep; ++k) small *= kSmallStep;
  return s.sums.sum[kSmall + k][r];
}

// T2, relative to `l`, the sum of the weights that it divides by.
void fill_rigorous(const SplitErrors& e, double rescales, double l, int r, SplitOfRow& s) {
  const auto sum = [&](RowSum i) { return s.sums.sum[i][r] / l; };
  const bool lr = e.l_from_rounded_p;
  TierSums& t = s.rigorous;
  t.top = sum(kTopRigorous);
  const double flips = lr ? sum(kFlip) : 0;
  const double wrong = lr ? sum(kCentred) + t.top + flips : sum(kTheta);
  const double gamma = e.denominates(rescales) * (1 + wrong);
  t.denominator = wrong + gamma;
  t.times_o = sum(kCentred) + gamma + flips;
  for (double& value : t.weighted) value *= kInflate / l;
}

// T1 or T2p, likewise.
void fill_probable(const SplitErrors& e, double rescales, double l, int tile_tokens, int r,
                   SplitOfRow& s) {
  const auto sum = [&](RowSum i) { return s.sums.sum[i][r] / l; };
  const auto square = [&](RowSum i) { return s.sums.sum[i][r] / (l * l); };
  const bool lr = e.l_from_rounded_p;
  TierSums& t = s.probable;
  t.times_o = t.denominator = sum(kLinear);
  (lr ? t.denominator : t.times_o) += sum(kOfMax);
  t.variance_top = square(kSquareOfTop);
  t.variance_o = square(kSquareOfO) + (lr ? square(kSquareOfP) : 0);
  // The denominator: what is left to chance, at most the worst case.
  const double alike = stagnant(s, r) / tile_tokens + 1;
  const double chance = std::sqrt(e.denominator_roundings * s.sums.sum[kRepeated][r] / s.l / 3);
  const double gamma = e.denominator_tile + rescales * kU +
                       kU * std::min(e.denominator_roundings, kLambda * chance + alike);
  t.times_o += gamma;
  t.denominator += gamma;
  for (double& value : t.weighted) value *= kInflate / l;
  for (double& value : t.variance) value *= kOwnError / (l * l);
  // The same of the numerator; sum a|v| is at most `weighted` over its least error.
  const double worst = std::min(stagnant(s, r) * kU, e.accumulates(rescales));
  for (double& value : t.weighted) value *= 1 + worst / s.least_linear;
}

// The tiers about the declared rounding of P.
void fill_tight(const SplitErrors& e, double rescales, const Plan& plan, int tile_tokens, int r,
                SplitOfRow& s) {
  const bool shifts = plan.declared && e.l_from_rounded_p;
  const double l = shifts ? s.l + s.sums.sum[kShift][r] : s.l;
  s.lse_shift = std::log(l / s.l);
  if (plan.declared) {
    fill_rigorous(e, rescales, l, r, s);
    for (int d = 0; d < kDV; ++d) s.o_tight[d] = (s.o[d] * s.l + s.o_tight[d]) / l;
  } else {
    s.o_tight = s.o;
  }
  fill_probable(e, rescales, l, tile_tokens, r, s);
  for (double& value : s.scaled) value /= s.l;
}

// The radius of each column, about `o`.
void set_radii(const SplitOfRow& s, const AlignedVector<double>& o, TierSums& tier) {
  if (tier.weighted.empty()) return;
  const double quotient = 1 - probable_denominator(tier);
  const double of_o = tier.times_o + kLambda * std::sqrt(tier.variance_o);
  tier.radius.resize(kDV);
  for (int d = 0; d < kDV; ++d) {
    const double size = std::fabs(o[d]), of_top = std::fabs(s.top_v[d] - o[d]);
    double error = tier.weighted[d] + size * of_o + tier.top * of_top;
    if (!tier.variance.empty())
      error += kLambda * std::sqrt(tier.variance[d] + tier.variance_top * of_top * of_top);
    const double cap = s.cap_factor * s.largest_v[d] + size;
    const double floor = floor_of(s, d);
    tier.radius[d] = (quotient > kLeastQuotient ? std::min(error / quotient, cap) : cap) + floor;
  }
}

}  // namespace

double floor_of(const SplitOfRow& s, int d) {
  const double unit = s.descales.values;
  return s.tokens * (0x1p-126 * unit + 0x1p-149 * s.largest_v[d]) + (unit == 1 ? 0 : 0x1p-126);
}

float rounded_up(double bound) {
  const double own = bound * kOwnError;
  if (!(own < 3e38)) return std::numeric_limits<float>::infinity();
  const auto stored = static_cast<float>(own);
  return stored < own ? std::nextafter(stored, std::numeric_limits<float>::infinity()) : stored;
}

SplitOfRow sum_split(const Problem& problem, const Inputs& inputs, const Arithmetic& arithmetic,
                     const Plan& plan, const BlockJob& job, int split, int r) {
  SplitOfRow s;
  s.split = split;
  s.descales = descales_of(problem);
  s.tokens = std::min(job.splits[split].end, job.block.visible[r]) - job.splits[split].begin;
  sum_chunks(plan, job, split, r, s);
  const SplitErrors& e = job.errors[split];
  const SplitLargest& largest = job.split_largest[split];
  s.max = largest.score[r];
  s.l = s.sums.sum[kL][r];
  s.log_l = std::log(s.l);
  s.lse = s.max + s.log_l;
  for (double& value : s.o) value /= s.l;
  if (!plan.bounds) return s;
  s.least_linear = s.sums.least_linear[r];
  s.worst_exponent = s.sums.worst_exponent[r] + 1;
  // A denominator of rounded P may lose all but the largest P, and what saturation takes of that.
  if (e.l_from_rounded_p) s.worst_exponent += s.log_l - std::log1p(-e.p_saturation);
  s.ambiguous = largest.ambiguous[r];
  const double p_grows = e.p_min_normal > 0x1p-126 ? 1 : e.p_relative;
  const double rescales = largest.rescales[r];
  s.accumulates = e.accumulates(rescales);
  s.cap_factor = 1 + 2 * (p_grows + e.denominates(rescales) + e.accumulates(rescales));
  // No score but NaN or -inf: there is no such token, and no bound either.
  const int top = std::max(static_cast<int>(largest.token[r]), 0);
  const Elements top_v = token_row(problem, inputs, job.block.sequence, top);
  s.top_v.resize(kDV);
  for (int d = 0; d < kDV; ++d) s.top_v[d] = s.descales.values * top_v[d];
  fill_t0(e, rescales, r, s);
  set_radii(s, s.o, s.t0);
  if (!plan.tiers) return s;
  fill_tight(e, rescales, plan, arithmetic.tile_tokens, r, s);
  set_radii(s, s.o_tight, s.rigorous);
  set_radii(s, s.o_tight, s.probable);
  return s;
}

double log_error(double relative, double worst_exponent) {
  const double quotient = 1 - relative;
  return quotient > kLeastQuotient ? relative / quotient : worst_exponent;
}

double lse_radius(const TierSums& tier, const Arithmetic& arithmetic, const SplitOfRow& s) {
  return log_error(probable_denominator(tier), s.worst_exponent) +
         stored_lse_error(arithmetic, s.max, s.log_l, s.descales.of_logit);
}

namespace {

// The tight tiers of one split. T1 is at most T0; T2 and T2p are about the shifted values.
void store_tight(const Contract& contract, const Plan& plan, const SplitOfRow& s, bool partial,
                 std::int64_t part, Tiers& tiers) {
  const auto o_of = [&](Bound& b) { return partial ? &b.partial_o[part * kDV] : &b.o[part * kDV]; };
  const auto lse_of = [&](Bound& b) -> float& {
    return partial ? b.partial_lse[part] : b.lse[part];
  };
  const Arithmetic& a = contract.arithmetic;
  Bound& tightest = plan.declared ? tiers.t2p : tiers.t1;
  const double t0_lse = lse_of(tiers.t0), probable_lse = lse_radius(s.probable, a, s);
  double rigorous_lse = t0_lse;
  if (plan.declared) {
    rigorous_lse = s.ambiguous ? t0_lse + std::fabs(s.lse_shift) : lse_radius(s.rigorous, a, s);
    lse_of(tiers.t2) = rounded_up(rigorous_lse);
    lse_of(tiers.p_shift) = static_cast<float>(s.lse_shift);
  }
  lse_of(tightest) = rounded_up(s.ambiguous ? rigorous_lse : std::min(rigorous_lse, probable_lse));
  for (int d = 0; d < kDV; ++d) {
    const double t0 = o_of(tiers.t0)[d];
    double rigorous = t0;
    if (plan.declared) {
      const double shift = s.o_tight[d] - s.o[d];
      rigorous = s.ambiguous ? t0 + std::fabs(shift) : s.rigorous.radius[d];
      o_of(tiers.t2)[d] = rounded_up(rigorous);
      o_of(tiers.p_shift)[d] = static_cast<float>(shift);
    }
    double probable = s.ambiguous ? rigorous : s.probable.radius[d];
    // An fp32 result has no rounding to hide in what is alike in a column's products though no
    // token repeats (a few large v among many tiny ones): its accumulation counts in full.
    if (partial && !a.bf16_partials)
      probable += s.accumulates * s.probable.weighted[d] / s.least_linear;
    o_of(tightest)[d] = rounded_up(std::min(rigorous, probable));
  }
}

void store_split(const Contract& contract, const Plan& plan, const SplitOfRow& s, bool partial,
                 std::int64_t part, Reference& result) {
  Expected& e = result.expected;
  std::copy_n(s.o.begin(), kDV, partial ? &e.partial_o[part * kDV] : &e.o[part * kDV]);
  (partial ? e.partial_lse : e.lse)[part] = s.lse;
  if (!plan.bounds) return;
  Bound& t0 = result.tiers.t0;
  (partial ? t0.partial_lse : t0.lse)[part] = rounded_up(lse_radius(s.t0, contract.arithmetic, s));
  float* o = partial ? &t0.partial_o[part * kDV] : &t0.o[part * kDV];
  for (int d = 0; d < kDV; ++d) o[d] = rounded_up(s.t0.radius[d]);
  if (plan.tiers) store_tight(contract, plan, s, partial, part, result.tiers);
}

// Facts and temperature of the row; s.share is set.
void store_facts(std::int64_t row, int r, const std::vector<SplitOfRow>& splits,
                 Reference& result) {
  RowFacts& f = result.rows[row];
  f.logit_min = static_cast<float>(kInf);
  f.logit_max = -f.logit_min;
  double squared = 0, flushed = 0, shift = 0, norm = 0, mean = 0, size = 0;
  for (const SplitOfRow& s : splits) {
    const auto share = [&](RowSum i) { return s.share * s.sums.sum[i][r] / s.l; };
    f.logit_min = std::min(f.logit_min, static_cast<float>(s.sums.logit_min[r]));
    f.logit_max = std::max(f.logit_max, static_cast<float>(s.max));
    squared += s.share * s.share * s.sums.sum[kSquaredW][r] / (s.l * s.l);
    flushed += share(kFlushed);
    shift += share(kShift);
    norm += s.descales.values * share(kNorm);
    mean += share(kScaled) + s.share * s.max;
  }
  const double* o = &result.expected.o[row * kDV];
  float* temperature = &result.temperature_o[row * kDV];
  for (int d = 0; d < kDV; ++d) {
    double sum = 0;
    for (const SplitOfRow& s : splits) sum += s.share * (s.scaled[d] + (s.max - mean) * s.o[d]);
    temperature[d] = static_cast<float>(sum);
    size += std::fabs(o[d]);
  }
  result.temperature_lse[row] = static_cast<float>(mean);
  f.n_eff = static_cast<float>(1 / squared);
  f.flush_mass = static_cast<float>(flushed);
  f.gain_bias = static_cast<float>(shift);
  f.condition = static_cast<float>(norm / size);
}

}  // namespace

void finish_row(const Problem& problem, const Inputs& inputs, const Contract& contract,
                const Plan& plan, const BlockJob& job, int r, Reference& result) {
  const std::int64_t row = first_row_of(problem, inputs, job.block) + r;
  const int num_splits = result.expected.num_splits;
  std::vector<SplitOfRow> seen;
  for (int split = 0; split < static_cast<int>(job.splits.size()); ++split) {
    if (job.splits[split].begin >= job.block.visible[r]) break;
    seen.push_back(sum_split(problem, inputs, contract.arithmetic, plan, job, split, r));
    const bool partial = num_splits > 1;
    store_split(contract, plan, seen.back(), partial, partial ? row * num_splits + split : row,
                result);
  }
  if (seen.empty()) return;
  if (num_splits > 1) store_merged(contract, plan, row, seen, result);
  if (plan.tiers) store_facts(row, r, seen, result);
}

}  // namespace attest
