#include "harness/schedules.hpp"

#include <gtest/gtest.h>

#include <set>

#include "harness/fake_device.hpp"

namespace attest {
namespace {

// A device that says how many workgroups its launches had.
class GridDevice final : public FakeDevice {
 public:
  std::uint64_t take_largest_grid() override { return grid; }
  std::uint64_t grid = 0;
};

// Right, but for the schedules that it is told.
class TouchyKernel final : public FakeKernel {
 public:
  using IsBad = bool (*)(const Schedule&);
  explicit TouchyKernel(IsBad is_bad) : is_bad_(is_bad) {}
  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<TouchyKernel>(is_bad_); }
  Outcome launch(Device& device, Module module, const Problem& p,
                 const MlaTensors& t) const override {
    Problem seen = p;
    if (is_bad_(static_cast<FakeDevice&>(device).schedule)) --seen.s_kv[0];
    return FakeKernel::launch(device, module, seen, t);
  }

 private:
  IsBad is_bad_;
};

bool never(const Schedule&) { return false; }

class ExploreSchedules : public testing::Test {
 protected:
  Explored explore(TouchyKernel::IsBad is_bad, int schedules) {
    const TouchyKernel kernel(is_bad);
    judged_ = 0;
    VerifyOptions options;
    options.schedules = schedules;
    return explore_schedules(kernel, device_, case_, options, [&](const Case& c) {
      ++judged_;
      return verify(kernel, device_, c, options);
    });
  }

  GridDevice device_;
  Case case_ = *parse_token("v1:k=fake_kernel:h=2:s=300:splits=3:dist=needles:seed=5:sched=9");
  int judged_ = 0;
};

TEST_F(ExploreSchedules, ACaseThatAlwaysLeavesTheSameBitsIsJudgedOnce) {
  const Explored explored = explore(never, 24);
  EXPECT_EQ(explored.verdict.status, Status::kPassed) << explored.verdict.reason;
  EXPECT_EQ(explored.c, case_);
  EXPECT_EQ(explored.verdict.schedules, 25);
  EXPECT_EQ(judged_, 1);
}

TEST_F(ExploreSchedules, TheFirstThatFailsIsTheCaseThatIsTold) {
  const Explored explored =
      explore([](const Schedule& s) { return s.kind == ScheduleKind::kDelayed; }, 24);
  EXPECT_EQ(explored.verdict.status, Status::kFailed);
  EXPECT_EQ(to_token(explored.c),
            "v1:k=fake_kernel:h=2:s=300:splits=3:dist=needles:seed=5:sched=d6");
  EXPECT_EQ(explored.verdict.schedules, 4);
}

TEST_F(ExploreSchedules, ACaseThatFailsAsItIsStaysAsItIs) {
  const Explored explored = explore([](const Schedule&) { return true; }, 24);
  EXPECT_EQ(explored.verdict.status, Status::kFailed);
  EXPECT_EQ(explored.c, case_);
  EXPECT_EQ(explored.verdict.schedules, 1);
}

TEST_F(ExploreSchedules, ASmallGridIsRunInEveryOrderOfArrival) {
  const auto last_order = [](const Schedule& s) { return s == Schedule{23, ScheduleKind::kOrder}; };
  device_.grid = 4;
  EXPECT_EQ(explore(last_order, 1).c.schedule, (Schedule{23, ScheduleKind::kOrder}));
  EXPECT_EQ(explore(never, 1).verdict.schedules, 1 + 1 + 24);
  device_.grid = 6;
  EXPECT_EQ(explore(never, 1).verdict.schedules, 1 + 1);
}

TEST_F(ExploreSchedules, NoneIsRunUnlessAsked) {
  device_.grid = 4;
  EXPECT_EQ(explore(never, 0).verdict.schedules, 1);
}

TEST(Schedules, AreOfEveryKindInTurnAndNoneTwice) {
  Case c;
  c.schedule = {2, ScheduleKind::kInterleaved};
  std::set<std::string> texts;
  for (const Schedule& schedule : some_schedules(c, 9)) {
    EXPECT_NE(schedule, c.schedule);
    texts.insert(to_string(schedule));
  }
  EXPECT_EQ(texts, (std::set<std::string>{"1", "i1", "d1", "l1", "2", "d2", "l2", "3", "i3"}));
}

TEST(Schedules, EveryOrderOfUpToFiveWorkgroups) {
  const std::size_t counts[] = {0, 0, 2, 6, 24, 120, 0};
  for (std::uint64_t groups = 0; groups < 7; ++groups)
    EXPECT_EQ(every_order(groups).size(), counts[groups]) << groups;
}

TEST(Schedules, TextIsReadBackAndOtherTextIsRefused) {
  for (const char* const text : {"0", "17", "i17", "d0", "o42", "l3", "i18446744073709551615"}) {
    const auto schedule = parse_schedule(text);
    ASSERT_TRUE(schedule) << text;
    EXPECT_EQ(to_string(*schedule), text);
    EXPECT_FALSE(in_words(*schedule).empty());
  }
  for (const char* const text :
       {"", " ", " 1", "i", "x1", "1i", "ii1", "-1", "i-1", "I1", "d1 ", "18446744073709551616"})
    EXPECT_FALSE(parse_schedule(text)) << text;
}

}  // namespace
}  // namespace attest
