// From the tokens of one row to its radii: error_bound.md, line by line.
#include "reference/explain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "harness/core/check.hpp"
#include "harness/core/formats.hpp"
#include "reference/explain_view.hpp"
#include "reference/reference.hpp"

namespace attest {
namespace slow {
namespace {

// What the merge knows of its splits.
struct Join {
  double lse = 0, largest = -std::numeric_limits<double>::infinity();
  std::vector<double> shares, phi, exponents;
  Join(const View& view, Splits splits) {
    for (const Split& s : splits) largest = std::max(largest, view.lse(s));
    double sum = 0;
    for (const Split& s : splits) sum += std::exp(view.lse(s) - largest);
    lse = largest + std::log(sum);
    const int live = static_cast<int>(splits.size());
    for (const Split& s : splits) {
      const double exponent = exponent_of_share(view.a, live, s.max, s.log_l, largest - view.lse(s),
                                                s.descalings.of_logit);
      shares.push_back(std::exp(view.lse(s) - lse));
      exponents.push_back(exponent);
      phi.push_back(std::expm1(std::min(exponent, 700.0)));
    }
  }
};

// The weights of a division-free merge do not sum to one: by how much, relative.
double sum_is_not_one(const View& view, Splits splits, const Join& join) {
  if (view.a.merge != Merge::kDivisionFree) return 0;
  const auto live = static_cast<double>(splits.size());
  double sum = 4 * std::fabs(join.lse) + live + 2;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    const double lse = view.lse(splits[i]);
    sum += join.shares[i] * (std::fabs(lse) + 4 * std::fabs(lse - join.lse));
  }
  return std::expm1(kHalfUlp * sum + kUlp * (view.a.log_ulp * std::log(live + 1) + view.a.exp_ulp));
}

Terms of_merge(const View& view, Splits splits) {
  Terms terms;
  const Join join(view, splits);
  const double live = static_cast<double>(splits.size());
  const double each = view.a.merge == Merge::kSequential ? 3 : 2;
  const double additions = kHalfUlp * (each * live + 3 + view.a.divide_u);
  double o = 0, cap = 0, floor = 0;
  for (std::size_t i = 0; i < splits.size(); ++i) o += join.shares[i] * view.o(splits[i]);
  for (std::size_t i = 0; i < splits.size(); ++i) {
    const Split& s = splits[i];
    const double share = join.shares[i], phi = join.phi[i], of_it = view.o(s);
    const double size = std::fabs(of_it) + of_split(view, s).sum();
    add_split(view, s, o, share * (1 + phi), terms);
    terms.add_to_denominator(Name::kMerge, share * phi);
    terms.add(Name::kMerge,
              share * phi * std::fabs(of_it - o) + share * (1 + phi) * additions * size);
    if (view.a.bf16_partials) terms.add(Name::kStored, share * (1 + phi) * half_ulp_bf16(size));
    cap = std::max(cap, cap_of(view, s));
    floor += share * floor_of(view, s);
  }
  terms.take_roots(o);
  const double sum = kHalfUlp * (2 * live + 1) * (1 + terms.denominator());
  terms.add(Name::kMerge, sum * std::fabs(o));
  terms.add_to_denominator(Name::kMerge, sum);
  cap = cap * (1 + 2 * (additions + (view.a.bf16_partials ? 0x1p-8 : 0))) + std::fabs(o);
  divide(1 - terms.denominator(), cap, floor, terms);
  const double not_one = sum_is_not_one(view, splits, join);
  terms.add(Name::kDivisionFree, not_one * (terms.sum() + std::fabs(o)));
  return terms;
}

// Of log l, whatever happened: no weight is off by more than its exponent; of rounded P all but the
// largest may be lost, and what saturation takes of that.
double worst_logarithm(const Arithmetic& a, const Split& s) {
  double worst = 0;
  for (const Token& t : s.tokens) worst = std::max(worst, t.exponent());
  return worst + 1 + (a.l_from_rounded_p ? s.log_l - std::log1p(-s.factors.saturation) : 0);
}

Terms lse_of_split(const View& view, const Split& s) {
  Terms terms;
  add_split(view, s, 0, 1, terms);
  terms = terms.of_logarithm(worst_logarithm(view.a, s));
  terms.add(Name::kLse, lse_error(view.a, s.max, s.log_l, s.descalings.of_logit));
  return terms;
}

Terms lse_of_merge(const View& view, Splits splits) {
  Terms terms;
  const Join join(view, splits);
  double worst = 0;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    add_split(view, splits[i], 0, join.shares[i] * (1 + join.phi[i]), terms);
    terms.add_to_denominator(Name::kMerge, join.shares[i] * join.phi[i]);
    worst = std::max(worst, worst_logarithm(view.a, splits[i]) + join.exponents[i]);
  }
  const double live = static_cast<double>(splits.size());
  terms.add_to_denominator(Name::kMerge, kHalfUlp * (2 * live + 1) * (1 + terms.denominator()));
  terms = terms.of_logarithm(worst);
  const double above = join.lse - join.largest;
  terms.add(Name::kLse,
            view.a.log_ulp * kUlp * above + kHalfUlp * (2 * above + 3 * std::fabs(join.lse)));
  return terms;
}

// What a tier is about.
double centre_of(const View& view, Splits splits) {
  const Join join(view, splits);
  if (view.column < 0) return join.lse;
  double o = 0;
  for (std::size_t i = 0; i < splits.size(); ++i) o += join.shares[i] * view.o(splits[i]);
  return o;
}

// Rows that decide about a lazy max together must lie in one block of 16 rows of their sequence.
bool groups_fit(const Problem& problem, const Arithmetic& a) {
  if (a.lazy_rescale == 0) return true;
  for (int row = 0; row < problem.max_s_q() * problem.h_q; ++row) {
    const int head = row % problem.h_q;
    if (row / 16 != (row - head % a.lazy_heads) / 16) return false;
  }
  return true;
}

}  // namespace
}  // namespace slow

