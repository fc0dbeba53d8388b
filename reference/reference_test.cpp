#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/core/formats.hpp"
#include "reference/online_softmax.hpp"
#include "reference/oracle.hpp"
#include "reference/small_inputs.hpp"

namespace attest {
namespace {

// The bound of a kernel that works as the fp64 references do, but in fp32: times 2^-29 it is
// theirs.
Contract fp64_as_fp32() {
  Contract contract;
  contract.arithmetic.matrix_unit = MatrixUnit::kSequentialFma;
  contract.arithmetic.p_bits = 24;
  contract.arithmetic.exp_ulp = contract.arithmetic.log_ulp = 2;
  return contract;
}
constexpr double kOwn = 0x1p-29;

Reference run(const Problem& problem, const Inputs& inputs, const Contract& contract,
              int num_splits, int threads = 1) {
  auto result = reference(problem, inputs, contract, num_splits, {.threads = threads});
  EXPECT_TRUE(result.ok());
  return std::move(*result);
}

Inputs make(const Problem& problem, Family family, std::uint64_t seed) {
  auto inputs = small_inputs(problem, family, seed);
  EXPECT_TRUE(inputs.ok());
  return std::move(*inputs);
}

// Both roundings to double: the oracle's and its own last.
double slack(double value) { return 0x1p-52 * std::fabs(value); }

void expect_is(const RowResult<double>& exact, const double* o, const float* bound_o, double lse,
               float bound_lse) {
  for (int d = 0; d < kDV; ++d) {
    ASSERT_LE(std::fabs(o[d] - exact.o[d]), kOwn * bound_o[d] + slack(exact.o[d]))
        << "column " << d;
  }
  if (std::isinf(exact.lse)) {
    ASSERT_EQ(lse, exact.lse);
  } else {
    ASSERT_LE(std::fabs(lse - exact.lse), kOwn * bound_lse + slack(exact.lse));
  }
}

class OfEachFamily : public testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(Reference, OfEachFamily, testing::ValuesIn(kFamilies),
                         [](const auto& info) {
                           std::string name = name_of(info.param);
                           std::erase(name, ' ');
                           return name;
                         });

TEST_P(OfEachFamily, IsTheFiftyDigitOracleWithinItsOwnError) {
  Problem problem;
  problem.h_q = 2;
  problem.s_kv = {1, 75, 2, 3, 0};
  problem.s_q = {1, 2, 3, 1, 1};  // the third sees nothing with its first token
  problem.page_size = 16;
  const Inputs inputs = make(problem, GetParam(), 3);
  const Reference r = run(problem, inputs, fp64_as_fp32(), 1);
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    SCOPED_TRACE(row);
    expect_is(oracle(problem, inputs, row, {0, kMaxContext}), &r.expected.o[row * kDV],
              &r.tiers.t0.o[row * kDV], r.expected.lse[row], r.tiers.t0.lse[row]);
  }
}

TEST_P(OfEachFamily, StreamingSoftmaxIsTheOracleWithinTheSameError) {
  Problem problem;
  problem.h_q = 1;
  problem.s_kv = {90};
  const Inputs inputs = make(problem, GetParam(), 5);
  const Reference r = run(problem, inputs, fp64_as_fp32(), 1);
  const auto exact = oracle(problem, inputs, 0, {0, 90});
  const auto streamed = online_softmax<double>(problem, inputs, 0, {0, 90});
  expect_is(exact, streamed.o.data(), r.tiers.t0.o.data(), streamed.lse, r.tiers.t0.lse[0]);
  const auto single = online_softmax<float>(problem, inputs, 0, {0, 90});
  for (int d = 0; d < kDV; ++d) ASSERT_LE(std::fabs(single.o[d] - exact.o[d]), r.tiers.t0.o[d]);
  ASSERT_LE(std::fabs(single.lse - exact.lse), r.tiers.t0.lse[0]);
}

TEST_P(OfEachFamily, MergedSplitsAndEachSplitAreTheStreamingSoftmaxOfTheirTokens) {
  Problem problem;
  problem.h_q = 12;
  problem.s_kv = {1030, 130, 0, 5, 2200};
  problem.s_q = {3, 1, 2, 8, 2};
  problem.page_size = 64;
  problem.q_pad = 8;
  problem.kv_indptr_start = 3;
  const int num_splits = 5;
  const Inputs inputs = make(problem, GetParam(), 7);
  const Contract contract = fp64_as_fp32();
  const Reference r = run(problem, inputs, contract, num_splits, 2);
  for (std::int64_t row = 0; row < problem.rows(); row += 5) {
    SCOPED_TRACE(row);
    expect_is(online_softmax<double>(problem, inputs, row, {0, kMaxContext}),
              &r.expected.o[row * kDV], &r.tiers.t0.o[row * kDV], r.expected.lse[row],
              r.tiers.t0.lse[row]);
    const auto splits = live_splits(
        contract.split_rule, problem.s_kv[RowView(problem, inputs, row).sequence()], num_splits);
    for (int s = 0; s < num_splits; ++s) {
      SCOPED_TRACE(s);
      const TokenRange tokens = s < static_cast<int>(splits.size()) ? splits[s] : TokenRange{};
      const std::int64_t part = row * num_splits + s;
      expect_is(online_softmax<double>(problem, inputs, row, tokens),
                &r.expected.partial_o[part * kDV], &r.tiers.t0.partial_o[part * kDV],
                r.expected.partial_lse[part], r.tiers.t0.partial_lse[part]);
    }
  }
}

TEST_P(OfEachFamily, EveryBoundIsFiniteAndSeesMoreThanZero) {
  Problem problem;
  problem.s_kv = {700};
  const Reference r = run(problem, make(problem, GetParam(), 9), Contract{}, 3);
  for (float bound : r.tiers.t0.o) ASSERT_TRUE(bound > 0 && std::isfinite(bound));
  for (float bound : r.tiers.t0.partial_o) ASSERT_TRUE(bound > 0 && std::isfinite(bound));
  for (float bound : r.tiers.t0.lse) ASSERT_TRUE(bound > 0 && std::isfinite(bound));
}

TEST(Reference, OracleOfFiftyDigitsGivesKnownValues) {
  Problem problem;
  problem.h_q = 1;
  problem.s_kv = {2};
  problem.sm_scale = 1;
  Inputs inputs = make(problem, Family::kNormal, 1);
  auto* q = inputs.q.data<std::uint16_t>();
  for (int d = 0; d < kDQk; ++d) q[d] = encode_bf16(d == kDV ? 1 : 0);
  for (int j = 0; j < 2; ++j) {
    auto* k = inputs.kv.data<std::uint16_t>() + inputs.kv_indices[j] * kDQk;
    for (int d = 0; d < kDQk; ++d) k[d] = encode_bf16(d == kDV ? j : d == 0 ? 4 * j : 1);
  }
  const auto row = oracle(problem, inputs, 0, {0, 2});  // logits 0 and 1, v 0 and 4
  EXPECT_DOUBLE_EQ(row.lse, std::log(1 + std::exp(1.0)));
  EXPECT_DOUBLE_EQ(row.o[0], 4 * std::exp(1.0) / (1 + std::exp(1.0)));
  EXPECT_DOUBLE_EQ(row.o[1], 1);
}

TEST(Reference, DoesNotDependOnThreads) {
  Problem problem;
  problem.s_kv = {3000, 17};
  problem.s_q = {2, 1};
  const Inputs inputs = make(problem, Family::kNormal, 11);
  const Reference one = run(problem, inputs, Contract{}, 2, 1);
  const Reference many = run(problem, inputs, Contract{}, 2, 5);
  EXPECT_EQ(one.expected.o, many.expected.o);
  EXPECT_EQ(one.expected.partial_lse, many.expected.partial_lse);
  EXPECT_EQ(one.tiers.t0.o, many.tiers.t0.o);
  EXPECT_EQ(one.tiers.t0.lse, many.tiers.t0.lse);
}

TEST(Reference, ARowThatSeesNoTokenIsZerosAndMinusInf) {
  Problem problem;
  problem.s_kv = {0, 2};
  problem.s_q = {1, 4};
  const Reference r = run(problem, make(problem, Family::kNormal, 13), Contract{}, 4);
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    const bool empty = row < 3 * problem.h_q;  // the empty sequence, and two of four query tokens
    EXPECT_EQ(std::isinf(r.expected.lse[row]), empty) << row;
    EXPECT_EQ(r.expected.o[row * kDV] == 0, empty) << row;
    EXPECT_EQ(r.tiers.t0.o[row * kDV] == 0, empty) << row;
  }
}

