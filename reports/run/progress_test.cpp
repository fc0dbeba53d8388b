#include "reports/run/progress.hpp"

#include <gtest/gtest.h>

namespace attest {
namespace {

// A screen whose clock and width the test sets, and that keeps what is written to it.
struct FakeScreen {
  double now = 1000;
  int columns = 0;
  std::string written = {};
  Screen screen() {
    return {.write = [this](std::string_view text) { written += text; },
            .seconds = [this] { return now; },
            .columns = [this] { return columns; }};
  }
  std::string take() { return std::exchange(written, ""); }
};

CaseRecord record_of(const std::string& token, Status status = Status::kPassed,
                     const std::string& bucket = "") {
  CaseRecord record{.token = token, .verdict = {}};
  record.verdict.status = status;
  record.verdict.bucket = bucket;
  return record;
}

TEST(StatusLine, IsDrawnInPlaceAtMostTenTimesASecondAndClearedBeforeAnythingElse) {
  FakeScreen fake{.columns = 80};
  StatusLine line(fake.screen());
  const auto show = [&](const char* text) { line.show([=](int) { return text; }); };
  line.clear();
  EXPECT_EQ(fake.take(), "");  // nothing is there
  show("one");
  EXPECT_EQ(fake.take(), "\r\033[Kone");
  fake.now += 0.09;
  show("two");
  EXPECT_EQ(fake.take(), "");
  fake.now += 0.02;
  show("three");
  EXPECT_EQ(fake.take(), "\r\033[Kthree");
  line.clear();
  line.clear();
  EXPECT_EQ(fake.take(), "\r\033[K");
  show("four");  // at once: the line is empty
  EXPECT_EQ(fake.take(), "\r\033[Kfour");
}

TEST(StatusLine, FitsTheTerminalAsItIsNow) {
  FakeScreen fake{.columns = 8};
  StatusLine line(fake.screen());
  int allowed = 0;
  const auto text = [&](int columns) {
    allowed = columns;
    return std::string("0123456789");
  };
  line.show(text);
  EXPECT_EQ(allowed, 7);
  EXPECT_EQ(fake.take(), "\r\033[K0123456");
  fake.columns = 5;
  fake.now += 1;
  line.show(text);
  EXPECT_EQ(fake.take(), "\r\033[K0123");
}

TEST(StatusLine, IsALineEveryHalfMinuteWithoutEscapeCodesWhereThereIsNoTerminal) {
  FakeScreen fake;
  StatusLine line(fake.screen());
  for (int second = 0; second < 90; ++second, fake.now += 1) {
    line.show([&](int columns) {
      EXPECT_EQ(columns, 0);
      return "at " + std::to_string(second);
    });
    line.clear();
  }
  EXPECT_EQ(fake.take(), "at 30\nat 60\n");
}

TEST(Progress, ShowsABarCountsRateRemainingTimeBucketsAndWhatRuns) {
  FakeScreen fake{.columns = 100};
  Progress progress(fake.screen());
  progress.begin(4);
  progress.case_begin("v1:k=a");
  EXPECT_EQ(fake.take(), "\r\033[K[>                   ] 0/4  v1:k=a");
  fake.now += 10;
  progress.case_end(record_of("v1:k=a"));
  progress.case_begin("v1:k=b");
  EXPECT_EQ(fake.take(), "\r\033[K[=====>              ] 1/4  10.0 s each  ETA 0:30  v1:k=b");
  progress.case_end(record_of("v1:k=b", Status::kFailed, "merge.nan"));
  fake.now += 0.5;
  progress.case_begin("v1:k=c");
  EXPECT_EQ(fake.take(),
            "\r\033[K[==========>         ] 2/4  5.2 s each  ETA 0:11  1 bucket  v1:k=c");
  progress.case_end(record_of("v1:k=c", Status::kXfail, "known"));
  progress.case_end(record_of("v1:k=d", Status::kCrashed, "stage1.oob"));
  EXPECT_EQ(progress.text(99), "[====================] 4/4  2.6 s each  ETA 0:00  2 buckets");
}

TEST(Progress, ExpectsWhatIsLeftByThePlannedCosts) {
  FakeScreen fake{.columns = 100};
  Progress progress(fake.screen());
  progress.begin(3);
  const PlannedCase plan[] = {{"a", "smoke", 100}, {"b", "smoke", 100}, {"c", "rest", 800}};
  progress.plan(plan);
  fake.now += 2;
  progress.case_end(record_of("a"));
  CaseRecord of_a_schedule = record_of("b:sched=7");
  of_a_schedule.planned = "b";
  progress.case_end(of_a_schedule);
  EXPECT_EQ(progress.text(99), "[====>               ] 2/3  1.0/s  ETA 0:08");
}

TEST(Progress, ShowsOfManyThatRunTheOneThatBeganFirst) {
  FakeScreen fake;
  Progress progress(fake.screen());
  progress.begin(3);
  for (const char* token : {"a", "b", "c"}) progress.case_begin(token);
  EXPECT_EQ(progress.text(0), "0/3  a");
  fake.now += 1;
  progress.case_end(record_of("b"));
  EXPECT_EQ(progress.text(0), "1/3  1.0/s  ETA 0:02  a");
  progress.case_end(record_of("a"));
  EXPECT_EQ(progress.text(0), "2/3  2.0/s  ETA 0:01  c");
}

TEST(Progress, TellsForHowLongACaseHasRunWhileNothingElseHappens) {
  FakeScreen fake{.columns = 60};
  Progress progress(fake.screen());
  progress.begin(2);
  progress.case_begin("v1:k=hangs");
  fake.take();
  fake.now += 4;
  progress.tick();
  EXPECT_EQ(fake.take(), "\r\033[K[>         ] 0/2  v1:k=hangs");
  fake.now += 38;
  progress.tick();
  EXPECT_EQ(fake.take(), "\r\033[K[>         ] 0/2  for 0:42 v1:k=hangs");
}

TEST(Progress, OfAPlanCountsWhatIsInIt) {
  FakeScreen fake;
  Progress progress(fake.screen());
  progress.begin(88);  // of a run that goes on: 86 ended before
  const PlannedCase plan[] = {{"a", "smoke", 100}, {"b", "smoke", 100}};
  progress.plan(plan);
  EXPECT_EQ(progress.text(0), "0/2");
}

TEST(Progress, HasNoEndBeyondThePlan) {
  FakeScreen fake{.columns = 100};
  Progress progress(fake.screen());
  progress.begin(1);
  fake.now += 2;
  progress.case_end(record_of("a"));
  progress.case_end(record_of("drawn"));
  progress.case_begin("drawn too");
  EXPECT_EQ(progress.text(99), "[====================] 2 cases  1.0/s  drawn too");
}

TEST(Progress, LeavesOutTheBarWhereThereIsLittleRoom) {
  FakeScreen fake{.columns = 100};
  Progress progress(fake.screen());
  progress.begin(2);
  progress.case_end(record_of("a"));
  EXPECT_EQ(progress.text(79), "[=====>    ] 1/2");
  EXPECT_EQ(progress.text(49), "1/2");
  EXPECT_EQ(progress.text(0), "1/2");
}

TEST(ClockText, RoundsUpAndTellsHours) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(-1), "0:00");
  EXPECT_EQ(clock_text(0.2), "0:01");
  EXPECT_EQ(clock_text(59.5), "1:00");
  EXPECT_EQ(clock_text(754), "12:34");
  EXPECT_EQ(clock_text(3599.5), "1:00:00");
  EXPECT_EQ(clock_text(3723), "1:02:03");
}

}  // namespace
}  // namespace attest
