#include "harness/blame_hypotheses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/blame_hypothesis_list.hpp"
#include "harness/blame_row.hpp"
#include "harness/blame_where.hpp"
#include "harness/judge_gates.hpp"

namespace attest {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
// The radius was made for the declared behaviour; near ties of P lie elsewhere under another.
constexpr double kRadii = 2;
// A hypothesis explains clearly more than the next when its mean square is so much smaller.
constexpr double kClearly = 1.1;
constexpr int kMostRows = 4;
constexpr std::int64_t kMostTokens = 131072;  // of all evaluated rows, beyond the first

// One row's stored elements against what a hypothesis gives.
class RowTest {
 public:
  RowTest(const Subject& s, const Inputs& inputs, const Output& output, const CaseGates& gates,
          std::int64_t row)
      : s_(s),
        output_(output),
        gates_(gates),
        row_(row),
        shape_(shape_of(s, inputs, row)),
        list_(hypotheses_for(s, shape_)),
        evaluated_(evaluate_row(s, inputs, row, list_.supposed)) {
    find_wrong_splits();
  }

  const std::vector<Hypothesis>& hypotheses() const { return list_.all; }
  // "in split 5": the wrong ones, where they are not all.
  std::string wrong_splits_text() const {
    const auto count = std::count(wrong_.begin(), wrong_.end(), true);
    return fmt::format("in split{} {}", count == 1 ? "" : "s", ranges_text(wrong_));
  }

  struct Fit {
    double misfit = INFINITY;
    bool in_wrong_splits = false;
  };
  // In all splits if that fits, else in those that are wrong.
  Fit fit(const Hypothesis& h) const {
    if (!h.applies) return {};
    Hypothesis everywhere = h;
    everywhere.in_wrong_splits = false;
    const double misfit_of_all = misfit(everywhere);
    const auto wrong = std::count(wrong_.begin(), wrong_.end(), true);
    const bool some = wrong > 0 && wrong < seen_splits();
    if (std::isfinite(misfit_of_all) || !h.in_wrong_splits || !some) return {misfit_of_all, false};
    return {misfit(h), true};
  }

 private:
  // Mean square, summed over the tensors, of what is left in units of what is allowed; infinity
  // when an element is beyond it.
  double misfit(const Hypothesis& h) const {
    double sum = 0;
    std::vector<PartialResult> splits = splits_of(h, h.supposed);
    if (s_.num_splits > 1) {
      sum += misfit_of_splits(h, splits);
      if (!std::isfinite(sum)) return sum;
      splits = {merge(h, h.final_from > 0 ? splits_of(h, h.final_from) : splits)};
    }
    sum += misfit_of(h.lse_as.value_or(Stored::kFp32), gates_.lse, row_, output_.lse[row_],
                     splits[0].lse * h.lse_times);
    double o = 0;
    for (int d = 0; d < kDV; ++d) {
      const std::int64_t i = row_ * kDV + d;
      o += misfit_of(h.o_as.value_or(gates_.o.stored()), gates_.o, i, output_.o[i], splits[0].o[d]);
    }
    return sum + o / kDV;
  }

  int seen_splits() const {
    return static_cast<int>(
        std::count_if(shape_.splits.begin(), shape_.splits.end(),
                      [&](const TokenRange& split) { return split.begin < shape_.visible; }));
  }

  void find_wrong_splits() {
    wrong_.assign(shape_.splits.size(), false);
    for (int s = 0; s < seen_splits() && s_.num_splits > 1; ++s) {
      const std::int64_t stored = stored_partial(s_, row_, s), at = row_ * s_.num_splits + s;
      const auto fails = [](const Judged& judged) { return judged.fault != Fault::kNone; };
      bool wrong = fails(gates_.partial_lse.judge(at, output_.partial_lse[stored]));
      for (int d = 0; d < kDV && !wrong; ++d) {
        const std::uint32_t bits = output_.partial_o[stored * kDV + d];
        wrong = fails(gates_.partial_o.judge(at * kDV + d, bits));
      }
      wrong_[s] = wrong;
    }
  }

  // Whether a hypothesis that may be in any split is in this one.
  bool is_in(const Hypothesis& h, std::size_t split) const {
    return !h.in_wrong_splits || wrong_[split];
  }

  std::vector<PartialResult> splits_of(const Hypothesis& h, int supposed) const {
    std::vector<PartialResult> splits;
    for (std::size_t s = 0; s < wrong_.size(); ++s) {
      splits.push_back(evaluated_[is_in(h, s) ? supposed : 0][s]);
    }
    return splits;
  }

  Stored partial_o_as(const Hypothesis& h) const {
    return h.partial_o_as.value_or(gates_.partial_o.stored());
  }
  double partial_lse(const Hypothesis& h, const std::vector<PartialResult>& splits,
                     std::size_t s) const {
    return splits[s].lse * (is_in(h, s) ? h.partial_lse_times : 1);
  }

  double misfit_of_splits(const Hypothesis& h, const std::vector<PartialResult>& splits) const {
    double of_lse = 0, of_o = 0;
    const int seen = seen_splits();
    for (int s = 0; s < seen; ++s) {
      const std::int64_t stored = stored_partial(s_, row_, s), at = row_ * s_.num_splits + s;
      of_lse += misfit_of(h.partial_lse_as.value_or(Stored::kFp32), gates_.partial_lse, at,
                          output_.partial_lse[stored], partial_lse(h, splits, s));
      if (!std::isfinite(of_lse + of_o)) return INFINITY;
      for (int d = 0; d < kDV; ++d) {
        of_o += misfit_of(partial_o_as(h), gates_.partial_o, at * kDV + d,
                          output_.partial_o[stored * kDV + d], splits[s].o[d]);
      }
    }
    return of_lse / seen + of_o / (seen * kDV);
  }

