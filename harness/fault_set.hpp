// FaultSet: the faulty elements of one kind in one tensor, described by what does not change with
// the number of sequences, heads, splits and tokens; and the pattern word of their bucket.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/core/fault_pattern.hpp"
#include "harness/judge_element.hpp"
#include "harness/subject.hpp"

namespace attest {

// In the order in which one hides the others: what is missing first.
enum class FaultKind { kUnwritten, kNan, kInf, kWrong, kOverwritten };
inline constexpr FaultKind kFaultKinds[] = {FaultKind::kUnwritten, FaultKind::kNan, FaultKind::kInf,
                                            FaultKind::kWrong, FaultKind::kOverwritten};
std::string_view to_string(FaultKind kind);

// An lse of -inf says that the row saw no token: where it saw one that is a wrong number.
FaultKind kind_of(Fault fault, const Place& place, double actual);

class FaultSet {
 public:
  // `owes_nothing`: the place is a row, or a split of it, without tokens.
  void add(const Place& place, bool owes_nothing, double actual);

  std::int64_t count() const { return pattern_.faults(); }
  bool is_all_zeros() const { return count() == zeros_; }
  bool is_in_columns() const { return pattern_.is_in_columns(); }
  bool is_only_where_nothing_is_owed() const { return count() == without_tokens_; }
  bool has_row(std::int64_t row) const {
    return row < static_cast<std::int64_t>(rows_.size()) && rows_[row];
  }

 private:
  FaultPattern pattern_;
  std::int64_t zeros_ = 0, without_tokens_ = 0;
  std::vector<bool> rows_;
};

// The faults of one kind in the two tensors of a stage.
struct StageFaults {
  const FaultSet *lse, *o;
};

// The first of these that is true:
//   columns    of o alone, in few blocks of columns (FaultPattern)
//   empty      only in rows, or splits of them, that see no token; there in all heads
//   lse        of lse alone
// then of a wrong number, where which elements break their bounds depends on the data:
//   causal     also of lse, only in query tokens that do not see all of their sequence
//   scattered
// and of the other kinds:
//   head       of a query token that holds a fault some heads hold none
//   all
// Sequences and splits make no pattern: which of them are faulty depends on their lengths.
std::string_view pattern_of(const Subject& subject, FaultKind kind, const StageFaults& faults);

}  // namespace attest
