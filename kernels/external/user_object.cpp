#include "kernels/external/user_object.hpp"

#include <cstdlib>
#include <filesystem>

namespace attest::external {
namespace {

namespace fs = std::filesystem;

std::string& chosen() {
  static std::string path;
  return path;
}

}  // namespace

void set_user_objects(std::string path) { chosen() = std::move(path); }

std::string user_objects() {
  if (!chosen().empty()) return chosen();
  const char* const variable = std::getenv(kObjectVariable.data());
  return variable == nullptr ? "" : variable;
}

Result<std::string> find_user_object(std::string_view file, const std::string& path) {
  const auto trouble = [&](const std::string& what) {
    return Trouble{TroubleKind::kUsage,
                   what + "; give the code object " + std::string(file) +
                       ", which attest does not ship, or its folder, with --code-object PATH or " +
                       std::string(kObjectVariable)};
  };
  if (path.empty()) return trouble("no code object is given");
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return path;
  for (const char* below : {"", "gfx942/mla", "hsa/gfx942/mla"}) {
    const fs::path candidate = fs::path(path) / below / file;
    if (fs::is_regular_file(candidate, ignored)) return candidate.string();
  }
  return trouble("there is no " + std::string(file) + " in " + path);
}

}  // namespace attest::external
