// What a failed kernel behaves like: mistakes that kernels make, each evaluated in fp64 on a few of
// the failing rows. The one that explains every stored element of these rows, partial results
// included, is named.
#pragma once
#include <string>
#include <vector>

#include "harness/core/inputs.hpp"
#include "harness/core/output.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

// In words that go after "it behaves as if"; empty when none fits, or two fit equally well.
// `failing`: rows that hold a fault.
std::string fitting_hypothesis(const Subject& subject, const Inputs& inputs, const Output& output,
                               const Reference& reference, const std::vector<bool>& failing);

}  // namespace attest
