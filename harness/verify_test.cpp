#include "harness/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "fuzz/problems/suites.hpp"
#include "harness/fake_device.hpp"

namespace attest {
namespace {

Verdict verified(std::string_view token, Defect defect = Defect::kNone) {
  const auto c = parse_token(token);
  EXPECT_TRUE(c.ok()) << (c.ok() ? "" : c.trouble().text);
  FakeDevice device;
  const Verdict verdict = verify(FakeKernel(defect), device, *c, {"", 2, {}});
  EXPECT_TRUE(device.is_empty());
  return verdict;
}

constexpr const char* kRight[] = {
    "v1:h=1",
    "v1:h=3:s=1,63,64,65,300,0:page=16:splits=3:dist=needles",
    "v1:h=2:s=300,2,0:q=2,4,1:splits=1:dist=monotone",
    "v1:h=5:s=200,100:page=64:splits=2:start=1:qpad=8:opad=16:dist=uniform_logits",
    "v1:h=2:s=320,330,400:page=64:splits=8:prefix=320",
    "v1:h=1:s=300:splits=256:scale=-0.0625",
    "v1:h=1:s=0x3:splits=8",
    "v1:h=1:s=80:page=16:base=1000:splits=2:dist=needles",
};

TEST(Verify, PassesARightKernel) {
  for (const char* token : kRight) {
    const Verdict verdict = verified(token);
    EXPECT_EQ(verdict.status, Status::kPassed) << token << ": " << verdict.reason;
    EXPECT_GT(verdict.checked, 0);
  }
}

// A kernel that takes fp8, on the cases for those that do.
TEST(Verify, PassesARightKernelOfFp8) {
  int passed = 0;
  for (const std::string_view token : find_suite("fp8")->tokens) {
    if (parse_token(token)->problem.total_kv() > 3000) continue;
    const Verdict verdict = verified(token);
    // Small weights of large tensors may show too little for a bound of bf16 P.
    const bool vacuous = verdict.status == Status::kVacuous;
    EXPECT_TRUE(verdict.status == Status::kPassed || vacuous) << token << ": " << verdict.reason;
    passed += verdict.status == Status::kPassed;
    EXPECT_GT(verdict.checked, 0);
  }
  EXPECT_GE(passed, 14);
}

// The edits that the project promises to see, on data that shows them.
struct Edit {
  Defect defect;
  const char* token;
  const char* bucket;
};

constexpr Edit kEdits[] = {
    {Defect::kDropLastToken, "v1:h=3:s=300,260:splits=3:dist=needles", "scores.wrong."},
    {Defect::kDropLastToken, "v1:h=3:s=300,65:splits=1", "scores.wrong."},
    {Defect::kDropLastToken, "v1:h=3:s=300:splits=2:dist=uniform_logits", "scores.wrong."},
    {Defect::kMergeStartsAtSecondSplit, "v1:h=3:s=300,65:splits=3", "merge.wrong.scattered."},
    {Defect::kLseInBase2, "v1:h=3:s=300:splits=3", "merge.wrong.lse."},
    {Defect::kDiagonalOffByOne, "v1:h=3:s=300:q=2:splits=3:dist=needles", "scores.wrong."},
    {Defect::kDiagonalOffByOne, "v1:h=3:s=300:q=2:splits=3", "scores.wrong.causal."},
    {Defect::kReadsPastThePageTable, "v1:h=3:s=64:page=16:splits=1", "scores.nan.all."},
    {Defect::kSkipsTheAccumulatorsRescale, "v1:h=3:s=100:splits=1:dist=monotone",
     "values.wrong.scattered."},
    {Defect::kLeavesARowUnwritten, "v1:h=3:s=100,20:splits=2", "stage2.unwritten.head."},
    {Defect::kOtherHeadsLseInTheMerge, "v1:h=3:s=300:splits=3", "merge.wrong.scattered."},
    {Defect::kWritesZeros, "v1:h=3:s=300:splits=3:dist=uniform_logits", "stage2.zero.scattered."},
    {Defect::kForgetsTheDescaleFactorOfQ, "v1:h=3:s=300:splits=3:qt=fp8:kvt=fp8:qscale=0.7",
     "scores.wrong."},
    {Defect::kForgetsTheDescaleFactorOfTheScores,
     "v1:h=3:s=300:splits=3:kvt=fp8:kvscale=3:dist=needles", "scores.wrong."},
    {Defect::kForgetsTheDescaleFactorOfV, "v1:h=3:s=300:splits=3:qt=fp8:kvt=fp8:kvscale=3",
     "values.wrong."},
    {Defect::kWritesBeforeO, "v1:h=3:s=300:splits=3", "memory.oob.o."},
    {Defect::kWritesPadOfO, "v1:h=3:s=300:splits=3:opad=8", "memory.overwritten.pad."},
    {Defect::kChangesKv, "v1:h=3:s=300:splits=3", "memory.input.kv."},
    {Defect::kWritesDeadSplit, "v1:h=3:s=65:splits=3", "stage1.overwritten.lse."},
};

TEST(Verify, RejectsEachDefectAndNamesItsKind) {
  for (const Edit& edit : kEdits) {
    const Verdict verdict = verified(edit.token, edit.defect);
    EXPECT_EQ(verdict.status, Status::kFailed)
        << edit.token << " " << static_cast<int>(edit.defect);
    EXPECT_TRUE(verdict.bucket.starts_with(edit.bucket))
        << verdict.bucket << " is not " << edit.bucket << ": " << verdict.reason;
    EXPECT_TRUE(verdict.reason.starts_with("fake_kernel: ")) << verdict.reason;
  }
}

TEST(Verify, NamesTheLargestTermOfTheTierThatAWrongElementBreaks) {
  const Verdict verdict = verified("v1:h=3:s=300:splits=3", Defect::kLseInBase2);
  EXPECT_NE(verdict.reason.find("largest term of T"), std::string::npos) << verdict.reason;
}

TEST(Verify, ExplainsTheWorstElementOfAPass) {
  const Verdict verdict = verified("v1:h=3:s=300:splits=3");
  bool explained = false;
  for (const Worst& worst : verdict.worst) explained |= !worst.terms.empty();
  EXPECT_TRUE(explained);
}

TEST(Verify, SaysWhichDescaleFactorAKernelOfFp8Forgets) {
  const char* const token = "v1:h=2:s=300:splits=3:qt=fp8:kvt=fp8:qscale=0.7:kvscale=3";
  for (const auto& [defect, words] :
       {std::pair{Defect::kForgetsTheDescaleFactorOfQ, "as if q_scale were left out"},
        {Defect::kForgetsTheDescaleFactorOfTheScores, "as if kv_scale were left out of the scores"},
        {Defect::kForgetsTheDescaleFactorOfV, "as if kv_scale were left out of V"}}) {
    const Verdict verdict = verified(token, defect);
    EXPECT_EQ(verdict.status, Status::kFailed);
    EXPECT_NE((verdict.reason + verdict.blame).find(words), std::string::npos)
        << verdict.reason << "\n"
        << verdict.blame;
  }
}

TEST(Verify, PassesTheScheduleToTheDevice) {
  FakeDevice device;
  const Verdict verdict =
      verify(FakeKernel(), device, *parse_token("v1:h=1:sched=77"), {"", 1, {}});
  EXPECT_EQ(verdict.status, Status::kPassed);
  EXPECT_EQ(device.schedule.seed, 77u);
}

TEST(Verify, TurnsTroubleIntoItsStatus) {
  const Case c = *parse_token("v1:h=1");
  for (const auto& [kind, status, bucket] :
       {std::tuple{TroubleKind::kCrashed, Status::kCrashed, "launch.crash.all.fake_kernel"},
        {TroubleKind::kHung, Status::kHung, "launch.hang.all.fake_kernel"},
        {TroubleKind::kInfra, Status::kInfra, ""}}) {
    FakeDevice device;
    device.ends_with = {kind, "so it went"};
    const Verdict verdict = verify(FakeKernel(), device, c, {"", 1, {}});
    EXPECT_EQ(verdict.status, status);
    EXPECT_EQ(verdict.bucket, bucket);
    EXPECT_EQ(verdict.reason, "fake_kernel: so it went");
    EXPECT_TRUE(device.is_empty());
  }
}

TEST(Verify, ReportsADeviceWithoutMemoryAsInfra) {
  FakeDevice device;
  device.refuse_to_allocate = "partial_o";
  const Verdict verdict =
      verify(FakeKernel(), device, *parse_token("v1:h=1:splits=2"), {"", 1, {}});
  EXPECT_EQ(verdict.status, Status::kInfra);
  EXPECT_EQ(verdict.reason, "fake_kernel: no memory for partial_o");
}

TEST(Verify, SkipsWhatTheKernelDoesNotTakeAndSaysWhy) {
  const Verdict verdict = verified("v1:h=13");
  EXPECT_EQ(verdict.status, Status::kSkipped);
  EXPECT_NE(verdict.reason.find("thirteen heads"), std::string::npos);
}

// What checks and arithmetics of an emulator come to, without one.
class WatchedDevice : public FakeDevice {
 public:
  void set_arith(Arith arith) override { this->arith = arith; }
  Outcome synchronize() override {
    found_ = std::exchange(reports, {});
    return FakeDevice::synchronize();
  }
  std::vector<CheckReport> take_reports() override { return std::exchange(found_, {}); }
  Arith arith = Arith::kFma;
  std::vector<CheckReport> reports;  // of the next launch

