// Where a campaign's cases come from. A case depends on its index alone, or on the verdicts of a
// whole earlier generation, so that a campaign runs the same cases whatever the number of threads.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

class CaseSource {
 public:
  virtual ~CaseSource() = default;
  // Is the case of this index known yet? Called with all cases before `committed` committed, in
  // order.
  virtual bool knows(std::int64_t index, std::int64_t committed) const = 0;
  virtual Case at(std::int64_t index) const = 0;  // may be called from many threads
  virtual void commit(std::int64_t index, const Case& c, const Verdict& verdict) = 0;
};

// What a campaign is drawn from.
struct DrawFrom {
  std::uint64_t seed = 1;
  std::vector<const Kernel*> kernels;
  std::vector<std::string> properties = {};  // by name, "trajectory" among them; none: all
  bool is_emulated = true;                   // else what needs a choice of schedules is not asked
};

// Cases at random: half of them agree with the reference, the rest share the other properties and
// trajectories.
std::unique_ptr<CaseSource> random_cases(const DrawFrom& from);

// The cases of a list, then those of another source: a corpus is replayed first.
std::unique_ptr<CaseSource> after(std::vector<Case> first, std::unique_ptr<CaseSource> then);

// A search that climbs: of each generation the cases with the largest error / bound are changed a
// little. Of tensors in fp32: beside the last rounding to bf16 a right value is often close to 1.
std::unique_ptr<CaseSource> climbing_cases(const DrawFrom& from);

// Largest ratio of a verdict over its tensors in fp32; 0 where nothing finite was judged.
double largest_fp32_ratio(const Verdict& verdict, const Contract& contract);

// Of wave instructions of a workgroup. What is drawn stays far below it; a kernel that hangs costs
// seconds, not a minute.
inline constexpr std::uint64_t kInstructionBudget = std::uint64_t{1} << 26;

inline constexpr std::string_view kTrajectory = "trajectory";
// "trajectory", or the name of the case's property.
std::string_view property_of(const Case& c);

}  // namespace attest
