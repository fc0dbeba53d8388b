// Coverage of the plan space, not of lines: what a launch's plan can be, as a few small enums for
// each sequence of a case, and which pairs of their values a set of cases has shown. Most bugs of
// these kernels need two things at once: a length one past a tile in a split that others leave
// empty, say.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/kernel.hpp"

namespace attest {

enum class Feature {
  kLastTile,
  kSplitTail,
  kSplits,
  kSplitSource,
  kPageSize,
  kPageEdge,
  kQueryTokens,
  kPartials,
  kWaves,
  kHeadEdge,
  kGrid,
  kBatch,
  kUnseen,
  kPrefix,
  kPageOrder,
  kPageBase,
  kSlack,
  kPads,
  kScale
};
inline constexpr int kFeatures = static_cast<int>(Feature::kScale) + 1;

std::string_view name_of(Feature feature);
std::span<const std::string_view> values_of(Feature feature);  // in words

// Of one sequence of a problem: the index of its value in values_of(), for each feature.
using Features = std::array<int, kFeatures>;
Features features_of(const Problem& problem, int sequence, const Kernel& kernel);

// Empty when some problem has both values, else why none has: one of the stated rules.
std::string_view why_impossible(Feature a, int value_a, Feature b, int value_b);

// A pair of values of two features.
struct FeaturePair {
  Feature a, b;
  int value_a = 0, value_b = 0;
};
std::string to_string(const FeaturePair& pair);  // "splits: some empty + page size: 64"

class PlanSpace {
 public:
  PlanSpace();
  void add(const Case& c, const Kernel& kernel);  // its every sequence
  void merge(const PlanSpace& other);             // sums: the order does not matter

  bool operator==(const PlanSpace&) const = default;
  std::int64_t cases() const { return cases_; }
  int seen() const;      // pairs
  int possible() const;  // pairs that no rule excludes
  std::vector<FeaturePair> never_seen() const;
  std::vector<FeaturePair> seen_though_impossible() const;  // a rule is wrong: our bug
  std::string summary() const;                              // "seen 1200 of 1234 pairs"

 private:
  template <class Wanted>
  std::vector<FeaturePair> select(Wanted&& wanted) const;

  int values_ = 0;                    // of all features
  std::vector<std::int64_t> counts_;  // [values, values] sequences that show both
  std::int64_t cases_ = 0;
};

}  // namespace attest
