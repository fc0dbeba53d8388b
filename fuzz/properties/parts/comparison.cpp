#include "fuzz/properties/parts/comparison.hpp"

#include <limits>
#include <utility>

namespace attest {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string_view name_of(Part part) {
  constexpr std::string_view kNames[] = {"partial_lse", "partial_o", "lse", "o"};
  return kNames[static_cast<int>(part)];
}

std::uint32_t bits_of(Format format, double value) {
  return format == Format::kFp32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                 : encode_bf16(value);
}

Worst describe(const Element& e, Held actual, double expected, std::uint32_t expected_bits,
               double bound) {
  Worst worst;
  worst.tensor = name_of(e.part);
  worst.sequence = e.at.sequence;
  worst.query_token = e.at.query_token;
  worst.head = e.at.head;
  worst.split = e.split;
  worst.launch_row = actual.row;
  worst.column = e.column;
  worst.actual = value_of(e.format, actual.bits);
  worst.expected = expected;
  worst.actual_bits = actual.bits;
  worst.expected_bits = expected_bits;
  worst.error = worst.actual == expected ? 0 : std::abs(worst.actual - expected);
  worst.bound = bound;
  worst.ratio = worst.error == 0 ? 0 : worst.error / bound;
  if (std::isnan(worst.ratio)) worst.ratio = kInfinity;
  return worst;
}

// What is missing comes before what is wrong; there the first by position counts, here the largest.
int gravity(std::string_view kind) {
  if (kind == "unwritten" || kind == "nonfinite") return 2;
  return kind.empty() ? 0 : 1;
}

}  // namespace

void Comparison::note_difference(const Element& e, Held actual, Held expected) {
  const Worst at = describe(e, actual, value_of(e.format, expected.bits), expected.bits, 0);
  if (!actual.written || !expected.written) return fault(e, "unwritten", at);
  const bool finite = is_finite(e, actual) && is_finite(e, expected);
  fault(e, finite ? "differs" : "nonfinite", at);
}

void Comparison::near(const Element& e, Held actual, double expected, double allowed) {
  if (std::isinf(allowed)) {  // nothing is promised but a number
    ++unbounded_;
    if (actual.written && is_finite(e, actual)) return;
  }
  ++compared_;
  const double error = std::abs(value_of(e.format, actual.bits) - expected);
  const bool within = error <= allowed;  // false for a NaN
  if (within && !(error > closest_.ratio * allowed)) return;
  Worst at = describe(e, actual, expected, bits_of(e.format, expected), allowed);
  if (within) {
    closest_ = std::move(at);
  } else if (!actual.written) {
    fault(e, "unwritten", std::move(at));
  } else {
    const bool finite = is_finite(e, actual) && std::isfinite(expected);
    fault(e, finite ? "wrong" : "nonfinite", std::move(at));
  }
}

void Comparison::written(const Element& e, Held actual) {
  ++compared_;
  if (!actual.written) fault(e, "unwritten", describe(e, actual, 0, 0, 0));
}

void Comparison::unwritten(const Element& e, Held actual) {
  ++compared_;
  if (actual.written) fault(e, "overwritten", describe(e, actual, 0, 0, 0));
}

void Comparison::fault(const Element& e, std::string_view kind, Worst at) {
  Found& found = parts_[static_cast<int>(e.part)];
  found.pattern.note(e.column);
  const int before = gravity(found.kind), now = gravity(kind);
  const auto size = [](const Worst& w) { return std::pair(w.ratio, w.error); };
  if (now == 2) at.ratio = kInfinity;
  if (now > before || (now == 1 && before == 1 && size(at) > size(found.at))) {
    found.kind = kind;
    found.at = std::move(at);
  }
}

Checked Comparison::result(std::string words) const {
  Checked checked;
  checked.compared = compared_;
  checked.unbounded = unbounded_;
  checked.worst = closest_;
  checked.words = std::move(words);
  const Found* blamed = nullptr;
  for (const Found& found : parts_) {
    checked.wrong += found.pattern.faults();
    if (gravity(found.kind) > (blamed == nullptr ? 0 : gravity(blamed->kind))) blamed = &found;
  }
  if (blamed != nullptr) {
    checked.kind = blamed->kind;
    checked.pattern = blamed->pattern.word();
    checked.worst = blamed->at;
  }
  return checked;
}

}  // namespace attest
