// Visibility: of the tokens, pages and splits of a case, which would be missed. One is visible when
// an output without any error of its own, but without it, would be rejected by a gate in a row that
// is looked at.
#pragma once
#include "harness/core/inputs.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

// A deterministic sample, so that the cost stays a small part of the reference's.
inline constexpr int kTokensLookedAt = 64, kPagesLookedAt = 8, kSplitsLookedAt = 64;  // a case
inline constexpr int kRowsLookedAt = 32;                                              // a sequence

struct Visible {
  int looked_at = 0, visible = 0;
  double share() const { return looked_at == 0 ? -1 : static_cast<double>(visible) / looked_at; }
};

struct Visibility {
  Visible tokens, pages;
  Visible splits;                   // of sequences with more than one live split
  double smallest_weight_seen = 0;  // of visible tokens, each in the row that shows it
};

Visibility visibility_of(const Subject& subject, const Inputs& inputs, const Reference& reference);

}  // namespace attest
