// Shapes that independent axes almost never make together: many live splits of one row, many live
// splits of a tile of 64 heads, many query tokens, one long sequence late in a large batch, a
// context beyond 16 bits of signed position.
#pragma once
#include "fuzz/problems/draw_source.hpp"
#include "harness/core/kernel.hpp"

namespace attest {

// Sets heads, batch, lengths and splits of a problem whose other axes are drawn. Most
// cost under 200 ms (cost.hpp).
void draw_rare_plan(Draw draw, const Kernel& kernel, Problem& p);

}  // namespace attest
