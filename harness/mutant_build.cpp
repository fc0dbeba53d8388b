#include "harness/mutant_build.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutant_commands.hpp>  // CMake writes it: mutant_commands.hpp.in
#include <set>
#include <span>
#include <sstream>
#include <vector>

#include "harness/child_process.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;
using Command = std::vector<std::string>;

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// All that a launcher or a code object is made of, with the edits.
FilesByPath sources_of(const fs::path& root, const FilesByPath& edited) {
  FilesByPath sources;
  for (const char* folder : {"kernels", "harness/core"}) {
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder, error)) {
      if (entry.is_regular_file()) {
        sources[fs::relative(entry.path(), root).generic_string()] = text_of(entry.path());
      }
    }
  }
  for (const auto& [path, text] : edited) sources[path] = text;
  return sources;
}

// `path` and what it includes, itself or through others.
void add_includes(const FilesByPath& sources, const std::string& path, std::set<std::string>& to) {
  constexpr std::string_view kInclude = "#include \"";
  const auto file = sources.find(path);
  if (file == sources.end() || !to.insert(path).second) return;
  std::istringstream stream(file->second);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(kInclude)) continue;
    const std::size_t begin = kInclude.size();
    add_includes(sources, line.substr(begin, line.find('"', begin) - begin), to);
  }
}

// What must be built anew: sources of device code and of launchers that hold or include an edited
// file.
struct Affected {
  std::vector<std::string> device, launcher;
};

Affected affected_by(const FilesByPath& edited, const FilesByPath& sources) {
  Affected affected;
  for (const auto& [path, text] : sources) {
    const bool is_device = path.ends_with(".hip");
    const bool is_launcher = path.ends_with(".cpp") && !path.ends_with("_test.cpp");
    if (!path.starts_with("kernels/") || !(is_device || is_launcher)) continue;
    std::set<std::string> includes;
    add_includes(sources, path, includes);
    const bool holds_edit = std::any_of(edited.begin(), edited.end(), [&](const auto& file) {
      return includes.contains(file.first);
    });
    if (holds_edit) (is_device ? affected.device : affected.launcher).push_back(path);
  }
  return affected;
}

class Hash {  // FNV-1a, 64 bits; a zero byte ends each text
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(c);
    add_byte('\0');
  }
  std::string hex() const { return fmt::format("{:016x}", state_); }

 private:
  void add_byte(char c) { state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3; }
  std::uint64_t state_ = 0xcbf29ce484222325;
};

Command command_of(std::span<const char* const> words) { return {words.begin(), words.end()}; }

std::string key_of(const FilesByPath& sources, const BuildOptions& options) {
  Hash hash;
  hash.add(options.target);
  hash.add(options.code_objects);
  for (const Command& command :
       {command_of(kDeviceCompiler), command_of(kLauncherCompiler), command_of(kLauncherParts)}) {
    for (const std::string& word : command) hash.add(word);
    std::error_code error;  // another compiler under the same name has another time
    hash.add(std::to_string(fs::last_write_time(command[0], error).time_since_epoch().count()));
  }
  for (const auto& [path, text] : sources) {
    hash.add(path);
    hash.add(text);
  }
  return hash.hex();
}

