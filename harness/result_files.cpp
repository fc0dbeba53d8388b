#include "harness/result_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

namespace attest {
namespace {

std::string file_of(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none) ? path + "/results.jsonl" : path;
}

std::vector<std::string> files_of(const std::string& paths) {
  std::error_code none;
  // A comma may be a part of a name.
  if (std::filesystem::exists(paths, none)) return {file_of(paths)};
  std::vector<std::string> files;
  for (std::size_t begin = 0; begin <= paths.size();) {
    const std::size_t end = std::min(paths.find(',', begin), paths.size());
    files.push_back(file_of(paths.substr(begin, end - begin)));
    begin = end + 1;
  }
  return files;
}

}  // namespace

Result<Results> read_run(const std::string& paths) {
  const std::vector<std::string> files = files_of(paths);
  Result<Results> results = read_results(files);
  if (!results.ok() || files.size() == 1 || results->twice.empty()) return results;
  return Trouble{TroubleKind::kUsage,
                 fmt::format("{}: these are not the shards of one run: {} ended in two of them",
                             paths, results->twice.front())};
}

}  // namespace attest
