#include "harness/run_header.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "harness/case_runner.hpp"
#include "harness/core/random.hpp"
#include "harness/machine.hpp"
#include "reference/error_bound.hpp"

namespace attest {
namespace {

// FNV-1a. Source: Fowler, Noll, Vo, draft-eastlake-fnv, 64 bits.
constexpr std::uint64_t kFnvBegin = 0xcbf29ce484222325u;

void hash(std::uint64_t& state, std::string_view bytes) {
  for (const char byte : bytes) {
    state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
}

std::string run_id() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::uint64_t process = static_cast<std::uint64_t>(getpid());
  return fmt::format("{:016x}", mix64(mix64(static_cast<std::uint64_t>(now)) + process));
}

}  // namespace

std::string shared_run_id(const std::string& job, const RunHeader& header) {
  std::uint64_t state = kFnvBegin;
  for (const std::string& part : {job, header.command, header.device, header.build, header.plan}) {
    hash(state, part + "\n");
  }
  return fmt::format("{:016x}", state);
}

std::string build_text(const std::string& code_objects, const std::string& device) {
  std::string text = ATTEST_VERSION;
  // Of hip:0 it is not known here: all files count.
  const std::string target = "." + target_of_device(device) + ".";
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(code_objects, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    const bool is_object = !name.ends_with(".d");  // what the compiler read
    if (is_object && (target == ".." || name.find(target) != std::string::npos)) {
      files.push_back(at->path());
    }
  }
  if (files.empty()) return text;
  std::sort(files.begin(), files.end());
  std::uint64_t state = kFnvBegin;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    hash(state, path.filename().string());
    hash(state, bytes);
  }
  return text + fmt::format(", code objects {:016x}", state);
}

RunHeader run_header(const CommonOptions& common, const std::string& command, std::int64_t cases) {
  RunHeader header{command, common.device, machine_text(), cases, repro_options(common)};
  header.run = run_id();
  header.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  header.build = build_text(common.code_objects, common.device);
  header.bounds = kBoundsVersion;
  return header;
}

}  // namespace attest
