// The gates of a case as the judge reads them: every element of a tensor must pass each of them.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "harness/core/expected.hpp"
#include "harness/judge_element.hpp"
#include "harness/subject.hpp"
#include "reference/reference.hpp"

namespace attest {

struct Judged {
  Fault fault = Fault::kNone;
  int gate = -1;  // the loosest that is broken, where the fault is kWrong
};

// One gate at one element.
struct GateAt {
  double centre = 0, radius = 0;
};

class TensorGates {
 public:
  // `part` is the tensor's member of Bound. A gate without radii for the tensor is not there for
  // it.
  TensorGates(Stored stored, const std::vector<double>& expected, const std::vector<Gate>& gates,
              std::vector<float> Bound::*part);

  Stored stored() const { return stored_; }
  int count() const { return static_cast<int>(gates_.size()); }
  Tier tier(int gate) const { return gates_[gate].tier; }
  GateAt at(int gate, std::int64_t i) const {
    const One& g = gates_[gate];
    return {(*expected_)[i] + (g.shift == nullptr ? 0.0 : g.shift[i]), g.radius[i]};
  }
  // What the declared arithmetic gives before it is rounded to the stored format, as exactly as it
  // is known: the centre of the tightest gate.
  double centre(std::int64_t i) const {
    return gates_.empty() ? (*expected_)[i] : at(count() - 1, i).centre;
  }
  // Whether no gate says anything about the element.
  bool is_unbounded(std::int64_t i) const {
    for (int g = count() - 1; g >= 0; --g) {
      if (!std::isinf(gates_[g].radius[i])) return false;
    }
    return true;
  }

  // True only if every gate takes the element, each is finite there, and no ratio exceeds `ratio`:
  // one look that most elements need no more than.
  bool is_unremarkable(std::int64_t i, std::uint32_t bits, double ratio) const {
    const double actual = value_of(stored_, bits), expected = (*expected_)[i];
    const double half_way = stored_ == Stored::kBf16 ? kHalfWay * std::abs(actual) : 0;
    bool unremarkable = !gates_.empty();
    for (const One& g : gates_) {  // a NaN anywhere, or a difference of infinities, is remarkable
      const double centre = expected + (g.shift == nullptr ? 0.0 : g.shift[i]);
      const double radius = g.radius[i], error = std::abs(actual - centre);
      unremarkable &= radius <= std::numeric_limits<float>::max() && error <= radius + half_way &&
                      !ratio_may_exceed(ratio, stored_, actual, centre, radius);
    }
    return unremarkable;
  }
  // True only if whatever rounding makes of `value` is taken by every gate.
  bool takes(std::int64_t i, double value) const {
    bool taken = !gates_.empty();
    for (const One& g : gates_) {
      const double centre = (*expected_)[i] + (g.shift == nullptr ? 0.0 : g.shift[i]);
      taken &= std::abs(value - centre) <= g.radius[i];
    }
    // The last rounding of an fp32 is part of the bound.
    return taken && stored_ != Stored::kFp32;
  }

  Judged judge(std::int64_t i, std::uint32_t bits) const {
    if (is_poison(stored_, bits)) return {Fault::kUnwritten};
    const double actual = value_of(stored_, bits), expected = (*expected_)[i];
    if (std::isinf(expected) && actual == expected) return {};
    if (!std::isfinite(actual)) return {Fault::kNonFinite};
    if (!std::isfinite(expected)) return {Fault::kWrong, 0};
    for (int g = 0; g < count(); ++g) {
      const GateAt gate = at(g, i);
      if (!is_within(stored_, actual, gate.centre, gate.radius)) return {Fault::kWrong, g};
    }
    return {};
  }

 private:
  struct One {
    Tier tier;
    const float* radius;
    const float* shift;  // null: none
  };
  Stored stored_;
  const std::vector<double>* expected_;
  std::vector<One> gates_;  // loosest first
};

// A place that owes `exactly`, or nothing at all.
Judged judge_fixed(Stored stored, Owed owed, double exactly, std::uint32_t bits);

// The four tensors, in the order in which the data flows. Keeps pointers into the reference.
struct CaseGates {
  CaseGates(const Subject& subject, const Reference& reference);
  CaseGates(const Subject& subject, const Expected& expected, const std::vector<Gate>& gates);
  TensorGates partial_lse, partial_o, lse, o;
};

}  // namespace attest
