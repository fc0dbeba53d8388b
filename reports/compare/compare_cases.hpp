// What compare() finds in the cases that ended on both sides.
#pragma once
#include <span>
#include <vector>

#include "reports/compare/compare.hpp"

namespace attest {

struct CasePair {
  const CaseRecord* base = nullptr;
  const CaseRecord* pr = nullptr;
};

std::vector<RatioMove> ratio_moves(std::span<const CasePair> pairs);
std::vector<BoundMove> bound_moves(std::span<const CasePair> pairs);
std::vector<ContractChange> contract_changes(std::span<const CasePair> pairs);
std::vector<VisibilityDrop> visibility_drops(std::span<const CasePair> pairs);
std::vector<SpeedChange> speed_changes(std::span<const CasePair> pairs);

}  // namespace attest
