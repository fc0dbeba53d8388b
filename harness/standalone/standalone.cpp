#include "harness/standalone/standalone.hpp"

#include <fmt/format.h>
#include <stdlib.h>  // mkdtemp

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "harness/child_process.hpp"
#include "harness/shell_word.hpp"
#include "harness/standalone/data_file.hpp"
#include "harness/standalone/program.hpp"
#include "harness/standalone/runtime_text.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHdf5Link = " -I/usr/include/hdf5/serial -lhdf5_serial";  // Debian's places

Outcome write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  const bool is_written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if ((file != nullptr && std::fclose(file) != 0) || !is_written)
    return Trouble{TroubleKind::kInfra, fmt::format("{}: {}", path, std::strerror(error))};
  return Done{};
}

// A folder that goes when this does.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code none;
    path_ = (fs::temp_directory_path(none) / "attest-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }  // empty: there is none

 private:
  std::string path_;
};

// `path` from the root of the checkout, where it lies below it; else `otherwise`.
std::string in_checkout(const std::string& path, const std::string& otherwise) {
  std::error_code none;
  const fs::path below =
      fs::weakly_canonical(path, none).lexically_relative(fs::weakly_canonical(ATTEST_SOURCE_DIR));
  return below.empty() || *below.begin() == ".." ? otherwise : below.generic_string();
}

std::string library_folder() { return in_checkout(ATTEST_HIP_LIBRARY_DIR, ATTEST_HIP_LIBRARY_DIR); }

