// generate: a case's stored inputs. All that a kernel has no business to read is hostile: unused
// pages, tails of pages and pads hold `poison`; entries of kv_indices that belong to nobody point
// far outside the pool.
#pragma once
#include <cstddef>
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

// A row of q (of the cache) as a sampler draws it, stored at `to` as the problem stores q (the
// cache). An fp8 tensor gets the numbers that a bf16 one would, divided by its descale factor.
void store_q(const Problem& problem, const Sampler& sampler, int sequence, int token, int head,
             std::byte* to);
void store_kv(const Problem& problem, const Sampler& sampler, int owner, int token, std::byte* to);

// The physical pages that `pages` logical ones lie in; `spare` others lie among or after them.
std::vector<std::int32_t> place_pages(PageOrder order, std::int64_t base, std::size_t pages,
                                      std::size_t spare, Seed seed);

// Trouble: kUsage when the distribution is unknown, kInfra when there is no memory.
Result<Inputs> generate(const Case& c, const Walk& walk, int threads,
                        std::uint16_t poison = kPoison16);

}  // namespace attest
