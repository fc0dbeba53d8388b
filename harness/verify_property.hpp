// verify_property: a case whose property is not agreement with the oracle (fuzz/properties/).
#pragma once
#include "harness/verify.hpp"

namespace attest {

// All runs are by `kernel`, which has no memory of earlier ones. The property is a known one.
Verdict verify_property(const Kernel& kernel, Device& device, const Case& c,
                        const VerifyOptions& options);

}  // namespace attest
