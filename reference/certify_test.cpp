#include "reference/certify.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "harness/core/formats.hpp"
#include "reference/small_inputs.hpp"
#include "reference/streaming_oracle.hpp"

namespace attest {
namespace {

struct Trial {
  Problem problem;
  Contract contract;
  Inputs inputs;
  Reference reference;
  int num_splits = 1;
};

Trial run_of(Family family, int num_splits, const Contract& contract = {}, double q_times = 1) {
  Trial run;
  run.problem.h_q = 2;
  run.problem.s_kv = {70, 1500, 0};
  run.problem.s_q = {1, 2, 1};
  run.problem.page_size = 16;
  run.contract = contract;
  run.num_splits = num_splits;
  auto inputs = small_inputs(run.problem, family, 31);
  EXPECT_TRUE(inputs.ok());
  run.inputs = std::move(*inputs);
  auto* q = run.inputs.q.data<std::uint16_t>();
  for (std::int64_t i = 0; i < run.problem.rows() * kDQk; ++i) {
    q[i] = encode_bf16(decode_bf16(q[i]) * q_times);
  }
  auto wanted = reference(run.problem, run.inputs, contract, num_splits, {});
  EXPECT_TRUE(wanted.ok());
  run.reference = std::move(*wanted);
  return run;
}

Output output_of(const Reference& r) {
  Output output;
  for (double o : r.expected.o) output.o.push_back(encode_bf16(o));
  for (double lse : r.expected.lse) {
    output.lse.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(lse)));
  }
  return output;
}

// Rows of the second sequence; splits of 300 tokens.
constexpr std::int64_t kRow = 3;
constexpr int kSplits = 5, kSplit = 2;
constexpr std::int64_t kPart = kRow * kSplits + kSplit;

// fp32 in the shallowest declared arithmetic: the smallest T0 there is.
Contract shallow() {
  Contract contract;
  contract.arithmetic.matrix_unit = MatrixUnit::kCdna3Fp8;
  contract.arithmetic.p_bits = 24;
  contract.arithmetic.divide_u = 1;
  return contract;
}

void expect_own_error_holds(const Trial& run, const StreamedRow& exact, const double* o, double lse,
                            const float* t0_o, float t0_lse) {
  // Source: the last rounding to fp64, of both sides.
  const auto slack = [](double value) { return 0x1p-52 * std::fabs(value); };
  if (std::isinf(lse)) return;
  ASSERT_LE(std::fabs((exact.lse - lse).high), own_error_of_lse(t0_lse) + slack(lse));
  for (int d = 0; d < kDV; ++d) {
    ASSERT_LE(std::fabs((exact.o[d] - o[d]).high), own_error_of_o(t0_o[d], t0_lse) + slack(o[d]))
        << d << run.num_splits;
  }
}

class CertifyOf : public testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(Certify, CertifyOf, testing::ValuesIn(kFamilies), [](const auto& info) {
  std::string name = name_of(info.param);
  std::erase(name, ' ');
  return name;
});

TEST_P(CertifyOf, TheReferencesOwnErrorBoundHoldsInTheShallowestArithmetic) {
  for (double q_times : {1.0, 1e5}) {
    const Trial run = run_of(GetParam(), kSplits, shallow(), q_times);
    const Expected& e = run.reference.expected;
    const Bound& t0 = run.reference.tiers.t0;
    const auto splits = live_splits(run.contract.split_rule, 1500, kSplits);
    for (std::int64_t row : {std::int64_t{0}, kRow}) {
      expect_own_error_holds(run, streaming_oracle(run.problem, run.inputs, row, {0, kMaxContext}),
                             &e.o[row * kDV], e.lse[row], &t0.o[row * kDV], t0.lse[row]);
    }
    expect_own_error_holds(run, streaming_oracle(run.problem, run.inputs, kRow, splits[kSplit]),
                           &e.partial_o[kPart * kDV], e.partial_lse[kPart],
                           &t0.partial_o[kPart * kDV], t0.partial_lse[kPart]);
  }
}

TEST_P(CertifyOf, ARightReferenceIsCertifiedAndNeedsNoEscalation) {
  Trial run = run_of(GetParam(), kSplits);
  const Expected before = run.reference.expected;
  EXPECT_TRUE(escalate(run.problem, run.inputs, run.contract, run.reference, 2).empty());
  EXPECT_EQ(before.o, run.reference.expected.o);
  const Certificate c =
      certify_row(run.problem, run.inputs, run.contract, kRow, kSplit, run.reference);
  EXPECT_TRUE(c.trusted()) << c.text();
  EXPECT_FALSE(c.trouble());
  EXPECT_GT(c.of_allowed, 0);
  EXPECT_EQ(c.text().find("reference certified to "), 0u) << c.text();
}

