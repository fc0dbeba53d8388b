// Census: q = 0, so that every weight is 1 / L exactly, and V counts tokens. A token adds +1 or -1
// to two columns: one of the first 256 by its block of 64 tokens, one of the others by its page.
// What a column sums is an integer of at most 64 in magnitude at any length, and o is that integer
// over L: one token more or less is another bf16 number.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/problem.hpp"

namespace attest {

inline constexpr int kCensusBlock = 64;
inline constexpr int kCensusColumns = kDV / 2;  // of each code

// What the first `visible` tokens of a sequence add up to, by column: o = count / visible.
std::vector<int> census_counts(const Problem& problem, Seed seed, int sequence, int visible);

}  // namespace attest
