#include "harness/ledger.hpp"

#include <gtest/gtest.h>

#include "harness/fake_device.hpp"

namespace attest {
namespace {

using namespace std::chrono_literals;
constexpr Date kToday = 2026y / 11 / 29;
constexpr const char* kToken = "v1:k=mla_decode:h=1:s=300:splits=3";

Ledger ledger_of(std::string_view text, Date date = kToday) {
  const auto ledger = Ledger::parse(text, "a/ledger", date);
  EXPECT_TRUE(ledger.ok()) << (ledger.ok() ? "" : ledger.trouble().text);
  return ledger.ok() ? *ledger : Ledger();
}

Verdict failure() {
  Verdict verdict;
  verdict.status = Status::kFailed;
  verdict.bucket = "merge.wrong.all.mla_decode";
  verdict.reason = "lse is wrong";
  return verdict;
}

Verdict seen(const std::string& line, const Verdict& verdict, const char* token = kToken) {
  return ledger_of(line).after(*parse_token(token), "gfx942", verdict);
}

constexpr const char* kRest = " issue=https://host/7 expires=2027-03-31 rounding of lse";

TEST(Ledger, ExcusesAFailureThatMatchesInBucketKernelArchAndGlobOfTheToken) {
  for (const char* matching :
       {"bucket=merge.wrong.all.mla_decode", "bucket=merge.*", "bucket=* kernel=mla_*",
        "bucket=*.wrong.* kernel=mla_decode arch=gfx942", "bucket=merge.* arch=gfx9[04]*",
        "bucket=merge.* token=v1:*s=300:*", "bucket=merge.* token=v1:k=mla_decode:h=2"}) {
    const Verdict verdict = seen("tolerated " + std::string(matching) + kRest, failure());
    EXPECT_EQ(verdict.status, Status::kXfail) << matching;
    EXPECT_EQ(verdict.reason,
              "known: https://host/7 (a/ledger:1 until 2027-03-31: rounding of lse); lse is wrong");
    EXPECT_EQ(verdict.bucket, failure().bucket);
  }
  for (const char* other : {"bucket=scores.*", "bucket=merge", "bucket=merge.* kernel=mla_v4",
                            "bucket=merge.* arch=gfx950", "bucket=merge.* token=v1:*s=301:*"}) {
    const Verdict verdict = seen("tolerated " + std::string(other) + kRest, failure());
    EXPECT_EQ(verdict.status, Status::kFailed) << other;
    EXPECT_EQ(verdict.reason, "lse is wrong");
  }
}

TEST(Ledger, ExcusesWhatFailsAndHasABucketAndNothingElse) {
  const std::string line = std::string("tolerated bucket=*") + kRest;
  for (const Status status :
       {Status::kFailed, Status::kCrashed, Status::kHung, Status::kFlaky, Status::kSuspect}) {
    Verdict verdict = failure();
    verdict.status = status;
    EXPECT_EQ(seen(line, verdict).status, Status::kXfail) << to_string(status);
    verdict.bucket.clear();
    EXPECT_EQ(seen(line, verdict).status, status);
  }
  for (const Status status :
       {Status::kPassed, Status::kVacuous, Status::kSkipped, Status::kInfra}) {
    Verdict verdict = failure();
    verdict.status = status;
    EXPECT_EQ(seen(line, verdict).status, status);
  }
}

TEST(Ledger, CallsItAnUnexpectedPassWhenAnEntrysOwnCasePasses) {
  // The same case, written otherwise: what is compared is the case.
  const std::string line =
      std::string("tolerated bucket=merge.* token=v1:splits=3:s=300:h=1:k=mla_decode") + kRest;
  Verdict pass;
  pass.status = Status::kPassed;
  const Verdict verdict = seen(line, pass);
  EXPECT_EQ(verdict.status, Status::kXpass);
  EXPECT_NE(verdict.reason.find("a/ledger:1 says"), std::string::npos) << verdict.reason;
  EXPECT_NE(verdict.reason.find("take the entry out"), std::string::npos) << verdict.reason;
  EXPECT_EQ(seen(line, pass, "v1:k=mla_decode:h=2").status, Status::kPassed);
  EXPECT_EQ(seen(line, failure(), "v1:k=mla_decode:h=2").status, Status::kXfail);
  const Ledger other_arch = ledger_of(line.substr(0, 9) + " arch=gfx950" + line.substr(9));
  EXPECT_EQ(other_arch.after(*parse_token(kToken), "gfx942", pass).status, Status::kPassed);
}

TEST(Ledger, ExcusesUntilTheLastDayAndThenSaysWhichLineExpiredWhen) {
  const std::string line = std::string("\n# a comment\ntolerated bucket=merge.*") + kRest;
  const Case c = *parse_token(kToken);
  const auto on = [&](Date date) { return ledger_of(line, date).after(c, "gfx942", failure()); };
  EXPECT_EQ(on(2027y / 3 / 31).status, Status::kXfail);
  const Verdict late = on(2027y / 4 / 1);
  EXPECT_EQ(late.status, Status::kFailed);
  EXPECT_EQ(late.reason, "a/ledger:3 excused it until 2027-03-31 (https://host/7); lse is wrong");
  EXPECT_TRUE(ledger_of(line, 2027y / 3 / 31).warnings().empty());
  const auto warnings = ledger_of(line, 2027y / 4 / 1).warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("a/ledger:3: expired on 2027-03-31")) << warnings[0];
  // Another entry that is in force still excuses it.
  const std::string two =
      line + "\ntolerated bucket=merge.wrong.* issue=https://host/8 expires=2028-01-01";
  EXPECT_EQ(ledger_of(two, 2027y / 4 / 1).after(c, "gfx942", failure()).status, Status::kXfail);
}

// A device on which every launch ends in a crash, so that a skipped case was not launched.
Verdict verified(const std::string& line, Date date = kToday) {
  FakeDevice device;
  device.ends_with = {TroubleKind::kCrashed, "it went down"};
  return verify_with_ledger(ledger_of(line, date), FakeKernel(), device, *parse_token(kToken),
                            {"", 1, {}});
}

TEST(Ledger, KeepsWhatIsQuarantinedFromBeingLaunched) {
  for (const char* matching : {"token=v1:h=1:s=300:splits=3", "token=*s=300*", "kernel=mla_*",
                               "arch=host", "kernel=mla_decode arch=h* token=v1:*"}) {
    const Verdict verdict = verified(std::string("quarantined ") + matching + kRest);
    EXPECT_EQ(verdict.status, Status::kSkipped) << matching;
    EXPECT_EQ(verdict.reason,
              "quarantined: https://host/7 (a/ledger:1 until 2027-03-31: rounding of lse)");
  }
  for (const char* other : {"token=v1:h=2:s=300:splits=3", "token=s=300*", "kernel=mla_v4",
                            "arch=gfx942", "kernel=mla_decode arch=gfx942"}) {
    EXPECT_EQ(verified(std::string("quarantined ") + other + kRest).status, Status::kCrashed)
        << other;
  }
}

TEST(Ledger, RunsAQuarantinedCaseAgainOnceItsLineHasExpiredAndSaysSo) {
  const std::string line = std::string("quarantined kernel=mla_decode") + kRest;
  const Verdict verdict = verified(line, 2027y / 4 / 1);
  EXPECT_EQ(verdict.status, Status::kCrashed);
  EXPECT_TRUE(verdict.reason.starts_with("a/ledger:1 excused it until 2027-03-31"))
      << verdict.reason;
  EXPECT_NE(ledger_of(line, 2027y / 4 / 1).warnings().at(0).find("runs again"), std::string::npos);
}

TEST(Ledger, RefusesALineThatItDoesNotTakeWholeAndNamesIt) {
  struct Bad {
    const char* line;
    const char* says;
  };
  for (const auto& [line, says] : {
           Bad{"ignored bucket=* issue=https://a expires=2027-01-01", "'ignored' is neither"},
           Bad{"tolerated bucket=* issue=https://a expires=2027-02-29", "expires=2027-02-29 is no"},
           Bad{"tolerated bucket=* issue=https://a expires=27-02-01", "is no date"},
           Bad{"tolerated bucket=* issue=https://a expires=2027-1-010", "is no date"},
           Bad{"tolerated bucket=* issue=https://a expires=2027-01-0x", "is no date"},
           Bad{"tolerated bucket=* issue=https://a", "no expires="},
           Bad{"tolerated bucket=* expires=2027-01-01", "no issue="},
           Bad{"tolerated bucket=* issue=#7 expires=2027-01-01", "issue=#7 is no https"},
           Bad{"tolerated bucket=* issue=https:// expires=2027-01-01", "is no https"},
           Bad{"tolerated bukcet=* issue=https://a expires=2027-01-01", "unknown key 'bukcet'"},
           Bad{"tolerated bucket=a bucket=b issue=https://a expires=2027-01-01", "twice"},
           Bad{"tolerated bucket= issue=https://a expires=2027-01-01", "bucket= has no value"},
           Bad{"tolerated kernel=a issue=https://a expires=2027-01-01", "needs bucket="},
           Bad{"quarantined issue=https://a expires=2027-01-01", "needs token="},
           Bad{"quarantined bucket=a kernel=b issue=https://a expires=2027-01-01", "no bucket="},
           Bad{"quarantined token=v1:bogus=1 issue=https://a expires=2027-01-01", "'bogus'"},
       }) {
    const auto ledger = Ledger::parse(std::string("# first\n") + line, "a/ledger", kToday);
    ASSERT_FALSE(ledger.ok()) << line;
    EXPECT_EQ(ledger.trouble().kind, TroubleKind::kUsage);
    EXPECT_TRUE(ledger.trouble().text.starts_with("a/ledger:2: ")) << ledger.trouble().text;
    EXPECT_NE(ledger.trouble().text.find(says), std::string::npos) << ledger.trouble().text;
  }
}

TEST(Ledger, ThatCannotBeReadIsUsageAndNamed) {
  for (const char* path : {"/nonexistent/ledger", "/proc/self"}) {
    const auto ledger = Ledger::read(path, kToday);
    ASSERT_FALSE(ledger.ok()) << path;
    EXPECT_EQ(ledger.trouble().kind, TroubleKind::kUsage);
    EXPECT_NE(ledger.trouble().text.find(path), std::string::npos) << ledger.trouble().text;
  }
  EXPECT_TRUE(Ledger::open("none")->entries().empty());
}

TEST(Ledger, OfTheTreeIsReadable) {
  const auto ledger = Ledger::read(ATTEST_SOURCE_DIR "/fuzz/ledger", kToday);
  EXPECT_TRUE(ledger.ok()) << ledger.trouble().text;
}

}  // namespace
}  // namespace attest
