#include "harness/judge_tensor.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "harness/core/check.hpp"

namespace attest {
namespace {

// What an element beyond the tier's gate, but within all looser ones, is.
std::string_view meaning_of(Tier tier) {
  switch (tier) {
    case Tier::kT0:
      return "worst case of the contract";
    case Tier::kT1:
      return "8 sigma of independent roundings";
    case Tier::kT2:
      return "P as declared on the declared schedule";
    case Tier::kT2p:
      return "8 sigma of what that leaves";
  }
  return "?";
}

}  // namespace

Worst TensorJudge::describe(const Place& place, std::uint32_t bits, GateAt gate) const {
  Worst worst;
  worst.tensor = name_;
  worst.sequence = place.sequence;
  worst.query_token = place.query_token;
  worst.head = place.head;
  worst.split = place.split;
  worst.column = place.column;
  worst.actual = value_of(stored(), bits);
  worst.expected = gate.centre;
  worst.error = worst.actual == gate.centre ? 0 : std::abs(worst.actual - gate.centre);
  worst.bound = gate.radius;
  worst.actual_bits = bits;
  worst.expected_bits = stored_bits(stored(), gate.centre);
  worst.ratio = ratio_of(stored(), worst.actual, gate.centre, gate.radius);
  return worst;
}

// By one gate; -1: by the one with the largest ratio.
Worst TensorJudge::describe_by_gate(int gate, const Place& place, std::int64_t i,
                                    std::uint32_t bits) const {
  if (gate < 0) {
    double largest = -1;
    for (int g = 0; g < gates_->count(); ++g) {
      const GateAt at = gates_->at(g, i);
      const double ratio = ratio_of(stored(), value_of(stored(), bits), at.centre, at.radius);
      if (ratio >= largest) gate = g, largest = ratio;
    }
  }
  const bool none = gate < 0 || gate >= gates_->count();
  Worst worst = describe(place, bits, none ? GateAt{gates_->centre(i), 0} : gates_->at(gate, i));
  if (!none) worst.tier = to_string(gates_->tier(gate));
  return worst;
}

void TensorJudge::fixed(const Place& place, Owed owed, double exactly, std::uint32_t bits) {
  ++checked_;
  const Judged judged = judge_fixed(stored(), owed, exactly, bits);
  if (owed == Owed::kUnwritten && judged.fault == Fault::kNone) return;  // no number to report
  keep(judged, place, owed, describe(place, bits, {owed == Owed::kUnwritten ? 0 : exactly, 0}));
}

void TensorJudge::keep(const Judged& judged, const Place& place, Owed owed, Worst at) {
  const Fault fault = judged.fault;
  const bool missing = fault == Fault::kUnwritten || fault == Fault::kNonFinite;
  if (missing) at.ratio = 0;  // kept apart, as the first by position
  if (fault != Fault::kOverwritten && (at.ratio > worst_.at.ratio || worst_.at.tensor.empty())) {
    worst_ = {judged, at};
  }
  if (fault != Fault::kNone) note_fault(judged, place, owed, std::move(at));
}

void TensorJudge::note_fault(const Judged& judged, const Place& place, Owed owed, Worst at) {
  ++wrong_;
  places_.add(place);
  const FaultKind kind = kind_of(judged.fault, place, at.actual);
  OfKind& of_kind = faults_[static_cast<int>(kind)];
  of_kind.set.add(place, owed != Owed::kValue, at.actual);
  if (judged.fault != Fault::kWrong) at.ratio = std::numeric_limits<double>::infinity();
  if (judged.gate >= 0 && (loosest_ < 0 || judged.gate < loosest_)) loosest_ = judged.gate;
  // Gate -1, a value that the contract gives exactly, comes before all.
  const auto rank = [](const Finding& f) { return std::pair(-f.judged.gate, f.at.ratio); };
  Finding found{judged, std::move(at)};
  std::optional<Finding>& kept = of_kind.finding;
  if (!kept || (kind == FaultKind::kWrong && rank(found) > rank(*kept))) kept = std::move(found);
}

std::optional<Tier> TensorJudge::broken_tier() const {
  if (loosest_ < 0 || loosest_ >= gates_->count()) return std::nullopt;
  return gates_->tier(loosest_);
}

const Finding& TensorJudge::finding(FaultKind kind) const {
  const std::optional<Finding>& found = faults_[static_cast<int>(kind)].finding;
  ATTEST_CHECK(found);
  return *found;
}

std::string TensorJudge::meaning(const Judged& judged) const {
  if (judged.fault != Fault::kWrong || judged.gate < 0 || judged.gate >= gates_->count()) return {};
  const Tier tier = gates_->tier(judged.gate);
  std::string text = fmt::format("beyond {} ({})", to_string(tier), meaning_of(tier));
  if (judged.gate > 0) {
    text = fmt::format("within {}, {}", to_string(gates_->tier(judged.gate - 1)), text);
  }
  return text;
}

}  // namespace attest
