#include "reference/streaming_oracle.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "harness/core/formats.hpp"
#include "reference/oracle.hpp"
#include "reference/small_inputs.hpp"

namespace attest {
namespace {

using Big = boost::multiprecision::number<boost::multiprecision::cpp_bin_float_50::backend_type,
                                          boost::multiprecision::et_off>;
// Source: numerics, section 6: an oracle for the reference must leave 20 digits at a condition of
// 1e9; 106 bits leave 1e-31 for a token and a few hundred of those for a row of these lengths.
constexpr double kAgree = 1e-25;
// Source: 5 u^2 = 6e-32 an operation (double_double.hpp), and exp has about ten in sequence.
constexpr double kFunction = 1e-30;

Inputs make(const Problem& problem, Family family, std::uint64_t seed) {
  auto inputs = small_inputs(problem, family, seed);
  EXPECT_TRUE(inputs.ok());
  return std::move(*inputs);
}

double difference(DoubleDouble a, double high, double low) {
  return std::fabs((a - high - low).high);
}

// The largest error of a streamed row: of o over sum a|v|, of lse over max(1, |lse|).
double largest_error(const StreamedRow& row, const OraclePair& exact) {
  if (std::isinf(exact.high.lse)) {
    const bool zeros = std::all_of(row.o.begin(), row.o.end(), [](auto o) { return o.high == 0; });
    return zeros && row.lse.high == exact.high.lse ? 0 : 1;
  }
  double largest =
      difference(row.lse, exact.high.lse, exact.low.lse) / std::max(1.0, std::fabs(exact.high.lse));
  for (int d = 0; d < kDV; ++d) {
    const double error = difference(row.o[d], exact.high.o[d], exact.low.o[d]) / row.magnitude[d];
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

double largest_error(const Problem& problem, const Inputs& inputs, std::int64_t row,
                     TokenRange tokens, const StreamOptions& options = {}) {
  return largest_error(streaming_oracle(problem, inputs, row, tokens, options),
                       oracle_pair(problem, inputs, row, tokens));
}

class StreamingOracleOf : public testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(Oracle, StreamingOracleOf, testing::ValuesIn(kFamilies),
                         [](const auto& info) {
                           std::string name = name_of(info.param);
                           std::erase(name, ' ');
                           return name;
                         });

TEST_P(StreamingOracleOf, AgreesWithFiftyDigitsToTwentyFive) {
  Problem problem;
  problem.h_q = 2;
  problem.s_kv = {1, 75, 2, 0, 128};
  problem.s_q = {1, 2, 3, 1, 1};  // the third sees nothing with its first token
  problem.page_size = 16;
  problem.q_pad = 8;
  problem.kv_indptr_start = 2;
  const Inputs inputs = make(problem, GetParam(), 21);
  for (std::int64_t row = 0; row < problem.rows(); row += 1 + row % 2) {
    EXPECT_LT(largest_error(problem, inputs, row, {0, kMaxContext}), kAgree) << "row " << row;
  }
}

TEST_P(StreamingOracleOf, AgreesOnOneSplitOfMany) {
  Problem problem;
  problem.h_q = 1;
  problem.s_kv = {1000};
  problem.s_q = {2};
  problem.page_size = 64;
  const Inputs inputs = make(problem, GetParam(), 22);
  const auto splits = live_splits(SplitRule{}, 1000, 7);
  for (std::size_t s : {std::size_t{0}, std::size_t{3}, splits.size() - 1}) {
    EXPECT_LT(largest_error(problem, inputs, 0, splits[s]), kAgree) << "split " << s;
  }
}

TEST_P(StreamingOracleOf, DoesNotDependOnWhenItsMaxMoves) {
  Problem problem;
  problem.h_q = 1;
  problem.s_kv = {1000};
  const Inputs inputs = make(problem, GetParam(), 23);
  const StreamedRow one = streaming_oracle(problem, inputs, 0, {0, 1000}, {.block_tokens = 1});
  const StreamedRow many = streaming_oracle(problem, inputs, 0, {0, 1000}, {.block_tokens = 64});
  EXPECT_LT(difference(one.lse, many.lse.high, many.lse.low),
            kAgree * std::max(1.0, std::fabs(one.lse.high)));
  for (int d = 0; d < kDV; ++d) {
    ASSERT_LT(difference(one.o[d], many.o[d].high, many.o[d].low), kAgree * one.magnitude[d]) << d;
  }
}

TEST(StreamingOracle, AgreesOnAThousandTokensInAllSplits) {
  Problem problem;
  problem.h_q = 3;
  problem.s_kv = {70, 1000};
  problem.s_q = {1, 1};
  problem.page_size = 16;
  const Inputs inputs = make(problem, Family::kNormal, 24);
  EXPECT_LT(largest_error(problem, inputs, 4, {0, kMaxContext}), kAgree);
}

TEST(StreamingOracle, AgreesOnFp8WithDescaleFactors) {
  Problem problem;
  problem.h_q = 2;
  problem.s_kv = {1, 130};
  problem.s_q = {1, 2};
  problem.page_size = 16;
  problem.q_pad = 8;
  problem.kv_type = Storage::kFp8;
  problem.kv_scale = 3;
  for (const Storage q_type : {Storage::kBf16, Storage::kFp8}) {
    problem.q_type = q_type;
    problem.q_scale = q_type == Storage::kFp8 ? 0.7f : 1;
    const Inputs inputs = make(problem, Family::kNormal, 25);
    for (std::int64_t row = 0; row < problem.rows(); ++row) {
      EXPECT_LT(largest_error(problem, inputs, row, {0, kMaxContext}), kAgree) << "row " << row;
    }
  }
}

TEST(StreamingOracle, KeepsWhatALogitLosesInFp64) {
  Problem problem;
  problem.h_q = 1;
  problem.s_kv = {20};
  Inputs inputs = make(problem, Family::kNormal, 26);
  const int at[] = {3, 35, 67, 575};  // mostly in one lane of the dot product
  for (int j = 0; j < 20; ++j) {
    auto* k = inputs.kv.data<std::uint16_t>() + std::int64_t{inputs.kv_indices[j]} * kDQk;
    for (int i = 0; i < 4; ++i) k[at[i]] = encode_bf16(i == 0 ? 0x1p50 : i == 2 ? -0x1p50 : j * .3);
  }
  auto* q = inputs.q.data<std::uint16_t>();
  for (int d : at) q[d] = encode_bf16(1);
  // 2^50 = 1e15 of sum |q k| cost 15 of 31 digits, of which fp64 has 16.
  EXPECT_LT(largest_error(problem, inputs, 0, {0, 20}), 1e-14);
  EXPECT_GT(std::fabs(streaming_oracle(problem, inputs, 0, {0, 20}).lse.high), 0.1);
}

// What would the agreement notice? Each mistake is one that such code makes.
struct Mistake {
  Problem problem;
  Inputs inputs;
  OraclePair exact;
};
Mistake mistake_of(Family family) {
  Mistake m;
  m.problem.h_q = 1;
  m.problem.s_kv = {100};
  m.problem.page_size = 16;
  m.inputs = make(m.problem, family, 25);
  m.exact = oracle_pair(m.problem, m.inputs, 0, {0, 100});
  return m;
}

TEST(StreamingOracle, AWrongPageIsNoticed) {
  Mistake m = mistake_of(Family::kNormal);
  m.inputs.kv_indices[3] = m.inputs.kv_indices[2];
  EXPECT_GT(largest_error(streaming_oracle(m.problem, m.inputs, 0, {0, 100}), m.exact), 1e-3);
}

TEST(StreamingOracle, ADroppedTokenIsNoticed) {
  const Mistake m = mistake_of(Family::kNormal);
  EXPECT_GT(largest_error(streaming_oracle(m.problem, m.inputs, 0, {0, 99}), m.exact), 1e-6);
  EXPECT_GT(largest_error(streaming_oracle(m.problem, m.inputs, 0, {1, 100}), m.exact), 1e-6);
}

TEST(StreamingOracle, AMaxThatMovesWithoutARescaleIsNoticed) {
  const Mistake m = mistake_of(Family::kStaircase);
  const StreamOptions wrong = {.skip_rescale = true};
  EXPECT_GT(largest_error(streaming_oracle(m.problem, m.inputs, 0, {0, 100}, wrong), m.exact),
            1e-6);
}

TEST(StreamingOracle, ALastBitOfTheScaleIsNoticed) {
  Mistake m = mistake_of(Family::kNormal);
  m.problem.sm_scale = std::nextafter(m.problem.sm_scale, 1.0f);
  EXPECT_GT(largest_error(streaming_oracle(m.problem, m.inputs, 0, {0, 100}), m.exact), 1e-9);
}

// ---- the arithmetic below it ----

Big big(DoubleDouble x) { return Big(x.high) + Big(x.low); }
double relative_error(DoubleDouble actual, const Big& exact) {
  return static_cast<double>(Big(abs(big(actual) - exact) / abs(exact)));
}
DoubleDouble sample(int i) {  // of either sign, all 106 bits in use
  const double high = std::sin(i * 1.7) * std::ldexp(1.0, i % 9 - 4);
  return fast_two_sum(high, std::cos(i * 2.3) * std::fabs(high) * 0x1p-54);
}

TEST(DoubleDouble, SumsProductsAndQuotientsKeepAHundredBits) {
  for (int i = 1; i < 400; ++i) {
    const DoubleDouble a = sample(i), b = sample(3 * i + 1);
    EXPECT_LT(relative_error(a * b, big(a) * big(b)), 0x1p-102) << i;
    EXPECT_LT(relative_error(a / b, big(a) / big(b)), 0x1p-100) << i;
    EXPECT_LT(relative_error(a + b, big(a) + big(b)), 0x1p-102) << i;
    EXPECT_LT(relative_error(a * b.high, big(a) * Big(b.high)), 0x1p-102) << i;
    EXPECT_LT(relative_error(a + b.high, big(a) + Big(b.high)), 0x1p-90) << i;  // it may cancel
    const DoubleDouble product = two_product(a.high, b.high), sum = two_sum(a.high, b.low);
    EXPECT_EQ(big(product), Big(a.high) * Big(b.high));
    EXPECT_EQ(big(sum), Big(a.high) + Big(b.low));
  }
}

TEST(DoubleDouble, ExpIsGoodToThirtyDigits) {
  for (int i = 1; i < 700; ++i) {
    const DoubleDouble x = sample(i) * (i < 300 ? 1.0 : 40.0);
    EXPECT_LT(relative_error(exp(x), exp(big(x))), kFunction) << x.high;
    EXPECT_LT(relative_error(exp(DoubleDouble{-0.94 * i, 1e-17}),
                             exp(big(DoubleDouble{-0.94 * i, 1e-17}))),
              kFunction)
        << i;
  }
  EXPECT_EQ(exp(DoubleDouble{}).high, 1);
  EXPECT_EQ(exp(DoubleDouble{-1e6, 0}).high, 0);
  EXPECT_TRUE(std::isnan(exp(DoubleDouble{NAN, 0}).high));
}

TEST(DoubleDouble, LogIsGoodToThirtyDigits) {
  for (int i = 1; i < 400; ++i) {
    for (const DoubleDouble x :
         {DoubleDouble{1 + i * 1e-4, 1e-18}, DoubleDouble{1 - i * 1e-4, -1e-18},
          DoubleDouble{1 + 1e-9 * i, 0}, DoubleDouble{0.013 * i, 1e-20},
          DoubleDouble{std::ldexp(1.3, i % 300 - 150), 0}, DoubleDouble{175.0 * i * i, 1e-12}}) {
      EXPECT_LT(relative_error(log(x), log(big(x))), 4 * kFunction) << x.high;
    }
  }
  EXPECT_EQ(log(DoubleDouble{1, 0}).high, 0);
  EXPECT_EQ(log(DoubleDouble{0, 0}).high, -INFINITY);
}

}  // namespace
}  // namespace attest
