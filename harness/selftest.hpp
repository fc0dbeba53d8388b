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
  double seconds = 60;  // of fuzzing a mutant, at most
  // A mutant that failed goes on to so many cases, for the matrix.
  std::int64_t cases = 120;
  std::int64_t benign_cases = 500;           // all of which a benign one runs
  std::vector<std::string> properties = {};  // none: all
  CommonOptions common = {};                 // where, and on how many threads in all
  int jobs = 1;             // mutants at a time, which share the threads; 0: by the device
  bool isolated = false;    // cases in worker processes
  bool is_emulated = true;  // the device
  ShrinkLimits shrink;
};

// What became of one mutant.
struct Trial {
  std::string name, bug_class, recreates, defect;
  bool is_benign = false;
  bool killed = false;
  bool is_absent = false;    // its edit is in what another target compiles: nothing to be seen here
  std::string trouble = {};  // it could not be built or run: no verdict
  Found found = {};          // the first failure, shrunk; where killed
  CampaignResult result = {};
  double build_seconds = 0;
};

struct SelftestSummary {
  int defects = 0, killed = 0, survivors = 0, benign = 0, false_alarms = 0, troubled = 0;
  int absent = 0;  // neither a defect nor benign in this build
  int small = 0;   // killed, and shrunk to what is_small()
  double median_kill_seconds = 0, median_build_seconds = 0, longest_shrink_seconds = 0;
  double score() const { return defects > 0 ? 1.0 * killed / defects : 0; }
};
// What a structural bug needs: b <= 2, h <= 16, s_kv <= 128, two splits of the shortest kind.
bool is_small(const Problem& problem);
SelftestSummary summary_of(const std::vector<Trial>& trials);

// The runners of a mutant's cases. `built`, and what `find` finds, outlive them.
OpenRunner runners_of_mutant(const BuiltMutant& built, const SelftestOptions& options,
                             FindKernel find);

// options.jobs mutants at a time; builds run ahead of them, as many at a time. `told` is called
// after each trial, one at a time: of one job in the order of the mutants, in which all come back.
std::vector<Trial> run_selftest(const std::vector<Mutant>& mutants, const SelftestOptions& options,
                                const BuildOptions& build,
                                const std::function<void(const Trial&)>& told,
                                const std::atomic<bool>& stop);

// The published page: score, matrix, survivors.
std::string selftest_markdown(const std::vector<Trial>& trials, const SelftestOptions& options,
                              const std::string& command, const std::string& machine);
// A killed mutant, and the smallest case that shows it. In the file: a line NAME BUCKET TOKEN.
struct Kill {
  std::string mutant, bucket, token;
};
std::vector<Kill> kills_of(const std::vector<Trial>& trials);
Result<std::vector<Kill>> read_kills(const std::string& path);  // Trouble kUsage, with the line
// `kills` with those of the same mutants in place of the old ones; in the order of the names.
std::vector<Kill> renewed(std::vector<Kill> kills, const std::vector<Kill>& by);
std::string to_text(const std::vector<Kill>& kills);

}  // namespace attest
