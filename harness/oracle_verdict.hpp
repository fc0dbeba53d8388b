// oracle_verdict: what a kernel left, held against the formula: reference, judge, and on a failure
// the second look.
#pragma once
#include "harness/core/inputs.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/output.hpp"
#include "harness/subject.hpp"
#include "harness/verify.hpp"
#include "reference/reference.hpp"

namespace attest {

struct OracleVerdict {
  Verdict verdict;
  Reference wanted;
};

// As which `unit` sums products of a q of that storage.
MatrixUnit unit_for(MatrixUnit unit, Storage q);

// The contract that `kernel` is held to on `device`.
Contract contract_on(const Kernel& kernel, const Device& device, const Problem& problem);

// Trouble kInfra when the host has no memory for it.
Result<OracleVerdict> oracle_verdict(const Subject& subject, const Inputs& inputs,
                                     const Output& output, const VerifyOptions& options);

}  // namespace attest
