// simpler: what a failing case may be replaced by while the failure stays. Candidates come with the
// boldest first, for a loop that takes the first one that fails in the same way and begins again:
// it ends, as each candidate has a smaller complexity() than its case, and it ends soon, as a list
// begins with large steps on the axes that are furthest from small.
#pragma once
#include <cstdint>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/kernel.hpp"

namespace attest {

// The sum over all axes of how far each is from its simplest value, never negative.
std::int64_t complexity(const Case& c);

// All candidates are valid, taken by the kernel, and differ from `c` and from each other. Property
// and steps stay.
std::vector<Case> smaller_shapes(const Case& c, const Kernel& kernel);
std::vector<Case> plainer_values(const Case& c, const Kernel& kernel);
std::vector<Case> plainer_schedules(const Case& c, const Kernel& kernel);

}  // namespace attest
