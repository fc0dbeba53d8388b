// Named terms of one radius, and what they add up to.
#pragma once
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/verdict.hpp"

namespace attest::slow {

enum class Name {
  kDot,
  kLogit,
  kExp,
  kRescale,
  kMax,
  kScoreNoise,
  kRepeats,
  kRounding,
  kFlip,
  kAccumulate,
  kDenominator,
  kMerge,
  kDivisionFree,
  kStored,
  kLse,
  kCap,
  kAmbiguous,
  kOwnShift,
  kShift,
  kFloor,
  kCount
};
inline constexpr int kNames = static_cast<int>(Name::kCount);

// Errors that add up, and variances of those that are independent: about the numerator, and about
// the denominator, which multiplies |o|.
inline constexpr double kLeastDenominator = 0.05;  // below it first-order terms say nothing

class Terms {
 public:
  void add(Name name, double value) { linear_[static_cast<int>(name)] += value; }
  void add_square(Name name, double value) { square_[static_cast<int>(name)] += value; }
  void add_square_of_o(Name name, double value) { square_of_o_[static_cast<int>(name)] += value; }
  // All that is wrong with the denominator.
  void add_to_denominator(Name name, double value) {
    denominator_[static_cast<int>(name)] += value;
  }
  void add_square_to_denominator(Name name, double value) {
    denominator_square_[static_cast<int>(name)] += value;
  }

  // Replaces variances by lambda sigma, their shares by those of the variances; `o` multiplies what
  // add_square_of_o() took.
  void take_roots(double o);
  double sum() const;
  double denominator() const;
  // What is wrong with the logarithm of the denominator; `worst` where that is too much.
  Terms of_logarithm(double worst) const;
  void scale(double factor);
  // Keeps one term.
  void only(Name name, double value);
  std::vector<BoundTerm> named(const Arithmetic& arithmetic) const;

 private:
  double linear_[kNames] = {}, square_[kNames] = {}, square_of_o_[kNames] = {};
  double denominator_[kNames] = {}, denominator_square_[kNames] = {};
};

}  // namespace attest::slow
