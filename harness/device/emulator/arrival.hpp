// The order in which a launch's workgroups arrive, by its schedule.
#pragma once
#include <cstdint>
#include <vector>

#include "harness/core/random.hpp"
#include "harness/core/schedule.hpp"

namespace attest::emulator {

// The next of a schedule's choices after `x`.
constexpr std::uint64_t next_choice(std::uint64_t x) { return mix64(x + kGolden); }

// Linear ids of the workgroups, a permutation of 0 .. groups - 1 (at least one). kOrder's is the
// one with rank seed modulo groups! among all permutations in lexicographic order, so that the
// seeds 0 .. groups! - 1 are all of them. Interleaved ones arrive by seed as kSeeded ones do.
std::vector<std::uint32_t> arrival_order(const Schedule& schedule, std::uint32_t groups);

}  // namespace attest::emulator
