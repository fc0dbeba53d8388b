// judge: compares what a kernel left with what the formula gives. Every element is judged, by
// containment between the rounded ends of its bound; no share of elements may be wrong, and no
// global measure saves one.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/expected.hpp"
#include "harness/core/problem.hpp"
#include "harness/core/verdict.hpp"
#include "harness/execute.hpp"

namespace attest {

struct Subject {
  std::string_view kernel;
  const Problem& problem;
  const Contract& contract;
  int num_splits = 1;
};

// The named terms of the bound at an element, largest first.
using Explain = std::function<std::vector<BoundTerm>(const Worst& element)>;

Verdict judge(const Subject& subject, const Output& output, const Expected& expected,
              const Bound& bound, const Explain& explain = {});

}  // namespace attest
