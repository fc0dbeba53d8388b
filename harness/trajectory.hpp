// verify_trajectory: a case with steps (fuzz/trajectories/steps.hpp). A serving batch lives over
// many launches in the same memory of a device; what each leaves is judged against the formula for
// the batch as it is then.
#pragma once
#include "harness/verify.hpp"

namespace attest {

// All launches are by `kernel`, which begins without memory of earlier ones. The first step that
// fails gives the verdict; its reason says which, and the bucket of a replay begins with "replay-".
// A number that is wrong because it is what the launch before left at its place is of kind "stale".
Verdict verify_trajectory(const Kernel& kernel, Device& device, const Case& c,
                          const VerifyOptions& options);

}  // namespace attest
