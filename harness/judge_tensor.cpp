#include "harness/judge_tensor.hpp"

#include <algorithm>

#include "harness/core/check.hpp"

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

std::uint32_t stored_bits(Stored stored, double value) {
  return stored == Stored::kBf16 ? encode_bf16(value)
                                 : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

}  // namespace

TensorJudge::TensorJudge(std::string_view name, Stored stored, std::int64_t rows)
    : name_(name), stored_(stored), rows_(rows) {}

Worst TensorJudge::describe(const Place& place, std::uint32_t bits, double expected, double bound,
                            double ratio) const {
  Worst worst;
  worst.tensor = name_;
  worst.sequence = place.sequence;
  worst.query_token = place.query_token;
  worst.head = place.head;
  worst.split = place.split;
  worst.column = place.column;
  worst.actual = value_of(stored_, bits);
  worst.expected = expected;
  worst.error = worst.actual == expected ? 0 : std::abs(worst.actual - expected);
  worst.bound = bound;
  worst.actual_bits = bits;
  worst.expected_bits = stored_bits(stored_, expected);
  worst.ratio = ratio;
  return worst;
}

void TensorJudge::note_fault(Fault fault, const Place& place, std::uint32_t bits, double expected,
                             double bound) {
  ++wrong_;
  mark(rows_, place.row);
  mark(heads_, place.head);
  mark(splits_, place.split);
  mark(columns_, place.column);
  mark(sequences_, place.sequence);
  const double infinity = std::numeric_limits<double>::infinity();
  if (fault == Fault::kWrong) {
    const double ratio = ratio_of(stored_, value_of(stored_, bits), expected, bound);
    if (!worst_wrong_ || ratio > worst_wrong_->at.ratio) {
      worst_wrong_ = {fault, describe(place, bits, expected, bound, ratio)};
    }
    return;
  }
  std::optional<Finding>& first =
      fault == Fault::kOverwritten ? first_overwritten_ : first_missing_;
  if (!first) first = {fault, describe(place, bits, expected, bound, infinity)};
}

const Finding& TensorJudge::finding() const {
  for (const auto* found : {&first_missing_, &worst_wrong_, &first_overwritten_}) {
    if (*found) return **found;
  }
  ATTEST_CHECK(!"a tensor without a fault has no finding");
}

std::string_view TensorJudge::pattern() const {
  constexpr std::int64_t kTileColumns = 64;
  if (wrong_ == 1) return "element";
  if (!columns_.empty() && span_of(columns_) <= kTileColumns) return "columns";
  if (count(splits_) == 1) return "split";
  if (count(rows_) == static_cast<std::int64_t>(rows_.size())) return "all";
  if (count(rows_) == 1) return "row";
  if (count(heads_) == 1) return "head";
  if (count(sequences_) == 1) return "sequence";
  return "scattered";
}

}  // namespace attest
