// History: runs kept over time, in one SQLite file that several processes may write to. A run is
// there wholly or not at all, whatever kills its writer.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/trouble.hpp"
#include "reports/run/results.hpp"
#include "reports/run/trend.hpp"

namespace attest {

class Sqlite;

using Costs = std::map<std::string, double, std::less<>>;  // milliseconds, by the token of the plan

// What a history knows of one run.
struct KeptRun {
  // Of its RunHeader; shard: "1/4 3/4" where others of the same id are not here.
  std::string run, started, command, shard, device, machine, build, bounds;
  Tally tally;  // interrupted where planned cases did not end, or shards are not here
  double seconds = 0;
};

class History {
 public:
  // Makes the file if there is none, and migrates an older one; an empty one stays so until a run
  // is added. Trouble kUsage: it is no history, or a newer program's, or no name of a file; kInfra:
  // the disk.
  static Result<History> open(const std::string& path);
  History(History&&) noexcept;
  History& operator=(History&&) noexcept;
  ~History();

  // In one transaction; of drawn cases (run/phases.hpp) that found nothing, only how many. Of a run
  // that is there already, only what is new: the rest of one that was resumed, another shard of
  // the same id.
  // Trouble kUsage: results that name no run, or several; kInfra: the disk.
  Outcome add(const Results& results);

  // The lines of the newest `most_runs` runs, the buckets of all. The shards that one night began
  // make one point of a line.
  Result<Trend> trend(int most_runs = 200) const;
  // The median of the last 5 runs on the device, with these options of its RunHeader and as many
  // --schedules as the command.
  Result<Costs> costs(const std::string& device, const std::string& command,
                      const std::string& repro_options) const;
  // The newest `most`, oldest first.
  Result<std::vector<KeptRun>> runs(int most) const;

 private:
  explicit History(std::unique_ptr<Sqlite> db);
  std::unique_ptr<Sqlite> db_;
};

}  // namespace attest