  PartialResult merge(const Hypothesis& h, std::vector<PartialResult> splits) const {
    for (std::size_t s = 0; s < splits.size(); ++s) {
      if (h.merge_reads_them) {
        const Stored as = h.partial_lse_as.value_or(Stored::kFp32);
        splits[s].lse = value_of(as, stored_bits(as, partial_lse(h, splits, s)));
      }
      for (double& o : splits[s].o) o = value_of(partial_o_as(h), stored_bits(partial_o_as(h), o));
    }
    if (h.lost_split >= 0) splits.erase(splits.begin() + h.lost_split);
    Remerged m = merge_again(s_.contract.arithmetic, splits);
    if (h.averages) average(splits, m.o);
    return {std::move(m.o), m.lse};
  }

  static void average(std::vector<PartialResult>& splits, std::vector<double>& o) {
    std::erase_if(splits, [](const PartialResult& split) { return split.lse == kNone; });
    std::fill(o.begin(), o.end(), 0.0);
    for (const PartialResult& split : splits) {
      for (int d = 0; d < kDV; ++d) o[d] += split.o[d] / static_cast<double>(splits.size());
    }
  }

  // The square of what is left after the supposed rounding, in units of what is allowed.
  static double misfit_of(Stored as, const TensorGates& gates, std::int64_t i, std::uint32_t bits,
                          double centre) {
    const double actual = value_of(gates.stored(), bits);
    const double radius = kRadii * gates.at(gates.count() - 1, i).radius;
    if (is_poison(gates.stored(), bits) || !std::isfinite(radius)) return INFINITY;
    // What was bf16 on its way to fp32 is one still.
    const bool was_bf16 = gates.stored() == Stored::kFp32 && as != Stored::kFp32;
    if (was_bf16 && (bits & 0xffff) != 0) return INFINITY;
    if (!is_within(as, actual, centre, radius)) return INFINITY;
    const double allowed = as == Stored::kFp32 ? radius : radius + half_ulp_bf16(std::fabs(centre));
    const double left =
        actual - (as == Stored::kFp32 ? centre : value_of(as, stored_bits(as, centre)));
    return left == 0 ? 0 : left * left / (allowed * allowed);
  }

  const Subject& s_;
  const Output& output_;
  const CaseGates& gates_;
  const std::int64_t row_;
  const RowShape shape_;
  const Hypotheses list_;
  const EvaluatedRow evaluated_;
  std::vector<bool> wrong_;  // [live splits]
};

// Of the failing rows of the first sequence that has any (a place, as a split's number, may be
// another in the next one) the first, the last, and some between, as many as the time allows.
std::vector<std::int64_t> rows_to_test(const Subject& s, const std::vector<bool>& failing) {
  std::vector<std::int64_t> rows, tokens, chosen;
  int sequence = -1;
  each_row_while(s, [&](const Place& place, const std::vector<TokenRange>&) {
    const bool fails = place.row < static_cast<std::int64_t>(failing.size()) && failing[place.row];
    if (!fails || visible_at(s, place) == 0) return true;
    if (rows.empty()) sequence = place.sequence;
    if (place.sequence != sequence) return false;
    rows.push_back(place.row);
    tokens.push_back(visible_at(s, place));
    return true;
  });
  std::int64_t total = 0;
  for (int i = 0; i < kMostRows && !rows.empty(); ++i) {
    const std::size_t at = (rows.size() - 1) * i / (kMostRows - 1);
    if (!chosen.empty() && (rows[at] == chosen.back() || total + tokens[at] > kMostTokens))
      continue;
    total += tokens[at];
    chosen.push_back(rows[at]);
  }
  return chosen;
}

}  // namespace

std::string fitting_hypothesis(const Subject& s, const Inputs& inputs, const Output& output,
                               const Reference& reference, const std::vector<bool>& failing) {
  const CaseGates gates(s, reference);
  if (gates.o.count() == 0 || gates.lse.count() == 0) return {};
  std::vector<double> misfits;
  std::vector<std::string> words;
  for (const std::int64_t row : rows_to_test(s, failing)) {
    const RowTest test(s, inputs, output, gates, row);
    misfits.resize(test.hypotheses().size());
    words.resize(misfits.size());
    for (std::size_t h = 0; h < misfits.size(); ++h) {
      const Hypothesis& hypothesis = test.hypotheses()[h];
      const RowTest::Fit fit = test.fit(hypothesis);
      misfits[h] += fit.misfit;
      if (words[h].empty() || fit.in_wrong_splits) words[h] = hypothesis.words;
      if (fit.in_wrong_splits) words[h] += ", " + test.wrong_splits_text();
    }
  }
  if (misfits.empty()) return {};
  const std::size_t best = std::min_element(misfits.begin(), misfits.end()) - misfits.begin();
  if (best == 0 || !std::isfinite(misfits[best])) return {};
  for (std::size_t h = 0; h < misfits.size(); ++h) {
    if (h != best && misfits[h] <= kClearly * misfits[best]) return {};
  }
  return words[best];
}

}  // namespace attest
