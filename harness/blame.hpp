// blame: which stage of a failed kernel broke. Each stage is held against what the stage before it
// left, so that a mistake is not counted again further down:
//   scores and softmax   partial_lse (lse when there is one split) against the formula
//   P.V                  partial_o where its lse is right
//   merge                lse and o against the kernel's own partials, merged again in fp64
//   rounding of o        o is right before its last rounding, which is not the declared one
// The first that breaks its own bound is named, with where, and with what it behaves like when one
// hypothesis of harness/blame_hypotheses.hpp fits.
#pragma once
#include <string>
#include <string_view>

#include "harness/core/inputs.hpp"
#include "harness/core/output.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

inline constexpr std::string_view kRoundingOfO = "rounding of o";

struct Blame {
  std::string stage;       // one of those above; empty: no stage broke its bound
  std::string hypothesis;  // "P were truncated"; empty: none fits, or more than one
  std::string text;        // all of it in words, for Verdict::blame
};

Blame blame(const Subject& subject, const Inputs& inputs, const Output& output,
            const Reference& reference);

}  // namespace attest
