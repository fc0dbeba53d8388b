// Summary: what every report says of a run beside its cases.
#pragma once
#include <string>
#include <vector>

#include "reports/run/results.hpp"

namespace attest {

// "a", "b" and "and 7 more": at most `most` of them, and how many others there are.
std::vector<std::string> first_of(const std::vector<std::string>& lines, std::size_t most,
                                  const std::string& what_others);

// What a reader must know before trusting the numbers, a line each: lines cut short, cases that
// ended twice, planned cases that did not end, runs that do not belong together.
std::vector<std::string> notes_of(const Results& results);

}  // namespace attest
