#include "harness/out_file.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace attest {

std::string new_out_folder(const std::string& run) {
  return fmt::format("attest-out/{}-{:%Y%m%d-%H%M%S}", run, fmt::localtime(std::time(nullptr)));
}

Result<OutFile> open_out_file(std::string folder, const std::string& run, const std::string& name) {
  if (folder.empty()) folder = new_out_folder(run);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  OutFile out{folder + "/" + name, nullptr};
  if (!error) out.file.reset(std::fopen(out.path.c_str(), "w"));
  if (out.file == nullptr) {
    return Trouble{TroubleKind::kInfra,
                   fmt::format("{}: {}", out.path, error ? error.message() : std::strerror(errno))};
  }
  return out;
}

}  // namespace attest
