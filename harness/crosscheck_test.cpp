#include "harness/crosscheck.hpp"

#include <gtest/gtest.h>

#include <set>

#include "harness/selection.hpp"

namespace attest {
namespace {

const std::atomic<bool> kGoOn{false};

Verdict verdict(Status status, std::string bucket = "") {
  Verdict verdict;
  verdict.status = status;
  verdict.bucket = std::move(bucket);
  return verdict;
}

// Says of a case what a function of its heads says.
class Says final : public CaseRunner {
 public:
  explicit Says(std::function<Verdict(int heads)> says) : says_(std::move(says)) {}
  CaseRecord run(const Case& c) override { return {to_token(c), says_(c.problem.h_q), 0}; }

 private:
  std::function<Verdict(int)> says_;
};
OpenRunner who_says(std::function<Verdict(int heads)> says) {
  return [says = std::move(says)]() -> Result<std::unique_ptr<CaseRunner>> {
    return std::unique_ptr<CaseRunner>(std::make_unique<Says>(says));
  };
}
const OpenRunner kAlwaysPasses = who_says([](int) { return verdict(Status::kPassed); });

std::vector<Case> cases_of_heads(int count) {
  std::vector<Case> cases(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    cases[static_cast<std::size_t>(i)].kernel = "mla_decode";
    cases[static_cast<std::size_t>(i)].problem.h_q = i + 1;
  }
  return cases;
}

TEST(Crosscheck, ComparesStatusAndBucketAndWhatALedgerExcusesAsAFailure) {
  const Verdict passed = verdict(Status::kPassed), failed = verdict(Status::kFailed, "a.b.c.d");
  EXPECT_EQ(likeness(passed, passed), Likeness::kSame);
  EXPECT_EQ(likeness(failed, failed), Likeness::kSame);
  EXPECT_EQ(likeness(passed, failed), Likeness::kDifferent);
  EXPECT_EQ(likeness(failed, verdict(Status::kFailed, "a.b.c.e")), Likeness::kDifferent);
  EXPECT_EQ(likeness(passed, verdict(Status::kVacuous)), Likeness::kEvidence);
  EXPECT_EQ(likeness(failed, verdict(Status::kVacuous)), Likeness::kDifferent);
  EXPECT_EQ(likeness(failed, verdict(Status::kXfail, "a.b.c.d")), Likeness::kSame);
  EXPECT_EQ(likeness(passed, verdict(Status::kXpass)), Likeness::kSame);
  const Verdict skipped = verdict(Status::kSkipped);
  for (const Status quiet : {Status::kPassed, Status::kXpass, Status::kVacuous, Status::kSkipped}) {
    EXPECT_EQ(likeness(verdict(quiet), skipped), Likeness::kSkipped);
    EXPECT_EQ(likeness(skipped, verdict(quiet)), Likeness::kSkipped);
  }
  for (const Status loud : {Status::kFailed, Status::kXfail, Status::kCrashed, Status::kHung,
                            Status::kFlaky, Status::kSuspect}) {
    EXPECT_EQ(likeness(verdict(loud), skipped), Likeness::kDifferent);
    EXPECT_EQ(likeness(skipped, verdict(loud)), Likeness::kDifferent);
  }
  EXPECT_EQ(likeness(verdict(Status::kInfra), verdict(Status::kSkipped)), Likeness::kUndecided);
  EXPECT_EQ(likeness(failed, verdict(Status::kInfra)), Likeness::kUndecided);
}

TEST(Crosscheck, RunsEveryCaseOnceOnBothSidesWhateverTheThreads) {
  const OpenRunner other = who_says([](int heads) {
    return heads % 10 == 0 ? verdict(Status::kFailed, "a.b.c.d") : verdict(Status::kPassed);
  });
  CrossTally tally;
  std::set<std::string> tokens;
  const Outcome ran = run_crosscheck(
      {cases_of_heads(64), {kAlwaysPasses, other}, 4},
      [&](const CrossRecords& records) {
        ASSERT_EQ(records.size(), 2u);
        EXPECT_EQ(records[0].token, records[1].token);
        tokens.insert(records[0].token);
        tally.add(records);
      },
      kGoOn);
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(tokens.size(), 64u);
  EXPECT_EQ(tally.total(), 64);
  EXPECT_EQ(tally.different, 6);
  EXPECT_EQ(tally.statuses.passed, 58);
}

TEST(Crosscheck, TellsTheTroubleOfASideThatDoesNotOpen) {
  const OpenRunner closed = []() -> Result<std::unique_ptr<CaseRunner>> {
    return Trouble{TroubleKind::kInfra, "no such device"};
  };
  int told = 0;
  const Outcome ran = run_crosscheck(
      {cases_of_heads(8), {kAlwaysPasses, closed}, 2}, [&](const CrossRecords&) { ++told; }, kGoOn);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.trouble().text, "no such device");
  EXPECT_EQ(told, 0);
}

TEST(Crosscheck, BeginsNoCaseAfterAStop) {
  std::atomic<bool> stop{false};
  int told = 0;
  const Outcome ran = run_crosscheck(
      {cases_of_heads(8), {kAlwaysPasses}, 1}, [&](const CrossRecords&) { stop = ++told == 3; },
      stop);
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(told, 3);
}

TEST(Crosscheck, FindsWhatWasRecordedByTheTokenThatWasPlanned) {
  const Case c = *known_case("v1:k=mla_decode:h=2");
  Results results;
  CaseRecord record{"v1:k=mla_decode:h=2:sched=7", verdict(Status::kFailed, "a.b.c.d"), 0};
  record.planned = to_token(c);
  results.cases = {record};
  const auto runner = recorded_runners(results)();
  ASSERT_TRUE(runner.ok());
  EXPECT_EQ((*runner)->run(c).verdict.bucket, "a.b.c.d");
  const Case other = *known_case("v1:k=mla_decode:h=3");
  EXPECT_EQ((*runner)->run(other).verdict.status, Status::kInfra);
}

CrossTally tally_of(std::initializer_list<std::pair<Status, Status>> verdicts) {
  CrossTally tally;
  for (const auto& [a, b] : verdicts) tally.add({{"", verdict(a), 0}, {"", verdict(b), 0}});
  return tally;
}

TEST(Crosscheck, IsGreenOnlyWhereSomethingWasComparedAndAllOfItWasTheSame) {
  constexpr Status kPass = Status::kPassed, kVacuous = Status::kVacuous, kFail = Status::kFailed;
  EXPECT_EQ(exit_code(tally_of({{kPass, kPass}, {kVacuous, kVacuous}, {kPass, kVacuous}}), false),
            0);
  EXPECT_EQ(exit_code(CrossTally{}, false), 5);
  EXPECT_EQ(exit_code(tally_of({{Status::kSkipped, kPass}}), false), 5);
  EXPECT_EQ(exit_code(tally_of({{kVacuous, kVacuous}}), false), 5);
  EXPECT_EQ(exit_code(tally_of({{kPass, kPass}}), true), 3);
  EXPECT_EQ(exit_code(tally_of({{kPass, kPass}, {kPass, Status::kInfra}}), true), 4);
  EXPECT_EQ(exit_code(tally_of({{kPass, kPass}, {kPass, kFail}, {kPass, Status::kInfra}}), true),
            1);
}

TEST(Crosscheck, IsRedWhereAllOfItFailsAlike) {
  for (const Status status : {Status::kFailed, Status::kXfail, Status::kCrashed, Status::kHung}) {
    const CrossTally tally = tally_of({{Status::kPassed, Status::kPassed}, {status, status}});
    EXPECT_EQ(tally.same, 2);
    EXPECT_EQ(exit_code(tally, false), 1);
  }
}

}  // namespace
}  // namespace attest
