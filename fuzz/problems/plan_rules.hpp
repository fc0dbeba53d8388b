// The values of each feature of the plan space, in words, and which pairs of them no problem has.
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "fuzz/problems/plan_space.hpp"

namespace attest::plan {

struct FeatureTable {
  std::string_view name;
  std::span<const std::string_view> values;
};
extern const std::array<FeatureTable, kFeatures> kTables;  // in the order of Feature

// Values of Feature::kSplits.
enum class Splits { kOne, kNoToken, kMoreThanTokens, kOneLive, kSomeEmpty, kEven, kUneven };

}  // namespace attest::plan
