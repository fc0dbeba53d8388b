#include "harness/mutant_build.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>

#include "harness/core/code_object_file.hpp"
#include "harness/mutant_compile.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

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
      if (!entry.is_regular_file()) continue;
      const std::string path = fs::relative(entry.path(), root).generic_string();
      const std::string ending = entry.path().extension();
      const bool is_code = ending == ".hip" || ending == ".hpp" || ending == ".cpp";
      if (is_code && !path.ends_with("_test.cpp")) sources[path] = text_of(entry.path());
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

std::set<std::string> includes_of(const FilesByPath& sources, const std::string& path) {
  std::set<std::string> includes;
  add_includes(sources, path, includes);
  return includes;
}

// "mla_decode.sm_90.cubin" of kernels/mla_decode/mla_decode.hip; empty: no kernel runs it.
std::string object_of(const std::string& source, const std::string& target) {
  const std::string stem = fs::path(source).stem().string() + ".";
  for (const Kernel* kernel : all_kernels()) {
    if (std::string object = kernel->code_object(target); object.starts_with(stem)) return object;
  }
  return {};
}

// What must be built anew: sources of kernels' device code and of launchers that hold or include an
// edited file.
struct Affected {
  std::vector<std::string> device, launcher;
};

Affected affected_by(const FilesByPath& edited, const FilesByPath& sources,
                     const BuildOptions& options) {
  Affected affected;
  for (const auto& [path, text] : sources) {
    const bool is_device = path.ends_with(".hip");
    if (!path.starts_with("kernels/") || !(is_device || path.ends_with(".cpp"))) continue;
    if (is_device && object_of(path, options.target).empty()) continue;
    const std::set<std::string> includes = includes_of(sources, path);
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
  // By what it does, not where it lies.
  void add(const Compiler& compiler) {
    add(compiler.version);
    for (std::size_t i = 1; i < compiler.command.size(); ++i) add(compiler.command[i]);
  }
  void add(const FilesByPath& sources, const std::string& path) {
    add(path);
    add(sources.at(path));
  }
  std::string hex() const { return fmt::format("{:016x}", state_); }

 private:
  void add_byte(char c) { state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3; }
  std::uint64_t state_ = 0xcbf29ce484222325;
};

// Builds into a folder of its own, which gets its lasting name when it is whole: two builds of one
// key do not meet.
class Workshop {
 public:
  Workshop(std::string name, const BuildOptions& options, const FilesByPath& edited,
           const FilesByPath& sources)
      : name_(std::move(name)), options_(options), edited_(edited), sources_(sources) {
    root_ = options.source_dir.empty() ? default_source_dir() : options.source_dir;
    cache_ = options.cache_dir.empty() ? default_mutant_cache() : options.cache_dir;
  }
  ~Workshop() {
    std::error_code error;
    if (!work_.empty()) fs::remove_all(work_, error);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  // The folder of code objects; `affected` of them are built.
  Result<fs::path> device_code(const std::vector<std::string>& affected) {
    const Compiler& compiler = device_compiler(options_.target);
    Hash key;
    key.add(compiler);
    for (const std::string& source : affected) {
      for (const std::string& path : includes_of(sources_, source)) key.add(sources_, path);
    }
    const std::set<std::string> others = unaffected(affected);
    for (const std::string& object : others) {
      key.add(text_of(fs::path(options_.code_objects) / object));
    }
    const fs::path folder = cache_ / options_.target / key.hex();
    if (fs::exists(folder)) return folder;
    if (const Outcome o = open(folder, compiler); !o.ok()) return o.trouble();
    std::error_code error;
    for (const std::string& object : others) {
      fs::copy(fs::path(options_.code_objects) / object, result() / object, error);
      if (error) return cannot("copy a code object of", options_.code_objects, error);
    }
    for (const std::string& source : affected) {
      if (const Outcome o = build_device(compiler, source); !o.ok()) return o.trouble();
    }
    return keep(folder);
  }

  // The folder that holds launcher.so.
  Result<fs::path> launcher(const std::vector<std::string>& affected) {
    const Compiler& compiler = launcher_compiler();
    Hash key;
    key.add(compiler);
    for (const auto& [path, text] : sources_) {  // its parts are made of all of them
      if (!path.ends_with(".hip")) key.add(sources_, path);
    }
    const fs::path folder = cache_ / "launcher" / key.hex();
    if (fs::exists(folder)) return folder;
    if (const Outcome o = open(folder, compiler); !o.ok()) return o.trouble();
    if (const Outcome o = build_launcher(compiler, affected); !o.ok()) return o.trouble();
    return keep(folder);
  }

 private:
  fs::path result() const { return work_ / "result"; }

  // What the kernels run beside what is built.
  std::set<std::string> unaffected(const std::vector<std::string>& affected) const {
    std::set<std::string> objects;
    for (const Kernel* kernel : all_kernels()) objects.insert(kernel->code_object(options_.target));
    for (const std::string& source : affected) objects.erase(object_of(source, options_.target));
    return objects;
  }

  Outcome open(const fs::path& folder, const Compiler& compiler) {
    if (!compiler.missing.empty()) {
      return Trouble{TroubleKind::kInfra, fmt::format("{} is not built ({}), and {}", name_,
                                                      folder.string(), compiler.missing)};
    }
    std::error_code error;
    fs::create_directories(folder.parent_path(), error);
    std::string name = folder.string() + ".XXXXXX";
    if (error || mkdtemp(name.data()) == nullptr)
      return cannot("make a folder beside", folder, error);
    work_ = name;
    fs::create_directories(result(), error);
    for (const auto& [path, text] : edited_) {
      fs::create_directories((work_ / path).parent_path(), error);
      std::ofstream file(work_ / path, std::ios::binary);
      file << text;
      if (!file.flush())
        return cannot("write", work_ / path, std::make_error_code(std::errc::io_error));
    }
    return Done{};
  }

  Outcome build_device(const Compiler& compiler, const std::string& source) const {
    Command command = with_source(compiler.command, source);
    if (!is_nvidia(options_.target)) {
      command.insert(command.end(), {"--offload-arch=" + options_.target, "-fuse-cuid=none",
                                     "-ffile-prefix-map=" + work_.string() + "/="});
    }
    command.insert(command.end(), {"-o", result() / object_of(source, options_.target)});
    return run(command);
  }

  Outcome build_launcher(const Compiler& compiler, const std::vector<std::string>& sources) const {
    Command link = compiler.command;
    link.insert(link.end(), {"-shared", "-Wl,-Bsymbolic", "-s", "-o", result() / "launcher.so"});
    for (const std::string& source : sources) {
      std::string object = work_ / (fs::path(source).parent_path().filename().string() + "." +
                                    fs::path(source).stem().string() + ".o");
      Command command = with_source(compiler.command, source);
      command.insert(command.end(),
                     {"-ffile-prefix-map=" + work_.string() + "/=", "-c", "-o", object});
      if (Outcome done = run(command); !done.ok()) return done;
      link.push_back(object);
    }
    const Command parts = launcher_parts();
    link.insert(link.end(), parts.begin(), parts.end());
    return run(link);
  }

  // Includes are paths from the root: an edited file is found before the tree's own.
  Command with_source(Command command, const std::string& source) const {
    const fs::path edited = work_ / source;
    command.insert(command.end(), {"-w", "-I" + work_.string(), "-I" + root_.string(),
                                   fs::exists(edited) ? edited : root_ / source});
    return command;
  }

  Outcome run(const Command& command) const {
    Outcome done = compile(command);
    if (done.ok()) return done;
    return Trouble{done.trouble().kind,
                   fmt::format("{} does not compile:\n{}", name_, done.trouble().text)};
  }

  Result<fs::path> keep(const fs::path& folder) {
    std::error_code error;
    fs::rename(result(), folder, error);
    if (error && !fs::exists(folder)) return cannot("keep", folder, error);
    return folder;
  }

  Trouble cannot(const std::string& what, const std::string& name,
                 const std::error_code& error) const {
    return {TroubleKind::kInfra,
            fmt::format("{}: cannot {} {}: {}", name_, what, name, error.message())};
  }

  const std::string name_;
  const BuildOptions& options_;
  const FilesByPath &edited_, &sources_;
  fs::path root_, cache_, work_;
};

// What of a code object is loaded: all but lines and other notes for people. Empty: it is no ELF
// file.
std::string loaded_part(const std::string& bytes) {
  const auto read = [&](std::size_t at, auto& to) {
    if (at > bytes.size() || sizeof to > bytes.size() - at) return false;
    std::memcpy(&to, bytes.data() + at, sizeof to);
    return true;
  };
  Elf64_Ehdr header;
  if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  std::string loaded;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!read(header.e_shoff + i * sizeof section, section)) return {};
    const bool has_bytes = section.sh_type != SHT_NOBITS && (section.sh_flags & SHF_ALLOC) != 0;
    if (has_bytes && section.sh_offset < bytes.size()) {
      loaded += bytes.substr(section.sh_offset, section.sh_size);
    }
  }
  return loaded;
}

