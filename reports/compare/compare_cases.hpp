// What compare() finds in the cases that ended on both sides.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "reports/compare/compare.hpp"

namespace attest {

struct CasePair {
  const CaseRecord* base = nullptr;
  const CaseRecord* pr = nullptr;
};

// Of the tensor, in a vector of records that name one.
template <class T>
const T* of_tensor(const std::vector<T>& all, const std::string& tensor) {
  for (const T& one : all) {
    if (one.tensor == tensor) return &one;
  }
  return nullptr;
}

bool is_judged(const CaseRecord& record);

std::vector<RatioMove> ratio_moves(std::span<const CasePair> pairs);
std::vector<BoundMove> bound_moves(std::span<const CasePair> pairs);
std::vector<ContractChange> contract_changes(std::span<const CasePair> pairs);
std::vector<VisibilityDrop> visibility_drops(std::span<const CasePair> pairs);
std::vector<SpeedChange> speed_changes(std::span<const CasePair> pairs);

}  // namespace attest
