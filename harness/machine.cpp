#include "harness/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace attest {
namespace {

// The text after "key ... :" in a file of such lines.
std::string value_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
    return at == std::string::npos ? std::string{} : line.substr(at);
  }
  return {};
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

std::int64_t available_memory_bytes() {
  const std::string kib = value_in("/proc/meminfo", "MemAvailable");
  return kib.empty() ? -1 : std::strtoll(kib.c_str(), nullptr, 10) * 1024;
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
