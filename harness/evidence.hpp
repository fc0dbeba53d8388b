// prove: what a would-be pass proves. Without evidence it is no pass.
#pragma once
#include "harness/core/inputs.hpp"
#include "harness/core/output.hpp"
#include "harness/core/verdict.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

// Adds strawmen and visibility to the evidence of a passed verdict, and makes it vacuous when a
// strawman that differs from the output passes as well, unless subject.blind_to lists it, or when
// the loss of nothing that was looked at would be noticed. Any other verdict stays as it is.
//
// A case whose rows see no token at all has nothing to lose and stays passed: that zeros and -inf
// are written (or that nothing is), and nowhere else, is what it shows; poison left is rejected.
void prove(const Subject& subject, const Inputs& inputs, const Output& output,
           const Reference& reference, Verdict& verdict);

}  // namespace attest
