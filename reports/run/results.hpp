// Results: what the JSON Lines of a run say: of one process, of one that was killed and resumed, or
// of shards one after another. What is cut short, or not understood, is noted and loses nothing
// else.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/trouble.hpp"
#include "harness/core/verdict.hpp"
#include "reports/reporter.hpp"

namespace attest {

struct Results {
  std::vector<RunHeader> runs;       // as they began; at least one
  std::vector<PlannedCase> planned;  // each once
  std::vector<CaseRecord> cases;     // that ended, in that order; of one that ended twice the worst
  std::vector<std::string> missing;  // planned, but did not end
  std::vector<std::string> begun;    // of the missing: those that had begun
  std::vector<std::string> twice;    // ended more than once
  std::vector<std::string> absent;   // parts of the plan that are not here: "2/3"
  std::vector<std::string> notes;    // "results.jsonl:17: cut short"
  // Of `cases`; interrupted where some are missing, or parts beside others. A part alone is judged
  // by itself.
  Tally tally;
  double seconds = 0;  // the sum of the runs'

  const RunHeader& header() const { return runs.front(); }
};

// Trouble kUsage: a file that cannot be read, or holds no run, or runs that are no parts of one: of
// another device, build, bounds or plan.
Result<Results> read_results(const std::vector<std::string>& paths);
Result<Results> parse_results(std::string_view text, const std::string& name);

// The command that sees a case again; empty where what the file gives would do something else in a
// shell: results may come from anybody.
std::string see_again(const Results& results, const CaseRecord& record);

// Its exit code. Of what was drawn beside the plan some could not have failed: vacuous or skipped,
// that takes nothing from what the plan proves, and is not counted.
int run_exit_code(const Results& results);
Tally graded_tally(const Results& results);  // what it counts

// The cases of one cause, told by the one with the shortest token.
struct BucketCases {
  std::string bucket;
  const CaseRecord* example = nullptr;
  std::vector<const CaseRecord*> cases;  // in order
};
// Those that are no pass and have a bucket; most cases first.
std::vector<BucketCases> buckets_of(const Results& results);

// What a case is, from its token; of one that no kernel here could parse: its text after "k=".
struct CaseFacts {
  std::string kernel, distribution;
  int longest = 0;  // s_kv
};
CaseFacts facts_of(const CaseRecord& record);

// Largest ratio of a case over its tensors: of o (true), whose last rounding to bf16 takes most of
// what is allowed, or of the tensors in fp32. -1: nothing of that kind was judged.
double largest_ratio(const Verdict& verdict, bool of_o);

}  // namespace attest
