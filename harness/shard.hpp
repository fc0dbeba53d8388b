// Which part of a plan this process runs: told by an option, or by the environment of whatever
// started it.
#pragma once
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "harness/core/trouble.hpp"
#include "harness/plan.hpp"

namespace attest {

// A variable's value; none: it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// `option` is "2/8": the second of eight; empty: not given. The first of these that is there
// decides, so that `--shard 1/1` runs all whatever the environment says:
//   --shard                                     counts from 1
//   GTEST_SHARD_INDEX, GTEST_TOTAL_SHARDS       GoogleTest's protocol, as Bazel and others speak it
//   SLURM_ARRAY_TASK_ID of an array without gaps, from wherever, by whatever step
//   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE  Open MPI
//   PMI_RANK, PMI_SIZE                          MPICH, Intel MPI
//   SLURM_PROCID, SLURM_STEP_NUM_TASKS          srun. Not SLURM_NTASKS: a batch script that starts
//                                               no tasks has it too, and SLURM_PROCID=0
// PMIX_RANK comes without a count. An empty value is as none. Trouble kUsage, with the variable and
// its value: no number, one of a pair alone, an index that is not below the count, an array with
// gaps. Sources: GoogleTest, docs/advanced.md, "Distributing Test Functions to Multiple Machines";
// Slurm, sbatch(1) and srun(1), "OUTPUT ENVIRONMENT VARIABLES"; Open MPI 5, "Environment variables
// set for MPI applications"; MPICH, simple_pmi.c.
Result<Shard> shard_of(const std::string& option, const Environment& environment);

// What the shards of one night share: the job of a Slurm array or step, of an MPI launcher, of a
// workflow of GitHub. Empty: nothing says it.
std::string job_of(const Environment& environment);

std::string to_text(const Shard& shard);  // "3/8"; of the only one: empty
// "shard 3 of 8, from SLURM_ARRAY_TASK_ID"; of the only one: empty.
std::string what_it_is(const Shard& shard);

// GoogleTest's protocol: a test program that knows shards writes GTEST_SHARD_STATUS_FILE, where it
// is set. Trouble kInfra: it cannot be written.
Outcome show_that_shards_are_known(const Environment& environment);

// GoogleTest's protocol: TEST_PREMATURE_EXIT_FILE, where it is set, is there as long as the program
// has not come to its end. Whoever finds it after the program is gone knows that it died.
class PrematureExitFile {
 public:
  explicit PrematureExitFile(const Environment& environment);
  ~PrematureExitFile();
  PrematureExitFile(const PrematureExitFile&) = delete;
  PrematureExitFile& operator=(const PrematureExitFile&) = delete;
  const std::string& trouble() const { return trouble_; }  // empty: it is there, or not asked for

 private:
  std::string path_, trouble_;
  pid_t owner_;  // a child that is forked from it ends without removing it
};

}  // namespace attest