std::string compile_line(const std::string& file, bool uses_file) {
  return fmt::format("{} -std=c++17 {} -o build/repro -L {} {}{}",
                     fs::path(ATTEST_CXX_COMPILER).filename().string(), file,
                     shell_word(library_folder()), ATTEST_HIP_LINK, uses_file ? kHdf5Link : "");
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::vector<std::string> compile_arguments(const StandaloneOptions& options, bool uses_file,
                                           const std::string& program) {
  std::vector<std::string> arguments = {
      options.compiler.empty() ? ATTEST_CXX_COMPILER : options.compiler,
      "-std=c++17",
      options.file,
      "-o",
      program,
      "-L",
      ATTEST_HIP_LIBRARY_DIR};
  for (const std::string& word : split_words(ATTEST_HIP_LINK)) arguments.push_back(word);
  if (uses_file) {
    for (const std::string& word : split_words(kHdf5Link)) arguments.push_back(word);
  }
  return arguments;
}

std::string default_code_object(const StandaloneOptions& options) {
  return in_checkout(std::string(ATTEST_CODE_OBJECT_DIR), "build/host/code_objects") + "/" +
         options.code_object_name;
}

// By the convention of kernels/CMakeLists.txt: name.target.co is built from kernels/*/name.hip.
std::string source_of(const std::string& code_object_name) {
  const std::string hip = code_object_name.substr(0, code_object_name.find('.')) + ".hip";
  std::error_code none;
  for (const auto& folder : fs::directory_iterator(ATTEST_SOURCE_DIR "/kernels", none)) {
    if (fs::exists(folder.path() / hip, none))
      return "kernels/" + folder.path().filename().string() + "/" + hip;
  }
  return {};
}

std::vector<std::string> notes_of(const StandaloneOptions& options, const Failure& failure,
                                  bool uses_file) {
  const std::string file =
      shell_word(in_checkout(options.file, fs::path(options.file).filename().string()));
  const std::string object = default_code_object(options);
  std::vector<std::string> lines = {
      "In the root of a checkout of attest, built by `./attest doctor`:",
      "  " + compile_line(file, uses_file), "  build/repro " + object};
  if (in_checkout(options.code_object, options.code_object) != object)
    lines.push_back("What fails is another build of it, that --code-objects named: give its path.");
  lines.push_back("On an AMD GPU, with ROCm:");
  lines.push_back(
      fmt::format("  clang++ -std=c++17 {} -o build/repro -L /opt/rocm/lib -lamdhip64{}", file,
                  uses_file ? kHdf5Link : ""));
  if (failure.verdict.status == Status::kHung)
    lines.push_back("There it may never end: run it under `timeout`.");
  if (const std::string source = source_of(options.code_object_name); !source.empty()) {
    const std::string target = failure.device.substr(failure.device.find(':') + 1);
    lines.push_back("The code object is built by");
    lines.push_back(fmt::format("  {} --offload-arch={} -O3 -std=c++17 -I. -o {} {}",
                                ATTEST_AMD_COMPILE, target, object, source));
  }
  if (uses_file)
    lines.push_back(
        "Its data is in the file of its name + .h5; another path is the second argument.");
  return lines;
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

// What the program's end says about it.
std::string label_of(const Failure& failure, const ChildEnd& end, double limit_s) {
  const std::string last = last_line(end.output);
  if (end.exit_code == 1 && last == kFailsAsRecorded) return "standalone: fails as recorded";
  if (end.exit_code == 1 && last.starts_with(kFailsOtherwise))
    return fmt::format("standalone: fails, but not as recorded{}",
                       last.substr(kFailsOtherwise.size()));
  // A GPU's driver ends a process whose kernel faults; a hung one it leaves.
  constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
  const bool faulted =
      std::find(std::begin(kFaults), std::end(kFaults), end.signal) != std::end(kFaults);
  if (faulted && failure.verdict.status == Status::kCrashed)
    return fmt::format("standalone: fails as recorded (signal {})", end.signal);
  if (end.timed_out) {
    return fmt::format("{}: it had not ended after {} s",
                       failure.verdict.status == Status::kHung ? "standalone: fails as recorded"
                                                               : "NOT standalone",
                       limit_s);
  }
  if (end.exit_code == 0) {
    return "NOT standalone: the program passes; what attest saw depends on more than the calls "
           "that it repeats";
  }
  return fmt::format("NOT standalone: the program ended with {} {}: {}",
                     end.signal != 0 ? "signal" : "exit code",
                     end.signal != 0 ? end.signal : end.exit_code, last);
}

// Compiles and runs it; whether that was possible.
bool try_out(const Failure& failure, const StandaloneOptions& options, bool uses_file,
             std::string& label) {
  const auto not_run = [&](const std::string& why) {
    label = "standalone: not run, as this machine cannot compile it: " + why;
    return false;
  };
  const std::string library = ATTEST_HIP_LIBRARY_DIR "/libattest_hip.a";
  if (!fs::exists(library)) return not_run(library + " is missing; build the target attest_hip");
  const TemporaryFolder folder;
  if (folder.path().empty()) return not_run("there is no folder for temporary files");
  const std::string program = folder.path() + "/repro";
  const auto compiled = run_child(compile_arguments(options, uses_file, program), options.limit_s);
  if (!compiled.ok()) return not_run(compiled.trouble().text);
  if (compiled->exit_code != 0) return not_run("the compiler says:\n" + compiled->output);
  std::vector<std::string> command = {program, options.code_object};
  if (uses_file) command.push_back(options.file + ".h5");
  const auto end = run_child(command, options.limit_s);
  if (!end.ok()) return not_run(end.trouble().text);
  label = label_of(failure, *end, options.limit_s);
  return true;
}

}  // namespace

Outcome check_standalone_path(const std::string& file) {
  const fs::path path(file);
  if (path.extension() != ".cpp") {
    return Trouble{TroubleKind::kUsage,
                   fmt::format("--standalone {}: a C++ program is written: name it .cpp", file)};
  }
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (fs::is_directory(path, error)) return Trouble{TroubleKind::kInfra, file + ": it is a folder"};
  if (!fs::is_directory(folder, error)) {
    return Trouble{TroubleKind::kInfra,
                   fmt::format("{}: there is no folder {}", file, folder.string())};
  }
  return Done{};
}

Result<StandaloneEnd> write_standalone(const Failure& failure, const StandaloneOptions& options) {
  const auto program = make_program(failure, default_code_object(options));
  if (!program.ok()) return program.trouble();
  ProgramNotes notes{"standalone: not run yet", notes_of(options, failure, program->uses_file())};
  const auto write = [&] {
    return write_file(options.file, first_comment(failure, notes) + program->body);
  };
  if (const Outcome written = write(); !written.ok()) return written.trouble();
  if (program->uses_file()) {
    const Outcome written = write_data_file(options.file + ".h5", program->datasets);
    if (!written.ok()) return written.trouble();
  }
  StandaloneEnd end;
  end.was_run = try_out(failure, options, program->uses_file(), notes.label);
  if (const Outcome written = write(); !written.ok()) return written.trouble();
  end.label = notes.label;
  std::error_code none;
  const bool is_there = fs::equivalent(fs::current_path(none), ATTEST_SOURCE_DIR, none);
  const std::string go = is_there ? "" : "cd " + shell_word(ATTEST_SOURCE_DIR) + " && ";
  const std::string file = fs::absolute(options.file).string();
  const std::string object = fs::absolute(options.code_object).lexically_normal().string();
  end.compile = go + compile_line(shell_word(in_checkout(file, file)), program->uses_file());
  end.run = go + "build/repro " + shell_word(in_checkout(object, object));
  return end;
}

}  // namespace attest
