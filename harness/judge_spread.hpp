// How far the elements of each tensor are from what the gates predict, as counts: for histograms
// and trends. It decides nothing.
#pragma once
#include <vector>

#include "harness/core/output.hpp"
#include "harness/core/verdict.hpp"
#include "harness/judge_gates.hpp"

namespace attest {

// Of each tensor that there is, over at most kSpreadSample of its elements.
inline constexpr std::int64_t kSpreadSample = 4096;
std::vector<Spread> spreads_of(const Subject& subject, const Output& output,
                               const CaseGates& gates);

}  // namespace attest
