// The files that reports of a finished run are kept in.
#pragma once
#include <string>

#include "harness/core/trouble.hpp"
#include "reports/format.hpp"

namespace attest {

// The whole text or, where something is in the way, what was there before: written beside it
// (part_file.hpp), then renamed. What is no regular file (a pipe, /dev/null) is written to as it
// is. Trouble: kInfra, with the path.
Outcome write_whole_file(const std::string& path, const std::string& text);

// Before a run that is to write it: whether it can. What an earlier run left there is removed, so
// that nobody takes it for this one's.
Outcome clear_file(const std::string& path);

// Each format of the catalogue that has a file, into `folder`, which is made.
Outcome write_report_files(const Results& results, const Trend& trend, const std::string& folder);

}  // namespace attest
