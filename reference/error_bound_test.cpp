#include "reference/error_bound.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <ostream>

#include "harness/core/formats.hpp"
#include "reference/explain.hpp"
#include "reference/model/kernel_model.hpp"
#include "reference/model/ratios.hpp"
#include "reference/reference.hpp"
#include "reference/small_inputs.hpp"

namespace attest {
namespace {

Arithmetic on(MatrixUnit unit, Arithmetic a) {
  a.matrix_unit = unit;
  return a;
}

struct Variant {
  const char* name;
  Arithmetic arithmetic;
};
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
void PrintTo(const Variant& variant, std::ostream* os) { *os << variant.name; }
constexpr MatrixUnit kGroups = MatrixUnit::kCdna3Bf16;
const Variant kVariants[] = {
    {"Bf16P", on(kGroups, {})},
    {"Bf16POfSequentialFma", on(MatrixUnit::kSequentialFma, {})},
    {"Bf16PFourWavesOfSixteen", on(kGroups, {.tile_tokens = 16, .waves_per_split = 4})},
    {"Bf16Partials", on(kGroups, {.bf16_partials = true, .tile_tokens = 16, .waves_per_split = 4})},
    {"TruncatedP", on(kGroups, {.p_truncates = true})},
    {"DenominatorOfRoundedP", on(kGroups, {.l_from_rounded_p = true})},
    {"Fp32P", on(kGroups, {.p_bits = 24})},
    {"Fp8P", on(kGroups, {.p_bits = 4, .p_min_exponent = -6})},
};

class OfEachArithmetic : public testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(ErrorBound, OfEachArithmetic, testing::ValuesIn(kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(OfEachArithmetic, EveryTierHoldsForAKernelThatKeepsItAndIsNotIdle) {
  Contract contract;
  contract.arithmetic = GetParam().arithmetic;
  OfTiers most;
  for (Family family : kFamilies) {
    for (int s_kv : {1, 63, 200, 1025}) {
      for (int num_splits : {1, 3, 16}) {
        Problem problem;
        problem.h_q = 2;
        problem.s_kv = {s_kv};
        const OfTiers r = worst_ratios(problem, family, contract, contract, num_splits);
        for (const Tier tier : {Tier::kT0, Tier::kT1, Tier::kT2, Tier::kT2p}) {
          const Ratios& of_tier = r[static_cast<int>(tier)];
          EXPECT_LE(of_tier.largest(), 1)
              << to_string(tier) << " " << name_of(family) << ", s_kv " << s_kv << ", splits "
              << num_splits << ": " << of_tier.o << " " << of_tier.lse << " " << of_tier.partial_o
              << " " << of_tier.partial_lse;
          most[static_cast<int>(tier)].take(of_tier);
        }
      }
    }
  }
  for (const Ratios& of_tier : most) {
    // Truncation takes the token that is the max a whole spacing down where another may have taken
    // its place: T2 allows for it, and it seldom happens.
    const double idle = contract.arithmetic.p_truncates ? 0.02 : 0.05;
    EXPECT_GT(of_tier.o, idle);
    EXPECT_GT(of_tier.partial_o, idle);
    // The worst case of a dot product of 576 needs all roundings of one sign; random ones come to
    // its square root.
    EXPECT_GT(of_tier.lse, 0.003);
    EXPECT_GT(of_tier.partial_lse, 0.003);
  }
}

TEST(ErrorBound, EveryTierIsBrokenByAKernelThatRoundsPWorseThanDeclared) {
  Problem problem;
  problem.h_q = 2;
  problem.s_kv = {3};  // few tokens: the rounding of one is not averaged away
  Contract declared, truncates, fp8;
  declared.arithmetic = on(kGroups, {});
  truncates.arithmetic = on(kGroups, {.p_truncates = true});
  fp8.arithmetic = on(kGroups, {.p_bits = 4, .p_min_exponent = -6});
  OfTiers most_truncates, most_fp8;
  for (Family family : kFamilies) {
    const OfTiers t = worst_ratios(problem, family, declared, truncates, 1);
    const OfTiers f = worst_ratios(problem, family, declared, fp8, 1);
    for (std::size_t tier = 0; tier < t.size(); ++tier) {
      most_truncates[tier].take(t[tier]);
      most_fp8[tier].take(f[tier]);
    }
  }
  for (std::size_t tier = 0; tier < most_fp8.size(); ++tier) {
    EXPECT_GT(most_truncates[tier].o, 1) << to_string(static_cast<Tier>(tier));
    EXPECT_GT(most_fp8[tier].o, 4) << to_string(static_cast<Tier>(tier));
  }
}

// Inputs of one sequence and head whose token j has the logit x(j), to 2^-16 of it, and a dot
// product whose products cancel but for that and sum to `spread(j)` more in magnitude; V ~ N(0, 1).
Inputs with_logits(const Problem& problem, const std::function<double(int)>& x,
                   const std::function<double(int)>& spread) {
  Inputs inputs = std::move(*small_inputs(problem, Family::kNormal, 5));
  constexpr double kQ = 16;
  auto* q = inputs.q.data<std::uint16_t>();
  std::fill_n(q, kDQk, std::uint16_t{0});
  for (int d = kDV; d < kDV + 4; ++d) q[d] = encode_bf16(kQ);
  for (int j = 0; j < problem.s_kv[0]; ++j) {
    const std::int64_t page = inputs.kv_indices[inputs.kv_indptr[0] + j / problem.page_size];
    auto* k = inputs.kv.data<std::uint16_t>() +
              (page * problem.page_size + j % problem.page_size) * kDQk + kDV;
    const double unit = kQ * problem.sm_scale, high = decode_bf16(encode_bf16(x(j) / unit));
    const double pair = spread(j) / unit / 2;
    for (const double value : {high, x(j) / unit - high, pair, -pair}) *k++ = encode_bf16(value);
  }
  return inputs;
}

// Largest error / bound of the lse over tiers, for a kernel that keeps `a`.
double largest_lse_ratio(Arithmetic a, int tokens, const std::function<double(int)>& x,
                         const std::function<double(int)>& spread) {
  Problem problem;
  problem.h_q = 1;
  problem.s_kv = {tokens};
  const Inputs inputs = with_logits(problem, x, spread);
  double largest = 0;
  for (const bool declared : {false, true}) {
    a.schedule_declared = declared;
    Contract contract;
    contract.arithmetic = a;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      auto kernel = model::run_model(problem, inputs, contract, {.seed = seed});
      auto r = reference(problem, inputs, contract, 1, {});
      EXPECT_TRUE(kernel.ok() && r.ok());
      for (const Gate& gate : gates_of(r->tiers))
        largest = std::max(largest, ratios_of(gate, problem, r->expected, *kernel, false).lse);
    }
  }
  return largest;
}

// All P but one are flushed: the denominator is a twentieth of what it should be.
TEST(ErrorBound, HoldsWhereADenominatorOfRoundedPLosesAllButOneP) {
  const double ratio = largest_lse_ratio(
      on(kGroups, {.p_bits = 4, .p_min_exponent = -6, .p_largest = 448, .l_from_rounded_p = true}),
      24000, [](int j) { return j == 0 ? 0 : -7; }, [](int) { return 0; });
  EXPECT_LE(ratio, 1);
  EXPECT_GT(ratio, 0.3);
}

// P = 1/2 stays 1/2 whatever its score's error: the sum has the error of the max, 1.5 %.
TEST(ErrorBound, HoldsWhereARoundedPKeepsTheErrorOfTheMaxInForce) {
  const double ratio = largest_lse_ratio(
      on(kGroups,
         {.p_bits = 4, .p_min_exponent = -6, .l_from_rounded_p = true, .k_relative = 0x1p-8}),
      50, [](int j) { return j == 0 ? 0 : -kLn2; }, [](int j) { return j == 0 ? 4 : 0; });
  EXPECT_LE(ratio, 1);
  EXPECT_GT(ratio, 0.1);
}

// 2,048 tiles each add 1.49 spacings of the sum, and each time half a spacing is lost.
TEST(ErrorBound, HoldsWhereEqualSummandsOfTheDenominatorAreRoundedOneWay) {
  const double ratio = largest_lse_ratio(
      on(kGroups, {.tile_tokens = 16}), 32768,
      [](int j) { return j == 0 ? 0 : std::log(1.49 * 0x1p-23 / 16); }, [](int) { return 0; });
  EXPECT_LE(ratio, 1);
  EXPECT_GT(ratio, 0.5);
}

// Tile after tile has one max, a little above the last one's, and 63 scores at which P lies almost
// half a spacing above 1/2: no two tiles have a score in common, but all P are rounded alike. With
// V > 0 their errors add up.
TEST(ErrorBound, HoldsWhereTilesRoundPAlikeAboutMaximaThatDrift) {
  Problem problem;
  problem.h_q = 1;
  problem.s_kv = {64 * 64};
  const double low = std::log(0.5 * (1 + 0.97 * 0x1p-8));
  Inputs inputs = with_logits(
      problem, [&](int j) { return (j % 64 == 0 ? 0 : low) + 0.011 * (j / 64); },
      [](int) { return 0; });
  for (std::int64_t at = 0; at < inputs.num_pages * problem.page_size; ++at) {
    auto* v = inputs.kv.data<std::uint16_t>() + at * kDQk;
    for (int d = 0; d < kDV; ++d) v[d] &= 0x7FFF;  // V = |V|
  }
  Contract contract;
  contract.arithmetic = on(kGroups, {});
  auto kernel = model::run_model(problem, inputs, contract, {});
  auto r = reference(problem, inputs, contract, 1, {});
  ASSERT_TRUE(kernel.ok() && r.ok());
  const Gate t1{Tier::kT1, &r->tiers.t1};
  const double ratio = ratios_of(t1, problem, r->expected, *kernel, false).o;
  EXPECT_LE(ratio, 1);
  EXPECT_GT(ratio, 0.3);  // half a spacing of every P
}

// e^d of an error d of two nats is not off by d, and its mean is far from 1.
TEST(ErrorBound, HoldsWhereErrorsOfTheLogitsAreNatsWide) {
  const double ratio = largest_lse_ratio(
      on(kGroups, {.k_relative = 0x1p-8}), 8000, [](int j) { return 1e-4 * j; },
      [](int j) { return 1500 + 0.01 * j; });
  EXPECT_LE(ratio, 1);
  EXPECT_GT(ratio, 0.1);
}

TEST_P(OfEachArithmetic, FastBoundIsAtLeastTheExplainedOneAndAtMostThreeTimesWhereVIsNotOneSigned) {
  Contract contract;
  contract.arithmetic = GetParam().arithmetic;
  double most_o = 0, most_lse = 0;
  for (Family family : kFamilies) {
    Problem problem;
    problem.h_q = 3;
    problem.s_kv = {70, 400};
    problem.s_q = {1, 2};
    const int num_splits = 3;
    // One pass has |v| + |o| for |v - o|, which costs where v is near o and no rounding of P
    // multiplies |v| itself.
    const bool one_signed =
        (contract.arithmetic.p_bits == 24 || contract.arithmetic.l_from_rounded_p) &&
        (family == Family::kPositiveV || family == Family::kCancelling ||
         family == Family::kHugeLogits);
    auto inputs = small_inputs(problem, family, 23);
    ASSERT_TRUE(inputs.ok());
    auto r = reference(problem, *inputs, contract, num_splits, {});
    ASSERT_TRUE(r.ok());
    for (std::int64_t row = 0; row < problem.rows(); row += 2) {
      const RowBounds bounds(problem, *inputs, contract, num_splits, row);
      for (int split = -1; split < num_splits; ++split) {
        const std::int64_t part = row * num_splits + split;
        const double fast_lse = split < 0 ? r->tiers.t0.lse[row] : r->tiers.t0.partial_lse[part];
        const double slow_lse = bounds.lse(Tier::kT0, split).radius;
        SCOPED_TRACE(std::string(name_of(family)) + ", row " + std::to_string(row) + ", split " +
                     std::to_string(split));
        ASSERT_EQ(fast_lse == 0, slow_lse == 0);  // a split that shows the row nothing
        if (fast_lse == 0) continue;
        ASSERT_GE(fast_lse, slow_lse * (1 - 1e-6));
        most_lse = std::max(most_lse, fast_lse / slow_lse);
        for (int d : {0, 100, 511}) {
          const double fast =
              split < 0 ? r->tiers.t0.o[row * kDV + d] : r->tiers.t0.partial_o[part * kDV + d];
          const double slow = bounds.o(Tier::kT0, split, d).radius;
          ASSERT_GE(fast, slow * (1 - 1e-6)) << d;
          if (!one_signed) most_o = std::max(most_o, fast / slow);
        }
      }
    }
  }
  EXPECT_LE(most_o, 3);
  EXPECT_LE(most_lse, 3);
}

TEST(ErrorBound, StepsAreThoseOfThePublishedModelsAtTheHeadDimension) {
  EXPECT_EQ(accumulation_steps(MatrixUnit::kSequentialFma, kDQk), 576);
  EXPECT_EQ(accumulation_steps(MatrixUnit::kCdna2Bf16, kDQk), 146);
  EXPECT_NEAR(accumulation_steps(MatrixUnit::kCdna3Bf16, kDQk), 82, 0.3);
  EXPECT_EQ(accumulation_steps(MatrixUnit::kHopperBf16, kDQk), 90);
}

TEST(ErrorBound, CountsATileAsARescaleWhereItsScoresMayExceedAllBefore) {
  const double rising[] = {1, 2, 3, 4}, falling[] = {4, 3, 2, 1}, level[] = {1, 1, 1, 1};
  EXPECT_EQ(most_rescales(rising, 4, 0, 1), 3);
  EXPECT_EQ(most_rescales(falling, 4, 0, 1), 0);
  EXPECT_EQ(most_rescales(level, 4, 0, 1), 0);
  EXPECT_EQ(most_rescales(level, 4, 1e-6, 1), 3);  // rounding may order equal scores either way
  const double rising_in_one_wave[] = {9, 1, 8, 2, 7, 3};
  EXPECT_EQ(most_rescales(rising_in_one_wave, 6, 0, 1), 0);
  EXPECT_EQ(most_rescales(rising_in_one_wave, 6, 0, 2), 2);
}

TEST(ErrorBound, NamesRoundingOfPAsTheLargestTermOfOrdinaryData) {
  Problem problem;
  problem.s_kv = {300};
  auto inputs = small_inputs(problem, Family::kNormal, 25);
  ASSERT_TRUE(inputs.ok());
  const auto terms = RowBounds(problem, *inputs, Contract{}, 2, 1).o(Tier::kT0, -1, 7).terms;
  ASSERT_FALSE(terms.empty());
  EXPECT_EQ(terms[0].name, "P rounded to bf16");
  for (std::size_t i = 1; i < terms.size(); ++i) EXPECT_LE(terms[i].value, terms[i - 1].value);
}

TEST(ErrorBound, AllowsMoreForTheMergeOfBf16PartialsAndNoMoreForThePartials) {
  Problem problem;
  problem.s_kv = {300};
  auto inputs = small_inputs(problem, Family::kNormal, 27);
  ASSERT_TRUE(inputs.ok());
  Contract rounded;
  rounded.arithmetic.bf16_partials = true;
  const auto plain = reference(problem, *inputs, Contract{}, 2, {}),
             stored = reference(problem, *inputs, rounded, 2, {});
  ASSERT_TRUE(plain.ok() && stored.ok());
  EXPECT_GT(stored->tiers.t0.o[5], plain->tiers.t0.o[5]);
  EXPECT_EQ(stored->tiers.t0.partial_o[5], plain->tiers.t0.partial_o[5]);
}

}  // namespace
}  // namespace attest
