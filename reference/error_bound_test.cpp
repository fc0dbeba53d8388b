#include "reference/error_bound.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <ostream>

#include "harness/core/formats.hpp"
#include "reference/model/kernel_model.hpp"
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

struct Ratios {
  double o = 0, lse = 0, partial_o = 0, partial_lse = 0;
};

double ratio(double actual, double expected, double bound) {
  return std::fabs(actual - expected) / bound;
}

// The model stores [token, split, head], the reference [token, head, split].
void worst_of_partials(const Problem& problem, const Contract& kept, int num_splits,
                       std::int64_t row, const Reference& r, const Output& output, Ratios& worst) {
  const bool bf16 = kept.arithmetic.bf16_partials;
  for (int split = 0; split < num_splits; ++split) {
    const std::int64_t part = row * num_splits + split;
    if (!std::isfinite(r.expected.partial_lse[part])) continue;
    const std::int64_t stored =
        (row / problem.h_q * num_splits + split) * problem.h_q + row % problem.h_q;
    worst.partial_lse = std::max(worst.partial_lse,
                                 ratio(std::bit_cast<float>(output.partial_lse[stored]),
                                       r.expected.partial_lse[part], r.tiers.t0.partial_lse[part]));
    for (int d = 0; d < kDV; ++d) {
      const std::uint32_t bits = output.partial_o[stored * kDV + d];
      const double expected = r.expected.partial_o[part * kDV + d];
      const double bound = r.tiers.t0.partial_o[part * kDV + d];
      const double value =
          bf16 ? decode_bf16(static_cast<std::uint16_t>(bits)) : std::bit_cast<float>(bits);
      const double rounding = bf16 ? half_ulp_bf16(std::fabs(expected) + bound) : 0;
      worst.partial_o = std::max(worst.partial_o, ratio(value, expected, bound + rounding));
    }
  }
}

Ratios worst_ratios(const Problem& problem, Family family, const Contract& contract,
                    const Contract& kept, int num_splits) {
  auto inputs = small_inputs(problem, family, 21);
  auto r = reference(problem, *inputs, contract, num_splits, {});
  EXPECT_TRUE(inputs.ok() && r.ok());
  Ratios worst;
  auto kernel = model::run_model(problem, *inputs, kept, {.num_splits = num_splits});
  EXPECT_TRUE(kernel.ok());
  const Bound& bound = r->tiers.t0;
  const auto& o = r->expected.o;
  for (std::size_t at = 0; at < o.size(); ++at)
    worst.o = std::max(worst.o, ratio(kernel->o_fp32[at], o[at], bound.o[at]));
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    worst.lse = std::max(worst.lse, ratio(std::bit_cast<float>(kernel->output.lse[row]),
                                          r->expected.lse[row], bound.lse[row]));
    if (num_splits > 1)
      worst_of_partials(problem, kept, num_splits, row, *r, kernel->output, worst);
  }
  return worst;
}

