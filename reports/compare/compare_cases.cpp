#include "reports/compare/compare_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "reports/run/no_news.hpp"

namespace attest {
namespace {

constexpr std::size_t kMostOfSpeed = 5;

// Of the tensor, in a vector of records that name one.
template <class T>
const T* of_tensor(const std::vector<T>& all, const std::string& tensor) {
  for (const T& one : all) {
    if (one.tensor == tensor) return &one;
  }
  return nullptr;
}

bool is_judged(const CaseRecord& record) {
  const Status status = record.verdict.status;
  return record.verdict.checked > 0 && status != Status::kInfra && status != Status::kSkipped &&
         status != Status::kCrashed && status != Status::kHung;
}

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

// PR's bound over BASE's. 1 where one of them is not known.
double bound_factor(const CasePair& pair, const Spread& base) {
  const Spread* const pr = of_tensor(pair.pr->verdict.spreads, base.tensor);
  if (pr != nullptr && base.bound_median > 0) return pr->bound_median / base.bound_median;
  // A spread is of elements with a finite bound alone.
  const bool is_lost = pr == nullptr && is_judged(*pair.pr) && !pair.pr->verdict.spreads.empty();
  return is_lost ? std::numeric_limits<double>::infinity() : 1;
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

// "name=value name=value" as a map; the order of its fields is that of the text.
std::vector<std::pair<std::string, std::string>> fields_of(std::string_view contract) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!contract.empty()) {
    const std::size_t end = std::min(contract.find(' '), contract.size());
    const std::string_view field = contract.substr(0, end);
    const std::size_t sign = std::min(field.find('='), field.size());
    fields.emplace_back(field.substr(0, sign), field.substr(std::min(sign + 1, field.size())));
    contract.remove_prefix(std::min(end + 1, contract.size()));
  }
  return fields;
}

std::string changed_fields(const std::string& base, const std::string& pr) {
  const auto before = fields_of(base), after = fields_of(pr);
  const auto value_in = [](const auto& fields, const std::string& name) {
    for (const auto& [key, value] : fields) {
      if (key == name) return value;
    }
    return std::string("not said");
  };
  std::vector<std::string> changed;
  for (const auto& [name, value] : before) {
    const std::string now = value_in(after, name);
    if (now != value) changed.push_back(fmt::format("{} {} -> {}", name, value, now));
  }
  for (const auto& [name, value] : after) {
    if (value_in(before, name) == "not said")
      changed.push_back(fmt::format("{} not said -> {}", name, value));
  }
  return fmt::format("{}", fmt::join(changed, ", "));
}

class Drops {
 public:
  explicit Drops(std::vector<VisibilityDrop>& drops) : drops_(drops) {}

  void of(const CasePair& pair) {
    const Evidence &base = pair.base->verdict.evidence, &pr = pair.pr->verdict.evidence;
    token_ = pair.pr->planned_token();
    share("tokens seen", base.tokens_visible, pr.tokens_visible);
    share("pages seen", base.pages_visible, pr.pages_visible);
    share("splits seen", base.splits_visible, pr.splits_visible);
    strawmen(base.strawmen, pr.strawmen);
    if (pair.pr->verdict.checked < pair.base->verdict.checked) {
      add("elements judged", fmt::format("{}", pair.base->verdict.checked),
          fmt::format("{}", pair.pr->verdict.checked));
    }
  }

 private:
  void share(const char* what, double before, double after) {
    if (before < 0 || before - std::max(after, 0.0) <= kLeastVisibilityDrop) return;
    const auto percent = [](double share) {
      return share < 0 ? std::string("not looked at") : fmt::format("{:.0f} %", 100 * share);
    };
    add(what, percent(before), percent(after));
  }
  void strawmen(const std::vector<std::string>& before, const std::vector<std::string>& after) {
    std::vector<std::string> lost;
    for (const std::string& name : before) {
      if (std::find(after.begin(), after.end(), name) == after.end()) lost.push_back(name);
    }
    if (lost.empty()) return;
    add("strawmen rejected", fmt::format("{}", before.size()),
        fmt::format("{}, without: {}", after.size(), fmt::join(lost, ", ")));
  }
  void add(std::string what, std::string before, std::string after) {
    drops_.push_back({token_, std::move(what), std::move(before), std::move(after)});
  }

  std::vector<VisibilityDrop>& drops_;
  std::string token_;
};

}  // namespace

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
  // By kernel, tensor, and whether it is tighter.
  std::map<std::tuple<bool, std::string, std::string>, std::vector<BoundOf>> groups;
  for (const CasePair& pair : pairs) {
    for (const Spread& base : pair.base->verdict.spreads) {
      const double factor = bound_factor(pair, base);
      if (std::abs(factor - 1) <= kLeastBoundMove) continue;
      groups[{factor < 1, facts_of(*pair.pr).kernel, base.tensor}].push_back(
          {factor, pair.pr->planned_token()});
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
    if (before.empty() || after.empty() || before == after) continue;
    const std::string kernel = facts_of(*pr).kernel, fields = changed_fields(before, after);
    ContractChange& change = changes[{kernel, fields}];
    if (change.cases++ == 0) change = {kernel, fields, 1, pr->planned_token()};
  }
  std::vector<ContractChange> sorted;
  for (auto& [key, change] : changes) sorted.push_back(std::move(change));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.cases > b.cases; });
  return sorted;
}

std::vector<VisibilityDrop> visibility_drops(std::span<const CasePair> pairs) {
  std::vector<VisibilityDrop> drops;
  for (const CasePair& pair : pairs) {
    // What did not end well has no such evidence.
    if (pair.base->verdict.status == pair.pr->verdict.status && is_judged(*pair.pr) &&
        !is_failure(pair.pr->verdict.status)) {
      Drops(drops).of(pair);
    }
  }
  return drops;
}

std::vector<SpeedChange> speed_changes(std::span<const CasePair> pairs) {
  std::map<std::string, std::vector<SpeedChange::OfCase>> kernels;
  for (const auto& [base, pr] : pairs) {
    const double before = base->verdict.kernel_ms, after = pr->verdict.kernel_ms;
    if (!(before > 0) || !(after > 0)) continue;
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