bool all_nan(const std::vector<double>& o, std::int64_t row) {
  return std::all_of(&o[row * kDV], &o[row * kDV] + kDV, [](double v) { return std::isnan(v); });
}
bool all_finite(const std::vector<double>& o, std::int64_t row) {
  return std::all_of(&o[row * kDV], &o[row * kDV] + kDV, [](double v) { return std::isfinite(v); });
}

TEST(Reference, NanInATokenReachesExactlyTheRowsThatSeeIt) {
  Problem problem;
  problem.h_q = 3;
  problem.s_kv = {200, 50};
  problem.s_q = {4, 1};
  Inputs inputs = make(problem, Family::kNormal, 15);
  inputs.kv.data<std::uint16_t>()[inputs.kv_indices[198] * kDQk + 40] = 0x7FC0;  // last but one
  const Reference r = run(problem, inputs, Contract{}, 2);
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    const std::int64_t query = row / problem.h_q;
    const bool sees = query == 2 || query == 3;
    EXPECT_EQ(all_nan(r.expected.o, row), sees) << row;
    EXPECT_EQ(all_finite(r.expected.o, row), !sees) << row;
    EXPECT_EQ(std::isnan(r.expected.lse[row]), sees) << row;
    EXPECT_TRUE(sees || std::isfinite(r.tiers.t0.o[row * kDV])) << row;
    EXPECT_TRUE(sees || r.tiers.t0.lse[row] < 1e-3) << row;
  }
}

