// One verdict of many launches.
#pragma once
#include "harness/core/verdict.hpp"

namespace attest {

// Counts `verdict` into `all`, which begins as passed: the largest ratio of each tensor, and the
// first that is no pass.
void add_to(Verdict& all, const Verdict& verdict);

}  // namespace attest
