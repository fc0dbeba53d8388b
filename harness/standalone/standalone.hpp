// `attest repro --standalone FILE`: a failure as one C++ program that needs HIP's module API and
// nothing of attest's, compiled and run before it is reported.
#pragma once
#include <string>

#include "harness/core/trouble.hpp"
#include "harness/standalone/failure.hpp"

namespace attest {

struct StandaloneOptions {
  std::string file;              // the program; its data lies in file + ".h5" where it is large
  std::string code_object;       // path, that attest ran
  std::string code_object_name;  // "mla_decode.gfx942.co"
  double limit_s = 600;          // of the compiler, and of the program
  std::string compiler = {};     // empty: the one that attest was built with
};

// Empty when a program can be written there; else what is wrong with the path.
Outcome check_standalone_path(const std::string& file);

struct StandaloneEnd {
  std::string label;         // "standalone: fails as recorded", "NOT standalone: ..."
  bool was_run = false;      // else nothing on this machine could compile it, as the label says
  std::string compile, run;  // command lines, from where attest runs
};
Result<StandaloneEnd> write_standalone(const Failure& failure, const StandaloneOptions& options);

}  // namespace attest
