#include "harness/standalone/property_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "harness/core/check.hpp"
#include "harness/judge_element.hpp"
#include "harness/subject.hpp"

namespace attest {
namespace {

struct NamedRelation {
  std::string_view property;
  Relation relation;
};
constexpr std::array kRelations = {
    NamedRelation{"memory", Relation::kWrittenOrNot},
    NamedRelation{"repeat", Relation::kTwoLaunches},
    NamedRelation{"poison", Relation::kTwoLaunches},
    NamedRelation{"schedule", Relation::kTwoLaunches},
    NamedRelation{"grid", Relation::kTwoLaunches},
    NamedRelation{"pages", Relation::kTwoLaunches},
    NamedRelation{"page_size", Relation::kTwoLaunches},
    NamedRelation{"batch", Relation::kTwoLaunches},
    NamedRelation{"heads", Relation::kTwoLaunches},
    NamedRelation{"mtp_rows", Relation::kTwoLaunches},
    NamedRelation{"replay", Relation::kTwoLaunches},
    NamedRelation{"dirty_workspace", Relation::kTwoLaunches},
    NamedRelation{"masked_tokens", Relation::kTwoLaunches},
    NamedRelation{"scaled", Relation::kTwoLaunches},
    NamedRelation{"splits", Relation::kTwoLaunches},
    NamedRelation{"prefix", Relation::kComputed},
    NamedRelation{"duplicated", Relation::kTwoLaunches},
    NamedRelation{"shifted", Relation::kTwoLaunches},
    NamedRelation{"constant_v", Relation::kFixedValue},
    NamedRelation{"lone_token", Relation::kFixedValue},
};

double value_of(std::uint32_t bits, int bytes) {
  return attest::value_of(bytes == 4 ? Stored::kFp32 : Stored::kBf16, bits);
}

// One tensor as one launch left it.
class TensorRead {
 public:
  TensorRead(const Problem& problem, const Record& record, std::size_t event)
      : problem_(&problem), event_(event) {
    const auto& read = std::get<RecordedRead>(record.events[event]);
    label_ = record.buffers[read.buffer].label;
    fill_ = record.buffers[read.buffer].fill;
    bytes_ = read.bytes.empty() ? record.written(read.buffer, read.offset, read.size, event)
                                : read.bytes;
  }
  // Of the launch, whose lse holds one fp32 a row.
  void set_shape(std::int64_t rows, std::int64_t partial_rows) {
    rows_ = rows;
    num_splits_ = rows == 0 ? 0 : static_cast<int>(partial_rows / rows);
    if (label_ == "partial_o" && partial_rows > 0)
      width_ = static_cast<int>(bytes_.size() / partial_rows / kDV);
    if (label_ == "o") width_ = 2;
  }

  std::int64_t rows() const { return rows_; }
  int width() const { return width_; }  // bytes of an element
  ElementAt at(std::int64_t row, int split, int column) const {
    ElementAt at{event_, offset_of(row, split, column), 0};
    std::memcpy(&at.seen, bytes_.data() + at.offset, width_);
    return at;
  }
  bool has(std::int64_t row, int split) const { return row < rows_ && split < num_splits_; }
  std::uint32_t unwritten() const { return width_ == 2 ? fill_ : fill_ * 0x10001u; }
  bool is_unwritten(const ElementAt& at) const { return at.seen == unwritten(); }

 private:
  std::size_t offset_of(std::int64_t row, int split, int column) const {
    const std::int64_t h_q = problem_->h_q;
    if (label_ == "o") return (row * problem_->o_stride_h() + column) * 2;
    if (label_ == "lse") return row * 4;
    const std::int64_t stored = (row / h_q * num_splits_ + split) * h_q + row % h_q;
    return label_ == "partial_lse" ? stored * 4 : (stored * kDV + column) * width_;
  }

  const Problem* problem_;
  std::size_t event_;
  std::string label_;
  std::uint16_t fill_ = 0;
  std::vector<std::byte> bytes_;
  std::int64_t rows_ = 0;
  int num_splits_ = 0, width_ = 4;
};

// The tensor of each launch. Between two launches all memory is released.
std::vector<TensorRead> reads_of(const Problem& problem, const Record& record,
                                 std::string_view tensor) {
  std::vector<TensorRead> reads;
  const auto rows_in = [&](std::optional<std::size_t> event) {
    return event ? std::int64_t(std::get<RecordedRead>(record.events[*event]).size / 4) : 0;
  };
  std::size_t begin = 0;
  for (std::size_t e = 0; e < record.events.size(); ++e) {
    if (!std::holds_alternative<RecordedRelease>(record.events[e])) continue;
    if (const auto event = record.judged_read(tensor, begin, e)) {
      reads.emplace_back(problem, record, *event);
      reads.back().set_shape(rows_in(record.judged_read("lse", begin, e)),
                             rows_in(record.judged_read("partial_lse", begin, e)));
    }
    begin = e;
  }
  return reads;
}

class Finder {
 public:
  Finder(const Case& c, const Verdict& verdict, const Record& record)
      : worst_(verdict.worst[0]),
        is_partial_(worst_.tensor.starts_with("partial")),
        row_(row_of(c.problem, worst_)),
        reads_(reads_of(c.problem, record, worst_.tensor)) {}

