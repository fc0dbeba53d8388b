#include "harness/standalone/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "harness/core/check.hpp"
#include "harness/core/output.hpp"
#include "harness/judge_gates.hpp"
#include "harness/subject.hpp"

namespace attest {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array<std::string_view, 4> kOutputs = {"o", "lse", "partial_o", "partial_lse"};

bool is_output(std::string_view label) {
  return std::find(kOutputs.begin(), kOutputs.end(), label) != kOutputs.end();
}

std::uint32_t bits_in(const Record& record, const ElementAt& at, int bytes) {
  const auto& read = std::get<RecordedRead>(record.events[at.event]);
  std::uint32_t bits = 0;
  const auto held = record.written(read.buffer, at.offset, bytes, at.event);
  const std::byte* const from =
      read.bytes.empty() ? held.data() : read.bytes.data() + (at.offset - read.offset);
  std::memcpy(&bits, from, bytes);
  return bits;
}

// What an element that nothing may write held before the launch: what the host left there, or, when
// an earlier launch wrote since, what was read of it then.
void compare_with_before(const Record& record, FaultyElement& element) {
  const int buffer = std::get<RecordedRead>(record.events[element.at.event]).buffer;
  int launches = 0;  // that ended since the host wrote to the buffer
  std::optional<std::size_t> last_read, before;
  for (std::size_t e = 0; e < element.at.event; ++e) {
    if (const auto* const write = std::get_if<RecordedWrite>(&record.events[e])) {
      if (write->buffer == buffer) launches = 0;
    } else if (const auto* const read = std::get_if<RecordedRead>(&record.events[e])) {
      if (read->buffer == buffer && read->size >= element.at.offset + element.bytes) last_read = e;
    } else if (std::holds_alternative<RecordedSynchronize>(record.events[e])) {
      ++launches;
      before = last_read;
    }
  }
  if (launches <= 1 || !before) return;
  element.must = Must::kEqualOther;
  element.other = {*before, element.at.offset, 0};
  element.other.seen = bits_in(record, element.other, element.bytes);
}

std::string place_text(const Place& at) {
  std::string text =
      fmt::format("sequence {}, query token {}, head {}", at.sequence, at.query_token, at.head);
  if (at.split >= 0) text += fmt::format(", split {}", at.split);
  if (at.column >= 0) text += fmt::format(", column {}", at.column);
  return text;
}

struct Accepted {
  double low = -kInfinity, high = kInfinity;
};

// The stored values that every gate takes: is_within(), as an interval.
Accepted accepted_by(const TensorGates& gates, std::int64_t i) {
  Accepted accepted;
  for (int g = 0; g < gates.count(); ++g) {
    const GateAt gate = gates.at(g, i);
    double low = gate.centre - gate.radius, high = gate.centre + gate.radius;
    if (gates.stored() != Stored::kFp32 && std::isfinite(low) && std::isfinite(high)) {
      low = value_of(gates.stored(), stored_bits(gates.stored(), low));
      high = value_of(gates.stored(), stored_bits(gates.stored(), high));
    }
    accepted = {std::max(accepted.low, low), std::min(accepted.high, high)};
  }
  if (gates.count() > 0 && !std::isfinite(gates.at(0, i).centre))
    accepted = {gates.at(0, i).centre, gates.at(0, i).centre};  // an infinity is exact
  return accepted;
}

struct Found {
  double rank = 0;  // larger: shown first
  FaultyElement element;
};

// Collects the faults of one tensor.
class TensorFaults {
 public:
  TensorFaults(std::string_view name, const TensorGates& gates) : name_(name), gates_(gates) {}

  // `index` counts the gates' elements, `offset` is the byte in the device's buffer.
  void element(const Place& place, std::int64_t index, std::size_t offset, std::uint32_t bits) {
    const Judged judged = gates_.judge(index, bits);
    if (judged.fault == Fault::kNone) return;
    const GateAt gate = gates_.at(std::max(judged.gate, 0), index);
    const Accepted accepted = accepted_by(gates_, index);
    FaultyElement e = named(place, offset, bits);
    e.expected = gate.centre;
    e.bound = gate.radius;
    e.low = accepted.low;
    e.high = accepted.high;
    const bool wrong = judged.fault == Fault::kWrong;
    const double ratio =
        ratio_of(gates_.stored(), value_of(gates_.stored(), bits), gate.centre, gate.radius);
    found_.push_back({wrong ? ratio : kInfinity, std::move(e)});
  }

