// Our gates, one by one and together, so that a table shows what each of them sees.
#include <array>
#include <cmath>
#include <limits>

#include "harness/comparators.hpp"
#include "harness/core/check.hpp"
#include "harness/judge_element.hpp"
#include "harness/judge_statistics.hpp"

namespace attest {
namespace {

// A radius and what the exact value is moved by before it is compared; null: nothing.
struct Band {
  const Bound* radius = nullptr;
  const Bound* shift = nullptr;
};
using Field = std::vector<float> Bound::*;

double shift_at(const Band& band, Field field, std::size_t i) {
  return band.shift == nullptr || (band.shift->*field).empty() ? 0.0 : (band.shift->*field)[i];
}

bool is_right(const Band& band, Field field, Stored stored, std::uint32_t bits, double expected,
              std::size_t i) {
  return fault_of(stored, bits, expected + shift_at(band, field, i), (band.radius->*field)[i]) ==
         Fault::kNone;
}

bool o_is_right(const Band& band, const Yardstick& y, const Observed& actual) {
  for (std::size_t i = 0; i < y.reference.expected.o.size(); ++i) {
    if (!is_right(band, &Bound::o, Stored::kBf16, actual.output.o[i], y.reference.expected.o[i],
                  i)) {
      return false;
    }
  }
  return true;
}

bool lse_is_right(const Band& band, const Yardstick& y, const Observed& actual) {
  for (std::size_t i = 0; i < y.reference.expected.lse.size(); ++i) {
    if (!is_right(band, &Bound::lse, Stored::kFp32, actual.output.lse[i],
                  y.reference.expected.lse[i], i)) {
      return false;
    }
  }
  return true;
}

// Of one row in one split that shows it a token. `at` counts [rows, splits], `stored` as the kernel
// does.
bool partial_is_right(const Band& band, const Yardstick& y, const Output& output, std::size_t at,
                      std::size_t stored) {
  const Stored format = y.subject.contract.arithmetic.bf16_partials ? Stored::kBf16 : Stored::kFp32;
  const Expected& expected = y.reference.expected;
  if (!is_right(band, &Bound::partial_lse, Stored::kFp32, output.partial_lse[stored],
                expected.partial_lse[at], at)) {
    return false;
  }
  for (std::size_t d = 0; d < kDV; ++d) {
    if (!is_right(band, &Bound::partial_o, format, output.partial_o[stored * kDV + d],
                  expected.partial_o[at * kDV + d], at * kDV + d)) {
      return false;
    }
  }
  return true;
}

// Places of splits that show a row no token are the judge's to check; a merge must not read them.
bool partials_are_right(const Band& band, const Yardstick& y, const Observed& actual) {
  const int splits = y.subject.num_splits;
  if (splits == 1) return true;
  bool right = true;
  each_row_while(y.subject, [&](const Place& place, const std::vector<TokenRange>& live) {
    for (int split = 0; right && split < static_cast<int>(live.size()); ++split) {
      if (visible_at(y.subject, place) <= live[split].begin) continue;
      right = partial_is_right(band, y, actual.output, place.row * splits + split,
                               stored_partial(y.subject, place.row, split));
    }
    return right;
  });
  return right;
}

const Bound* if_any(const Bound& bound) { return bound.empty() ? nullptr : &bound; }
Band t0_of(const Yardstick& y) {
  return {&y.reference.tiers.t0, if_any(y.reference.tiers.q_shift)};
}
Band t1_of(const Yardstick& y) { return {&y.undeclared.t1, if_any(y.undeclared.q_shift)}; }
Band t2p_of(const Yardstick& y) {
  return {&y.reference.tiers.t2p, if_any(y.reference.tiers.p_shift)};
}
bool has_t1(const Yardstick& y) { return !y.undeclared.t1.empty(); }
bool has_t2p(const Yardstick& y) { return !y.reference.tiers.t2p.empty(); }

// The strictest gates that the contract's declaration allows: those of a verdict.
template <class Check>
bool within_every_gate(const Yardstick& y, const Check& check) {
  for (const Gate& gate : gates_of(y.reference.tiers)) {
    if (!check(Band{gate.radius, gate.shift})) return false;
  }
  return true;
}

bool o_t0(const Yardstick& y, const Observed& actual) { return o_is_right(t0_of(y), y, actual); }
bool o_t1(const Yardstick& y, const Observed& actual) { return o_is_right(t1_of(y), y, actual); }
bool o_t2p(const Yardstick& y, const Observed& actual) { return o_is_right(t2p_of(y), y, actual); }
bool lse_t1(const Yardstick& y, const Observed& actual) {
  return lse_is_right(t1_of(y), y, actual);
}
bool lse_gates(const Yardstick& y, const Observed& actual) {
  return within_every_gate(y, [&](const Band& band) { return lse_is_right(band, y, actual); });
}
bool partial_gates(const Yardstick& y, const Observed& actual) {
  return within_every_gate(y,
                           [&](const Band& band) { return partials_are_right(band, y, actual); });
}

// The two that look at all elements together.
bool score_tests(const Yardstick&, const Observed& actual) {
  return why_suspect({actual.scores.begin(), actual.scores.end()}, {}).empty();
}
bool few_mismatches(const Yardstick& y, const Observed& actual) {
  return why_suspect({}, mismatch_of(y.subject, actual.output, y.reference)).empty();
}

// Whether there are enough elements whose bits are decided: all of them wrong would be suspect.
bool has_mismatch(const Yardstick& y) {
  Output zeros;
  zeros.o.resize(y.reference.expected.o.size());
  const std::int64_t counted = mismatch_of(y.subject, zeros, y.reference).counted;
  return !why_suspect({}, {counted, counted}).empty();
}

// What a kernel that exports only o and lse, with an unknown schedule, is judged by.
bool black_box(const Yardstick& y, const Observed& actual) {
  return o_t0(y, actual) && o_t1(y, actual) && lse_t1(y, actual);
}

// What one that declares its schedule, and exports no more, is judged by.
bool declared_box(const Yardstick& y, const Observed& actual) {
  return within_every_gate(y, [&](const Band& band) {
    return o_is_right(band, y, actual) && lse_is_right(band, y, actual);
  });
}

bool all_of_ours(const Yardstick& y, const Observed& actual) {
  return within_every_gate(y,
                           [&](const Band& band) {
                             return o_is_right(band, y, actual) && lse_is_right(band, y, actual) &&
                                    partials_are_right(band, y, actual);
                           }) &&
         score_tests(y, actual) && few_mismatches(y, actual);
}

}  // namespace

std::span<const Comparator> own_comparators() {
  static constexpr std::array kOwn = {
      Comparator{"T0 o", "rigorous; o", true, nullptr, o_t0},
      Comparator{"T1 o", "probabilistic, schedule unknown; o", true, has_t1, o_t1},
      Comparator{"T2p o", "probabilistic about the declared rounding of P; o", true, has_t2p,
                 o_t2p},
      Comparator{"lse", "every gate of the contract; lse", true, nullptr, lse_gates},
      Comparator{"T1 o+lse", "T0 and T1, schedule unknown; o, lse", true, has_t1, black_box},
      Comparator{"T2p o+lse", "every gate of a declared schedule; o, lse", true, has_t2p,
                 declared_box},
      Comparator{"partials", "every gate of the contract; o and lse of each split", true, nullptr,
                 partial_gates},
      Comparator{"scores", "matched filters, |z| > 12 is suspect; o", true, has_t2p, score_tests},
      Comparator{"mismatch", "share of o whose bits are not the emulated reference's", true,
                 has_mismatch, few_mismatches},
      Comparator{"attest", "every gate on o, lse and partials, the score tests and the mismatch",
                 true, nullptr, all_of_ours},
  };
  return kOwn;
}

}  // namespace attest
