// Adapters for aiter's MLA decode objects, one kernel each.
#pragma once
#include <string>

#include "harness/core/kernel.hpp"
#include "kernels/external/aiter_objects.hpp"

namespace attest::external {

// One for each entry of aiter_objects(), in its order.
std::span<const Kernel* const> aiter_kernels();

// Empty, or what of the problem the object does not take, wherever its file is.
std::string why_refused(const AiterObject& object, const Problem& problem);
int num_splits_of(const AiterObject& object, const Problem& problem);

}  // namespace attest::external
