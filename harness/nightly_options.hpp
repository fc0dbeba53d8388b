// What `attest nightly` takes on its command line, and how a command is written that goes on with
// its run.
#pragma once
#include <string>

#include "harness/commands.hpp"
#include "reports/reporter.hpp"

namespace CLI {
class App;
}

namespace attest {

// `common` gets the first device.
void add_nightly_options(CLI::App& nightly, NightlyRequest& request, CommonOptions& common);

// The request's numbers, read. Zero where nothing was given.
struct NightlyNumbers {
  double budget_s = 0, timeout_s = 0;
  std::int64_t memory_bytes = 0;
  std::uint64_t seed = 0;
};
Result<NightlyNumbers> numbers_of(const NightlyRequest& request);  // Trouble kUsage

// How often each case runs under these options, at most, where its cost counts one run.
double launches_of_a_case(const CommonOptions& common);

// Of a run's header, "nightly --tier smoke" and whatever else its verdicts depend on beyond
// repro_options: a run goes on under no other.
std::string nightly_command(const CommonOptions& common, const NightlyRequest& request);
std::string tier_of_command(const std::string& command);

// Why a run with the one header cannot go on as that with the other: what differs, a line each;
// empty: it can.
std::string why_another_run(const RunHeader& was, const RunHeader& is);

// "./attest nightly --tier smoke --resume out", for a shell: with all that was given.
std::string resume_command(const RunHeader& header, const NightlyRequest& request,
                           const std::string& folder);

}  // namespace attest
