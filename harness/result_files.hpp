// Results that a command line names.
#pragma once
#include <string>
#include <vector>

#include "harness/core/trouble.hpp"
#include "reports/run/results.hpp"

namespace attest {

// A command line's "1.jsonl,2.jsonl", one by one.
std::vector<std::string> paths_of(const std::string& paths);

// Of one run: a file, a folder that holds results.jsonl (`attest nightly --out`), or several of
// these, joined by commas: the shards of one run. Trouble kUsage: one cannot be read, or they are
// several runs.
Result<Results> read_run(const std::string& paths);
Result<Results> read_run_of(const std::vector<std::string>& paths);  // the same, one by one

}  // namespace attest
