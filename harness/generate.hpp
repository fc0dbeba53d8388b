// generate: a case's stored inputs. All that a kernel has no business to read is hostile: unused
// pages, tails of pages and pads hold `poison`; entries of kv_indices that belong to nobody point
// far outside the pool.
#pragma once
#include <cstdint>
#include <vector>

#include "fuzz/distributions/distribution.hpp"
#include "harness/core/case.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/poison.hpp"

namespace attest {

// How `kernel` walks the cache of a problem that it supports.
Walk walk_of(const Kernel& kernel, const Problem& problem);

// The physical pages that `pages` logical ones lie in; `spare` others lie among or after them.
std::vector<std::int32_t> place_pages(PageOrder order, std::int64_t base, std::size_t pages,
                                      std::size_t spare, Seed seed);

// Trouble: kUsage when the distribution is unknown, kInfra when there is no memory.
Result<Inputs> generate(const Case& c, const Walk& walk, int threads,
                        std::uint16_t poison = kPoison16);

}  // namespace attest
