#include "harness/campaign.hpp"

#include <gtest/gtest.h>

#include "harness/fake_device.hpp"

namespace attest {
namespace {

const std::atomic<bool> kGoOn{false};

// Cases whose verdict is a function of the case: a kernel is not needed.
class Lengths final : public CaseSource {
 public:
  bool knows(std::int64_t, std::int64_t) const override { return true; }
  Case at(std::int64_t index) const override {
    Case c;
    c.kernel = "fake_kernel";
    c.problem.h_q = 1 + static_cast<int>(index % 7);
    c.problem.s_kv = {static_cast<int>(index), 7};
    c.problem.s_q = {1, 1};
    return c;
  }
  void commit(std::int64_t index, const Case&, const Verdict&) override {
    committed.push_back(index);
  }
  std::vector<std::int64_t> committed;
};

Verdict failing(std::string bucket) {
  Verdict verdict;
  verdict.status = Status::kFailed;
  verdict.bucket = std::move(bucket);
  verdict.reason = "because";
  return verdict;
}
Verdict passing() {
  Verdict verdict;
  verdict.status = Status::kPassed;
  verdict.checked = 3;
  return verdict;
}

// Judges a case by its looks; where others say so, under another schedule too.
class Judge final : public CaseRunner {
 public:
  using Look = std::function<Verdict(const Case&)>;
  using Explore = std::function<CaseRecord(const Case&)>;
  Judge(Look look, Explore explore) : look_(std::move(look)), explore_(std::move(explore)) {}
  CaseRecord run(const Case& c) override { return explore_ ? explore_(c) : run_as_is(c); }
  CaseRecord run_as_is(const Case& c) override { return {to_token(c), look_(c), 0}; }