  void fixed(const Place& place, Owed owed, double exactly, std::size_t offset,
             std::uint32_t bits) {
    if (judge_fixed(gates_.stored(), owed, exactly, bits).fault == Fault::kNone) return;
    FaultyElement e = named(place, offset, bits);
    if (owed == Owed::kUnwritten) e.must = Must::kHold;
    e.wanted = gates_.stored() == Stored::kFp32 ? kPoison32 : kPoison16;
    e.expected = e.low = e.high = exactly;
    found_.push_back({e.must == Must::kHold ? 0 : kInfinity, std::move(e)});
  }

  void take_worst(const Record& record, std::vector<FaultyElement>& to) {
    if (found_.empty()) return;
    const auto read = record.judged_read(name_, 0, record.events.size());
    ATTEST_CHECK(read.has_value());
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.rank > b.rank; });
    found_.resize(std::min(found_.size(), kFaultsShown));
    for (Found& found : found_) {
      found.element.at.event = *read;
      found.element.at.seen = bits_in(record, found.element.at, found.element.bytes);
      if (found.element.must == Must::kHold) compare_with_before(record, found.element);
      to.push_back(std::move(found.element));
    }
  }

 private:
  FaultyElement named(const Place& place, std::size_t offset, std::uint32_t bits) const {
    FaultyElement e;
    e.name = fmt::format("{}[{}]", name_, place_text(place));
    e.at = {0, offset, bits};
    e.bytes = gates_.stored() == Stored::kFp32 ? 4 : 2;
    return e;
  }

  std::string_view name_;
  const TensorGates& gates_;
  std::vector<Found> found_;
};

class CaseFaults {
 public:
  CaseFaults(const Judgement& judgement)  // NOLINT(google-explicit-constructor)
      : s_(judgement.subject), output_(judgement.output), gates_(s_, judgement.reference) {}

  std::vector<FaultyElement> collect(const Record& record) {
    each_row_while(s_, [&](const Place& place, const std::vector<TokenRange>& live) {
      final_row(place);
      if (s_.num_splits > 1) partials(place, live);
      return true;
    });
    std::vector<FaultyElement> faults;
    for (TensorFaults* tensor : {&partial_lse_, &partial_o_, &lse_, &o_})
      tensor->take_worst(record, faults);
    return faults;
  }

 private:
  void final_row(Place place) {
    const std::int64_t row = place.row;
    const Owed owed = owed_in_row(s_, place);
    const std::size_t lse_at = row * 4;
    if (owed == Owed::kValue) {
      lse_.element(place, row, lse_at, output_.lse[row]);
    } else {
      lse_.fixed(place, owed, -kInfinity, lse_at, output_.lse[row]);
    }
    for (place.column = 0; place.column < kDV; ++place.column) {
      const std::int64_t i = row * kDV + place.column;
      const std::size_t at = (row * s_.problem.o_stride_h() + place.column) * 2;
      if (owed == Owed::kValue) {
        o_.element(place, i, at, output_.o[i]);
      } else {
        o_.fixed(place, owed, 0, at, output_.o[i]);
      }
    }
  }

  void partials(Place place, const std::vector<TokenRange>& live) {
    for (place.split = 0; place.split < s_.num_splits; ++place.split) {
      const std::int64_t stored = stored_partial(s_, place.row, place.split);
      const std::int64_t row = place.row * s_.num_splits + place.split;
      const Owed owed = owed_in_split(s_, place, live);
      place.column = -1;
      const std::uint32_t lse = output_.partial_lse[stored];
      if (owed == Owed::kValue) {
        partial_lse_.element(place, row, stored * 4, lse);
      } else {
        partial_lse_.fixed(place, owed, -kInfinity, stored * 4, lse);
      }
      if (owed != Owed::kNothing) partial_o_of(place, owed, stored, row);
    }
  }