TEST(Reference, NanInAQueryReachesItsRowAlone) {
  Problem problem;
  problem.s_kv = {100};
  Inputs inputs = make(problem, Family::kNormal, 17);
  inputs.q.data<std::uint16_t>()[5 * kDQk + 570] = 0xFFC0;
  const Reference r = run(problem, inputs, Contract{}, 1);
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    EXPECT_EQ(all_nan(r.expected.o, row), row == 5) << row;
    EXPECT_EQ(all_finite(r.expected.o, row), row != 5) << row;
  }
}

TEST(Reference, InfiniteVOfATokenOutOfSightLeavesTheBoundFinite) {
  Problem problem;
  problem.h_q = 2;
  problem.s_kv = {20};
  problem.s_q = {2};
  Inputs inputs = make(problem, Family::kNormal, 19);
  inputs.kv.data<std::uint16_t>()[inputs.kv_indices[19] * kDQk + 3] = 0x7F80;  // the last token's
  const Reference r = run(problem, inputs, Contract{}, 1);
  EXPECT_TRUE(std::isfinite(r.tiers.t0.o[3]));
  EXPECT_TRUE(all_finite(r.expected.o, 0));
  EXPECT_FALSE(std::isfinite(r.expected.o[2 * kDV + 3]));
}

Problem fp8_problem(float q_scale, float kv_scale) {
  Problem p;
  p.h_q = 3;
  p.s_kv = {70, 0, 300};
  p.s_q = {1, 1, 2};
  p.page_size = 16;
  p.q_pad = 8;
  p.q_type = p.kv_type = Storage::kFp8;
  p.q_scale = q_scale;
  p.kv_scale = kv_scale;
  return p;
}

// The same numbers in bf16, which holds them where the descale factor is a power of two.
Inputs as_bf16(const Problem& p, const Inputs& fp8) {
  Problem in_bf16 = p;
  in_bf16.q_type = in_bf16.kv_type = Storage::kBf16;
  in_bf16.q_scale = in_bf16.kv_scale = 1;
  Inputs inputs = make(in_bf16, Family::kNormal, 3);
  const auto convert = [](const Elements& from, float scale, PoisonedMemory& to) {
    for (std::size_t i = 0; i < to.size() / 2; ++i)
      to.data<std::uint16_t>()[i] = encode_bf16(from[static_cast<std::int64_t>(i)] * scale);
  };
  convert(fp8.q_elements(), p.q_scale, inputs.q);
  convert(fp8.kv_elements(), p.kv_scale, inputs.kv);
  return inputs;
}