struct RowBounds::State {
  Arithmetic arithmetic;
  RowView view;
  bool declared, merges, majorised;
  slow::Row row;                   // with the declared q
  std::optional<slow::Row> exact;  // with q as it is stored, where that differs

  static bool declares(const Problem& p, const Contract& c) {
    return c.arithmetic.schedule_declared && slow::groups_fit(p, c.arithmetic);
  }

  State(const Problem& p, const Inputs& inputs, const Contract& c, int num_splits,
        std::int64_t row_index, bool as_reference)
      : arithmetic(c.arithmetic),
        view(p, inputs, row_index),
        declared(declares(p, c)),
        merges(num_splits > 1),
        majorised(as_reference),
        row(p, inputs, c, num_splits, row_index, as_reference, declared, false) {
    ATTEST_CHECK(why_no_bound(p, c).empty());
    if (c.arithmetic.scaled_q)
      exact.emplace(p, inputs, c, num_splits, row_index, as_reference, declared, true);
  }

  slow::View at(Tier tier, int column) const { return {arithmetic, tier, majorised, view, column}; }
  // The splits that are looked at: all for the final result.
  static slow::Splits some(const slow::Row& of, int split) {
    if (split < 0) return of.splits;
    if (split >= static_cast<int>(of.splits.size())) return {};
    return {&of.splits[split], 1};
  }

  slow::Terms terms(Tier tier, int split, int column, slow::Splits s) const {
    const slow::View here = at(tier, column);
    if (split < 0 && merges)
      return column < 0 ? slow::lse_of_merge(here, s) : slow::of_merge(here, s);
    if (column < 0) return slow::lse_of_split(here, s[0]);
    slow::Terms terms = slow::of_split(here, s[0]);
    if (merges && here.likely() && !arithmetic.bf16_partials)
      terms.add(slow::Name::kAccumulate, slow::partial_accumulation(here, s[0]));
    return terms;
  }

  // T1 is at most T0, T2p at most T2; where rounding decides about the max, T0 is all there is.
  Explained explain(Tier tier, int split, int column) const {
    const slow::Splits splits = some(row, split);
    const bool tight = tier == Tier::kT2 || tier == Tier::kT2p;
    if (splits.empty() || (tight && !declared) || (tier == Tier::kT1 && declared)) return {};
    const double about = slow::centre_of(at(tier, column), splits);
    const double shift =
        about - slow::centre_of(at(Tier::kT0, column), some(exact ? *exact : row, split));
    const double rounding_shift = about - slow::centre_of(at(Tier::kT0, column), splits);
    const bool unsure = tight && std::any_of(splits.begin(), splits.end(),
                                             [](const auto& s) { return s.ambiguous; });
    slow::Terms chosen = terms(unsure ? Tier::kT0 : tier, split, column, splits);
    if (unsure) chosen.add(slow::Name::kAmbiguous, std::fabs(rounding_shift));
    if (!unsure && (tier == Tier::kT1 || tier == Tier::kT2p)) {
      const slow::Terms limit =
          terms(tier == Tier::kT1 ? Tier::kT0 : Tier::kT2, split, column, splits);
      if (limit.sum() < chosen.sum()) chosen = limit;
    }
    // Kept in fp32; where q is rounded too, P's part was before it was added.
    const double kept = std::fabs(shift) + (tight && exact ? std::fabs(rounding_shift) : 0);
    chosen.add(slow::Name::kShift, kept * slow::kHalfUlp);
    return {chosen.sum(), shift, chosen.named(arithmetic)};
  }
};

RowBounds::RowBounds(const Problem& problem, const Inputs& inputs, const Contract& contract,
                     int num_splits, std::int64_t row, Majorised majorised)
    : state_(std::make_unique<State>(problem, inputs, contract, num_splits, row,
                                     majorised == Majorised::kAsReference)) {}
RowBounds::~RowBounds() = default;

Explained RowBounds::o(Tier tier, int split, int column) const {
  ATTEST_CHECK(column >= 0 && column < kDV);
  return state_->explain(tier, split, column);
}
Explained RowBounds::lse(Tier tier, int split) const { return state_->explain(tier, split, -1); }

}  // namespace attest
