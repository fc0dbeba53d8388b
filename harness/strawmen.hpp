// Strawmen: outputs that a wrong kernel would leave, made from the output under judgement. With
// each would-be pass they are judged too, by the same gates: a case that lets one pass could not
// have failed for that mistake.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/inputs.hpp"
#include "harness/core/output.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

struct StrawmanResult {
  std::string_view name;
  bool differs = false;   // in any stored bit from the output
  bool rejected = false;  // by a gate at any element
};

// Their names in the order of the results, for blind_to().
std::span<const std::string_view> strawman_names();

// The whole output of one, from an output that is right. `name` is one of strawman_names().
Output strawman_output(std::string_view name, const Subject& subject, const Inputs& inputs,
                       const Output& output, const Reference& reference);

// Each is judged element by element up to the first rejection. A row that a mistake leaves without
// any token keeps its output: to see that proves little, and it would hide the rows with many.
std::vector<StrawmanResult> judge_strawmen(const Subject& subject, const Inputs& inputs,
                                           const Output& output, const Reference& reference);

// What a kernel without any error of its own leaves: centres of the tightest gates, rounded to the
// stored formats; poison where nothing is written.
Output exact_output(const Subject& subject, const Reference& reference);

}  // namespace attest
