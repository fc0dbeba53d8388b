// What is told of a history.
#pragma once
#include <string>
#include <vector>

#include "reports/history/history.hpp"
#include "reports/run/trend.hpp"

namespace attest {

// The runs oldest first.
std::string history_as_text(const std::vector<KeptRun>& runs, const Trend& trend);
std::string history_as_json(const std::vector<KeptRun>& runs, const Trend& trend);

// Whether the glob holds its name, or a word of it: "mla_decode*", "*lse", "o".
bool is_family(const TrendLine& line, const std::string& glob);

// A change in words: "2026-11-14: median 0.4 -> 0.6 (1.5x), p99 0.7 -> 0.7; build a -> b". `change`
// counts in line.changes.
std::string change_text(const TrendLine& line, std::size_t change);

}  // namespace attest
