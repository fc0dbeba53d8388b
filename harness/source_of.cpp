#include "harness/source_of.hpp"

#include <fmt/format.h>

#include <fstream>

namespace attest {

std::string source_of(const Kernel& kernel, const Verdict& verdict, std::string_view target) {
  if (verdict.bucket.empty()) return {};
  std::string_view stage = std::string_view(verdict.bucket).substr(0, verdict.bucket.find('.'));
  constexpr std::string_view kReplay = "replay-";
  if (stage.starts_with(kReplay)) stage.remove_prefix(kReplay.size());
  const SourcePlace place = kernel.source(stage, target);
  if (place.path.empty()) return {};
  std::ifstream file(fmt::format("{}/{}", ATTEST_SOURCE_DIR, place.path));
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with(place.begin)) return fmt::format("{}:{}", place.path, number);
  }
  return std::string(place.path);
}

}  // namespace attest
