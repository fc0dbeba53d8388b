#include "harness/judge_gates.hpp"

#include "harness/core/check.hpp"

namespace attest {

TensorGates::TensorGates(Stored stored, const std::vector<double>& expected,
                         const std::vector<Gate>& gates, std::vector<float> Bound::*part)
    : stored_(stored), expected_(&expected) {
  for (const Gate& gate : gates) {
    const std::vector<float>& radius = gate.radius->*part;
    if (radius.empty()) continue;
    ATTEST_CHECK(radius.size() == expected.size());
    const std::vector<float>* const shift =
        gate.shift == nullptr || (gate.shift->*part).empty() ? nullptr : &(gate.shift->*part);
    ATTEST_CHECK(shift == nullptr || shift->size() == expected.size());
    gates_.push_back({gate.tier, radius.data(), shift == nullptr ? nullptr : shift->data()});
  }
}

Judged judge_fixed(Stored stored, Owed owed, double exactly, std::uint32_t bits) {
  if (owed == Owed::kUnwritten) {
    return {is_poison(stored, bits) ? Fault::kNone : Fault::kOverwritten};
  }
  return {fault_of(stored, bits, exactly, 0)};
}

CaseGates::CaseGates(const Subject& s, const Reference& r)
    : CaseGates(s, r.expected, gates_of(r.tiers)) {}

CaseGates::CaseGates(const Subject& s, const Expected& e, const std::vector<Gate>& gates)
    : partial_lse(Stored::kFp32, e.partial_lse, gates, &Bound::partial_lse),
      // Partials are rounded to nearest: o_truncates speaks of o.
      partial_o(s.contract.arithmetic.bf16_partials ? Stored::kBf16 : Stored::kFp32, e.partial_o,
                gates, &Bound::partial_o),
      lse(Stored::kFp32, e.lse, gates, &Bound::lse),
      o(s.contract.arithmetic.o_truncates ? Stored::kBf16Truncated : Stored::kBf16, e.o, gates,
        &Bound::o) {}

}  // namespace attest
