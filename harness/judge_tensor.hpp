// What is known about one tensor of an output while its elements are judged.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/verdict.hpp"
#include "harness/judge_element.hpp"

namespace attest {

struct Place {
  int sequence = -1, query_token = -1, head = -1, split = -1, column = -1;
  std::int64_t row = -1;
};

struct Finding {
  Fault fault = Fault::kNone;
  Worst at;
};

class TensorJudge {
 public:
  TensorJudge(std::string_view name, Stored stored, std::int64_t rows);

  void element(const Place& place, std::uint32_t bits, double expected, double bound) {
    ++checked_;
    const Fault fault = fault_of(stored_, bits, expected, bound);
    if (std::isinf(bound)) ++unbounded_;
    if (!rejects_zeros_) rejects_zeros_ = fault_of(stored_, 0, expected, bound) != Fault::kNone;
    if (fault != Fault::kNone) note_fault(fault, place, bits, expected, bound);
    const double ratio = fault == Fault::kUnwritten || fault == Fault::kNonFinite
                             ? 0  // kept apart, as the first by position
                             : ratio_of(stored_, value_of(stored_, bits), expected, bound);
    if (ratio > worst_.at.ratio || worst_.at.tensor.empty()) {
      worst_ = {fault, describe(place, bits, expected, bound, ratio)};
    }
  }
  // A place where the kernel has nothing to write.
  void empty_place(const Place& place, std::uint32_t bits) {
    ++checked_;
    if (!is_poison(stored_, bits)) note_fault(Fault::kOverwritten, place, bits, 0, 0);
  }

  const std::string& name() const { return name_; }
  Stored stored() const { return stored_; }
  std::int64_t checked() const { return checked_; }
  std::int64_t wrong() const { return wrong_; }
  std::int64_t unbounded() const { return unbounded_; }
  bool rejects_zeros() const { return rejects_zeros_; }
  const Worst& worst() const { return worst_.at; }
  bool has_missing() const { return first_missing_.has_value(); }
  // The fault to report: the first unwritten or non-finite element, else the worst wrong one, else
  // the first written although nothing belongs there. Only when wrong() > 0.
  const Finding& finding() const;
  // Where the faults lie: element, columns, split, all, row, head, sequence or scattered.
  std::string_view pattern() const;

 private:
  void note_fault(Fault fault, const Place& place, std::uint32_t bits, double expected,
                  double bound);
  Worst describe(const Place& place, std::uint32_t bits, double expected, double bound,
                 double ratio) const;

  std::string name_;
  Stored stored_;
  std::int64_t checked_ = 0, wrong_ = 0, unbounded_ = 0;
  bool rejects_zeros_ = false;
  Finding worst_;
  std::optional<Finding> first_missing_, first_overwritten_, worst_wrong_;
  // Which rows, heads, ... hold a fault.
  std::vector<bool> rows_, heads_, splits_, columns_, sequences_;
};

}  // namespace attest
