// Comparators: the rules by which people accept an attention kernel's output today, and ours beside
// them, each as a function of the same facts. A rule does what its own code does, with NaN too;
// what it does not look at (most look at o alone) it does not see here either.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/expected.hpp"
#include "harness/core/output.hpp"
#include "harness/core/verdict.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

// What the outputs of one case's data are held against.
struct Yardstick {
  const Subject& subject;
  const Reference& reference;  // under the subject's contract
  const Tiers& undeclared;     // of the same arithmetic with its schedule not declared: has T1
  std::span<const float> magnitude;          // [rows, 512] sum a|v|
  std::span<const std::uint16_t> pytorch_o;  // [rows, 512] of PyTorch's own attention in bf16
};

// One kernel's run on them.
struct Observed {
  const Output& output;
  std::span<const Score> scores;  // of Reference::scores
};

struct Comparator {
  std::string_view name;
  std::string_view source;  // who uses it, and where the rule stands
  bool ours = false;
  bool (*has_rule)(const Yardstick&) = nullptr;  // null: always; else false where a tier is missing
  bool (*accepts)(const Yardstick&, const Observed&) = nullptr;
};

std::span<const Comparator> all_comparators();  // others' first, then ours; the last is all of ours

// comparators.cpp and own_comparators.cpp, for the list.
std::span<const Comparator> published_comparators();
std::span<const Comparator> own_comparators();

}  // namespace attest