class OfEachArithmetic : public testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(ErrorBound, OfEachArithmetic, testing::ValuesIn(kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(OfEachArithmetic, HoldsForAKernelThatKeepsItAndIsNotIdle) {
  Contract contract;
  contract.arithmetic = GetParam().arithmetic;
  Ratios most;
  for (Family family : kFamilies) {
    for (int s_kv : {1, 2, 63, 65, 200, 1025}) {
      for (int num_splits : {1, 3, 16}) {
        Problem problem;
        problem.h_q = 2;
        problem.s_kv = {s_kv};
        const Ratios r = worst_ratios(problem, family, contract, contract, num_splits);
        SCOPED_TRACE(std::string(name_of(family)) + ", s_kv " + std::to_string(s_kv) + ", splits " +
                     std::to_string(num_splits));
        EXPECT_LE(r.o, 1);
        EXPECT_LE(r.lse, 1);
        EXPECT_LE(r.partial_o, 1);
        EXPECT_LE(r.partial_lse, 1);
        most.o = std::max(most.o, r.o);
        most.lse = std::max(most.lse, r.lse);
        most.partial_o = std::max(most.partial_o, r.partial_o);
        most.partial_lse = std::max(most.partial_lse, r.partial_lse);
      }
    }
  }
  EXPECT_GT(most.o, 0.05);
  EXPECT_GT(most.partial_o, 0.05);
  // The worst case of a dot product of 576 needs all roundings of one sign; random ones come to its
  // square root.
  EXPECT_GT(most.lse, 0.005);
  EXPECT_GT(most.partial_lse, 0.005);
}

TEST(ErrorBound, IsBrokenByAKernelThatRoundsPWorseThanDeclared) {
  Problem problem;
  problem.h_q = 2;
  problem.s_kv = {3};  // few tokens: the rounding of one is not averaged away
  Contract declared, truncates, fp8;
  declared.arithmetic = on(kGroups, {});
  truncates.arithmetic = on(kGroups, {.p_truncates = true});
  fp8.arithmetic = on(kGroups, {.p_bits = 4, .p_min_exponent = -6});
  double most_truncates = 0, most_fp8 = 0;
  for (Family family : kFamilies) {
    most_truncates =
        std::max(most_truncates, worst_ratios(problem, family, declared, truncates, 1).o);
    most_fp8 = std::max(most_fp8, worst_ratios(problem, family, declared, fp8, 1).o);
  }
  EXPECT_GT(most_truncates, 1);
  EXPECT_GT(most_fp8, 4);
}

double total(const std::vector<BoundTerm>& terms) {
  return std::accumulate(terms.begin(), terms.end(), 0.0,
                         [](double sum, const BoundTerm& t) { return sum + t.value; });
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
      for (int split = -1; split < num_splits; ++split) {
        const std::int64_t part = row * num_splits + split;
        const double fast_lse = split < 0 ? r->tiers.t0.lse[row] : r->tiers.t0.partial_lse[part];
        const double slow_lse =
            total(explain_lse(problem, *inputs, contract, num_splits, row, split));
        SCOPED_TRACE(std::string(name_of(family)) + ", row " + std::to_string(row) + ", split " +
                     std::to_string(split));
        ASSERT_EQ(fast_lse == 0, slow_lse == 0);  // a split that shows the row nothing
        if (fast_lse == 0) continue;
        ASSERT_GE(fast_lse, slow_lse * (1 - 1e-6));
        most_lse = std::max(most_lse, fast_lse / slow_lse);
        for (int d : {0, 100, 511}) {
          const double fast =
              split < 0 ? r->tiers.t0.o[row * kDV + d] : r->tiers.t0.partial_o[part * kDV + d];
          const double slow =
              total(explain_o(problem, *inputs, contract, num_splits, row, split, d));
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
  EXPECT_EQ(most_rescales(rising, 4, 1, 0, 1), 3);
  EXPECT_EQ(most_rescales(falling, 4, 1, 0, 1), 0);
  EXPECT_EQ(most_rescales(level, 4, 1, 0, 1), 0);
  EXPECT_EQ(most_rescales(level, 4, 1, 1e-6, 1), 3);  // rounding may order equal scores either way
  const double rising_in_one_wave[] = {9, 1, 8, 2, 7, 3};
  EXPECT_EQ(most_rescales(rising_in_one_wave, 6, 1, 0, 1), 0);
  EXPECT_EQ(most_rescales(rising_in_one_wave, 6, 1, 0, 2), 2);
}

TEST(ErrorBound, NamesRoundingOfPAsTheLargestTermOfOrdinaryData) {
  Problem problem;
  problem.s_kv = {300};
  auto inputs = small_inputs(problem, Family::kNormal, 25);
  ASSERT_TRUE(inputs.ok());
  const auto terms = explain_o(problem, *inputs, Contract{}, 2, 1, -1, 7);
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
