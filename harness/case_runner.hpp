// CaseRunner: runs cases one after another, each from its inputs to a verdict: on a device of this
// process, or in a worker process. A fault or a hang of a kernel makes a GPU's context useless for
// the whole process: there a worker is what it costs, and nothing else.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "harness/common_options.hpp"
#include "harness/core/kernel.hpp"
#include "harness/ledger.hpp"
#include "harness/worker_pool.hpp"

namespace attest {

class SharedWorker;

class CaseRunner {
 public:
  virtual ~CaseRunner() = default;
  // Under other schedules too, where they were asked for: the record has that which showed a
  // failure.
  virtual CaseRecord run(const Case& c) = 0;
  virtual CaseRecord run_as_is(const Case& c) { return run(c); }  // under its own alone
};
using OpenRunner = std::function<Result<std::unique_ptr<CaseRunner>>()>;
using FindKernel = std::function<const Kernel*(std::string_view)>;

// A GPU's launch that runs longer hangs, of a case that was drawn: they end within milliseconds.
inline constexpr double kDrawnLaunchSeconds = 10;

// What a command must know of a device before anything runs on it.
struct DeviceFacts {
  std::string target;
  bool is_emulated = true;
  std::string hardware;  // "NVIDIA H200"; empty: it is emulated
};
Result<DeviceFacts> facts_of_device(const std::string& device);  // Trouble: it is not here
std::string machine_text(const DeviceFacts& device);             // the host, and the hardware
// The target by the name alone: of emu:gfx942 gfx942, of cuda:0 sm_90; empty: it does not say.
std::string target_of_device(std::string_view device);

// Cases as fuzz draws them: short, many, without a second oracle.
struct DrawnCases {
  CommonOptions common;  // with the folder of code objects that they run on
  bool isolated = false;
  int workers = 1;                   // cases beside each other
  int campaigns = 1;                 // beside each other, with so many workers each
  std::string launcher = {};         // of a mutant (mutant_build.hpp); empty: this program's own
  std::string control_objects = {};  // of the control case; empty: common.code_objects
};
// `ledger`, and what `find` finds, outlive them.
OpenRunner runners_of(const DrawnCases& cases, const Ledger& ledger, FindKernel find = find_kernel);

// In worker processes, each case as it was given; `common.ledger` is that of `ledger`, which
// outlives it.
std::unique_ptr<CaseRunner> isolated_cases(const CommonOptions& common, const Ledger& ledger);
// In a worker process of its own, which is replaced when it ends. `ledger` outlives it.
std::unique_ptr<CaseRunner> isolated_runner(PoolOptions options, double limit_s,
                                            const Ledger& ledger);
// Beside the cases of other runners in `shared`; by `alone` what ends or fails there, or is run as
// it is. What does not come again alone is not green: kInfra, of an end, kFlaky, of a failure.
std::unique_ptr<CaseRunner> shared_runner(std::shared_ptr<SharedWorker> shared,
                                          std::unique_ptr<CaseRunner> alone);

}  // namespace attest
