// selftest: does the fuzzer kill what it should, and nothing else? Each mutant of the kernels
// (fuzz/mutants/) is built and fuzzed within a budget; a defect or a cheat must fail, a benign one
// must not.
#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "harness/campaign.hpp"
#include "harness/mutant.hpp"
#include "harness/mutant_build.hpp"

namespace attest {

struct SelftestOptions {
  std::uint64_t seed = 1;
  double seconds = 60;  // of fuzzing, until the first failure of a mutant
  std::int64_t cases =
      120;  // that each mutant runs at least, for the matrix; a benign one all of them
  std::int64_t benign_cases = 500;
  int threads = 1;
  std::string device = "emu:gfx942";
  ShrinkLimits shrink;
};

// What became of one mutant.
struct Trial {
  std::string name, bug_class, recreates, defect;
  bool is_benign = false;
  bool killed = false;
  std::string trouble = {};  // it could not be built or run: no verdict
  Found found = {};          // the first failure, shrunk; where killed
  CampaignResult result = {};
  double build_seconds = 0;
};

struct SelftestSummary {
  int defects = 0, killed = 0, benign = 0, false_alarms = 0, troubled = 0;
  int small = 0;  // killed, and shrunk to what is_small()
  double median_kill_seconds = 0, median_build_seconds = 0, longest_shrink_seconds = 0;
  double score() const { return defects > 0 ? 1.0 * killed / defects : 0; }
};
// What a structural bug needs: b <= 2, h <= 16, s_kv <= 128, two splits of the shortest kind.
bool is_small(const Problem& problem);
SelftestSummary summary_of(const std::vector<Trial>& trials);

// Builds run one ahead of the fuzzing. `told` is called after each trial, in the order of the
// mutants.
std::vector<Trial> run_selftest(const std::vector<Mutant>& mutants, const SelftestOptions& options,
                                const BuildOptions& build,
                                const std::function<void(const Trial&)>& told,
                                const std::atomic<bool>& stop);

// The published page: score, matrix, survivors.
std::string selftest_markdown(const std::vector<Trial>& trials, const SelftestOptions& options,
                              const std::string& command, const std::string& machine);
// One line a killed mutant: name, bucket, shrunk token. What `attest selftest --replay` runs again.
std::string kills_text(const std::vector<Trial>& trials);

}  // namespace attest
