// Comparison: elements of a launch against what a property says of them, and what it makes of those
// that differ.
#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/properties/parts/rows.hpp"
#include "fuzz/properties/property.hpp"
#include "harness/core/fault_pattern.hpp"
#include "harness/core/formats.hpp"

namespace attest {

enum class Format { kBf16, kFp32 };

inline double value_of(Format format, std::uint32_t bits) {
  return format == Format::kFp32 ? std::bit_cast<float>(bits)
                                 : decode_bf16(static_cast<std::uint16_t>(bits));
}

// In the order in which data flows, which is that of blame.
enum class Part { kPartialLse, kPartialO, kLse, kO };

struct Element {
  Part part = Part::kO;
  Format format = Format::kBf16;
  RowAt at;
  int split = -1, column = -1;
};

// What memory holds: poison of its launch where nobody wrote.
struct Held {
  std::uint32_t bits = 0;
  bool written = true;
  std::int64_t row = -1;  // of its launch
};
inline Held held(Format format, std::uint32_t bits, std::uint16_t poison, std::int64_t row = -1) {
  const std::uint32_t unwritten = format == Format::kFp32 ? poison * 0x10001u : poison;
  return {bits, bits != unwritten, row};
}

class Comparison {
 public:
  // The same bits. `finite`: and a number; else both may be unwritten. A poison that is a number
  // may be what the other launch rightly wrote: equal bits are right whatever they are in one of
  // both.
  void same(const Element& e, Held actual, Held expected, bool finite) {
    const bool none = !finite && !actual.written && !expected.written;
    const bool right = none || (actual.bits == expected.bits && (!finite || is_finite(e, actual)));
    ++compared_;
    if (!right) note_difference(e, actual, expected);
  }
  // A number within `allowed` of `expected`.
  void near(const Element& e, Held actual, double expected, double allowed);
  // A value of any kind, or none at all.
  void written(const Element& e, Held actual);
  void unwritten(const Element& e, Held actual);

  // `words`: what was launched.
  Checked result(std::string words) const;

 private:
  struct Found {
    FaultPattern pattern;
    std::string_view kind;  // of `at`; empty: no fault
    Worst at;               // of the gravest fault
  };

  static bool is_finite(const Element& e, Held actual) {
    return std::isfinite(value_of(e.format, actual.bits));
  }
  void note_difference(const Element& e, Held actual, Held expected);
  void fault(const Element& e, std::string_view kind, Worst at);

  std::int64_t compared_ = 0, unbounded_ = 0;
  Worst closest_;  // of those within their bounds, the one with the largest ratio
  std::array<Found, 4> parts_;
};

}  // namespace attest