  void partial_o_of(Place place, Owed owed, std::int64_t stored, std::int64_t row) {
    const int bytes = gates_.partial_o.stored() == Stored::kFp32 ? 4 : 2;
    for (place.column = 0; place.column < kDV; ++place.column) {
      const std::int64_t at = stored * kDV + place.column;
      if (owed == Owed::kValue) {
        partial_o_.element(place, row * kDV + place.column, at * bytes, output_.partial_o[at]);
      } else {
        partial_o_.fixed(place, owed, 0, at * bytes, output_.partial_o[at]);
      }
    }
  }

  const Subject& s_;
  const Output& output_;
  CaseGates gates_;
  TensorFaults partial_lse_{"partial_lse", gates_.partial_lse};
  TensorFaults partial_o_{"partial_o", gates_.partial_o};
  TensorFaults lse_{"lse", gates_.lse}, o_{"o", gates_.o};
};

std::uint16_t half_at(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint16_t half = 0;
  std::memcpy(&half, bytes.data() + at, sizeof half);
  return half;
}

// Of the read, the 16-bit words that are not what the host left, while `counts(word of buffer)`.
template <class Counts>
void changed_in(const Record& record, std::size_t event, const Counts& counts,
                std::vector<FaultyElement>& to) {
  const auto& read = std::get<RecordedRead>(record.events[event]);
  const std::vector<std::byte> left = record.written(read.buffer, read.offset, read.size, event);
  const std::string& label = record.buffers[read.buffer].label;
  std::size_t shown = 0;
  for (std::size_t at = 0; at + 2 <= read.bytes.size() && shown < kFaultsShown; at += 2) {
    const std::uint16_t was = half_at(left, at), is = half_at(read.bytes, at);
    if (was == is || !counts((read.offset + at) / 2)) continue;
    FaultyElement e;
    e.name = fmt::format("{}[byte {}]", label, read.offset + at);
    e.at = {event, read.offset + at, is};
    e.must = Must::kHold;
    e.wanted = was;
    to.push_back(std::move(e));
    ++shown;
  }
}

// Behind the last row of an output, where it lies in a larger buffer.
void add_written_tails(const Record& record, std::vector<FaultyElement>& to) {
  for (const std::string_view label : kOutputs) {
    const auto judged = record.judged_read(label, 0, record.events.size());
    if (!judged) continue;
    const auto& rows = std::get<RecordedRead>(record.events[*judged]);
    for (std::size_t e = *judged + 1; e < record.events.size(); ++e) {
      const auto* const whole = std::get_if<RecordedRead>(&record.events[e]);
      if (whole == nullptr || whole->buffer != rows.buffer || whole->size <= rows.size) continue;
      std::vector<FaultyElement> tail;
      changed_in(
          record, e, [&](std::size_t word) { return word * 2 >= rows.size; }, tail);
      for (FaultyElement& element : tail) {
        compare_with_before(record, element);
        if (element.must == Must::kHold || element.other.seen != element.at.seen)
          to.push_back(std::move(element));
      }
    }
  }
}

}  // namespace

std::vector<FaultyElement> faulty_elements(const Judgement& judgement, const Record& record) {
  std::vector<FaultyElement> faults = CaseFaults(judgement).collect(record);
  if (!judgement.output.damage.empty()) add_written_tails(record, faults);
  return faults;
}

std::vector<FaultyElement> changed_elements(const Problem& problem, const Record& record) {
  std::vector<FaultyElement> changed;
  for (std::size_t e = 0; e < record.events.size(); ++e) {
    const auto* const read = std::get_if<RecordedRead>(&record.events[e]);
    if (read == nullptr || read->bytes.empty()) continue;
    const std::string& label = record.buffers[read->buffer].label;
    if (!is_output(label)) {
      changed_in(
          record, e, [](std::size_t) { return true; }, changed);
    } else if (label == "o" && problem.o_stride_h() > kDV) {
      const auto is_pad = [&](std::size_t word) {
        return static_cast<std::int64_t>(word) % problem.o_stride_h() >= kDV;
      };
      changed_in(record, e, is_pad, changed);
    }
  }
  return changed;
}

}  // namespace attest
