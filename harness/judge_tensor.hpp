// What is known about one tensor of an output while its elements are judged.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/fault_pattern.hpp"
#include "harness/core/verdict.hpp"
#include "harness/judge_gates.hpp"

namespace attest {

struct Finding {
  Judged judged;
  Worst at;
};

class TensorJudge {
 public:
  // `gates` outlives it.
  TensorJudge(std::string_view name, const TensorGates& gates, std::int64_t rows);

  // The i-th element of the tensor, which the gates judge.
  void element(const Place& place, std::int64_t i, std::uint32_t bits) {
    ++checked_;
    // The first describes the tensor.
    if (!worst_.at.tensor.empty() && gates_->is_unremarkable(i, bits, worst_.at.ratio)) return;
    if (gates_->is_unbounded(i)) ++unbounded_;
    const Judged judged = gates_->judge(i, bits);
    keep(judged, place, describe_by_gate(judged.gate, place, i, bits));
  }
  // A place that owes `exactly`, or nothing at all.
  void fixed(const Place& place, Owed owed, double exactly, std::uint32_t bits);

  const std::string& name() const { return name_; }
  Stored stored() const { return gates_->stored(); }
  std::int64_t checked() const { return checked_; }
  std::int64_t wrong() const { return pattern_.faults(); }
  std::int64_t unbounded() const { return unbounded_; }
  const Worst& worst() const { return worst_.at; }
  bool has_missing() const { return first_missing_.has_value(); }
  std::optional<Tier> broken_tier() const;  // the loosest that any element breaks
  // The fault to report: the first unwritten or non-finite element, else the worst wrong one (of
  // those that break the loosest gate), else the first written although nothing belongs there. Only
  // when wrong() > 0.
  const Finding& finding() const;
  std::string_view pattern() const { return pattern_.word(); }
  // "within T0, beyond T2 (...)": which gates the element keeps, and what that means.
  std::string meaning(const Judged& judged) const;

 private:
  void keep(const Judged& judged, const Place& place, Worst at);
  void note_fault(const Judged& judged, const Place& place, Worst at);
  Worst describe(const Place& place, std::uint32_t bits, GateAt gate) const;
  Worst describe_by_gate(int gate, const Place& place, std::int64_t i, std::uint32_t bits) const;

  std::string name_;
  const TensorGates* gates_;
  std::int64_t checked_ = 0, unbounded_ = 0;
  int loosest_ = -1;  // gate that any element breaks
  Finding worst_;
  std::optional<Finding> first_missing_, first_overwritten_, worst_wrong_;
  FaultPattern pattern_;
};

}  // namespace attest