Certificate certificate_after(void (*damage)(Expected&)) {
  Trial run = run_of(Family::kNormal, kSplits);
  damage(run.reference.expected);
  return certify_row(run.problem, run.inputs, run.contract, kRow, kSplit, run.reference);
}

TEST(Certify, AReferenceThatIsOffAnywhereInTheRowIsTrouble) {
  const auto expect_trouble = [](void (*damage)(Expected&), const char* what) {
    const Certificate c = certificate_after(damage);
    EXPECT_TRUE(c.trouble()) << what;
    EXPECT_EQ(c.text().find("trouble of the reference itself: row 3"), 0u) << c.text();
  };
  expect_trouble([](Expected& e) { e.o[kRow * kDV + 77] += 1e-4; }, "o");
  expect_trouble([](Expected& e) { e.lse[kRow] += 1e-6; }, "lse");
  expect_trouble([](Expected& e) { e.partial_o[kPart * kDV + 500] += 1e-4; }, "partial o");
  expect_trouble([](Expected& e) { e.partial_lse[kPart] -= 1e-6; }, "partial lse");
  expect_trouble([](Expected& e) { e.lse[kRow] = -INFINITY; }, "an empty row");
  expect_trouble([](Expected& e) { e.partial_lse[kPart] = -INFINITY; }, "an empty split");
  EXPECT_TRUE(certificate_after([](Expected& e) { e.lse[kRow - 1] += 1; }).trusted());
}

TEST(Certify, ARowOfNanIsNeitherCertifiedNorTrouble) {
  Trial run = run_of(Family::kNormal, 1);
  run.inputs.q.data<std::uint16_t>()[kRow * kDQk] = 0x7FC0;
  auto wanted = reference(run.problem, run.inputs, run.contract, 1, {});
  ASSERT_TRUE(wanted.ok());
  const Certificate c = certify_row(run.problem, run.inputs, run.contract, kRow, -1, *wanted);
  EXPECT_FALSE(c.trusted() || c.trouble());
  EXPECT_TRUE(escalate(run.problem, run.inputs, run.contract, *wanted, 1).empty());
}

TEST(Certify, AGateTooTightForFp64EscalatesItsRowAndNoOther) {
  Trial run = run_of(Family::kNormal, kSplits);
  Tiers& tiers = run.reference.tiers;
  tiers.t1 = tiers.t0;
  tiers.t1.partial_lse[kPart] *= 1e-5f;  // of which fp64's own error may be 1e-3
  const Expected right = run.reference.expected;
  run.reference.expected.o[kRow * kDV] += 1;
  run.reference.expected.partial_o[kPart * kDV + 5] += 1;
  EXPECT_EQ(escalate(run.problem, run.inputs, run.contract, run.reference, 2),
            std::vector<std::int64_t>{kRow});
  // Source: fp64's own error on normal data.
  constexpr double kFp64 = 1e-13;
  EXPECT_NEAR(run.reference.expected.o[kRow * kDV], right.o[kRow * kDV], kFp64);
  EXPECT_NEAR(run.reference.expected.partial_o[kPart * kDV + 5], right.partial_o[kPart * kDV + 5],
              kFp64);
}

TEST(Certify, LogitsBeyondFp64AreEscalated) {
  Trial run = run_of(Family::kHugeLogits, 1, {}, 1e8);
  EXPECT_EQ(escalate(run.problem, run.inputs, run.contract, run.reference, 2).size(), 6u);
  EXPECT_TRUE(
      certify_row(run.problem, run.inputs, run.contract, kRow, -1, run.reference).trusted());
}

TEST(Certify, RowsOfANightAreTheExtremesAndARandomOne) {
  Trial run = run_of(Family::kNormal, 1);
  run.reference.rows.assign(run.problem.rows(), RowFacts{.condition = 5});
  run.reference.rows[1].condition = 9;
  run.reference.rows[4].condition = 2;
  run.reference.rows[6].condition = 1;  // it sees no token
  Output output = output_of(run.reference);
  output.o[2 * kDV + 9] = encode_bf16(run.reference.expected.o[2 * kDV + 9] + 0.5);
  const auto rows = rows_to_certify(output, run.reference, 0);
  ASSERT_GE(rows.size(), 3u);
  EXPECT_EQ(rows[0].row, 2);
  EXPECT_EQ(rows[1].row, 1);
  EXPECT_EQ(rows[2].row, 4);
  std::vector<bool> random(run.problem.rows());
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    const auto chosen = rows_to_certify(output, run.reference, seed);
    if (chosen.size() == 4) random[chosen[3].row] = true;
  }
  EXPECT_TRUE(random[0] && random[3] && random[5] && !random[6] && !random[7]);
  output.lse[5] = 0x7FC00000;  // NaN is the worst there is
  EXPECT_EQ(rows_to_certify(output, run.reference, 0)[0].row, 5);
}

}  // namespace
}  // namespace attest
