#include "reports/compare/compare_cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "harness/core/contract_changes.hpp"
#include "reports/run/no_news.hpp"

namespace attest {
namespace {

constexpr std::size_t kMostOfSpeed = 5;

// What moved most of a tensor. The largest says little of o and of bf16 partials: half an ulp of
// the last rounding takes most of what is allowed, whatever else is wrong; the bulk of the elements
// does.
void add_ratio_move(const CasePair& pair, const Worst& base, const Worst& pr,
                    std::vector<RatioMove>& moves) {
  std::vector<RatioMove> of_tensor_moves = {
      {pair.pr->planned_token(), pr.tensor, "largest", base.ratio, pr.ratio}};
  const Spread* const before = of_tensor(pair.base->verdict.spreads, pr.tensor);
  const Spread* const after = of_tensor(pair.pr->verdict.spreads, pr.tensor);
  if (before != nullptr && after != nullptr) {
    of_tensor_moves.push_back(
        {pair.pr->planned_token(), pr.tensor, "p99", before->ratio_p99, after->ratio_p99});
    of_tensor_moves.push_back(
        {pair.pr->planned_token(), pr.tensor, "median", before->ratio_median, after->ratio_median});
  }
  const RatioMove* furthest = nullptr;
  const auto distance = [](const RatioMove& move) { return std::abs(std::log(move.factor())); };
  for (const RatioMove& move : of_tensor_moves) {
    // What is no finite number is told by the verdict and its bucket.
    if (!std::isfinite(move.base) || !std::isfinite(move.pr)) continue;
    if (furthest == nullptr || distance(move) > distance(*furthest)) furthest = &move;
  }
  if (furthest != nullptr && distance(*furthest) > std::log(kLeastRatioMove)) {
    moves.push_back(*furthest);
  }
}

struct BoundOf {
  double factor = 1;
  std::string token;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// PR's bound over BASE's. What is no number bounds nothing.
double factor_of(double base, double pr) {
  const bool base_bounds = std::isfinite(base), pr_bounds = std::isfinite(pr);
  if (!base_bounds || !pr_bounds) return base_bounds ? kInfinity : pr_bounds ? 0 : 1;
  if (base == pr) return 1;
  return base > 0 ? pr / base : kInfinity;
}

bool is_same_place(const Worst& a, const Worst& b) {
  return a.tier == b.tier && a.sequence == b.sequence && a.query_token == b.query_token &&
         a.head == b.head && a.split == b.split && a.column == b.column &&
         a.launch_row == b.launch_row;
}

// A verdict that another failure cut short has no spreads.
bool owes_spreads(const CaseRecord& one, const CaseRecord& other) {
  return is_judged(one) &&
         (!is_failure(one.verdict.status) || one.verdict.status == other.verdict.status);
}

// How the bounds of a tensor moved: of the middle element, and of the worst where that is the same
// element and gate.
std::vector<double> bound_factors(const CasePair& pair, const std::string& tensor) {
  const Verdict &base = pair.base->verdict, &pr = pair.pr->verdict;
  std::vector<double> factors;
  const Spread *const before = of_tensor(base.spreads, tensor), *const after =
                                                                    of_tensor(pr.spreads, tensor);
  if (before != nullptr && after != nullptr) {
    factors.push_back(factor_of(before->bound_median, after->bound_median));
  } else if (before != nullptr && owes_spreads(*pair.pr, *pair.base)) {
    factors.push_back(kInfinity);  // a spread is of elements with a finite bound alone
  } else if (after != nullptr && owes_spreads(*pair.base, *pair.pr)) {
    factors.push_back(0);
  }
  const Worst *const old = of_tensor(base.worst, tensor), *const now = of_tensor(pr.worst, tensor);
  if (old != nullptr && now != nullptr && is_same_place(*old, *now)) {
    factors.push_back(factor_of(old->bound, now->bound));
  }
  return factors;
}

// Of both sides, each once.
std::set<std::string> tensors_of(const CasePair& pair) {
  std::set<std::string> tensors;
  for (const CaseRecord* record : {pair.base, pair.pr}) {
    for (const Spread& spread : record->verdict.spreads) tensors.insert(spread.tensor);
    for (const Worst& worst : record->verdict.worst) tensors.insert(worst.tensor);
  }
  return tensors;
}

BoundMove move_of(const std::string& kernel, const std::string& tensor, std::vector<BoundOf> all) {
  std::sort(all.begin(), all.end(),
            [](const BoundOf& a, const BoundOf& b) { return a.factor < b.factor; });
  const bool is_looser = all.front().factor > 1;
  const BoundOf& furthest = is_looser ? all.back() : all.front();
  return {kernel,          tensor,
          is_looser,       static_cast<std::int64_t>(all.size()),
          furthest.factor, all[all.size() / 2].factor,
          furthest.token};
}

}  // namespace

bool is_judged(const CaseRecord& record) {
  const Status status = record.verdict.status;
  return record.verdict.checked > 0 && status != Status::kInfra && status != Status::kSkipped &&
         status != Status::kCrashed && status != Status::kHung;
}

std::vector<RatioMove> ratio_moves(std::span<const CasePair> pairs) {
  std::vector<RatioMove> moves;
  for (const CasePair& pair : pairs) {
    if (pair.base->verdict.status != pair.pr->verdict.status) continue;  // which says more
    for (const Worst& worst : pair.pr->verdict.worst) {
      if (const Worst* const base = of_tensor(pair.base->verdict.worst, worst.tensor)) {
        add_ratio_move(pair, *base, worst, moves);
      }
    }
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const RatioMove& a, const RatioMove& b) { return a.factor() > b.factor(); });
  return moves;
}

std::vector<BoundMove> bound_moves(std::span<const CasePair> pairs) {
  // By whether it is tighter, kernel and tensor.
  std::map<std::tuple<bool, std::string, std::string>, std::vector<BoundOf>> groups;
  for (const CasePair& pair : pairs) {
    const std::string kernel = facts_of(*pair.pr).kernel;
    for (const std::string& tensor : tensors_of(pair)) {
      const std::vector<double> factors = bound_factors(pair, tensor);
      if (factors.empty()) continue;
      const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
      for (const double factor : {*most, *least}) {
        const bool is_tighter = factor < 1;
        if (std::abs(factor - 1) <= kLeastBoundMove) continue;
        std::vector<BoundOf>& group = groups[{is_tighter, kernel, tensor}];
        const std::string& token = pair.pr->planned_token();
        if (group.empty() || group.back().token != token) group.push_back({factor, token});
      }
    }
  }
  std::vector<BoundMove> moves;
  for (auto& [key, all] : groups) {
    moves.push_back(move_of(std::get<1>(key), std::get<2>(key), std::move(all)));
  }
  return moves;
}

std::vector<ContractChange> contract_changes(std::span<const CasePair> pairs) {
  std::map<std::pair<std::string, std::string>, ContractChange> changes;
  for (const auto& [base, pr] : pairs) {
    const std::string &before = base->verdict.contract, &after = pr->verdict.contract;
    if (before.empty() || before == after || (after.empty() && !is_judged(*pr))) continue;
    const std::string kernel = facts_of(*pr).kernel,
                      fields = after.empty() ? "no longer said" : contract_changes(before, after);
    ContractChange& change = changes[{kernel, fields}];
    if (change.cases++ == 0) change = {kernel, fields, 1, pr->planned_token()};
  }
  std::vector<ContractChange> sorted;
  for (auto& [key, change] : changes) sorted.push_back(std::move(change));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.cases > b.cases; });
  return sorted;
}

std::vector<SpeedChange> speed_changes(std::span<const CasePair> pairs) {
  std::map<std::string, std::vector<SpeedChange::OfCase>> kernels;
  for (const auto& [base, pr] : pairs) {
    const double before = base->verdict.kernel_ms, after = pr->verdict.kernel_ms;
    if (!(before > 0) || !(after > 0) || !std::isfinite(after / before)) continue;
    kernels[facts_of(*pr).kernel].push_back({pr->planned_token(), before, after});
  }
  std::vector<SpeedChange> changes;
  for (auto& [kernel, cases] : kernels) {
    double logs = 0;
    for (const SpeedChange::OfCase& one : cases) logs += std::log(one.ratio());
    const auto count = static_cast<std::int64_t>(cases.size());
    std::stable_sort(cases.begin(), cases.end(),
                     [](const auto& a, const auto& b) { return a.ratio() > b.ratio(); });
    cases.resize(std::min(cases.size(), kMostOfSpeed));
    changes.push_back(
        {kernel, count, std::exp(logs / static_cast<double>(count)), std::move(cases)});
  }
  return changes;
}

}  // namespace attest
