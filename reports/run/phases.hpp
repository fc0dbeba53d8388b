// Phases of a plan (PlannedCase::phase) that reports treat apart.
#pragma once
#include <string_view>

namespace attest {

// Its cases are drawn by a fuzzer: each run has others.
inline constexpr std::string_view kDrawnPhase = "fuzz";

}  // namespace attest
