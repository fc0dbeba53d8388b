// For tests of the bounds: how far a kernel model is from the reference, in units of each tier.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "harness/core/formats.hpp"
#include "reference/model/kernel_model.hpp"
#include "reference/reference.hpp"
#include "reference/small_inputs.hpp"

namespace attest {

struct Ratios {  // error / bound
  double o = 0, lse = 0, partial_o = 0, partial_lse = 0;
  double largest() const { return std::max({o, lse, partial_o, partial_lse}); }
  void take(const Ratios& other) {
    o = std::max(o, other.o);
    lse = std::max(lse, other.lse);
    partial_o = std::max(partial_o, other.partial_o);
    partial_lse = std::max(partial_lse, other.partial_lse);
  }
};
using OfTiers = std::array<Ratios, 4>;  // by Tier

// One tensor's element `at` by one gate; `rounding`: what storing it may add.
inline double ratio(const Gate& gate, std::vector<float> Bound::*of, double expected,
                    std::int64_t at, double actual, bool bf16 = false) {
  const double centre = expected + (gate.shift == nullptr ? 0 : (gate.shift->*of)[at]);
  const double error = std::fabs(actual - centre), radius = (gate.radius->*of)[at];
  const double rounding = bf16 ? half_ulp_bf16(std::fabs(centre) + radius) : 0;
  return error == 0 ? 0 : error / (radius + rounding);
}

// The model stores [token, split, head], the reference [token, head, split].
inline void take_partials(const Gate& gate, const Problem& problem, const Expected& e,
                          std::int64_t row, const Output& output, bool bf16, Ratios& worst) {
  for (int split = 0; split < e.num_splits; ++split) {
    const std::int64_t part = row * e.num_splits + split;
    if (!std::isfinite(e.partial_lse[part])) continue;
    const std::int64_t stored =
        (row / problem.h_q * e.num_splits + split) * problem.h_q + row % problem.h_q;
    worst.partial_lse =
        std::max(worst.partial_lse, ratio(gate, &Bound::partial_lse, e.partial_lse[part], part,
                                          std::bit_cast<float>(output.partial_lse[stored])));
    for (int d = 0; d < kDV; ++d) {
      const std::int64_t at = part * kDV + d;
      const std::uint32_t bits = output.partial_o[stored * kDV + d];
      const double value =
          bf16 ? decode_bf16(static_cast<std::uint16_t>(bits)) : std::bit_cast<float>(bits);
      worst.partial_o = std::max(worst.partial_o,
                                 ratio(gate, &Bound::partial_o, e.partial_o[at], at, value, bf16));
    }
  }
}

inline Ratios ratios_of(const Gate& gate, const Problem& problem, const Expected& e,
                        const model::ModelResult& kernel, bool bf16_partials) {
  Ratios worst;
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    for (int d = 0; d < kDV; ++d) {
      const std::int64_t at = row * kDV + d;
      worst.o = std::max(worst.o, ratio(gate, &Bound::o, e.o[at], at, kernel.o_fp32[at]));
    }
    worst.lse = std::max(worst.lse, ratio(gate, &Bound::lse, e.lse[row], row,
                                          std::bit_cast<float>(kernel.output.lse[row])));
    if (e.num_splits > 1) take_partials(gate, problem, e, row, kernel.output, bf16_partials, worst);
  }
  return worst;
}

inline OfTiers worst_ratios(const Problem& problem, Family family, const Contract& contract,
                            const Contract& kept, int num_splits) {
  auto inputs = small_inputs(problem, family, 21);
  auto kernel = model::run_model(problem, *inputs, kept, {.num_splits = num_splits});
  EXPECT_TRUE(inputs.ok() && kernel.ok());
  OfTiers worst;
  for (const bool declared : {false, true}) {
    Contract judged = contract;
    judged.arithmetic.schedule_declared = declared;
    auto r = reference(problem, *inputs, judged, num_splits, {});
    EXPECT_TRUE(r.ok());
    for (const Gate& gate : gates_of(r->tiers)) {
      worst[static_cast<int>(gate.tier)].take(
          ratios_of(gate, problem, r->expected, *kernel, kept.arithmetic.bf16_partials));
    }
  }
  return worst;
}

}  // namespace attest
