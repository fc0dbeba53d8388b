// FaultPattern: where the faults of one tensor lie, as one word that two reports of one cause
// share.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace attest {

class FaultPattern {
 public:
  explicit FaultPattern(std::int64_t rows) : rows_in_tensor_(rows) {}

  // A negative index is none: an lse has no column.
  void note(std::int64_t row, int sequence, int head, int split, int column);
  std::int64_t faults() const { return faults_; }
  // element, columns, split, all, row, head, sequence or scattered.
  std::string_view word() const;

 private:
  std::int64_t rows_in_tensor_, faults_ = 0;
  std::vector<bool> rows_, heads_, splits_, columns_, sequences_;  // those that hold a fault
};

}  // namespace attest
