// stale: numbers that an earlier launch left.
#pragma once
#include "harness/core/output.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

// Whether o and lse are wrong somewhere, and wherever they are, hold what `previous`, an earlier
// output, has at the same place.
bool is_stale(const Subject& subject, const Output& output, const Output& previous,
              const Reference& wanted);

// Of an output of a launch that found `before` in its memory: places that owe nothing to be written
// and still hold the same get the poison, as the judge knows them.
void poison_unwritten(const Subject& subject, const Output& before, Output& output);

}  // namespace attest
