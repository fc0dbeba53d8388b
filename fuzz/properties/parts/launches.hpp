// Two launches whose rows are tied together: what most properties are.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "fuzz/properties/parts/comparison.hpp"
#include "fuzz/properties/parts/rows.hpp"
#include "fuzz/properties/parts/scene.hpp"
#include "fuzz/properties/property.hpp"

namespace attest {

struct Launch {
  Case c;
  Inputs inputs;
  std::uint16_t poison = kPoison16;
  Output output;
};

Result<Launch> launch(Lab& lab, const Case& c, Result<Inputs> inputs,
                      std::uint16_t poison = kPoison16);
// The case as its token says.
Result<Launch> launch_as_drawn(Lab& lab, const Case& c, std::uint16_t poison = kPoison16);
// The same, in memory where `before` was before.
Result<Launch> launch_after(Lab& lab, Earlier earlier, const Case& before, const Case& c);
// The scene of another problem, with the case's schedule.
Result<Launch> launch_scene(Lab& lab, const Case& c, const Scene& scene);

// A row of the case and the row of the other launch that must say the same.
struct Tie {
  RowAt base;
  std::int64_t other = 0;
  bool bit_equal = true;
  double lse_shift = 0;  // the other's lse less the case's
};
std::vector<Tie> tie_all(const Problem& problem, Promise promise);  // each row to itself

// Bit-equal rows are compared in partials too where both launches have the same splits. The others
// may be off by the sum of their radii, which costs a reference for each launch.
Result<Checked> compare(Lab& lab, const Launch& base, const Launch& other,
                        std::span<const Tie> ties, std::string words);

// The elements that one launch alone has.
struct Outputs {
  Outputs(const Kernel& kernel, const Launch& launch);
  Held o(std::int64_t row, int column) const;
  Held lse(std::int64_t row) const;
  Held partial_o(std::int64_t row, int split, int column) const;
  Held partial_lse(std::int64_t row, int split) const;

  const Problem& problem;
  const Output& output;
  std::uint16_t poison;
  int num_splits;
  Format of_partial_o;
};

inline Promise promise_if(bool bit_equal) {
  return bit_equal ? Promise::kBitEqual : Promise::kWithinBound;
}
// Why another launch that a property needs cannot be; empty when it can.
std::string why_not_launch(const Problem& problem, const Kernel& kernel);
// Why a property that makes numbers of its own cannot be; empty when it can: they are bf16.
std::string why_not_numbers(const Problem& problem);
// A number that depends on the case and on what it is for.
std::uint64_t choice_of(const Case& c, std::uint64_t salt);

}  // namespace attest
