// What the exit code of a comparison is, by how cases ended.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "reports/compare/compare.hpp"
#include "reports/compare/compare_text.hpp"
#include "reports/compare/test_pairs.hpp"

namespace attest {
namespace {

using test_pairs::compared;
using test_pairs::eight;
using test_pairs::fail;
using test_pairs::good;
using test_pairs::holds;
using test_pairs::with;
using test_runs::run_of;
using test_runs::token_of;

// Of a case whose status changed: '.' it did not, else the exit code.
TEST(Compare, HasARuleForEachPairOfStatuses) {
  constexpr int kCount = static_cast<int>(Status::kXpass) + 1;
  //                             to: passed suspect vacuous failed flaky crashed hung skipped infra
  //                                 xfail xpass
  constexpr std::array<std::string_view, kCount> kRules = {".5511115451",   // passed
                                                           "0.511115451",   // suspect
                                                           "05.11110451",   // vacuous
                                                           "055.0005450",   // failed
                                                           "0550.005450",   // flaky
                                                           "05500.05450",   // crashed
                                                           "055000.5450",   // hung
                                                           "0501111.451",   // skipped
                                                           "05011110.51",   // infra
                                                           "055111154.1",   // xfail
                                                           "0551111545."};  // xpass
  for (int before = 0; before < kCount; ++before) {
    for (int after = 0; after < kCount; ++after) {
      std::vector<CaseRecord> base = eight(), pr = eight();
      base[3].verdict.status = static_cast<Status>(before);
      pr[3].verdict.status = static_cast<Status>(after);
      const Comparison c = compared(base, pr);
      const char rule = kRules.at(before).at(after);
      const std::string what = fmt::format("{} -> {}", to_string(static_cast<Status>(before)),
                                           to_string(static_cast<Status>(after)));
      EXPECT_EQ(c.exit_code(), rule == '.' ? 0 : rule - '0') << what;
      EXPECT_EQ(c.reasons.size(), rule > '0' ? 1u : 0u) << what;
      EXPECT_EQ(holds(compared_as_text(c), "verdicts     " + what), rule != '.') << what;
    }
  }
}

TEST(Compare, TakesNoVerdictOnWhatFailedForNoFix) {
  std::vector<CaseRecord> base = eight(), pr = eight();
  for (CaseRecord& record : base) fail(record);
  for (CaseRecord& record : pr) record.verdict.status = Status::kVacuous;
  const Comparison c = compared(base, pr);
  EXPECT_EQ(c.exit_code(), 5);
  EXPECT_EQ(c.reasons.at(0).text, "8 cases vacuous that were failed");
  EXPECT_EQ(c.buckets.at(0).looked_at, 0);
}

TEST(Compare, CallsAnExcusedAndAWeakerPassProvingLess) {
  for (const Status status :
       {Status::kXfail, Status::kVacuous, Status::kSuspect, Status::kSkipped}) {
    EXPECT_EQ(with([&](CaseRecord& r) { r.verdict.status = status; }).exit_code(), 5);
  }
  EXPECT_EQ(with([](CaseRecord& r) { r.verdict.status = Status::kHung; }).exit_code(), 1);
}

TEST(Compare, TakesASkippedFailureForNoFix) {
  std::vector<CaseRecord> base = eight(), pr = eight();
  fail(base[3]);
  pr[3].verdict.status = Status::kSkipped;
  const Comparison c = compared(base, pr);
  EXPECT_EQ(c.exit_code(), 5);
  EXPECT_EQ(c.reasons[0].text, "1 case skipped that was failed");
}

TEST(Compare, TellsAddedCasesThatProveNothing) {
  const auto code_of_added = [](Status status, const char* bucket, const char* phase) {
    std::vector<CaseRecord> base = eight(), pr = eight();
    fail(base[3], "known"), fail(pr[3], "known");
    pr.push_back(good(20));
    Verdict& v = pr.back().verdict;
    v.status = status, v.bucket = bucket, pr.back().phase = phase;
    return compared(base, pr).exit_code();
  };
  EXPECT_EQ(code_of_added(Status::kPassed, "", "smoke"), 0);
  EXPECT_EQ(code_of_added(Status::kInfra, "", "smoke"), 4);
  EXPECT_EQ(code_of_added(Status::kInfra, "known", "smoke"), 4);
  EXPECT_EQ(code_of_added(Status::kVacuous, "", "smoke"), 5);
  EXPECT_EQ(code_of_added(Status::kSuspect, "", "smoke"), 5);
  EXPECT_EQ(code_of_added(Status::kSkipped, "", "smoke"), 0);
  EXPECT_EQ(code_of_added(Status::kCrashed, "", "smoke"), 1);
  EXPECT_EQ(code_of_added(Status::kCrashed, "", "fuzz"), 1);
  EXPECT_EQ(code_of_added(Status::kVacuous, "", "fuzz"), 0);
  EXPECT_EQ(code_of_added(Status::kFailed, "known", "smoke"), 0);
  EXPECT_EQ(code_of_added(Status::kFailed, "new", "smoke"), 1);
  EXPECT_EQ(code_of_added(Status::kXpass, "", "smoke"), 1);
}

TEST(Compare, KeepsThePrecedenceOfExitCodes) {
  Results base = run_of(0, eight()), pr = run_of(1, eight());
  pr.cases[0].verdict.contract = "p_bits=4";
  EXPECT_EQ(compare(base, "a", pr, "b").exit_code(), 5);
  pr.missing = {token_of(30)};
  EXPECT_EQ(compare(base, "a", pr, "b").exit_code(), 3);
  pr.cases[1].verdict.status = Status::kInfra;
  EXPECT_EQ(compare(base, "a", pr, "b").exit_code(), 4);
  pr.cases[2].verdict.status = Status::kFlaky;
  EXPECT_EQ(compare(base, "a", pr, "b").exit_code(), 1);
}

}  // namespace
}  // namespace attest
