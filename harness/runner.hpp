// run_cases: cases one after another, each reported before and after. Afterwards by the schedule
// that showed a failure, where several were asked for.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/device.hpp"
#include "harness/ledger.hpp"
#include "harness/verify.hpp"
#include "reports/reporter.hpp"

namespace attest {

// Set by the first Ctrl-C: the case that runs is finished, no other is begun. A second one ends the
// program at once, with the exit code of an incomplete run; what is finished is on disk.
extern std::atomic<bool> stop_requested;
void stop_on_interrupt();

// One case, from its inputs to a verdict in the light of the ledger. The record lacks what the run
// alone knows: phase, at_s, tries.
CaseRecord run_case(const Kernel& kernel, const Case& c, Device& device,
                    const VerifyOptions& options, const Ledger& ledger);
// Of a kernel of the catalog.
CaseRecord run_case(const Case& c, Device& device, const VerifyOptions& options,
                    const Ledger& ledger);

using RunCase = std::function<CaseRecord(const Case&)>;
Tally run_cases(std::span<const Case> cases, const RunCase& run,
                std::span<const std::unique_ptr<Reporter>> reporters,
                const std::atomic<bool>& stop = stop_requested);
// On a device of this process.
Tally run_cases(std::span<const Case> cases, Device& device, const VerifyOptions& options,
                std::span<const std::unique_ptr<Reporter>> reporters,
                const std::atomic<bool>& stop = stop_requested, const Ledger& ledger = {});

}  // namespace attest
