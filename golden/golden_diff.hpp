// What changed between two golden files, case by case, and the classes of reasons that a change of
// its kind has: a regeneration must name them.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"

namespace attest {

// Why a golden file is written again. The class of a change is its first cause: where inputs move,
// values must.
//   input      inputs, their generator, or the list of cases
//   reference  values or magnitudes of the same inputs
//   contract   what a kernel promises, with what follows: data that is placed at its seams
//   format     how it is stored: values where digests were, another source of inputs
inline constexpr std::string_view kReasons[] = {"contract", "format", "input", "reference"};

enum class Moved {
  kSame,
  // Values moved within the old file's stated error, and the new one states no larger one: a better
  // reference.
  kImproved,
  kChanged,
};
std::string_view to_string(Moved moved);  // "SAME"

struct CaseDiff {
  std::string token;
  Moved moved = Moved::kSame;
  // Sorted, of: added, removed, contract, format, generator version, inputs, magnitudes, reference
  // version, values.
  std::vector<std::string> what;
  std::string detail;  // how far, where, which field
  std::set<std::string> reasons;
};

struct GoldenDiff {
  std::vector<CaseDiff> cases;  // of both files, sorted by token
  int same = 0, improved = 0, changed = 0;
  bool all_same() const { return improved + changed == 0; }
  std::set<std::string> reasons() const;  // of all cases
  std::string summary() const;            // "40 same, 1 improved, 2 changed (inputs 2, values 2)"
};

GoldenDiff diff_golden(const GoldenFile& before, const GoldenFile& after);

}  // namespace attest
