// The merge of a row's splits: the final result and its bounds.
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/formats.hpp"
#include "reference/finish.hpp"

namespace attest {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Which sums of a split a tier reads.
using TierOf = TierSums SplitOfRow::*;

// One tier of the merge.
struct Merged {
  bool tight = false;  // about o_tight
  double lse = -kInf, largest_lse = -kInf;
  double denominator = 0;     // all that is wrong with the sum of the weights, relative
  double times_o = 0;         // the part of it that multiplies |o|: the rest is centred
  double sum_is_not_one = 0;  // of a division-free merge: by how much, relative
  double variance_o = 0, variance_top = 0;
  double worst_exponent = 0;
};

double lse_of(const SplitOfRow& s, bool tight) { return s.lse + (tight ? s.lse_shift : 0); }
double share_of(const SplitOfRow& s, bool tight) { return tight ? s.tight_share : s.share; }

// Sets the splits' shares.
void find_lse(std::vector<SplitOfRow>& splits, Merged& m) {
  for (const auto& s : splits) m.largest_lse = std::max(m.largest_lse, lse_of(s, m.tight));
  double sum = 0;
  for (const auto& s : splits) sum += std::exp(lse_of(s, m.tight) - m.largest_lse);
  m.lse = m.largest_lse + std::log(sum);
  for (auto& s : splits) (m.tight ? s.tight_share : s.share) = std::exp(lse_of(s, m.tight) - m.lse);
}

Merged merge_shares(const Arithmetic& a, TierOf tier, bool tight, std::vector<SplitOfRow>& splits) {
  const int live = static_cast<int>(splits.size());
  Merged m;
  m.tight = tight;
  find_lse(splits, m);
  double sizes = 0, spread = 0;
  for (auto& s : splits) {
    const double share = share_of(s, tight);
    const double exponent = merge_weight_error(
        a, live, s.max, s.log_l, std::fabs(m.largest_lse - lse_of(s, tight)), s.descales.of_logit);
    s.phi = std::expm1(std::min(exponent, 700.0));
    const TierSums& t = s.*tier;
    m.denominator += share * (t.denominator * (1 + s.phi) + s.phi);
    m.times_o += share * t.times_o * (1 + s.phi);
    m.variance_o += share * share * t.variance_o * (1 + s.phi) * (1 + s.phi);
    m.variance_top += share * share * t.variance_top * (1 + s.phi) * (1 + s.phi);
    m.worst_exponent = std::max(m.worst_exponent, s.worst_exponent + exponent);
    sizes += share * std::fabs(lse_of(s, tight));
    spread += share * std::fabs(lse_of(s, tight) - m.lse);
  }
  m.sum_is_not_one = division_free_error(a, live, m.lse, sizes, spread);
  const double variance = m.variance_o + m.variance_top;
  const double sum = merge_denominator_error(live) *
                     (1 + m.denominator + (variance > 0 ? kLambda * std::sqrt(variance) : 0));
  m.denominator += sum;
  m.times_o += sum;
  return m;
}

double all_of_denominator(const Merged& m) {
  const double variance = m.variance_o + m.variance_top;
  return m.denominator + (variance > 0 ? kLambda * std::sqrt(variance) : 0);
}

double merged_lse_radius(const Arithmetic& a, const Merged& m) {
  return log_error(all_of_denominator(m), m.worst_exponent) +
         merged_lse_error(a, m.lse, m.lse - m.largest_lse);
}

double merged_o(const std::vector<SplitOfRow>& splits, bool tight, int d) {
  double o = 0;
  for (const auto& s : splits) o += share_of(s, tight) * (tight ? s.o_tight[d] : s.o[d]);
  return o;
}

// One column of the merge, about `o`.
double merged_radius(const Arithmetic& a, const std::vector<SplitOfRow>& splits, TierOf tier,
                     const Merged& m, double o, int d) {
  const double add = merge_accumulate_error(a, static_cast<int>(splits.size()));
  const double stored = a.bf16_partials ? 0x1p-8 : 0;
  double error = 0, variance = 0, cap = 0, floor = 0;
  for (const auto& s : splits) {
    const TierSums& t = s.*tier;
    const double share = share_of(s, m.tight), of_split = m.tight ? s.o_tight[d] : s.o[d];
    const double grown = share * (1 + s.phi), of_top = std::fabs(s.top_v[d] - o);
    // Of a kernel's partial result: at most what its own bound says, and than the largest |v|.
    const double size = std::fabs(of_split) + t.radius[d];
    error += grown * (t.weighted[d] + t.top * of_top) + share * s.phi * std::fabs(of_split - o) +
             grown * add * size;
    if (!t.variance.empty()) {
      variance += grown * grown * (t.variance[d] + t.variance_top * of_top * of_top);
    }
    if (stored > 0) error += grown * half_ulp_bf16(size);
    floor += share * floor_of(s, d);
    cap = std::max(cap, s.cap_factor * s.largest_v[d]);
  }
  const double quotient = 1 - all_of_denominator(m);
  error += std::fabs(o) * m.times_o;
  error += kLambda * (std::sqrt(variance) + std::fabs(o) * std::sqrt(m.variance_o));
  cap = cap * (1 + 2 * (stored + add)) + std::fabs(o);
  const double divided =
      (quotient > kLeastQuotient ? std::min(error / quotient, cap) : cap) + floor;
  return divided + m.sum_is_not_one * (divided + std::fabs(o));
}

// T1, or T2 and T2p, and the shift between what they and T0 are about.
void store_tight(const Contract& contract, const Plan& plan, std::int64_t row,
                 std::vector<SplitOfRow>& splits, Reference& result) {
  const Arithmetic& a = contract.arithmetic;
  const bool declared = plan.declared;
  Tiers& tiers = result.tiers;
  const bool unsure =
      std::any_of(splits.begin(), splits.end(), [](const SplitOfRow& s) { return s.ambiguous; });
  Bound& tightest = declared ? tiers.t2p : tiers.t1;
  const Merged probable = merge_shares(a, &SplitOfRow::probable, declared, splits);
  const double shift_lse = probable.lse - result.expected.lse[row];
  double rigorous_lse = tiers.t0.lse[row] + std::fabs(shift_lse);
  Merged rigorous;
  if (declared) {
    rigorous = merge_shares(a, &SplitOfRow::rigorous, true, splits);
    if (!unsure) rigorous_lse = merged_lse_radius(a, rigorous);
    tiers.t2.lse[row] = rounded_up(rigorous_lse);
    tiers.p_shift.lse[row] = static_cast<float>(shift_lse);
  }
  tightest.lse[row] =
      rounded_up(unsure ? rigorous_lse : std::min(rigorous_lse, merged_lse_radius(a, probable)));
  for (int d = 0; d < kDV; ++d) {
    const std::int64_t at = row * kDV + d;
    const double o = merged_o(splits, declared, d), shift = o - result.expected.o[at];
    double limit = tiers.t0.o[at] + (declared ? std::fabs(shift) : 0);
    if (declared) {
      if (!unsure) limit = merged_radius(a, splits, &SplitOfRow::rigorous, rigorous, o, d);
      tiers.t2.o[at] = rounded_up(limit);
      tiers.p_shift.o[at] = static_cast<float>(shift);
    }
    const double radius =
        unsure ? limit : merged_radius(a, splits, &SplitOfRow::probable, probable, o, d);
    tightest.o[at] = rounded_up(std::min(limit, radius));
  }
}

}  // namespace

void store_merged(const Contract& contract, const Plan& plan, std::int64_t row,
                  std::vector<SplitOfRow>& splits, Reference& result) {
  const Arithmetic& a = contract.arithmetic;
  Merged m;
  if (plan.bounds) {
    m = merge_shares(a, &SplitOfRow::t0, false, splits);
    result.tiers.t0.lse[row] = rounded_up(merged_lse_radius(a, m));
  } else {
    find_lse(splits, m);
  }
  result.expected.lse[row] = m.lse;
  for (int d = 0; d < kDV; ++d) {
    const double o = merged_o(splits, false, d);
    result.expected.o[row * kDV + d] = o;
    if (!plan.bounds) continue;
    result.tiers.t0.o[row * kDV + d] =
        rounded_up(merged_radius(a, splits, &SplitOfRow::t0, m, o, d));
  }
  if (plan.tiers) store_tight(contract, plan, row, splits, result);
}

}  // namespace attest
