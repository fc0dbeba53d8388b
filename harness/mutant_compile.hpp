// What compiles mutants: the commands of this build (mutant_commands.hpp.in), with the compilers
// that this machine has.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/trouble.hpp"

namespace attest {

using Command = std::vector<std::string>;

struct Compiler {
  Command command;      // with its flags, but for sources, target and output
  std::string version;  // of the one that is here; where there is none, of that of this build
  std::string missing;  // why it is of no use here; empty: it is
};
const Compiler& device_compiler(std::string_view target);
const Compiler& launcher_compiler();
Command launcher_parts();  // what every launcher is linked with

std::string default_source_dir();
std::string default_mutant_cache();

// The line of a compiler's --version that tells it from others.
std::string version_line(const std::string& text);

// Trouble kUsage: it does not compile, with the compiler's first lines; kInfra: the compiler did
// not run.
Outcome compile(const Command& command);

}  // namespace attest
