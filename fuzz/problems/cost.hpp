// What it costs to verify a problem: so much work that a campaign can keep its pace, whatever is
// drawn.
#pragma once
#include "harness/core/kernel.hpp"

namespace attest {

// About how many milliseconds one core of an ordinary machine needs for it: emulator, reference
// and judge. Within a factor of two or three: the data, too, matters.
double cost_ms(const Problem& problem, const Kernel& kernel);

}  // namespace attest
