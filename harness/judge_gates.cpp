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
    : partial_lse(Stored::kFp32, r.expected.partial_lse, gates_of(r.tiers), &Bound::partial_lse),
      // Partials are rounded to nearest: o_truncates speaks of o.
      partial_o(s.contract.arithmetic.bf16_partials ? Stored::kBf16 : Stored::kFp32,
                r.expected.partial_o, gates_of(r.tiers), &Bound::partial_o),
      lse(Stored::kFp32, r.expected.lse, gates_of(r.tiers), &Bound::lse),
      o(s.contract.arithmetic.o_truncates ? Stored::kBf16Truncated : Stored::kBf16, r.expected.o,
        gates_of(r.tiers), &Bound::o) {}

}  // namespace attest
