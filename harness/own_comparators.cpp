// Our gates, one by one and together, so that a table shows what each of them sees.
#include <array>

#include "harness/comparators.hpp"
#include "harness/judge_gates.hpp"
#include "harness/judge_statistics.hpp"

namespace attest {
namespace {

using Gates = std::vector<Gate>;

// The gate of one tier; none where the tier is not formed.
Gates only(Tier tier, const Tiers& tiers) {
  Gates gates = gates_of(tiers);
  std::erase_if(gates, [&](const Gate& gate) { return gate.tier != tier; });
  return gates;
}
Gates t0_of(const Yardstick& y) { return only(Tier::kT0, y.reference.tiers); }
Gates t1_of(const Yardstick& y) { return only(Tier::kT1, y.undeclared); }
Gates t2p_of(const Yardstick& y) { return only(Tier::kT2p, y.reference.tiers); }
// The strictest gates that the contract's declaration allows: those of a verdict.
Gates all_of(const Yardstick& y) { return gates_of(y.reference.tiers); }
bool has_t1(const Yardstick& y) { return !t1_of(y).empty(); }
bool has_t2p(const Yardstick& y) { return !t2p_of(y).empty(); }

template <class Bits>
bool is_right(const TensorGates& gates, const Bits* stored, std::int64_t first, int count) {
  for (int i = 0; i < count; ++i) {
    if (gates.judge(first + i, stored[i]).fault != Fault::kNone) return false;
  }
  return true;
}

bool o_is_right(const Gates& gates, const Yardstick& y, const Observed& actual) {
  const CaseGates by(y.subject, y.reference.expected, gates);
  const auto& o = actual.output.o;
  return is_right(by.o, o.data(), 0, static_cast<int>(o.size()));
}

bool lse_is_right(const Gates& gates, const Yardstick& y, const Observed& actual) {
  const CaseGates by(y.subject, y.reference.expected, gates);
  const auto& lse = actual.output.lse;
  return is_right(by.lse, lse.data(), 0, static_cast<int>(lse.size()));
}

// Places of splits that show a row no token are the judge's to check; a merge must not read them.
bool partials_are_right(const Gates& gates, const Yardstick& y, const Observed& actual) {
  const int splits = y.subject.num_splits;
  if (splits == 1) return true;
  const CaseGates by(y.subject, y.reference.expected, gates);
  const Output& output = actual.output;
  bool right = true;
  each_row_while(y.subject, [&](const Place& place, const std::vector<TokenRange>& live) {
    for (int split = 0; right && split < static_cast<int>(live.size()); ++split) {
      if (visible_at(y.subject, place) <= live[split].begin) continue;
      const std::int64_t at = place.row * splits + split;
      const std::int64_t stored = stored_partial(y.subject, place.row, split);
      right = is_right(by.partial_lse, &output.partial_lse[stored], at, 1) &&
              is_right(by.partial_o, &output.partial_o[stored * kDV], at * kDV, kDV);
    }
    return right;
  });
  return right;
}

bool o_t0(const Yardstick& y, const Observed& actual) { return o_is_right(t0_of(y), y, actual); }
bool o_t1(const Yardstick& y, const Observed& actual) { return o_is_right(t1_of(y), y, actual); }
bool o_t2p(const Yardstick& y, const Observed& actual) { return o_is_right(t2p_of(y), y, actual); }
bool lse_t1(const Yardstick& y, const Observed& actual) {
  return lse_is_right(t1_of(y), y, actual);
}
bool lse_gates(const Yardstick& y, const Observed& actual) {
  return lse_is_right(all_of(y), y, actual);
}
bool partial_gates(const Yardstick& y, const Observed& actual) {
  return partials_are_right(all_of(y), y, actual);
}

// The two that look at all elements together.
bool score_tests(const Yardstick&, const Observed& actual) {
  return why_suspect({actual.scores.begin(), actual.scores.end()}, {}).reason.empty();
}
bool few_mismatches(const Yardstick& y, const Observed& actual) {
  return why_suspect({}, mismatch_of(y.subject, actual.output, y.reference)).reason.empty();
}

// Whether there are enough elements whose bits are decided: all of them wrong would be suspect.
bool has_mismatch(const Yardstick& y) {
  Output zeros;
  zeros.o.resize(y.reference.expected.o.size());
  const std::int64_t counted = mismatch_of(y.subject, zeros, y.reference).counted;
  return !why_suspect({}, {counted, counted}).reason.empty();
}

// What a kernel that exports only o and lse, with an unknown schedule, is judged by.
bool black_box(const Yardstick& y, const Observed& actual) {
  return o_t0(y, actual) && o_t1(y, actual) && lse_t1(y, actual);
}

// What one that declares its schedule, and exports no more, is judged by.
bool declared_box(const Yardstick& y, const Observed& actual) {
  return o_is_right(all_of(y), y, actual) && lse_gates(y, actual);
}

bool all_of_ours(const Yardstick& y, const Observed& actual) {
  return declared_box(y, actual) && partial_gates(y, actual) && score_tests(y, actual) &&
         few_mismatches(y, actual);
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