// Builds into a folder of its own, which gets its lasting name when it is whole: two builds of one
// key do not meet.
class Workshop {
 public:
  Workshop(const Mutant& mutant, const fs::path& root, const fs::path& folder)
      : mutant_(mutant), root_(root), folder_(folder) {}
  ~Workshop() {
    std::error_code error;
    if (!work_.empty()) fs::remove_all(work_, error);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  Outcome build(const FilesByPath& edited, const Affected& affected, const BuildOptions& options) {
    if (auto opened = open(edited, affected, options); !opened.ok()) return opened;
    for (const std::string& source : affected.device) {
      const std::string file = fs::path(source).stem().string() + "." + options.target + ".co";
      auto command = with_source(command_of(kDeviceCompiler), source);
      command.insert(command.end(),
                     {"--offload-arch=" + options.target, "-o", work_ / "code_objects" / file});
      if (auto done = run(command); !done.ok()) return done;
    }
    if (!affected.launcher.empty()) {
      if (auto done = build_launcher(affected.launcher); !done.ok()) return done;
    }
    std::error_code error;
    fs::rename(work_, folder_, error);
    if (error && !fs::exists(folder_)) return cannot("keep", folder_, error);
    return Done{};
  }

 private:
  Outcome open(const FilesByPath& edited, const Affected& affected, const BuildOptions& options) {
    std::error_code error;
    fs::create_directories(folder_.parent_path(), error);
    std::string name = folder_.string() + ".XXXXXX";
    if (error || mkdtemp(name.data()) == nullptr)
      return cannot("make a folder beside", folder_, error);
    work_ = name;
    for (const auto& [path, text] : edited) {
      fs::create_directories((work_ / path).parent_path(), error);
      std::ofstream file(work_ / path, std::ios::binary);
      file << text;
      if (!file.flush())
        return cannot("write", work_ / path, std::make_error_code(std::errc::io_error));
    }
    if (affected.device.empty()) return Done{};
    fs::create_directories(work_ / "code_objects", error);
    for (const auto& entry : fs::directory_iterator(options.code_objects, error)) {
      if (entry.path().extension() == ".co") fs::copy(entry.path(), work_ / "code_objects", error);
    }
    if (error) return cannot("copy the code objects of", options.code_objects, error);
    return Done{};
  }

  Outcome build_launcher(const std::vector<std::string>& sources) {
    Command link = command_of(kLauncherCompiler);
    link.insert(link.end(), {"-shared", "-Wl,-Bsymbolic", "-o", work_ / "launcher.so"});
    for (const std::string& source : sources) {
      std::string object = work_ / (fs::path(source).parent_path().filename().string() + "." +
                                    fs::path(source).stem().string() + ".o");
      auto command = with_source(command_of(kLauncherCompiler), source);
      command.insert(command.end(), {"-c", "-o", object});
      if (auto done = run(command); !done.ok()) return done;
      link.push_back(object);
    }
    const Command parts = command_of(kLauncherParts);
    link.insert(link.end(), parts.begin(), parts.end());
    return run(link);
  }

  // Includes are paths from the root: an edited file is found before the tree's own.
  Command with_source(Command command, const std::string& source) const {
    const fs::path edited = work_ / source;
    command.insert(command.end(),
                   {"-w", "-ffile-prefix-map=" + work_.string() + "/=", "-I" + work_.string(),
                    "-I" + root_.string(), fs::exists(edited) ? edited : root_ / source});
    return command;
  }

  Outcome run(const Command& command) const {
    constexpr double kLimitSeconds = 600;
    const auto end = run_child(command, kLimitSeconds);
    if (!end.ok()) return end.trouble();
    if (end->exit_code == 0) return Done{};
    // A compiler that says no exits with 1; one that is killed says nothing about the mutant.
    std::string why = first_lines_of(end->output);
    if (end->signal != 0) why = fmt::format("{} was ended by signal {}", command[0], end->signal);
    if (end->timed_out) why = fmt::format("{} had not ended after {} s", command[0], kLimitSeconds);
    return Trouble{end->exit_code == 1 ? TroubleKind::kUsage : TroubleKind::kInfra,
                   fmt::format("{}.mutant does not compile:\n{}", mutant_.name, why)};
  }

  static std::string first_lines_of(const std::string& text) {
    constexpr int kLines = 8;
    std::istringstream stream(text);
    std::string lines, line;
    for (int i = 0; i < kLines && std::getline(stream, line); ++i) lines += line + "\n";
    return lines;
  }

  Outcome cannot(const std::string& what, const std::string& name,
                 const std::error_code& error) const {
    return Trouble{TroubleKind::kInfra, fmt::format("{}.mutant: cannot {} {}: {}", mutant_.name,
                                                    what, name, error.message())};
  }

  const Mutant& mutant_;
  fs::path root_, folder_, work_;
};

}  // namespace

Result<BuiltMutant> open_mutant(const std::string& code_objects, const std::string& launcher) {
  void* const handle = dlopen(launcher.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Trouble{TroubleKind::kInfra,
                   fmt::format("cannot load a mutant's launcher: {}", dlerror())};
  }
  return BuiltMutant(code_objects, std::shared_ptr<void>(handle, dlclose), launcher);
}

std::unique_ptr<Kernel> BuiltMutant::make_kernel(std::string_view name) const {
  if (launcher_ == nullptr) {
    const Kernel* const kernel = find_kernel(name);
    return kernel == nullptr ? nullptr : kernel->fresh();
  }
  using MakeKernel = Kernel*(const char*);
  auto* const make = reinterpret_cast<MakeKernel*>(dlsym(launcher_.get(), "attest_make_kernel"));
  return std::unique_ptr<Kernel>(make(std::string(name).c_str()));
}

Result<BuiltMutant> build_mutant(const Mutant& mutant, const BuildOptions& options) {
  const fs::path root = options.source_dir.empty() ? kSourceDir : options.source_dir;
  const fs::path cache = options.cache_dir.empty() ? kMutantDir : options.cache_dir;
  const auto edited = apply_mutant(mutant, root);
  if (!edited.ok()) return edited.trouble();
  const FilesByPath sources = sources_of(root, *edited);
  const Affected affected = affected_by(*edited, sources);
  if (affected.device.empty() && affected.launcher.empty()) {
    return Trouble{TroubleKind::kUsage,
                   fmt::format("{}.mutant edits nothing that is built", mutant.name)};
  }
  const fs::path folder = cache / key_of(sources, options);
  if (!fs::exists(folder)) {
    const Outcome built = Workshop(mutant, root, folder).build(*edited, affected, options);
    if (!built.ok()) return built.trouble();
  }
  const std::string code_objects =
      affected.device.empty() ? options.code_objects : (folder / "code_objects").string();
  if (affected.launcher.empty()) return BuiltMutant(code_objects, nullptr);
  return open_mutant(code_objects, folder / "launcher.so");
}

}  // namespace attest
