// The radii of reference(), against the same bounds evaluated apart (explain.hpp) from the text of
// error_bound.md. With the same majorisations both agree to the inflation of the fast path's fp32
// sums, so that a term of more than a thousandth of a radius that either forgets, doubles or
// halves shows. reference/mutants/ holds edits that must turn this red.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "reference/bound_scenarios.hpp"
#include "reference/explain.hpp"
#include "reference/reference.hpp"

namespace attest {
namespace {

// Source: error_bound.md, "What the fast path gives away": spreads and sums, each inflated by
// 2^-13; and as much for what is summed in fp32 twice.
constexpr double kFastAtMost = 1 + 0x1p-11;
constexpr double kOwn = 1e-6;  // Source: both evaluate in fp64; x enters exponentials

struct Pair {
  double fast = 0, slow = 0, exact = 0;  // exact: without majorisations
  double fast_shift = 0, slow_shift = 0;
};

const Bound& radii_of(const Tiers& t, Tier tier) {
  switch (tier) {
    case Tier::kT1:
      return t.t1;
    case Tier::kT2:
      return t.t2;
    case Tier::kT2p:
      return t.t2p;
    case Tier::kT0:
      break;
  }
  return t.t0;
}

std::string text_of(const Explained& e) {
  std::string text;
  for (const BoundTerm& term : e.terms)
    text += "\n    " + std::to_string(term.value / e.radius) + " " + term.name;
  return text;
}

class TwoSided : public testing::TestWithParam<Scenario> {
 protected:
  void judge(Tier tier, double fast, double centre_moves, const Explained& slow,
             const Explained& exact) {
    EXPECT_GE(fast, slow.radius * (1 - kOwn)) << to_string(tier) << where_ << text_of(slow);
    EXPECT_LE(fast, slow.radius * kFastAtMost) << to_string(tier) << where_ << text_of(slow);
    EXPECT_LE(exact.radius, fast * (1 + kOwn)) << to_string(tier) << where_ << text_of(exact);
    EXPECT_NEAR(centre_moves, slow.shift, slow.radius * 0x1p-12 + std::fabs(slow.shift) * 0x1p-24)
        << to_string(tier) << where_;
  }
  std::string where_;
};

double at(const std::vector<float>& values, std::int64_t i) {
  return values.empty() ? 0 : values[i];
}

TEST_P(TwoSided, FastRadiiAreTheSlowOnes) {
  const Scenario& s = GetParam();
  const Inputs inputs = inputs_of(s);
  for (const bool declared : {false, true}) {
    Contract contract;
    contract.arithmetic = s.arithmetic;
    contract.arithmetic.schedule_declared = declared;
    const auto r = reference(s.problem, inputs, contract, s.num_splits, {});
    ASSERT_TRUE(r.ok());
    for (std::int64_t row = 0; row < s.problem.rows(); row += s.row_step) {
      const RowBounds same(s.problem, inputs, contract, s.num_splits, row, Majorised::kAsReference),
          exact(s.problem, inputs, contract, s.num_splits, row);
      for (int split = -1; split < (s.num_splits > 1 ? s.num_splits : 0); ++split) {
        const std::int64_t part = split < 0 ? row : row * s.num_splits + split;
        for (const Tier tier : {Tier::kT0, declared ? Tier::kT2 : Tier::kT1, Tier::kT2p}) {
          const Bound& radii = radii_of(r->tiers, tier);
          if (radii.empty()) continue;
          const bool moved = tier == Tier::kT2 || tier == Tier::kT2p;
          const Bound& shift = moved ? r->tiers.p_shift : r->tiers.q_shift;
          where_ = ", lse, row " + std::to_string(row) + ", split " + std::to_string(split);
          judge(tier, split < 0 ? radii.lse[part] : radii.partial_lse[part],
                at(split < 0 ? shift.lse : shift.partial_lse, part), same.lse(tier, split),
                exact.lse(tier, split));
          for (const int column : s.columns) {
            where_ = ", column " + std::to_string(column) + ", row " + std::to_string(row) +
                     ", split " + std::to_string(split);
            const std::int64_t place = part * kDV + column;
            judge(tier, split < 0 ? radii.o[place] : radii.partial_o[place],
                  at(split < 0 ? shift.o : shift.partial_o, place), same.o(tier, split, column),
                  exact.o(tier, split, column));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bounds, TwoSided, testing::ValuesIn(bound_scenarios()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace attest
