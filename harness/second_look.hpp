// What happens between a failure and its report: the reference is certified at the worst element's
// row by an oracle that shares nothing with it, and the stage that broke is named. A failure whose
// reference is itself wrong is no verdict on the kernel.
#pragma once
#include <cstdint>

#include "harness/core/inputs.hpp"
#include "harness/core/output.hpp"
#include "harness/core/verdict.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

// Fills `blame` of a verdict that is kFailed, or makes it kInfra; leaves all others.
void second_look(const Subject& subject, const Inputs& inputs, const Output& output,
                 const Reference& reference, Verdict& verdict);

// Of a verdict that is kPassed: recomputes the rows that say most about the reference (certify.hpp:
// rows_to_certify) and keeps how far it was off; kInfra when that is too much.
void certify_pass(const Subject& subject, const Inputs& inputs, const Output& output,
                  const Reference& reference, std::uint64_t seed, int threads, Verdict& verdict);

}  // namespace attest
