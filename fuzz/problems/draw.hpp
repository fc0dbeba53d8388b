// draw: the cases of a fuzz campaign, one at an index. Every axis of a problem is drawn, most often
// at an edge; what is drawn is valid, taken by its kernel, and affordable.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "harness/core/case.hpp"
#include "harness/core/kernel.hpp"

namespace attest {

struct DrawOptions {
  std::span<const Kernel* const> kernels;  // to draw from, one at least
  // Four of five cases cost at most so much (cost.hpp); the others up to 3 times, a few up to 10
  // times as much.
  double usual_ms = 50;
};

// A pure function of its arguments. Property and steps are the defaults. Of a kernel that takes
// none of a thousand drawn problems: a case that it does not take, and so is skipped.
Case draw_case(std::uint64_t seed, std::int64_t index, const DrawOptions& options);

// Empty when some drawn cases of the kernel are taken by it; else a reason against most of them.
std::string why_never_drawn(const Kernel& kernel, std::uint64_t seed);

// A small step from a case: one or two of its axes drawn again, or moved by a little. Kernel,
// property and steps stay; it costs no more than a usual case, or than `c` does.
Case mutate_case(const Case& c, std::uint64_t seed, const DrawOptions& options);

}  // namespace attest
