// The text of a standalone program: the recorded calls, in order, and the checks that fail.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/trouble.hpp"
#include "harness/standalone/data.hpp"
#include "harness/standalone/failure.hpp"

namespace attest {

// What the first comment says besides the failure.
struct ProgramNotes {
  std::string label;  // whether it fails standalone
  std::vector<std::string>
      compile;  // lines: how to compile and run it, how to build the code object
};

struct Program {
  std::string body;               // all but the first comment
  std::vector<Dataset> datasets;  // for the file beside it, into the failure's record
  bool uses_file() const { return !datasets.empty(); }
};

// Trouble: kUsage when such a program would not show the failure, with the reason. `failure`
// outlives the program.
Result<Program> make_program(const Failure& failure, std::string_view code_object);
std::string first_comment(const Failure& failure, const ProgramNotes& notes);

}  // namespace attest
