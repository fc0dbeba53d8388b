#include "harness/second_look.hpp"

#include <gtest/gtest.h>

#include "harness/blame_trial.hpp"
#include "harness/judge.hpp"

namespace attest {
namespace {

Verdict looked_at(const BlameTrial& t, const Output& output) {
  Verdict verdict = judge(t.subject(), output, t.wanted);
  second_look(t.subject(), t.inputs, output, t.wanted, verdict);
  return verdict;
}

TEST(SecondLook, BlamesAFailureAndCertifiesItsReference) {
  const BlameTrial t(6);
  const Verdict verdict = looked_at(t, t.output(model::Defect::kDropLastToken));
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_EQ(verdict.blame.find("scores and softmax: partial_lse, splits 2, 5 of 6"), 0u);
  EXPECT_NE(verdict.blame.find("it behaves as if the last token were not there; reference "
                               "certified to "),
            std::string::npos)
      << verdict.blame;
}

TEST(SecondLook, CallsItRoundingWhereSoManyElementsOfOAreTruncatedThatItIsNoChance) {
  Contract truncates = BlameTrial::short_tiles();
  truncates.arithmetic.o_truncates = true;
  for (const int splits : {1, 6}) {
    const BlameTrial t(splits);
    const Output right = t.output(), truncated = t.output_under(truncates);
    EXPECT_EQ(looked_at(t, truncated).bucket, "rounding.wrong.scattered.kernel_x");
    // One such element may as well be a number that is a little too small.
    Output one = right;
    for (std::size_t i = 0; i < one.o.size(); ++i) {
      one.o[i] = truncated.o[i];
      if (looked_at(t, one).status == Status::kFailed) break;
    }
    EXPECT_EQ(looked_at(t, one).bucket,
              splits == 1 ? "values.wrong.scattered.kernel_x" : "merge.wrong.scattered.kernel_x");
  }
}

TEST(SecondLook, LeavesAPassAlone) {
  const BlameTrial t(6);
  const Verdict verdict = looked_at(t, t.output());
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  EXPECT_EQ(verdict.blame, "");
}

TEST(SecondLook, AWrongReferenceIsNoFailureOfTheKernel) {
  BlameTrial t(6);
  t.wanted.expected.partial_lse[4 * 6 + 2] += 0.25;  // row 4, split 2
  const Verdict verdict = looked_at(t, t.output());
  EXPECT_EQ(verdict.status, Status::kInfra);
  EXPECT_EQ(verdict.reason.find("trouble of the reference itself: row 4 is off by"), 0u)
      << verdict.reason;
  EXPECT_EQ(verdict.bucket + verdict.blame, "");
}

TEST(SecondLook, LeavesDamagedMemoryAFailureWhateverTheNumbers) {
  const BlameTrial t(6);
  Output output = t.output();
  output.damage = {"o: the guard zone before it"};
  const Verdict verdict = looked_at(t, output);
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_EQ(verdict.blame, "");
}

TEST(CertifyPass, RecomputesRowsOfAPassAndSaysHowFarTheReferenceWas) {
  const BlameTrial t(6);
  const Output output = t.output();
  Verdict verdict = judge(t.subject(), output, t.wanted);
  certify_pass(t.subject(), t.inputs, output, t.wanted, 1, 2, verdict);
  EXPECT_EQ(verdict.status, Status::kPassed);
  EXPECT_GE(verdict.evidence.rows_certified, 2);
  EXPECT_LT(verdict.evidence.reference_off, 1e-6);
}

TEST(CertifyPass, DoesNotTrustAReferenceThatIsOffByAHundredthOfWhatTheGatesAllow) {
  BlameTrial t(6);
  const Output output = t.output();
  Verdict verdict = judge(t.subject(), output, t.wanted);
  ASSERT_EQ(verdict.status, Status::kPassed);
  for (std::size_t i = 0; i < t.wanted.expected.lse.size(); ++i)
    t.wanted.expected.lse[i] += 0.01 * t.wanted.tiers.t0.lse[i];
  certify_pass(t.subject(), t.inputs, output, t.wanted, 1, 2, verdict);
  EXPECT_EQ(verdict.status, Status::kInfra);
  EXPECT_EQ(verdict.reason.find("trouble of the reference itself"), 0u) << verdict.reason;
}

TEST(CertifyPass, LeavesAFailureAlone) {
  const BlameTrial t(6);
  const Output output = t.output(model::Defect::kDropLastToken);
  Verdict verdict = looked_at(t, output);
  certify_pass(t.subject(), t.inputs, output, t.wanted, 1, 2, verdict);
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_EQ(verdict.evidence.rows_certified, 0);
}

}  // namespace
}  // namespace attest
