// What a case could show, known before any kernel runs: the facts of its data, the size of each
// tier, the rows with the loosest gates, what would be missed, which strawmen would be rejected.
#pragma once
#include <string>
#include <vector>

#include "harness/core/inputs.hpp"
#include "harness/strawmen.hpp"
#include "harness/subject.hpp"
#include "harness/visibility.hpp"
#include "reference/reference.hpp"

namespace attest {

// Radii of one tier over one tensor: of o and partial_o in units of the rms of o.
struct TierSize {
  Tier tier;
  std::string tensor;
  double median = 0, largest = 0;
};

// A row by the largest radius of its o under the tightest tier, in units of the rms of its o.
struct LooseRow {
  Place place;  // with the column of that radius
  double radius = 0, rms = 0;
  RowFacts facts;
  double ratio() const { return radius / rms; }
};

struct Explanation {
  double rms_o = 0;
  Evidence facts;
  std::vector<TierSize> tiers;
  std::vector<LooseRow> loosest;  // first: the loosest
  Tier tightest = Tier::kT0;
  std::vector<BoundTerm> o_terms, lse_terms;  // of the tightest tier, at the loosest row
  Visibility visibility;
  std::vector<StrawmanResult> strawmen;  // made from the exact output
};

Explanation explain_case(const Subject& subject, const Inputs& inputs, const Reference& reference);

}  // namespace attest
