// What is known about one tensor of an output while its elements are judged.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/verdict.hpp"
#include "harness/fault_places.hpp"
#include "harness/fault_set.hpp"
#include "harness/judge_gates.hpp"

namespace attest {

struct Finding {
  Judged judged;
  Worst at;
};

class TensorJudge {
 public:
  // `gates` outlives it.
  TensorJudge(std::string_view name, const TensorGates& gates) : name_(name), gates_(&gates) {}

  // The i-th element of the tensor, which the gates judge.
  void element(const Place& place, std::int64_t i, std::uint32_t bits) {
    ++checked_;
    // The first describes the tensor.
    if (!worst_.at.tensor.empty() && gates_->is_unremarkable(i, bits, worst_.at.ratio)) return;
    if (gates_->is_unbounded(i)) ++unbounded_;
    const Judged judged = gates_->judge(i, bits);
    keep(judged, place, Owed::kValue, describe_by_gate(judged.gate, place, i, bits));
  }
  // A place that owes `exactly`, or nothing at all.
  void fixed(const Place& place, Owed owed, double exactly, std::uint32_t bits);

  const std::string& name() const { return name_; }
  Stored stored() const { return gates_->stored(); }
  std::int64_t checked() const { return checked_; }
  std::int64_t wrong() const { return wrong_; }
  std::int64_t unbounded() const { return unbounded_; }
  const Worst& worst() const { return worst_.at; }
  std::optional<Tier> broken_tier() const;  // the loosest that any element breaks
  const FaultSet& faults(FaultKind kind) const { return faults_[static_cast<int>(kind)].set; }
  const FaultPlaces& places() const { return places_; }
  // The fault to report of a kind that is there: the first, but of wrong numbers the worst of those
  // that break the loosest gate.
  const Finding& finding(FaultKind kind) const;
  // "within T0, beyond T2 (...)": which gates the element keeps, and what that means.
  std::string meaning(const Judged& judged) const;

 private:
  struct OfKind {
    FaultSet set;
    std::optional<Finding> finding;
  };
  void keep(const Judged& judged, const Place& place, Owed owed, Worst at);
  void note_fault(const Judged& judged, const Place& place, Owed owed, Worst at);
  Worst describe(const Place& place, std::uint32_t bits, GateAt gate) const;
  Worst describe_by_gate(int gate, const Place& place, std::int64_t i, std::uint32_t bits) const;

  std::string name_;
  const TensorGates* gates_;
  std::int64_t checked_ = 0, wrong_ = 0, unbounded_ = 0;
  int loosest_ = -1;  // gate that any element breaks
  Finding worst_;
  std::array<OfKind, std::size(kFaultKinds)> faults_;
  FaultPlaces places_;
};

}  // namespace attest
