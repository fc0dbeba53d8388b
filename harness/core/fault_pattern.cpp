#include "harness/core/fault_pattern.hpp"

#include <algorithm>

namespace attest {
namespace {

void mark(std::vector<bool>& set, std::int64_t index) {
  if (index < 0) return;
  if (index >= static_cast<std::int64_t>(set.size())) set.resize(index + 1);
  set[index] = true;
}

std::int64_t count(const std::vector<bool>& set) {
  return std::count(set.begin(), set.end(), true);
}

// From the first to the last member.
std::int64_t span_of(const std::vector<bool>& set) {
  const auto first = std::find(set.begin(), set.end(), true);
  return set.end() - first;  // sets end with their last member
}

}  // namespace

void FaultPattern::note(std::int64_t row, int sequence, int head, int split, int column) {
  ++faults_;
  mark(rows_, row);
  mark(heads_, head);
  mark(splits_, split);
  mark(columns_, column);
  mark(sequences_, sequence);
}

std::string_view FaultPattern::word() const {
  constexpr std::int64_t kTileColumns = 64;
  if (faults_ == 1) return "element";
  if (!columns_.empty() && span_of(columns_) <= kTileColumns) return "columns";
  if (count(splits_) == 1) return "split";
  if (count(rows_) == rows_in_tensor_) return "all";
  if (count(rows_) == 1) return "row";
  if (count(heads_) == 1) return "head";
  if (count(sequences_) == 1) return "sequence";
  return "scattered";
}

}  // namespace attest