bool same_code(const fs::path& a, const fs::path& b) {
  const std::string first = text_of(a), second = text_of(b);
  if (first == second) return true;
  // Of NVIDIA's, what is not loaded counts too: registers, barriers.
  if (a.extension() == ".cubin") return false;
  const std::string part = loaded_part(first);
  return !part.empty() && part == loaded_part(second);
}

// Whether an edit shows in what was built for the target, beside the unedited sources' build.
Result<bool> shows(const fs::path& built, const std::vector<std::string>& affected,
                   const fs::path& root, const BuildOptions& options) {
  static std::mutex building;  // once, for all mutants of these sources
  const std::lock_guard lock(building);
  const FilesByPath none, sources = sources_of(root, none);
  const auto unedited =
      Workshop("the unedited kernel", options, none, sources).device_code(affected);
  if (!unedited.ok()) return unedited.trouble();
  return std::any_of(affected.begin(), affected.end(), [&](const std::string& source) {
    const std::string object = object_of(source, options.target);
    return !same_code(built / object, *unedited / object);
  });
}

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
  const fs::path root = options.source_dir.empty() ? default_source_dir() : options.source_dir;
  const auto edited = apply_mutant(mutant, root);
  if (!edited.ok()) return edited.trouble();
  const FilesByPath sources = sources_of(root, *edited);
  const Affected affected = affected_by(*edited, sources, options);
  const std::string name = mutant.name + ".mutant";
  if (affected.device.empty() && affected.launcher.empty()) {
    return Trouble{TroubleKind::kUsage, name + " edits nothing that is built"};
  }
  std::string code_objects = options.code_objects;
  bool is_in_build = !affected.launcher.empty();
  if (!affected.device.empty() && !options.launcher_alone) {
    const auto folder = Workshop(name, options, *edited, sources).device_code(affected.device);
    if (!folder.ok()) return folder.trouble();
    code_objects = *folder;
    const auto shown = shows(*folder, affected.device, root, options);
    if (!shown.ok()) return shown.trouble();
    is_in_build = is_in_build || *shown;
  }
  BuiltMutant built(code_objects, nullptr);
  if (!affected.launcher.empty()) {
    const auto folder = Workshop(name, options, *edited, sources).launcher(affected.launcher);
    if (!folder.ok()) return folder.trouble();
    auto opened = open_mutant(code_objects, fs::absolute(*folder / "launcher.so"));
    if (!opened.ok()) return opened;
    built = std::move(*opened);
  }
  built.set_in_build(is_in_build);
  return built;
}

}  // namespace attest
