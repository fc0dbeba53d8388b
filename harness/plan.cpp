#include "harness/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "fuzz/problems/cost.hpp"
#include "fuzz/problems/suites.hpp"
#include "fuzz/trajectories/steps.hpp"
#include "harness/case_source.hpp"
#include "harness/core/check.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/random.hpp"
#include "harness/corpus.hpp"
#include "harness/ledger.hpp"
#include "harness/selection.hpp"
#include "harness/selftest.hpp"
#include "reports/run/phases.hpp"

namespace attest {
namespace {

constexpr std::array<std::string_view, 3> kRest = {"trajectories", "ragged", "prefix_boundary"};
// A longer case takes the time of hundreds that fuzz would draw.
constexpr double kNightlyMostMs = 10e3;
constexpr std::array kTiers = {
    PlanTier{"smoke", "the cases that the ledger names, and the suite smoke"},
    PlanTier{"nightly",
             "also the corpus, what killed mutants, and of the suites trajectories, ragged and "
             "prefix_boundary the cases that cost up to 10 s",
             true, kRest, kNightlyMostMs},
    PlanTier{"full", "also the costlier cases of these suites", true, kRest},
};

Trouble in_file(const std::string& where, const Trouble& trouble) {
  return {TroubleKind::kUsage, fmt::format("{}: {}", where, trouble.text)};
}

// So many launches as the case's steps have; of a property, which compares two, two. Of 230 cases
// of the tiers, 8 of 10 took 0.6 to 1.6 times that on the machine of cost.cpp.
double model_ms(const Case& c) {
  const Kernel* const kernel = find_kernel(c.kernel);
  ATTEST_CHECK(kernel != nullptr);
  const double one_ms = cost_ms(c.problem, *kernel);
  if (c.steps.empty()) return c.property == kOracle ? one_ms : 2 * one_ms;
  const auto moves = moves_of(c);
  if (!moves.ok()) return one_ms;
  const auto launches = std::count_if(moves->begin(), moves->end(),
                                      [](const Move& move) { return runs(move.step.verb); });
  return one_ms * static_cast<double>(std::max<std::ptrdiff_t>(launches, 1));
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A plan while it is made: each case once, with the phase that first wants it.
class Plan {
 public:
  explicit Plan(const CostModel& costs) : costs_(costs) {}

  void add(const Case& c, const char* phase) {
    std::string token = to_token(c);
    if (seen_.insert(token).second) cases_.push_back({std::move(token), phase, costs_.ms(c)});
  }
  // A phase whose order says nothing.
  void add_cheapest_first(const std::vector<Case>& cases, const char* phase) {
    const auto begin = static_cast<std::ptrdiff_t>(cases_.size());
    for (const Case& c : cases) add(c, phase);
    std::sort(cases_.begin() + begin, cases_.end(), [](const PlannedCase& a, const PlannedCase& b) {
      return std::tie(a.cost_ms, a.token) < std::tie(b.cost_ms, b.token);
    });
  }
  std::vector<PlannedCase> take() { return std::move(cases_); }

 private:
  const CostModel& costs_;
  std::set<std::string> seen_;
  std::vector<PlannedCase> cases_;
};

// What an entry tolerates as a glob is in the plan where something else wants it.
Outcome add_ledger(const std::string& path, Plan& plan) {
  const auto ledger = Ledger::open(path);
  if (!ledger.ok()) return ledger.trouble();
  for (const LedgerEntry& entry : ledger->entries()) {
    if (entry.kind != LedgerEntry::Kind::kTolerated || entry.token_is_glob()) continue;
    const auto c = known_case(entry.token);
    if (!c.ok()) return in_file(entry.place, c.trouble());
    plan.add(*c, "ledger");
  }
  return Done{};
}

Outcome add_corpus(const std::string& folder, Plan& plan) {
  std::error_code none;
  if (folder.empty() || !std::filesystem::exists(folder, none)) return Done{};
  const auto kept = read_corpus(folder);
  if (!kept.ok()) return kept.trouble();
  for (const CorpusCase& one : *kept) plan.add(one.c, "corpus");
  return Done{};
}

bool is_shipped(const std::string& kernel) {
  const auto shipped = all_kernels();
  return std::any_of(shipped.begin(), shipped.end(),
                     [&](const Kernel* one) { return one->name() == kernel; });
}

Outcome add_killers(const std::string& path, Plan& plan) {
  if (path.empty()) return Done{};
  const auto kills = read_kills(path);
  if (!kills.ok()) return kills.trouble();
  std::vector<Case> cases;
  for (const Kill& kill : *kills) {
    const auto c = known_case(kill.token);
    if (!c.ok()) return in_file(fmt::format("{}, the line of {}", path, kill.mutant), c.trouble());
    if (is_shipped(c->kernel)) cases.push_back(*c);
  }
  plan.add_cheapest_first(cases, "killers");
  return Done{};
}

std::vector<Case> cases_of_suite(std::string_view name, double most_ms) {
  std::vector<Case> cases;
  const Suite* const suite = find_suite(name);
  ATTEST_CHECK(suite != nullptr);
  for (const std::string_view token : suite->tokens) {
    const auto c = known_case(token);
    ATTEST_CHECK(c.ok());
    if (most_ms == 0 || model_ms(*c) <= most_ms) cases.push_back(*c);
  }
  return cases;
}

Result<const PlanTier*> tier_named(const std::string& name) {
  std::string names;
  for (const PlanTier& tier : kTiers) {
    if (tier.name == name) return &tier;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", tier.name);
  }
  return Trouble{TroubleKind::kUsage,
                 fmt::format("there is no tier '{}'; there are: {}", name, names)};
}

}  // namespace

Costs costs_of(const Results& results) {
  Costs costs;
  for (const CaseRecord& record : results.cases) {
    const Status status = record.verdict.status;
    const bool has_cost = status != Status::kSkipped && status != Status::kInfra &&
                          status != Status::kHung && status != Status::kCrashed;
    if (!has_cost) continue;  // the time of a hang is the watchdog's
    costs[record.planned_token()] = record.total_ms;
  }
  return costs;
}

std::span<const PlanTier> plan_tiers() { return kTiers; }

Result<std::vector<PlannedCase>> make_plan(const PlanRequest& request) {
  const auto tier = tier_named(request.tier);
  if (!tier.ok()) return tier.trouble();
  const CostModel costs(request.costs);
  Plan plan(costs);
  if (Outcome o = add_ledger(request.ledger, plan); !o.ok()) return o.trouble();
  if ((*tier)->kept) {
    if (Outcome o = add_corpus(request.corpus, plan); !o.ok()) return o.trouble();
  }
  for (const Case& c : cases_of_suite("smoke", 0)) plan.add(c, "smoke");
  if ((*tier)->kept) {
    if (Outcome o = add_killers(request.kills, plan); !o.ok()) return o.trouble();
  }
  std::vector<Case> rest;
  for (const std::string_view suite : (*tier)->rest) {
    const std::vector<Case> cases = cases_of_suite(suite, (*tier)->most_ms);
    rest.insert(rest.end(), cases.begin(), cases.end());
  }
  plan.add_cheapest_first(rest, "rest");
  return part_of(plan.take(), request.shard);
}

std::vector<PlannedCase> part_of(std::vector<PlannedCase> plan, const Shard& shard) {
  ATTEST_CHECK(shard.count >= 1 && shard.index >= 0 && shard.index < shard.count);
  if (shard.count == 1) return plan;
  std::vector<std::size_t> order(plan.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(plan[b].cost_ms, plan[a].token) < std::tie(plan[a].cost_ms, plan[b].token);
  });
  std::vector<double> load_ms(static_cast<std::size_t>(shard.count));
  std::vector<bool> is_mine(plan.size());
  for (const std::size_t i : order) {
    const auto least = std::min_element(load_ms.begin(), load_ms.end());  // ties: the first
    *least += plan[i].cost_ms;
    is_mine[i] = least - load_ms.begin() == shard.index;
  }
  std::vector<PlannedCase> mine;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (is_mine[i]) mine.push_back(std::move(plan[i]));
  }
  return mine;
}

