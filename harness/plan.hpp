// Plan: what a nightly runs, and in which order.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/trouble.hpp"
#include "reports/reporter.hpp"

namespace attest {

// Measured costs: milliseconds of a case, by its token.
using Costs = std::map<std::string, double, std::less<>>;

// The i-th of n parts, from 0.
struct Shard {
  int index = 0, count = 1;
  std::string from = {};  // what said so: "--shard", "SLURM_ARRAY_TASK_ID"; empty: nothing did
};

struct PlanRequest {
  std::string tier = "smoke";                            // smoke, nightly, full
  std::string ledger = "none", corpus = {}, kills = {};  // files, folder; empty: there is none
  Costs costs = {};
  Shard shard = {};
};

// The cases of the shard, in the order in which they run: those of the ledger and the corpus,
// smoke, the tokens that kill mutants (cheapest first), the rest of the tier (cheapest first). Each
// once, with the phase that first wants it. Every shard of a request makes the same whole plan and
// takes its own part of it: longest first, onto the shard with the least work so far. Trouble
// kUsage: no such tier, a file that cannot be read.
Result<std::vector<PlannedCase>> make_plan(const PlanRequest& request);

// What a case probably costs: measured; else by model, in proportion to what was measured of its
// kernel.
class CostModel {
 public:
  explicit CostModel(Costs costs);
  double ms(const Case& c) const;

 private:
  Costs costs_;
  std::map<std::string, double, std::less<>> factor_;  // measured / model, by kernel
};

// The cases that fuzz draws beside a plan, one after another: a pure function of the seed, the
// shard and the index.
PlannedCase fuzz_case(std::uint64_t seed, const Shard& shard, std::int64_t index);

}  // namespace attest
