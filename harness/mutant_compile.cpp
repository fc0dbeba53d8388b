#include "harness/mutant_compile.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutant_commands.hpp>  // CMake writes it: mutant_commands.hpp.in
#include <span>
#include <sstream>

#include "harness/child_process.hpp"
#include "harness/core/code_object_file.hpp"
#include "harness/machine.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

bool is_program(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

// By the path that this build had, else by its name: in PATH, and where CUDA is by habit.
std::string find_compiler(const std::string& recorded) {
  if (is_program(recorded)) return recorded;
  const std::string name = fs::path(recorded).filename();
  if (std::string found = find_program(name); !found.empty()) return found;
  const char* const homes[] = {std::getenv("CUDA_HOME"), std::getenv("CUDA_PATH"),
                               "/usr/local/cuda"};
  for (const char* const home : homes) {
    if (home == nullptr) continue;
    if (std::string path = std::string(home) + "/bin/" + name; is_program(path)) return path;
  }
  return {};
}

Compiler compiler_of(std::span<const char* const> words, const char* recorded_version) {
  Compiler compiler{{words.begin(), words.end()}, recorded_version, {}};
  std::string& program = compiler.command.front();
  const std::string found = find_compiler(program);
  if (found.empty()) {
    compiler.missing = fmt::format(
        "{} is not here: build the mutants where it is (attest selftest --build-only), and bring "
        "the folder",
        fs::path(program).filename().string());
    return compiler;
  }
  program = found;
  constexpr double kLimitSeconds = 60;
  const auto end = run_child({program, "--version"}, kLimitSeconds);
  if (end.ok() && end->exit_code == 0) compiler.version = version_line(end->output);
  return compiler;
}

std::string first_lines_of(const std::string& text) {
  constexpr int kLines = 8;
  std::istringstream stream(text);
  std::string lines, line;
  for (int i = 0; i < kLines && std::getline(stream, line); ++i) lines += line + "\n";
  return lines;
}

}  // namespace

const Compiler& device_compiler(std::string_view target) {
  if (is_nvidia(target)) {
    static const Compiler kCuda = compiler_of(kCudaCompiler, kCudaVersion);
    return kCuda;
  }
  static const Compiler kAmd = compiler_of(kDeviceCompiler, kDeviceVersion);
  return kAmd;
}

const Compiler& launcher_compiler() {
  static const Compiler kHost = compiler_of(kLauncherCompiler, kLauncherVersion);
  return kHost;
}

Command launcher_parts() { return {std::begin(kLauncherParts), std::end(kLauncherParts)}; }

std::string default_source_dir() { return kSourceDir; }
std::string default_mutant_cache() { return kMutantDir; }

std::string version_line(const std::string& text) {
  std::istringstream stream(text);
  std::string first, line;
  while (std::getline(stream, line)) {
    const bool tells = line.find("clang version") != std::string::npos ||
                       line.find("release ") != std::string::npos;
    if (tells) return line;
    if (first.empty()) first = line;
  }
  return first;
}

Outcome compile(const Command& command) {
  constexpr double kLimitSeconds = 600;
  const auto end = run_child(command, kLimitSeconds);
  if (!end.ok()) return end.trouble();
  if (end->exit_code == 0) return Done{};
  // A compiler that says no exits with a code; one that is killed says nothing about the source.
  const bool says_no = !end->timed_out && end->signal == 0;
  std::string why = first_lines_of(end->output);
  if (end->signal != 0) why = fmt::format("{} was ended by signal {}", command[0], end->signal);
  if (end->timed_out) why = fmt::format("{} had not ended after {} s", command[0], kLimitSeconds);
  return Trouble{says_no ? TroubleKind::kUsage : TroubleKind::kInfra, why};
}

}  // namespace attest