std::string plan_text(const std::vector<PlannedCase>& whole) {
  std::uint64_t hash = kGolden;
  for (const PlannedCase& one : whole) {
    for (const char c : fmt::format("{} {}\n", one.token, one.cost_ms)) {
      hash = mix64(hash ^ static_cast<unsigned char>(c));
    }
  }
  return fmt::format("{} cases {:016x}", whole.size(), hash);
}

CostModel::CostModel(Costs costs) : costs_(std::move(costs)) {
  std::erase_if(costs_, [](const auto& one) { return !(one.second >= 0 && one.second < 1e12); });
  std::map<std::string, std::vector<double>> of_kernel;
  std::vector<double> of_all;
  for (const auto& [token, measured_ms] : costs_) {
    const auto c = known_case(token);  // another version's token may say nothing here
    if (!c.ok()) continue;
    const double factor = measured_ms / model_ms(*c);
    of_kernel[c->kernel].push_back(factor);
    of_all.push_back(factor);
  }
  for (auto& [kernel, factors] : of_kernel) factor_[kernel] = median(std::move(factors));
  if (!of_all.empty()) factor_of_all_ = median(std::move(of_all));
}

double CostModel::ms(const Case& c) const {
  if (const auto measured = costs_.find(to_token(c)); measured != costs_.end()) {
    return measured->second;
  }
  const auto factor = factor_.find(c.kernel);
  return model_ms(c) * (factor == factor_.end() ? factor_of_all_ : factor->second);
}

PlannedCase fuzz_case(std::uint64_t seed, const Shard& shard, std::int64_t index) {
  const auto kernels = all_kernels();
  const auto source = random_cases({.seed = seed, .kernels = {kernels.begin(), kernels.end()}});
  const Case c = source->at(index * shard.count + shard.index);
  return {to_token(c), std::string{kDrawnPhase}, model_ms(c)};
}

}  // namespace attest
