// Bits of two outputs of one problem, which are to be the same.
#pragma once
#include <optional>
#include <string>

#include "harness/core/inputs.hpp"
#include "harness/core/output.hpp"
#include "harness/core/verdict.hpp"
#include "harness/subject.hpp"
#include "harness/verify.hpp"

namespace attest {

struct BitDifference {
  Worst at;  // the first, in the tensor where the trouble begins: partials come before o and lse
  std::int64_t elements = 0, of = 0;  // of that tensor: that differ, and all
};

// None when the bits are equal wherever the contract owes something.
std::optional<BitDifference> bit_difference(const Subject& subject, const Output& actual,
                                            const Output& expected);

// "o differs at sequence 0, ...: 0.5 (0x3f00) against 0.25 (0x3e80); 3 of 8192 elements of o".
std::string to_text(const BitDifference& difference, const Contract& contract);

// What the kernel owed in a launch whose output is known to differ: what the oracle says of it,
// and, of an output that is within every bound, that the bits differ. The bucket of the latter is
// STAGE.differs.TENSOR.KERNEL.
Verdict verdict_of_difference(const Subject& subject, const Inputs& inputs, const Output& actual,
                              const BitDifference& difference, std::string_view stage,
                              const VerifyOptions& options);

}  // namespace attest
