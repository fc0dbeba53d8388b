// The commands of `attest`. Each returns the program's exit code (design: 0 passed, 1 failed, 2
// usage, 3 incomplete, 4 infrastructure, 5 proves too little).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/common_options.hpp"
#include "harness/core/trouble.hpp"
#include "harness/selection.hpp"
#include "harness/selftest.hpp"
#include "harness/soundness.hpp"

namespace attest {

using RunFiles = std::map<std::string, std::string>;  // by format: the file that it is wanted in

struct DetectRequest {
  std::vector<std::string> distributions;  // none: all
  std::vector<int> lengths;                // none: 64 to 327,600
  int heads = 4;
  std::uint64_t seed = 0;
  bool quick = false;  // lengths up to 4096
  std::string out;     // Markdown
};

struct FuzzRequest {
  std::string duration;  // "30m"; empty: until `cases`, or a minute where that is not given either
  std::int64_t cases = -1;
  std::uint64_t seed = 1;
  std::vector<std::string> kernels, properties;  // none: all
  std::string corpus;                            // folder
  std::string target;                            // "ratio": climb; empty: at random
  std::string out;                               // folder of the journal
  double shrink_seconds = 60;
  bool isolate = false;  // as on a GPU: cases in worker processes
};

struct CrosscheckRequest {
  std::vector<std::string> devices;
  std::vector<std::string> tokens;  // none: `cases` that are drawn
  std::int64_t cases = 1000;
  std::uint64_t seed = 1;
  std::string save, against;  // files of one device's verdicts
  std::string out;            // folder of the journal
};

struct SelftestRequest {
  std::string folder, kills;         // of the mutants; file of shrunk tokens
  std::vector<std::string> mutants;  // none: all
  bool list = false, replay = false, keep = false;
  bool isolate = false;    // as on a GPU: cases in worker processes
  std::string build_only;  // all, or launchers; empty: they are run, too
  std::string cache;       // folder of what is built; empty: that of this program
  std::string out;         // Markdown
  SelftestOptions options;
};

struct ListRequest {
  int plan = 0;  // shards of a nightly's plan to list; 0: everything but a plan
  std::string tier = "smoke";
  std::string corpus, kills;       // folder; file
  std::vector<std::string> costs;  // results.jsonl of earlier runs
};

struct JudgeRequest {
  std::string inputs, outputs;  // files; no outputs: in the file of the inputs
  std::string name = "elsewhere", unit = "unknown", p = "bf16";
  int splits = 64;  // within the kernel
  int tile = 16;    // tokens between two updates of its running max, at least
};

struct ReportRequest {
  std::vector<std::string> files;  // of one run (result_files.hpp)
  std::string format, out;         // empty: console; stdout
  std::string folder;              // of every format that has a file; empty: none is wanted
  std::string history;             // SQLite file; empty: there is none
};

struct NightlyRequest {
  std::vector<std::string> devices;     // none: that of the common options; of one target
  std::string tier;                     // empty: smoke, or that of the run that is resumed
  std::string out, resume;              // folders
  std::string shard;                    // "2/8"
  std::string budget, timeout, memory;  // "8h", "10m", "4G"
  int jobs = 0;                         // worker processes; 0: as many as host threads
  std::string history;                  // file
  std::vector<std::string> costs;       // results of an earlier run
  std::string run;                      // what shards of one night share; empty: by the environment
  std::string corpus, kills;            // folder, file
  std::string seed;                     // of what is drawn; empty: by the run, another each night
};

int command_list(const CommonOptions& common, const ListRequest& request);
int command_doctor(const CommonOptions& common);
int command_run(const CommonOptions& common, const Selection& selection,
                const RunFiles& files = {});
int command_nightly(const CommonOptions& common, const NightlyRequest& request);
// `standalone` names the program that shows the failure without attest; empty: none is wanted.
int command_repro(const CommonOptions& common, const std::string& token,
                  const std::string& standalone);
// `unit` names the matrix unit whose sums the bounds allow for; empty: the device's.
int command_explain(const CommonOptions& common, const std::string& token, const std::string& unit);
int command_bench_emulator(const CommonOptions& common, const std::string& markdown_path);
int command_bench_reference(const CommonOptions& common, const std::string& markdown_path);
int command_export(const CommonOptions& common, const std::string& token, const std::string& path);
int command_judge(const CommonOptions& common, const JudgeRequest& request);
int command_fuzz(const CommonOptions& common, const FuzzRequest& request);
int command_crosscheck(const CommonOptions& common, const CrosscheckRequest& request);
int command_selftest(const CommonOptions& common, const SelftestRequest& request);
int command_detect(const CommonOptions& common, const DetectRequest& request);

// Of a run that is over: its exit code is the run's.
int command_report(const ReportRequest& request);

int command_soundness(const CommonOptions& common, const SoundnessOptions& options,
                      const std::string& markdown_path);

// Trouble kUsage: no such unit, and those that there are.
Result<MatrixUnit> matrix_unit_named(const std::string& unit);

// What of the options is not the default and so belongs into a command that sees a case again.
std::string repro_options(const CommonOptions& common);

int run_command_line(int argc, const char* const* argv);

// Prints it to stderr; the exit code for it.
int report_trouble(const Trouble& trouble);
// Of two exit codes that of a run with both: a failure is not hidden.
inline int worse_of(int a, int b) {
  for (const int first : {1, 2, 4, 3, 5}) {
    if (a == first || b == first) return first;
  }
  return 0;
}
// Writes a report; an empty path asks for none. The exit code: 0, or trouble's.
int write_report(const std::string& path, const std::string& text);

}  // namespace attest
