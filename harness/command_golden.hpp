// The commands of `attest golden`.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/commands.hpp"

namespace CLI {
class App;
}

namespace attest {

struct GoldenRequest {
  std::vector<std::string> files;  // verify, info: one or more; diff: old and new
  // generate
  Selection selection;
  std::vector<std::string> captures, reasons;
  std::string out;
  bool digests_only = false;
  // verify
  std::optional<std::uint64_t> seed;  // none: today's date, UTC
  bool all = false;
  std::string device;  // that kernels run on, too; empty: none runs
};

struct GoldenVerb {
  const char *name, *about;
  void (*add_options)(CLI::App&, GoldenRequest&);
  int (*run)(const CommonOptions&, const GoldenRequest&);
};
std::span<const GoldenVerb> golden_verbs();

int command_golden_generate(const CommonOptions& common, const GoldenRequest& request);
// Exit codes of h5diff: 0 the same, 1 they differ, 2 one cannot be read.
int command_golden_diff(const CommonOptions& common, const GoldenRequest& request);

// Writes `text` to stdout. The exit code: `code`, or of what is in the way.
int tell(const std::string& text, int code);

std::uintmax_t file_bytes(const std::string& path);  // 0 where there is none

}  // namespace attest
