#include "harness/core/verdict.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace attest {
namespace {

constexpr std::array kAll = {Status::kPassed, Status::kSuspect, Status::kVacuous, Status::kFailed,
                             Status::kFlaky,  Status::kCrashed, Status::kHung,    Status::kSkipped,
                             Status::kInfra,  Status::kXfail,   Status::kXpass};

// The rule of the design, stated over the set of statuses that a run saw.
int stated_rule(const std::set<Status>& seen, bool interrupted) {
  for (Status s :
       {Status::kFailed, Status::kCrashed, Status::kHung, Status::kFlaky, Status::kXpass}) {
    if (seen.contains(s)) return 1;
  }
  if (seen.contains(Status::kInfra)) return 4;
  if (interrupted) return 3;
  if (seen.contains(Status::kVacuous) || seen.contains(Status::kSuspect)) return 5;
  return seen.contains(Status::kPassed) ? 0 : 5;
}

TEST(ExitCode, FollowsTheStatedPrecedenceOverEverySetOfStatuses) {
  for (unsigned set = 0; set < 2u << kAll.size(); ++set) {
    Tally tally;
    std::set<Status> seen;
    tally.interrupted = (set & 1) != 0;
    for (std::size_t i = 0; i < kAll.size(); ++i) {
      if ((set >> (i + 1) & 1) == 0) continue;
      tally.add(kAll[i]);
      seen.insert(kAll[i]);
    }
    ASSERT_EQ(exit_code(tally), stated_rule(seen, tally.interrupted)) << set;
  }
}

TEST(ExitCode, OfNothingIsNotGreen) { EXPECT_EQ(exit_code(Tally{}), 5); }

TEST(ExitCode, SkippedCasesBesidePassedOnesAreGreen) {
  Tally tally;
  tally.add(Status::kPassed);
  tally.add(Status::kSkipped);
  tally.add(Status::kXfail);
  EXPECT_EQ(exit_code(tally), 0);
}

TEST(Tally, CountsEveryStatusOnceAndTheyAddUp) {
  Tally tally;
  for (Status s : kAll) tally.add(s);
  tally.add(Status::kHung);
  EXPECT_EQ(tally.total(), 12);
  EXPECT_EQ(tally.hung, 2);
  EXPECT_EQ(tally.passed, 1);
}

TEST(Status, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (Status s : kAll) names.insert(to_string(s));
  EXPECT_EQ(names.size(), kAll.size());
}

TEST(Verdict, IsNotGreenUnlessSomeoneSaysSo) { EXPECT_EQ(Verdict{}.status, Status::kInfra); }

}  // namespace
}  // namespace attest
