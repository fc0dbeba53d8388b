// judge: compares what a kernel left with what the formula gives. Every element is judged by every
// gate (gates_of()), by containment between the rounded ends; no share of elements may be wrong,
// and no global measure saves one. What all elements together say is judged on top: it can make a
// pass suspect, never a failure a pass.
#pragma once
#include <functional>
#include <vector>

#include "harness/core/output.hpp"
#include "harness/core/verdict.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

// The named terms of T0 at an element, largest first.
using Explain = std::function<std::vector<BoundTerm>(const Worst& element)>;

// Of a Reference only what is there is read: an empty tier judges nothing.
Verdict judge(const Subject& subject, const Output& output, const Reference& reference,
              const Explain& explain = {});

}  // namespace attest
