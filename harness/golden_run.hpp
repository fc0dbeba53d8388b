// Whether kernels on a device give what a golden file holds. What the bits of an output are is the
// device's own (another matrix unit, another order of sums); that they are within the kernel's
// bounds of the file's values, for the contract of the device's build, is not.
#pragma once
#include <cstdint>
#include <vector>

#include "golden/golden_file.hpp"
#include "harness/core/device.hpp"
#include "harness/golden_verify.hpp"
#include "harness/verify.hpp"

namespace attest {

struct GoldenRun {
  int passed = 0, skipped = 0;
  int by_values = 0;  // of those that passed: of the file's own values
  std::int64_t elements = 0;
  std::vector<GoldenDisagreement> disagreements;  // wrong outputs, faults, hangs
  int left = 0;                                   // not run: the device was lost before
};

// Trouble kUsage: a token that names what is not here; kInfra: the machine's, with the token.
Result<GoldenRun> run_golden(const GoldenFile& file, Device& device, const VerifyOptions& options);

}  // namespace attest
