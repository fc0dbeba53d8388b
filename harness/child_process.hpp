// A program run in a child process, under a time limit.
#pragma once
#include <string>
#include <vector>

#include "harness/core/trouble.hpp"

namespace attest {

struct ChildEnd {
  int exit_code = -1;      // -1: it did not exit by itself
  int signal = 0;          // that ended it
  bool timed_out = false;  // and so it was killed
  std::string output;      // stdout and stderr, in the order in which they came
};

// arguments[0] is the program: a path, or a name to look for in PATH. Trouble kInfra when it cannot
// be started.
Result<ChildEnd> run_child(const std::vector<std::string>& arguments, double limit_s);

}  // namespace attest
