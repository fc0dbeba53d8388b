// Schedules: a case under other schedules than its own (--schedules).
#pragma once
#include <functional>
#include <vector>

#include "harness/core/device.hpp"
#include "harness/verify.hpp"

namespace attest {

// `count` schedules: of every kind that differs for any grid, in turn, by seeds that follow the
// case's own of its data.
std::vector<Schedule> some_schedules(const Case& c, int count);
// Every order in which so many workgroups can arrive; none where that is more than 5! orders, or
// one.
std::vector<Schedule> every_order(std::uint64_t groups);

// A case, its verdict, and under how many schedules it ran.
struct Explored {
  Case c;
  Verdict verdict;
};

// Runs a case as it is, then under options.schedules others, then, where no launch had more than 5
// workgroups, in every order of theirs. The case that comes back has the first schedule that gives
// a finding, or its own. A launch that leaves the same bits as the case's own is not judged again;
// others are, by `judge`.
Explored explore_schedules(const Kernel& kernel, Device& device, const Case& c,
                           const VerifyOptions& options,
                           const std::function<Verdict(const Case&)>& judge);

}  // namespace attest
