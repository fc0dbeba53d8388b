#include "harness/trajectory.hpp"

#include <gtest/gtest.h>

#include "fuzz/trajectories/steps.hpp"
#include "harness/device/device_list.hpp"
#include "harness/fake_device.hpp"
#include "harness/selection.hpp"

namespace attest {
namespace {

constexpr const char* kBegin = "v1:h=2:s=65,40:page=16:splits=2";

Case with_steps(const std::string& steps, std::string_view token = kBegin) {
  Case c = *parse_token(token);
  c.steps = steps;
  EXPECT_EQ(why_invalid_steps(c), "");
  return c;
}

Verdict verified(const Case& c, Defect defect = Defect::kNone) {
  FakeDevice device;
  const Verdict verdict = verify(FakeKernel(defect), device, c, {"", 1, {}});
  EXPECT_TRUE(device.is_empty());
  return verdict;
}

constexpr const char* kRight[] = {
    "launch",
    "launch.grow0,1.launch.finish1.launch.add70.launch",
    "pad4.capture.replay.grow0,15.add3.replay.finish0.replay.finish0.finish0.replay",
    "capture.splits4.launch.replay.splits1.launch.dirty.replay.capture.replay",
    "dirty.launch.dirty.launch.splits3.dirty.launch",
    "finish0.finish0.pad2.launch.capture.replay",
    "add1,4.launch.add9,2.pad5.capture.finish0.replay.dirty.replay",
    "pad3.capture.replay20",
};

TEST(Trajectory, PassesARightKernel) {
  for (const char* steps : kRight) {
    for (const char* begin : {kBegin, "v1:h=1:s=17:splits=1:start=3:qpad=8:opad=8:dist=needles"}) {
      Case c = *parse_token(begin);
      c.steps = steps;
      if (!why_invalid_steps(c).empty()) continue;
      const Verdict verdict = verified(c);
      EXPECT_EQ(verdict.status, Status::kPassed) << to_token(c) << ": " << verdict.reason;
      EXPECT_GT(verdict.checked, 0);
    }
  }
}

TEST(Trajectory, CountsWhatEveryLaunchJudged) {
  EXPECT_EQ(verified(with_steps("launch.launch.launch")).checked,
            3 * verified(with_steps("launch")).checked);
}

struct Edit {
  Defect defect;
  const char* steps;
  const char* where;
  const char* bucket;
};

constexpr Edit kEdits[] = {
    {Defect::kKeepsTheFirstLengths, "launch.grow0,1.launch",
     "step 3 of 3, launch: ", "scores.wrong."},
    {Defect::kKeepsTheFirstLengths, "launch.capture.replay.grow1,2.replay",
     "step 5 of 5, replay: ", "replay-scores.wrong."},
    {Defect::kPlansAtCapture, "launch.capture.grow0,1.launch.replay",
     "step 5 of 5, replay: ", "replay-scores.wrong."},
    {Defect::kPlansAtCapture, "capture.replay20",
     "step 2 of 2, replay 1 of 20: ", "replay-scores.wrong."},
    // A number added to the poison leaves the poison: a NaN keeps its payload.
    {Defect::kSumsIntoItsWorkspace, "launch.launch", "step 2 of 2, launch: ", "stage1.unwritten."},
    {Defect::kSumsIntoItsWorkspace, "launch.dirty.launch",
     "step 3 of 3, launch: ", "values.wrong."},
    {Defect::kKeepsTheFirstPages, "launch.finish0.add70.launch",
     "step 4 of 4, launch: ", "scores.wrong."},
    {Defect::kKeepsTheFirstPages, "capture.replay.finish0.add70.replay",
     "step 5 of 5, replay: ", "replay-scores.wrong."},
    {Defect::kReturnsThePreviousAnswer, "launch.launch",
     "step 2 of 2, launch: ", "merge.stale.scattered."},
    {Defect::kReturnsThePreviousAnswer, "capture.replay3",
     "step 2 of 2, replay 2 of 3: ", "replay-merge.stale.scattered."},
    {Defect::kLeavesARowUnwritten, "launch", "step 1 of 1, launch: ", "stage2.unwritten."},
    {Defect::kWritesTheLastRowOnce, "launch.launch", "step 2 of 2, launch: ", "stage2.unwritten."},
    {Defect::kWritesTheLastRowOnce, "launch.dirty.launch",
     "step 3 of 3, launch: ", "merge.stale."},
    {Defect::kWritesBehindTheBatch, "launch.finish0.launch",
     "step 3 of 3, launch: ", "memory.oob.lse."},
    {Defect::kWritesDeadSplit, "dirty.launch", "step 2 of 2, launch: ", "stage1.overwritten."},
};

TEST(Trajectory, RejectsEachDefectAtItsStepAndNamesItsKind) {
  for (const Edit& edit : kEdits) {
    const Verdict verdict = verified(with_steps(edit.steps), edit.defect);
    EXPECT_EQ(verdict.status, Status::kFailed) << edit.steps << ": " << verdict.reason;
    EXPECT_TRUE(verdict.reason.starts_with(edit.where)) << verdict.reason;
    EXPECT_TRUE(verdict.bucket.starts_with(edit.bucket)) << edit.steps << ": " << verdict.bucket;
  }
}

// Else the table above could blame what one launch shows.
TEST(Trajectory, TheDefectsOfASecondLaunchPassTheFirst) {
  for (const Defect defect :
       {Defect::kKeepsTheFirstLengths, Defect::kPlansAtCapture, Defect::kSumsIntoItsWorkspace,
        Defect::kKeepsTheFirstPages, Defect::kReturnsThePreviousAnswer,
        Defect::kWritesTheLastRowOnce, Defect::kWritesBehindTheBatch}) {
    EXPECT_EQ(verified(with_steps("launch"), defect).status, Status::kPassed);
    EXPECT_EQ(verified(with_steps("capture.replay"), defect).status, Status::kPassed);
  }
}

TEST(Trajectory, DrawnOnesFindEachDefectOfASecondLaunchSoon) {
  for (const Defect defect : {Defect::kKeepsTheFirstLengths, Defect::kPlansAtCapture,
                              Defect::kSumsIntoItsWorkspace, Defect::kKeepsTheFirstPages,
                              Defect::kReturnsThePreviousAnswer, Defect::kWritesTheLastRowOnce}) {
    constexpr std::uint64_t kMost = 20;
    std::uint64_t seed = 0;
    for (; seed < kMost; ++seed) {
      const Case c = draw_trajectory(seed, *parse_token(kBegin));
      if (verified(c, defect).status == Status::kFailed) break;
    }
    EXPECT_LT(seed, kMost) << static_cast<int>(defect);
  }
}

TEST(Trajectory, InWhichNothingRunsIsVacuous) {
  const Verdict verdict = verified(with_steps("add5.capture.dirty"));
  EXPECT_EQ(verdict.status, Status::kVacuous);
  EXPECT_NE(verdict.reason.find("nothing was launched"), std::string::npos);
}

TEST(Trajectory, TroubleSaysAtWhichStep) {
  FakeDevice device;
  device.ends_with = {TroubleKind::kHung, "no end"};
  const Verdict verdict = verify(FakeKernel(), device, with_steps("add5.launch"), {"", 1, {}});
  EXPECT_EQ(verdict.status, Status::kHung);
  EXPECT_EQ(verdict.reason, "step 2 of 2, launch: fake_kernel: no end");
}

TEST(Trajectory, ALauncherThatCannotBeCapturedIsNoTroubleOfTheMachine) {
  EXPECT_EQ(verified(with_steps("launch"), Defect::kClearsLseFromTheHost).status, Status::kPassed);
  const Verdict verdict =
      verified(with_steps("launch.capture.replay"), Defect::kClearsLseFromTheHost);
  EXPECT_EQ(verdict.status, Status::kCrashed);
  EXPECT_EQ(verdict.reason,
            "step 2 of 3, capture: fake_kernel: it cannot be captured: a write during capture");
}

TEST(Trajectory, OfATokenThatCannotBeGoneThroughIsAUsersMistake) {
  const auto c = known_case("v1:k=mla_decode:steps=replay");
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.trouble().kind, TroubleKind::kUsage);
  EXPECT_NE(c.trouble().text.find("step 1 of 1, replay: nothing was captured"), std::string::npos);
  EXPECT_TRUE(known_case("v1:k=mla_decode:steps=capture.replay").ok());
}

// The real kernel on the emulator.
class Healthy : public testing::Test {
 protected:
  Verdict verified(const Case& c) {
    auto device = open_device("emu:gfx942", {.threads = 1});
    EXPECT_TRUE(device.ok());
    return verify(*find_kernel("mla_decode"), **device, c, {ATTEST_CODE_OBJECT_DIR, 1, {}});
  }
};

TEST_F(Healthy, PassesDrawnTrajectories) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Case c =
        draw_trajectory(seed, *parse_token("v1:k=mla_decode:h=5:s=65,130:q=2:page=16:splits=3"));
    const Verdict verdict = verified(c);
    EXPECT_EQ(verdict.status, Status::kPassed) << to_token(c) << ": " << verdict.reason;
  }
}

TEST_F(Healthy, PassesAHundredReplaysOfOneCapture) {
  const Case c =
      *known_case("v1:k=mla_decode:h=2:s=65,15:page=16:splits=2:steps=pad4.capture.replay100");
  const Verdict verdict = verified(c);
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  EXPECT_GT(verdict.checked, 100 * 2 * kDV);
}

}  // namespace
}  // namespace attest