  // Empty where the record does not hold what the verdict names.
  std::vector<FaultyElement> of_one_launch(Relation relation) const {
    if (reads_.size() != 1 || !has(reads_[0], worst_.launch_row)) return {};
    const TensorRead& read = reads_[0];
    FaultyElement e = named(read, at(read, worst_.launch_row), worst_.column);
    if (e.at.seen != worst_.actual_bits) return {};
    if (read.is_unwritten(e.at)) {
      e.must = Must::kBeWritten;
    } else if (relation == Relation::kWrittenOrNot) {
      e.must = Must::kHold;
      e.wanted = read.unwritten();
    } else {
      e.expected = worst_.expected;
      e.bound = worst_.bound;
      e.low = e.expected - e.bound;
      e.high = e.expected + e.bound;
    }
    return {e};
  }

  std::vector<FaultyElement> of_two_launches() const {
    if (reads_.size() != 2 || !has(reads_[0], row_)) return {};
    const TensorRead &base = reads_[0], &other = reads_[1];
    const ElementAt first = at(base, row_);
    if (worst_.bound > 0 && base.is_unwritten(first)) return must_be_written(base, first);
    if (!has(other, worst_.launch_row)) return {};
    const ElementAt second = at(other, worst_.launch_row);
    if (second.seen != worst_.actual_bits) return {};
    if (worst_.bound > 0) return near(first, second);
    // Alike, and both wrong: a number belongs there.
    if (base.is_unwritten(first) && other.is_unwritten(second)) return must_be_written(base, first);
    if (first.seen != worst_.expected_bits) return {};
    std::vector<FaultyElement> elements = {pair(first, second, worst_.column)};
    for (int column = 0; worst_.column >= 0 && column < kDV; ++column) {
      if (elements.size() == kFaultsShown) break;
      const ElementAt a = base.at(row_, worst_.split, column);
      const ElementAt b = other.at(worst_.launch_row, worst_.split, column);
      const bool both_unwritten = base.is_unwritten(a) && other.is_unwritten(b);
      if (column != worst_.column && a.seen != b.seen && !both_unwritten)
        elements.push_back(pair(a, b, column));
    }
    add_numbers(first, second, elements);
    return elements;
  }

 private:
  bool has(const TensorRead& read, std::int64_t row) const {
    return row >= 0 && row < read.rows() && (!is_partial_ || read.has(row, worst_.split));
  }
  ElementAt at(const TensorRead& read, std::int64_t row) const {
    return read.at(row, worst_.split, std::max(worst_.column, 0));
  }

  std::vector<FaultyElement> must_be_written(const TensorRead& read, const ElementAt& at) const {
    FaultyElement e = named(read, at, worst_.column);
    e.must = Must::kBeWritten;
    return {e};
  }

  std::vector<FaultyElement> near(const ElementAt& first, const ElementAt& second) const {
    FaultyElement e = pair(first, second, worst_.column);
    e.must = Must::kBeNearOther;
    e.shift = worst_.expected - value_of(first.seen, reads_[0].width());
    e.bound = worst_.bound;
    if (!std::isfinite(e.shift)) return {};
    return {e};
  }

  // Equal bits are not enough where a number belongs.
  void add_numbers(const ElementAt& first, const ElementAt& second,
                   std::vector<FaultyElement>& elements) const {
    for (const auto& [read, at] : {std::pair{&reads_[0], first}, std::pair{&reads_[1], second}}) {
      if (read->is_unwritten(at) || std::isfinite(value_of(at.seen, read->width()))) continue;
      FaultyElement e = named(*read, at, worst_.column);
      e.must = Must::kBeFinite;
      elements.push_back(e);
    }
  }

  FaultyElement pair(const ElementAt& first, const ElementAt& second, int column) const {
    FaultyElement e = named(reads_[1], second, column);
    e.must = Must::kEqualOther;
    e.other = first;
    return e;
  }

  FaultyElement named(const TensorRead& read, const ElementAt& at, int column) const {
    FaultyElement e;
    e.name = fmt::format("{}[sequence {}, query token {}, head {}", worst_.tensor, worst_.sequence,
                         worst_.query_token, worst_.head);
    if (worst_.split >= 0) e.name += fmt::format(", split {}", worst_.split);
    if (column >= 0) e.name += fmt::format(", column {}", column);
    e.name += "]";
    e.at = at;
    e.bytes = read.width();
    return e;
  }

  const Worst& worst_;
  bool is_partial_;
  std::int64_t row_;  // of the case's own problem
  std::vector<TensorRead> reads_;
};

}  // namespace

const Relation* relation_of(std::string_view property) {
  const auto* const found =
      std::find_if(kRelations.begin(), kRelations.end(),
                   [&](const NamedRelation& r) { return r.property == property; });
  return found == kRelations.end() ? nullptr : &found->relation;
}

Result<std::vector<FaultyElement>> property_elements(const Case& c, const Verdict& verdict,
                                                     const Record& record) {
  const Relation* const relation = relation_of(c.property);
  ATTEST_CHECK(relation != nullptr);
  if (verdict.wrong == 0 || verdict.worst.empty()) return std::vector<FaultyElement>{};
  const auto refused = [&](std::string_view why) {
    return Trouble{TroubleKind::kUsage, fmt::format("property {}: {}", c.property, why)};
  };
  if (*relation == Relation::kComputed)
    return refused("it compares with what the host computes of several outputs");
  const Finder finder(c, verdict, record);
  auto elements = *relation == Relation::kTwoLaunches ? finder.of_two_launches()
                                                      : finder.of_one_launch(*relation);
  if (elements.empty()) return refused("the launches do not hold what the verdict names");
  return elements;
}

}  // namespace attest