TEST(Reference, OfFp8IsThatOfItsNumbersInBf16BitForBitWhereThatHoldsThem) {
  const Problem p = fp8_problem(0.25f, 2);
  const Inputs fp8 = make(p, Family::kNormal, 3);
  const Inputs bf16 = as_bf16(p, fp8);
  Problem in_bf16 = p;
  in_bf16.q_type = in_bf16.kv_type = Storage::kBf16;
  in_bf16.q_scale = in_bf16.kv_scale = 1;
  for (const bool declared : {false, true}) {
    Contract contract;
    contract.arithmetic = {.matrix_unit = MatrixUnit::kCdna3Fp8,
                           .p_bits = 4,
                           .p_min_exponent = -7,
                           .p_largest = 240,
                           .p_scale = 128,
                           .schedule_declared = declared};
    std::vector<std::uint16_t> observed(
        p.rows() * kDV);  // nearly what it should be, so that scores say something
    ReferenceOptions options;
    if (declared) {
      const auto plain = reference(p, fp8, contract, 3, {});
      for (std::size_t i = 0; i < observed.size(); ++i) {
        observed[i] = encode_bf16(plain->expected.o[i] * (i % 3 == 0 ? 1.01 : 1));
      }
      options.observed = {observed};
    }
    const auto a = reference(p, fp8, contract, 3, options);
    const auto b = reference(in_bf16, bf16, contract, 3, options);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->expected.o, b->expected.o);
    EXPECT_EQ(a->expected.lse, b->expected.lse);
    EXPECT_EQ(a->expected.partial_o, b->expected.partial_o);
    for (const auto tier : {&Tiers::t0, &Tiers::t1, &Tiers::t2, &Tiers::t2p, &Tiers::p_shift}) {
      EXPECT_EQ((a->tiers.*tier).o, (b->tiers.*tier).o);
      EXPECT_EQ((a->tiers.*tier).lse, (b->tiers.*tier).lse);
      EXPECT_EQ((a->tiers.*tier).partial_o, (b->tiers.*tier).partial_o);
    }
    EXPECT_EQ(a->temperature_o, b->temperature_o);
    ASSERT_EQ(a->scores.size(), b->scores.size());
    for (std::size_t i = 0; i < a->scores.size(); ++i) {
      for (std::size_t k = 0; k < a->scores[i].size(); ++k)
        EXPECT_EQ(a->scores[i][k].z, b->scores[i][k].z) << a->scores[i][k].filter;
    }
    for (std::size_t row = 0; row < a->rows.size(); ++row) {
      EXPECT_EQ(a->rows[row].condition, b->rows[row].condition);
    }
  }
}

TEST(Reference, OfFp8IsTheFormulaOfTheDescaledNumbers) {
  for (const auto& [q_scale, kv_scale] : {std::pair{0.7f, 3.0f}, {1e-3f, 1e-3f}, {5.0f, 0.1f}}) {
    Problem p = fp8_problem(q_scale, kv_scale);
    if (kv_scale == 3) p.q_type = Storage::kBf16, p.q_scale = 1;
    const Inputs inputs = make(p, Family::kNormal, 3);
    const auto r = reference(p, inputs, {}, 1, {.detail = Detail::kPlain});
    ASSERT_TRUE(r.ok());
    for (const std::int64_t row : {0, 4, 6, 11}) {
      const RowResult<double> exact = oracle(p, inputs, row, {0, kMaxContext});
      const RowResult<double> slow = online_softmax<double>(p, inputs, row, {0, kMaxContext});
      if (row == 4) {  // of the sequence without a token
        EXPECT_EQ(r->expected.lse[row], exact.lse);
        continue;
      }
      // Source: fp64, and 300 tokens.
      EXPECT_NEAR(r->expected.lse[row], exact.lse, 1e-12);
      EXPECT_NEAR(slow.lse, exact.lse, 1e-12);
      for (int d = 0; d < kDV; ++d) {
        ASSERT_NEAR(r->expected.o[row * kDV + d], exact.o[d], 1e-12 * kv_scale);
        ASSERT_NEAR(slow.o[d], exact.o[d], 1e-12 * kv_scale);
      }
    }
  }
}

TEST(Reference, SaysWhereItCanFormNoBoundOfFp8) {
  const Problem p = fp8_problem(1, 1);
  const Inputs inputs = make(p, Family::kNormal, 3);
  Contract contract;
  contract.arithmetic.scaled_q = true;
  const auto r = reference(p, inputs, contract, 1, {});
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.trouble().text.find("scaled_q"), std::string::npos);
}

}  // namespace
}  // namespace attest