 private:
  std::vector<CheckReport> found_;
};

// Right under some arithmetics alone.
class LeaningKernel : public FakeKernel {
 public:
  explicit LeaningKernel(std::vector<Arith> wrong_under) : wrong_under_(std::move(wrong_under)) {}
  std::unique_ptr<Kernel> fresh() const override {
    return std::make_unique<LeaningKernel>(wrong_under_);
  }
  Outcome launch(Device& device, Module module, const Problem& p,
                 const MlaTensors& t) const override {
    const Arith arith = static_cast<WatchedDevice&>(device).arith;
    const bool wrong =
        std::find(wrong_under_.begin(), wrong_under_.end(), arith) != wrong_under_.end();
    return FakeKernel(wrong ? Defect::kLseInBase2 : Defect::kNone).launch(device, module, p, t);
  }

 private:
  std::vector<Arith> wrong_under_;
};

Verdict verified_under(const std::vector<Arith>& wrong_under, const std::vector<Arith>& ariths) {
  WatchedDevice device;
  return verify(LeaningKernel(wrong_under), device, *parse_token("v1:h=2:s=100:splits=1"),
                {.code_objects = {}, .ariths = ariths});
}

TEST(Verify, RightUnderSomeArithmeticsAloneIsSuspect) {
  const std::vector<Arith> all(kAriths.begin(), kAriths.end());
  const Verdict verdict = verified_under({Arith::kCdna3, Arith::kAdversarial}, all);
  EXPECT_EQ(verdict.status, Status::kSuspect);
  EXPECT_EQ(verdict.bucket, "suspect.arith.all.fake_kernel");
  EXPECT_NE(verdict.reason.find("right under the arithmetic fma, exact, cdna2 alone, not under "
                                "cdna3, adversarial, where: fake_kernel: lse wrong"),
            std::string::npos)
      << verdict.reason;
  EXPECT_EQ(verified_under({}, all).status, Status::kPassed);
  EXPECT_EQ(verified_under(all, all).status, Status::kFailed);
  EXPECT_EQ(verified_under({Arith::kCdna3}, {Arith::kCdna3}).status, Status::kFailed);
  EXPECT_EQ(verified_under({Arith::kCdna3}, {Arith::kExact}).status, Status::kPassed);
}

TEST(Verify, ACrashUnderOneArithmeticIsACrash) {
  WatchedDevice device;
  device.ends_with = {TroubleKind::kCrashed, "the kernel trapped"};
  const Verdict verdict =
      verify(LeaningKernel({Arith::kCdna3}), device, *parse_token("v1:h=2:s=100:splits=1"),
             {.code_objects = {}, .ariths = {Arith::kFma, Arith::kCdna3}});
  EXPECT_EQ(verdict.status, Status::kCrashed);
  EXPECT_TRUE(verdict.reason.starts_with("under the arithmetic fma: ")) << verdict.reason;
}

// A launcher that asks for too much is broken; a code object that is not there is not its doing.
TEST(Verify, ARefusedLaunchIsTheKernelsAndAMissingFileIsNot) {
  WatchedDevice device;
  const Case c = *parse_token("v1:h=2:s=100:splits=1");
  device.ends_with = {TroubleKind::kRefused, "kernel a_stage1: a block of 384 threads"};
  const Verdict refused = verify(FakeKernel(), device, c, {});
  EXPECT_EQ(refused.status, Status::kCrashed);
  EXPECT_EQ(refused.bucket, "stage1.refused.all.fake_kernel");
  device.ends_with = {TroubleKind::kUsage, "none.co: it cannot be read"};
  EXPECT_EQ(verify(FakeKernel(), device, c, {}).status, Status::kInfra);
}

// They say why, and are not charged to the next case on the device.
TEST(Verify, WhatTheChecksFoundBeforeACrashIsToldWithIt) {
  WatchedDevice device;
  device.ends_with = {TroubleKind::kCrashed,
                      "a read is outside every buffer: far\n  kernel a_stage1, w"};
  device.reports = {{.check = Check::kWaits,
                     .kernel = "a_stage1",
                     .place = "a.s:12:1",
                     .instruction = "v_mov_b32 v0, v1",
                     .what = "reads v1",
                     .who = "wave 0"}};
  const Case c = *parse_token("v1:h=2:s=100:splits=1");
  const Verdict crashed = verify(FakeKernel(), device, c, {});
  EXPECT_EQ(crashed.status, Status::kCrashed);
  EXPECT_EQ(crashed.bucket, "stage1.oob.far.fake_kernel");
  EXPECT_NE(crashed.reason.find("and check waits: reads v1"), std::string::npos) << crashed.reason;
  device.ends_with = {};
  EXPECT_EQ(verify(FakeKernel(), device, c, {}).status, Status::kPassed);
}

TEST(Verify, WhatTheChecksFindFailsAndWhatNoResultShowsIsARemark) {
  const CheckReport report{.check = Check::kWaits,
                           .kernel = "mla_stage1",
                           .place = "a.s:12:1",
                           .instruction = "v_mov_b32 v0, v1",
                           .what = "reads v1",
                           .who = "workgroup (0, 0, 0), wave 0"};
  WatchedDevice device;
  const Case c = *parse_token("v1:h=2:s=100:splits=1");
  device.reports = {report};
  const Verdict failed = verify(FakeKernel(), device, c, {});
  EXPECT_EQ(failed.status, Status::kFailed);
  EXPECT_EQ(failed.bucket, "stage1.waits.a-s-12.fake_kernel");
  EXPECT_NE(failed.reason.find("check waits: reads v1\n  at a.s:12:1: v_mov_b32"),
            std::string::npos)
      << failed.reason;
  device.reports = {report};
  device.reports[0].benign = true;
  const Verdict passed = verify(FakeKernel(), device, c, {});
  EXPECT_EQ(passed.status, Status::kPassed) << passed.reason;
  ASSERT_EQ(passed.remarks.size(), 1u);
}

}  // namespace
}  // namespace attest
