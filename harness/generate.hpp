// generate: a case's stored inputs. All that a kernel has no business to read is hostile: unused
// pages, tails of pages and pads hold `poison`; entries of kv_indices that belong to nobody point
// far outside the pool.
#pragma once
#include "fuzz/distributions/distribution.hpp"
#include "harness/core/case.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/poison.hpp"

namespace attest {

// How `kernel` walks the cache of a problem that it supports.
Walk walk_of(const Kernel& kernel, const Problem& problem);

// Trouble: kUsage when the distribution is unknown, kInfra when there is no memory.
Result<Inputs> generate(const Case& c, const Walk& walk, int threads,
                        std::uint16_t poison = kPoison16);

}  // namespace attest
