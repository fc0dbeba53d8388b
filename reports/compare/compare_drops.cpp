#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "reports/compare/compare_cases.hpp"

namespace attest {
namespace {

// What did not end well has no such evidence, or not all of it.
bool is_pass(const CaseRecord& record) {
  const Status status = record.verdict.status;
  return is_judged(record) && !is_failure(status) && status != Status::kFlaky &&
         status != Status::kXfail;
}

class Drops {
 public:
  explicit Drops(std::vector<VisibilityDrop>& drops) : drops_(drops) {}

  void of(const CasePair& pair) {
    const Verdict &base = pair.base->verdict, &pr = pair.pr->verdict;
    token_ = pair.pr->planned_token();
    share("tokens seen", base.evidence.tokens_visible, pr.evidence.tokens_visible);
    share("pages seen", base.evidence.pages_visible, pr.evidence.pages_visible);
    share("splits seen", base.evidence.splits_visible, pr.evidence.splits_visible);
    strawmen(base.evidence.strawmen, pr.evidence.strawmen);
    count("elements judged", base.checked, pr.checked);
    count("schedules", base.schedules, pr.schedules);
    if (pr.evidence.rows_certified == 0)
      count("rows of the reference certified", base.evidence.rows_certified, 0);
    for (const Worst& worst : base.worst) {
      if (of_tensor(pr.worst, worst.tensor) == nullptr) add(worst.tensor, "judged", "not judged");
    }
    for (const Spread& spread : base.spreads) {
      const Spread* const now = of_tensor(pr.spreads, spread.tensor);
      if (now == nullptr) continue;  // its bound is gone: bound_moves()
      count(fmt::format("elements of {} with a finite bound, of a sample", spread.tensor),
            spread.sampled, now->sampled);
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
  void count(std::string what, std::int64_t before, std::int64_t after) {
    if (after < before) add(std::move(what), std::to_string(before), std::to_string(after));
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

// A gate that decides of no element any more. Which of several decides is chance where they are
// about as tight, so that a single case says little; that none of many has it says that it is gone.
void add_lost_gates(std::span<const CasePair> pairs, std::vector<VisibilityDrop>& drops) {
  constexpr int kMany = 3;  // or every second case
  struct Gate {
    int on_base = 0, on_pr = 0;
    std::string token;  // the first that it decided
  };
  std::map<std::pair<std::string, std::string>, int> cases;                 // by kernel and tensor
  std::map<std::tuple<std::string, std::string, std::string>, Gate> gates;  // and tier
  for (const auto& [base, pr] : pairs) {
    if (!is_pass(*base) || !is_pass(*pr)) continue;
    const std::string kernel = facts_of(*pr).kernel;
    for (const Worst& before : base->verdict.worst) {
      const Worst* const after = of_tensor(pr->verdict.worst, before.tensor);
      if (after == nullptr) continue;
      ++cases[{kernel, before.tensor}];
      ++gates[{kernel, before.tensor, after->tier}].on_pr;
      Gate& gate = gates[{kernel, before.tensor, before.tier}];
      if (gate.on_base++ == 0) gate.token = pr->planned_token();
    }
  }
  for (const auto& [of, gate] : gates) {
    const auto& [kernel, tensor, tier] = of;
    if (tier.empty() || gate.on_pr > 0 || gate.on_base == 0) continue;
    if (gate.on_base < kMany && 2 * gate.on_base < cases[{kernel, tensor}]) continue;
    drops.push_back({gate.token, fmt::format("{}: {} decided by {}", kernel, tensor, tier),
                     fmt::format("{} cases", gate.on_base), "none"});
  }
}

}  // namespace

std::vector<VisibilityDrop> visibility_drops(std::span<const CasePair> pairs) {
  std::vector<VisibilityDrop> drops;
  add_lost_gates(pairs, drops);
  for (const CasePair& pair : pairs) {
    if (is_judged(*pair.base) && is_pass(*pair.pr)) Drops(drops).of(pair);
  }
  return drops;
}

}  // namespace attest
