#include "harness/core/expected.hpp"

namespace attest {

std::string_view to_string(Tier tier) {
  switch (tier) {
    case Tier::kT0:
      return "T0";
    case Tier::kT1:
      return "T1";
    case Tier::kT2:
      return "T2";
    case Tier::kT2p:
      return "T2p";
  }
  return "?";
}

std::vector<Gate> gates_of(const Tiers& tiers) {
  const auto shift = [](const Bound& b) { return b.empty() ? nullptr : &b; };
  std::vector<Gate> gates = {{Tier::kT0, &tiers.t0, shift(tiers.q_shift)}};
  if (!tiers.t2.empty()) {
    gates.push_back({Tier::kT2, &tiers.t2, shift(tiers.p_shift)});
    gates.push_back({Tier::kT2p, &tiers.t2p, shift(tiers.p_shift)});
  } else if (!tiers.t1.empty()) {
    gates.push_back({Tier::kT1, &tiers.t1, shift(tiers.q_shift)});
  }
  return gates;
}

}  // namespace attest
