// The Trend that a history holds.
#pragma once
#include <string>
#include <vector>

#include "reports/history/sqlite.hpp"
#include "reports/run/trend.hpp"

namespace attest {

// Throws a Trouble. Each point of a line is over the same cases, so that lines move because a
// kernel or a bound did, not because other cases ran: see comparable().
Trend trend_of(Sqlite& db, int most_runs);

// Sets of cases (sorted), one a run, oldest first; which of the runs can be compared, and their
// common cases. The newest run that has at least half as many cases as the largest leads; from
// there backwards each run joins that leaves at least 3/4 of the leader's cases common to all.
struct Comparable {
  std::vector<int> runs;  // oldest first
  std::vector<std::int64_t> cases;
};
Comparable comparable(const std::vector<std::vector<std::int64_t>>& cases_of_runs);

}  // namespace attest
