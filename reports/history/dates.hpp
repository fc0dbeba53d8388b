// Times of runs (RunHeader::started).
#pragma once
#include <string_view>

namespace attest {

// Whole hours from one time "2026-11-30T02:00:00Z" to another; -1 where one is none, or it is the
// later one.
int hours_between(std::string_view from, std::string_view to);

}  // namespace attest
