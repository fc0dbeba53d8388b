// The Trend that a history holds.
#pragma once
#include <string>
#include <vector>

#include "reports/history/sqlite.hpp"
#include "reports/run/trend.hpp"

namespace attest {

// Throws a Trouble. Each point of a line is over the same cases, so that lines move because a
// kernel or a bound did, not because other cases ran: see comparable(). A case that failed with no
// finite ratio, or left none, is the furthest of all: inf.
Trend trend_of(Sqlite& db, int most_runs);

// Sets of cases (sorted), one a run, oldest first; which of the runs can be compared, and their
// common cases. One run leads; from the newest to the oldest each other joins that leaves at least
// 3/4 of the leader's cases common to all. The leader is that of the newest 14 (two weeks of a
// nightly, and so the weekly run of a larger tier too) that gives most points, times the cube root
// of their number of cases: rather many nights of a small tier than a few of a large one, but not
// one case of all.
using CasesOfRuns = std::vector<std::vector<std::int64_t>>;
struct Comparable {
  std::vector<int> runs;  // oldest first
  std::vector<std::int64_t> cases;
};
Comparable comparable(const CasesOfRuns& cases_of_runs);

}  // namespace attest
