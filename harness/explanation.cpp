#include "harness/explanation.hpp"

#include <algorithm>
#include <cmath>

#include "harness/judge_gates.hpp"
#include "harness/judge_statistics.hpp"
#include "reference/explain.hpp"

namespace attest {
namespace {

constexpr std::size_t kLoosestShown = 3;

double rms(const double* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += values[i] * values[i];
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

// Of the rows that see tokens.
double rms_of_o(const Expected& e) {
  double sum = 0;
  std::int64_t rows = 0;
  for (std::int64_t row = 0; row < e.rows; ++row) {
    if (std::isinf(e.lse[row])) continue;
    const double of_row = rms(e.o.data() + row * kDV, kDV);
    sum += of_row * of_row;
    ++rows;
  }
  return rows == 0 ? 0 : std::sqrt(sum / static_cast<double>(rows));
}

// Adds the size of a tensor, of which `owner` holds the lse of each `width` elements: -inf where
// there is nothing to judge.
void add_size(Tier tier, const char* tensor, const std::vector<float>& radii,
              const std::vector<double>& owner, std::size_t width, double unit,
              std::vector<TierSize>& sizes) {
  std::vector<float> kept;
  for (std::size_t i = 0; i < radii.size(); ++i) {
    if (std::isfinite(owner[i / width])) kept.push_back(radii[i]);
  }
  if (kept.empty()) return;
  const auto middle = kept.begin() + static_cast<std::ptrdiff_t>(kept.size() / 2);
  std::nth_element(kept.begin(), middle, kept.end());
  const float largest = *std::max_element(middle, kept.end());
  sizes.push_back({tier, tensor, *middle / unit, largest / unit});
}

std::vector<TierSize> sizes_of(const Reference& r, double rms_o) {
  const double unit = rms_o > 0 ? rms_o : 1;
  std::vector<TierSize> sizes;
  for (const auto& [tier, bound] : {std::pair{Tier::kT0, &r.tiers.t0},
                                    {Tier::kT1, &r.tiers.t1},
                                    {Tier::kT2, &r.tiers.t2},
                                    {Tier::kT2p, &r.tiers.t2p}}) {
    add_size(tier, "o", bound->o, r.expected.lse, kDV, unit, sizes);
    add_size(tier, "lse", bound->lse, r.expected.lse, 1, 1, sizes);
    add_size(tier, "partial_o", bound->partial_o, r.expected.partial_lse, kDV, unit, sizes);
    add_size(tier, "partial_lse", bound->partial_lse, r.expected.partial_lse, 1, 1, sizes);
  }
  return sizes;
}

std::vector<LooseRow> loosest_rows(const Subject& s, const Reference& r) {
  std::vector<LooseRow> loosest;
  const CaseGates gates(s, r);
  const int tightest = gates.o.count() - 1;
  if (tightest < 0) return loosest;
  each_row_while(s, [&](const Place& place, const std::vector<TokenRange>&) {
    if (visible_at(s, place) == 0) return true;
    LooseRow row;
    row.place = place;
    for (int d = 0; d < kDV; ++d) {
      const double radius = gates.o.at(tightest, place.row * kDV + d).radius;
      if (row.place.column < 0 || radius > row.radius) row.place.column = d, row.radius = radius;
    }
    row.rms = rms(r.expected.o.data() + place.row * kDV, kDV);
    if (!r.rows.empty()) row.facts = r.rows[place.row];
    // A row of zeros has no unit: it is the loosest of all.
    const auto at = std::find_if(loosest.begin(), loosest.end(),
                                 [&](const LooseRow& l) { return row.ratio() > l.ratio(); });
    loosest.insert(at, row);
    if (loosest.size() > kLoosestShown) loosest.pop_back();
    return true;
  });
  return loosest;
}

}  // namespace

Explanation explain_case(const Subject& s, const Inputs& inputs, const Reference& reference) {
  Explanation e;
  e.rms_o = rms_of_o(reference.expected);
  e.facts = facts_of(reference);
  e.tiers = sizes_of(reference, e.rms_o);
  e.loosest = loosest_rows(s, reference);
  if (!e.loosest.empty()) {
    const Place& at = e.loosest[0].place;
    const RowBounds bounds(s.problem, inputs, s.contract, s.num_splits, at.row);
    e.tightest = gates_of(reference.tiers).back().tier;
    e.o_terms = bounds.o(e.tightest, -1, at.column).terms;
    e.lse_terms = bounds.lse(e.tightest, -1).terms;
  }
  e.visibility = visibility_of(s, inputs, reference);
  e.strawmen = judge_strawmen(s, inputs, exact_output(s, reference), reference);
  return e;
}

}  // namespace attest
