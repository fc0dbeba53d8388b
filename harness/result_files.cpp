#include "harness/result_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "reports/run/summary.hpp"

namespace attest {
namespace {

std::string file_of(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none) ? path + "/results.jsonl" : path;
}

}  // namespace

std::vector<std::string> paths_of(const std::string& paths) {
  std::error_code none;
  // A comma may be a part of a name.
  if (std::filesystem::exists(paths, none)) return {paths};
  std::vector<std::string> each;
  for (std::size_t begin = 0; begin <= paths.size();) {
    const std::size_t end = std::min(paths.find(',', begin), paths.size());
    each.push_back(paths.substr(begin, end - begin));
    begin = end + 1;
  }
  return each;
}

Result<Results> read_run(const std::string& paths) { return read_run_of(paths_of(paths)); }

Result<Results> read_run_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) files.push_back(file_of(path));
  Result<Results> results = read_results(files);
  if (!results.ok() || files.size() == 1 || results->twice.empty()) return results;
  constexpr std::size_t kMostNamed = 10;
  return Trouble{
      TroubleKind::kUsage,
      fmt::format("{}: these are not the shards of one run: these ended more than once:\n  {}\n"
                  "Give one run's files, each once; of two runs: `attest compare`",
                  fmt::join(paths, ", "),
                  fmt::join(first_of(results->twice, kMostNamed, "cases"), "\n  "))};
}

}  // namespace attest
