// Plan: what a nightly runs, and in which order.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/trouble.hpp"
#include "reports/reporter.hpp"
#include "reports/run/results.hpp"

namespace attest {

// Measured costs: milliseconds of a case, by its token.
using Costs = std::map<std::string, double, std::less<>>;
// Of the cases that ran to a verdict on their kernel.
Costs costs_of(const Results& results);

// The i-th of n parts, from 0.
struct Shard {
  int index = 0, count = 1;
  std::string from = {};  // what said so: "--shard", "SLURM_ARRAY_TASK_ID"; empty: nothing did
};

// How much a nightly takes on.
struct PlanTier {
  std::string_view name, purpose;
  bool kept = false;                            // the corpus and the killers too
  std::span<const std::string_view> rest = {};  // suites besides smoke
  double most_ms = 0;                           // of a case of them, by the model; 0: no limit
};
std::span<const PlanTier> plan_tiers();

struct PlanRequest {
  std::string tier = "smoke";
  std::string ledger = "none", corpus = {}, kills = {};  // files, folder; empty: there is none
  Costs costs = {};
  Shard shard = {};
};

// The cases of the shard, in the order in which they run; a case has the phase that first wants it:
//   ledger   those that the ledger's tolerated entries name: what is known to fail
//   corpus   failures that were kept; a folder that is not there holds none
//   smoke    the suite
//   killers  of the kernels that attest ships, what killed mutants of them; cheapest first
//   rest     what else the tier wants; cheapest first
// Which cases there are does not depend on the costs, so that a token of one night is a token of
// the next. Every shard makes the same whole plan and takes its own part, given the same files and
// costs: where costs change between the starts of two shards, a case may fall between them. Trouble
// kUsage: no such tier, a file that cannot be read, or what it names is unknown.
Result<std::vector<PlannedCase>> make_plan(const PlanRequest& request);

// "88 cases 5b1f09aa41c7d2e3": two plans with the same text have the same cases at the same costs,
// so that shards that say it are parts of one.
std::string plan_text(const std::vector<PlannedCase>& whole);

// The shard's part of a whole plan, in its order. The costliest case first, each goes to the shard
// with the least work so far; so no shard has more than an equal part and 1 - 1/n of the costliest
// case. Source: R. L. Graham, Bounds on multiprocessing timing anomalies, SIAM J. Appl. Math. 17
// (1969) 416-429.
std::vector<PlannedCase> part_of(std::vector<PlannedCase> plan, const Shard& shard);

// What a case probably costs: measured; else by model, in proportion to what was measured of its
// kernel (of a kernel that was never measured: of all).
class CostModel {
 public:
  CostModel() = default;
  explicit CostModel(Costs costs);
  double ms(const Case& c) const;

 private:
  Costs costs_;
  std::map<std::string, double, std::less<>> factor_;  // median of measured / model, by kernel
  double factor_of_all_ = 1;
};

// The cases that fuzz draws beside a plan, one after another: a pure function of the seed, the
// shard and the index. Shards draw at indices of their own.
PlannedCase fuzz_case(std::uint64_t seed, const Shard& shard, std::int64_t index);

}  // namespace attest
