#include "harness/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

namespace attest {
namespace {

// The text after "key ... :" in a file of such lines.
std::string value_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
    return at == std::string::npos ? std::string{} : line.substr(at);
  }
  return {};
}

// Files of a control group that say what it may take. Source: Linux, Documentation/admin-guide/
// cgroup-v2.rst, "Memory Interface Files"; cgroup-v1/memory.rst.
struct GroupFiles {
  const char *folder, *most, *taken, *cache;  // cache: in memory.stat, what goes when it must
};
constexpr GroupFiles kGroup2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kGroup1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                             "memory.usage_in_bytes", "total_inactive_file"};
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// The least that a group from `path` up leaves. In a container the path may be that of the machine,
// and only its end be there: what is not there is passed over.
std::int64_t left_in_groups(const std::string& root, const GroupFiles& files, std::string path) {
  std::int64_t least = kNoLimit;
  while (true) {
    const std::string folder = root + files.folder + path + "/";
    std::int64_t most = 0, taken = 0, cache = 0;
    std::string name;
    std::ifstream stat(folder + "memory.stat");
    while (stat >> name >> cache && name != files.cache) {
    }
    if (name != files.cache) cache = 0;
    if (std::ifstream(folder + files.most) >> most &&  // "max" is no number
        std::ifstream(folder + files.taken) >> taken) {
      least = std::min(least, most - taken + cache);
    }
    if (path.empty()) return least;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

}  // namespace

int host_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

std::string cpu_model() {
  if (std::string model = value_in("/proc/cpuinfo", "model name"); !model.empty()) return model;
  utsname name;
  return uname(&name) == 0 ? name.machine : "unknown CPU";
}

std::string machine_text() { return fmt::format("{}, {} threads", cpu_model(), host_threads()); }

std::int64_t memory_bytes() {
  return std::int64_t{1} * sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

std::int64_t available_memory_bytes(const std::string& root) {
  const std::string kib = value_in(root + "/proc/meminfo", "MemAvailable");
  if (kib.empty()) return -1;
  std::int64_t least = std::strtoll(kib.c_str(), nullptr, 10) * 1024;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/a/b"; of version 2 "0::/a/b"
    const std::size_t kind = line.find(':') + 1, path = line.find(':', kind) + 1;
    if (kind == 0 || path == 0) continue;
    const std::string controllers = line.substr(kind, path - 1 - kind);
    const bool is_new = controllers.empty();
    if (!is_new && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    least = std::min(least, left_in_groups(root, is_new ? kGroup2 : kGroup1, line.substr(path)));
  }
  return std::max<std::int64_t>(least, 0);
}

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace attest
