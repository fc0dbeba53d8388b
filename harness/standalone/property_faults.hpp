// The elements that show that a property does not hold (fuzz/properties/): where in which launch
// they were read, and what they must be.
#pragma once
#include <string_view>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/trouble.hpp"
#include "harness/core/verdict.hpp"
#include "harness/standalone/faults.hpp"

namespace attest {

// How a property ties what it compares.
enum class Relation {
  kTwoLaunches,   // an element of the second launch and one of the first
  kFixedValue,    // an element and a value that is known beforehand
  kWrittenOrNot,  // whether an element is written
  kComputed,      // an element and what the host computes of several
};
// Null when the property is unknown.
const Relation* relation_of(std::string_view property);

// Of a verdict that failed by numbers. Trouble kUsage: why no program can show it.
Result<std::vector<FaultyElement>> property_elements(const Case& c, const Verdict& verdict,
                                                     const Record& record);

}  // namespace attest