 private:
  Look look_;
  Explore explore_;
};

Stand stand_of(Judge::Look look, Judge::Explore explore = {}) {
  static const FakeKernel kernel;
  return {.open =
              [look = std::move(look), explore = std::move(explore)] {
                return Result<std::unique_ptr<CaseRunner>>(std::make_unique<Judge>(look, explore));
              },
          .find_kernel = [](std::string_view) { return &kernel; }};
}

// Two bugs: one of long sequences, one of two heads or more where a length is a multiple of 50.
Verdict two_bugs(const Case& c) {
  for (const int s_kv : c.problem.s_kv) {
    if (s_kv >= 150) return failing("stage1.wrong.row.fake");
    if (s_kv > 0 && s_kv % 50 == 0 && c.problem.h_q >= 2) return failing("stage2.wrong.head.fake");
  }
  return passing();
}

CampaignResult campaign(const Stand& stand, CampaignLimits limits, CampaignEvents events = {},
                        const std::atomic<bool>& stop = kGoOn) {
  Lengths source;
  return run_campaign(source, stand, limits, events, stop);
}

TEST(Campaign, KeepsTheScheduleUnderWhichACaseWasSeenToFail) {
  const auto look = [](const Case& c) {
    return c.schedule.kind == ScheduleKind::kDelayed ? failing("a.b.c.fake") : passing();
  };
  const auto explore = [](const Case& c) {
    Case delayed = c;
    delayed.schedule = {100, ScheduleKind::kDelayed};
    CaseRecord record{to_token(delayed), failing("a.b.c.fake"), 0};
    record.planned = to_token(c);
    return record;
  };
  const CampaignResult result = campaign(stand_of(look, explore), {.cases = 3});
  ASSERT_EQ(result.found.size(), 1u);
  EXPECT_EQ(to_string(result.found[0].first.schedule), "d100");
  EXPECT_EQ(to_string(result.found[0].smallest.schedule), "d0");
}

TEST(Campaign, FindsTheSameWhateverTheNumberOfThreads) {
  std::vector<std::string> told[2];
  CampaignResult results[2];
  for (const int i : {0, 1}) {
    CampaignEvents events;
    events.failed = [&, i](const Case& c, const Verdict& v, bool is_new) {
      told[i].push_back(to_token(c) + v.bucket + (is_new ? " new" : ""));
    };
    results[i] = campaign(stand_of(two_bugs), {.cases = 200, .threads = i == 0 ? 1 : 4}, events);
  }
  EXPECT_EQ(told[0], told[1]);
  EXPECT_EQ(told[0].size(),
            50u + 2u);  // 150..199, 50 and 100
  ASSERT_EQ(results[0].found.size(), results[1].found.size());
  for (std::size_t i = 0; i < results[0].found.size(); ++i) {
    EXPECT_EQ(results[0].found[i].bucket, results[1].found[i].bucket);
    EXPECT_EQ(results[0].found[i].smallest, results[1].found[i].smallest);
    EXPECT_EQ(results[0].found[i].count, results[1].found[i].count);
  }
}

TEST(Campaign, CommitsEveryCaseOnceAndInOrder) {
  Lengths source;
  const auto result =
      run_campaign(source, stand_of(two_bugs), {.cases = 150, .threads = 3}, {}, kGoOn);
  ASSERT_EQ(source.committed.size(), 150u);
  for (std::size_t i = 0; i < 150; ++i)
    EXPECT_EQ(source.committed[i], static_cast<std::int64_t>(i));
  EXPECT_EQ(result.tally.total(), 150);
  EXPECT_EQ(result.tally.failed, result.found.empty() ? 0 : result.found[0].count);
  EXPECT_FALSE(result.tally.interrupted);
}

TEST(Campaign, ShrinksEachBucketWithoutSlippingIntoTheOther) {
  const auto result = campaign(stand_of(two_bugs), {.cases = 200, .threads = 2});
  ASSERT_EQ(result.found.size(), 2u);
  for (const Found& found : result.found) {
    EXPECT_EQ(two_bugs(found.smallest).bucket, found.bucket);
    EXPECT_EQ(found.smallest.problem.b(), 1) << to_token(found.smallest);
    EXPECT_EQ(found.shrink_ended, "no simpler case fails alike");
    const bool is_long = found.bucket == "stage1.wrong.row.fake";
    EXPECT_LE(found.smallest.problem.s_kv[0], is_long ? 160 : 100) << to_token(found.smallest);
    EXPECT_EQ(found.smallest.problem.h_q, is_long ? 1 : 2) << to_token(found.smallest);
  }
}

TEST(Campaign, TellsTheTokenBeforeItRunsTheCaseAgain) {
  std::vector<std::string> order;
  CampaignEvents events;
  events.failed = [&](const Case&, const Verdict&, bool) { order.push_back("failed"); };
  events.rerun = [&](const Found&) { order.push_back("rerun"); };
  events.shrunk = [&](const Found&) { order.push_back("shrunk"); };
  const auto one_bug = [](const Case& c) {
    return c.problem.s_kv[0] == 20 ? failing("a.b.c.d") : passing();
  };
  (void)campaign(stand_of(one_bug), {.cases = 30}, events);
  EXPECT_EQ(order, (std::vector<std::string>{"failed", "rerun", "shrunk"}));
}

TEST(Campaign, CallsWhatFailsNowAndThenFlakyAndDoesNotShrinkIt) {
  std::atomic<int> runs{0};
  const auto flaky = [&](const Case& c) {
    if (c.problem.s_kv[0] != 20) return passing();
    return runs++ % 2 == 0 ? failing("a.b.c.d") : passing();
  };
  const auto result = campaign(stand_of(flaky), {.cases = 30, .reruns = 4});
  ASSERT_EQ(result.found.size(), 1u);
  EXPECT_EQ(result.found[0].runs, 5);
  EXPECT_EQ(result.found[0].failures, 3);
  EXPECT_EQ(result.found[0].tries, 0);
  EXPECT_EQ(result.tally.failed, 0);
  EXPECT_EQ(result.tally.flaky, 1);
  EXPECT_EQ(result.tally.total(), result.cases);
  EXPECT_EQ(result.found[0].verdict.status, Status::kFlaky);
  EXPECT_EQ(exit_code(result.tally), 1);
}

// As of what fails beside other cases and passes alone.
TEST(Campaign, KeepsWhatItsRunnerCallsFlaky) {
  const auto look = [](const Case&) { return passing(); };
  const auto explore = [](const Case& c) {
    CaseRecord record{to_token(c), passing(), 0};
    if (c.problem.s_kv[0] != 20) return record;
    record.verdict = failing("a.b.c.d");
    record.verdict.status = Status::kFlaky;
    return record;
  };
  int told = 0;
  CampaignEvents events;
  events.failed = [&](const Case&, const Verdict&, bool) { ++told; };
  const auto result = campaign(stand_of(look, explore), {.cases = 30, .reruns = 4}, events);
  EXPECT_EQ(told, 1);
  ASSERT_EQ(result.found.size(), 1u);
  EXPECT_EQ(result.found[0].runs, 6);
  EXPECT_EQ(result.found[0].failures, 1);
  EXPECT_EQ(result.found[0].shrink_ended, "flaky");
  EXPECT_EQ(result.tally.flaky, 1);
  EXPECT_EQ(result.tally.total(), result.cases);
  EXPECT_EQ(result.by_property().at("oracle").failed, 1);
  EXPECT_EQ(exit_code(result.tally), 1);
}

TEST(Campaign, EndsWithAllThatRanWhenItIsStopped) {
  std::atomic<bool> stop{false};
  CampaignEvents events;
  std::int64_t told = 0;
  events.progress = [&](const CampaignResult& r) {
    told = r.cases;
    if (r.cases == 40) stop = true;
  };
  const auto healthy = [](const Case&) { return passing(); };
  const auto result = campaign(stand_of(healthy), {.threads = 2}, events, stop);
  EXPECT_GE(result.cases, 40);
  EXPECT_EQ(result.cases, told);
  EXPECT_EQ(result.tally.total(), result.cases);
  EXPECT_TRUE(result.tally.interrupted);
  EXPECT_EQ(exit_code(result.tally), 3);
}

TEST(Campaign, EndsAtItsFirstFailureWhenAsked) {
  CampaignEvents events;
  events.enough = [](const CampaignResult& r) { return !r.found.empty(); };
  const auto result = campaign(stand_of(two_bugs), {.threads = 2}, events);
  ASSERT_GE(result.found.size(), 1u);
  EXPECT_EQ(result.found[0].index, 50);
  EXPECT_FALSE(result.tally.interrupted);
}

TEST(Campaign, SaysWhyNoDeviceOpens) {
  Stand stand = stand_of(two_bugs);
  stand.open = [] {
    return Result<std::unique_ptr<CaseRunner>>(Trouble{TroubleKind::kInfra, "no such device"});
  };
  const auto result = campaign(stand, {.cases = 10, .threads = 2});
  EXPECT_EQ(result.trouble.text, "no such device");
  EXPECT_EQ(result.cases, 0);
}

TEST(Campaign, EndsWhereNothingElseThanTheMachinesTroubleComesAnyMore) {
  std::int64_t told = 0;
  CampaignEvents events;
  events.failed = [&](const Case&, const Verdict&, bool) { ++told; };
  const auto lost = [](const Case& c) {
    Verdict verdict = passing();
    // One is no sign.
    const bool is_lost = c.problem.s_kv[0] == 10 || c.problem.s_kv[0] >= 30;
    if (is_lost) verdict = verdict_of({TroubleKind::kInfra, "the device is gone"}, c.kernel);
    return verdict;
  };
  const auto result = campaign(stand_of(lost), {.threads = 2}, events);  // else without end
  EXPECT_GE(result.cases, 50);
  EXPECT_EQ(result.tally.passed, 29);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(result.trouble.kind, TroubleKind::kInfra);
  EXPECT_NE(result.trouble.text.find("20 cases in a row"), std::string::npos);
  EXPECT_NE(result.trouble.text.find("the device is gone"), std::string::npos);
}

// The second may be the only word of a crash.
TEST(Campaign, TellsEachReasonOfTheMachinesTroubleOnce) {
  std::vector<std::string> told;
  CampaignEvents events;
  events.failed = [&](const Case&, const Verdict& v, bool) { told.push_back(v.reason); };
  const auto now_and_then = [](const Case& c) {
    const int length = c.problem.s_kv[0];
    if (length % 10 != 0) return passing();
    return verdict_of({TroubleKind::kInfra, length == 20 ? "a process ended" : "no memory"},
                      c.kernel);
  };
  const auto result = campaign(stand_of(now_and_then), {.cases = 60}, events);
  EXPECT_EQ(result.tally.infra, 6);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_NE(told[0].find("no memory"), std::string::npos);
  EXPECT_NE(told[1].find("a process ended"), std::string::npos);
}

TEST(Campaign, TellsOfASuspectButCountsNoFailure) {
  const auto suspect = [](const Case& c) {
    Verdict verdict = passing();
    if (c.problem.s_kv[0] % 10 == 3) {
      verdict.status = Status::kSuspect;
      verdict.bucket = "suspect.gain.fake";
    }
    return verdict;
  };
  int told = 0;
  CampaignEvents events;
  events.failed = [&](const Case&, const Verdict&, bool) { ++told; };
  const auto result = campaign(stand_of(suspect), {.cases = 30}, events);
  EXPECT_EQ(told, 3);
  ASSERT_EQ(result.found.size(), 1u);
  EXPECT_EQ(result.found[0].smallest.problem.s_kv[0] % 10, 3);
  EXPECT_EQ(result.by_property().at("oracle").failed, 0);
  EXPECT_EQ(exit_code(result.tally), 5);
}

class OneProperty final : public CaseSource {
 public:
  bool knows(std::int64_t, std::int64_t) const override { return true; }
  Case at(std::int64_t index) const override {
    Case c = Lengths{}.at(index);
    c.property = "heads";
    return c;
  }
  void commit(std::int64_t, const Case&, const Verdict&) override {}
};

TEST(Campaign, NamesAFailingRelationByTheReferenceWhereThatFailsToo) {
  const auto judge = [](const Case& c) {
    if (c.problem.s_kv[0] == 20)
      return failing(c.property == "heads" ? "heads.differs" : "scores.wrong");
    if (c.problem.s_kv[0] == 21 && c.property == "heads") return failing("heads.differs");
    return passing();
  };
  OneProperty source;
  const auto result = run_campaign(source, stand_of(judge), {.cases = 30}, {}, kGoOn);
  ASSERT_EQ(result.found.size(), 2u);
  EXPECT_EQ(result.found[0].bucket, "scores.wrong");
  EXPECT_EQ(result.found[0].first.property, kOracle);
  EXPECT_EQ(result.found[1].bucket, "heads.differs");
  EXPECT_EQ(result.found[1].smallest.property, "heads");
  EXPECT_EQ(result.by_property().at("heads").failed, 2);
}

TEST(Campaign, KnowsTheLargestRatioOfEachTensorThatPassed) {
  const auto judge = [](const Case& c) {
    Verdict verdict = c.problem.s_kv[0] == 29 ? failing("a.b.c.d") : passing();
    verdict.worst.resize(2);
    verdict.worst[0].tensor = "lse";
    verdict.worst[1].tensor = "o";
    verdict.worst[0].ratio = c.problem.s_kv[0] % 7;
    verdict.worst[1].ratio = c.problem.s_kv[0];
    return verdict;
  };
  const auto result = campaign(stand_of(judge), {.cases = 30});
  EXPECT_EQ(result.largest.at("lse").ratio, 6);
  EXPECT_EQ(result.largest.at("o").ratio, 28);
  EXPECT_NE(result.largest.at("o").token.find(":s=28,7"), std::string::npos);
}

// Cases that pass have no bucket, and must not be taken for ones that fail alike.
TEST(Campaign, DoesNotShrinkWhatHasNoName) {
  const auto nameless = [](const Case& c) {
    return c.problem.s_kv[0] == 9 ? failing("") : passing();
  };
  const auto result = campaign(stand_of(nameless), {.cases = 30});
  ASSERT_EQ(result.found.size(), 1u);
  EXPECT_EQ(result.found[0].smallest, result.found[0].first);
}

TEST(Shrinker, StopsWhenItsBudgetIsSpent) {
  Case c = Lengths{}.at(199);
  static const FakeKernel kernel;
  Shrinker shrinker(c, two_bugs(c), kernel, two_bugs, {.tries = 3, .seconds = 60});
  int steps = 0;
  while (shrinker.step()) ++steps;
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(shrinker.why_ended(), "its budget is spent");
  EXPECT_EQ(two_bugs(shrinker.best()).bucket, "stage1.wrong.row.fake");
}

}  // namespace
}  // namespace attest
