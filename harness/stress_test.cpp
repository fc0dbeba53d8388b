// Stress on a device of plain C++, whose kernels have defects that a single launch does not show.
#include "harness/stress.hpp"

#include <gtest/gtest.h>

#include <set>

#include "harness/fake_device.hpp"

namespace attest {
namespace {

constexpr const char* kToken = "v1:h=2:s=65,40,7:page=16:splits=2";

StressOptions times(int count) { return {{.code_objects = "", .threads = 1}, count, ""}; }

// A FakeKernel that promises the bits of a launch whatever else there is.
class Promising : public FakeKernel {
 public:
  explicit Promising(Defect defect = Defect::kNone) : FakeKernel(defect), defect_(defect) {}
  Contract contract(const Problem& problem) const override {
    Contract contract = FakeKernel::contract(problem);
    contract.layout_invariant = contract.batch_invariant = true;
    return contract;
  }
  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<Promising>(defect_); }

 private:
  Defect defect_;
};

Verdict replayed(const Kernel& kernel, int count = 40, std::string_view token = kToken) {
  FakeDevice device;
  Verdict verdict = stress_replay(kernel, device, *parse_token(token), times(count));
  EXPECT_TRUE(device.is_empty());
  return verdict;
}

TEST(StressReplay, PassesARightKernelAndCountsWhatItLookedAt) {
  for (const char* token : {kToken, "v1:h=1:s=17,9:splits=1:start=3:qpad=8:opad=8:dist=needles",
                            "v1:h=2:s=0,70:q=2,1:page=16"}) {
    const Verdict verdict = replayed(Promising(), 40, token);
    EXPECT_EQ(verdict.status, Status::kPassed) << token << ": " << verdict.reason;
    EXPECT_GT(verdict.checked, 2 * 40 * parse_token(token)->problem.rows() * kDV);
    ASSERT_FALSE(verdict.remarks.empty());
    EXPECT_EQ(verdict.remarks.back(), "40 replays on each of 2 streams, over 10 steps");
  }
  // Of a kernel that promises no bits, every replay is judged by the oracle.
  EXPECT_EQ(replayed(FakeKernel()).status, Status::kPassed);
}

struct Edit {
  Defect defect;
  const char* words;  // of the reason
};
constexpr Edit kEdits[] = {
    {Defect::kPlansAtCapture, "on stream 1, captured with lengths of 1, of step 6 of 10"},
    {Defect::kKeepsTheFirstLengths, "on stream 1, captured with lengths of 1, of step 6 of 10"},
    {Defect::kKeepsTheFirstPages, "on stream 0, of step 1 of 10"},
    {Defect::kReturnsThePreviousAnswer, "on stream 0, of step 1 of 10"},
    {Defect::kSumsIntoItsWorkspace, "on stream 0, of step 1 of 10"},
    {Defect::kWritesTheLastRowOnce, "on stream 0, of step 1 of 10"},
};

TEST(StressReplay, RejectsWhatASecondLaunchAloneShowsAndSaysWhichReplay) {
  for (const auto& [defect, words] : kEdits) {
    for (const Verdict& verdict : {replayed(Promising(defect)), replayed(FakeKernel(defect))}) {
      EXPECT_EQ(verdict.status, Status::kFailed) << static_cast<int>(defect);
      EXPECT_TRUE(verdict.bucket.starts_with("replay-")) << verdict.bucket;
      EXPECT_TRUE(verdict.reason.starts_with("replay ")) << verdict.reason;
      EXPECT_NE(verdict.reason.find(" replays fail"), std::string::npos) << verdict.reason;
    }
    const Verdict verdict = replayed(Promising(defect));
    EXPECT_NE(verdict.reason.find(words), std::string::npos) << verdict.reason;
  }
}

// o and lse of each memory are those of the launch before there.
class Lags : public Promising {
 public:
  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<Lags>(); }
  Outcome launch(Device& device, Module module, const Problem& p,
                 const MlaTensors& t) const override {
    Outcome launched = Promising::launch(device, module, p, t);
    static_cast<FakeDevice&>(device).run([this, t] {
      for (const Buffer& buffer : {t.o, t.lse}) {
        auto* const at = reinterpret_cast<std::uint16_t*>(buffer.address);
        std::vector<std::uint16_t> now(at, at + buffer.bytes / 2);
        std::vector<std::uint16_t>& before = before_[buffer.address];
        if (!before.empty()) std::copy(before.begin(), before.end(), at);
        before = std::move(now);
      }
    });
    return launched;
  }

 private:
  mutable std::map<std::uint64_t, std::vector<std::uint16_t>> before_;
};

TEST(StressReplay, SaysWhenTheAnswerIsThatOfTheReplayBefore) {
  const Verdict verdict = replayed(Lags());
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_NE(verdict.reason.find("; o and lse are those of the replay before"), std::string::npos)
      << verdict.reason;
}

TEST(StressReplay, NamesATrajectoryThatFailsToo) {
  const Verdict verdict = replayed(Promising(Defect::kPlansAtCapture));
  const std::string words = "`attest repro` shows it too: ";
  const std::size_t at = verdict.reason.find(words);
  ASSERT_NE(at, std::string::npos) << verdict.reason;
  const std::string token = verdict.reason.substr(at + words.size());
  const auto c = parse_token(token);
  ASSERT_TRUE(c.ok()) << token;
  FakeDevice device;
  const Verdict again = verify(FakeKernel(Defect::kPlansAtCapture), device, *c, {"", 1, {}});
  EXPECT_EQ(again.status, Status::kFailed);
}

TEST(StressReplay, AFailureOfASingleLaunchIsNoReplays) {
  const Verdict verdict = replayed(Promising(Defect::kDropLastToken));
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_TRUE(
      verdict.reason.starts_with("before any graph, a launch of step 1 of 10 (attest repro"))
      << verdict.reason;
  EXPECT_FALSE(verdict.bucket.starts_with("replay-"));
}

TEST(StressReplay, ALauncherThatCannotBeCapturedIsToldByItsCapture) {
  const Verdict verdict = replayed(Promising(Defect::kClearsLseFromTheHost));
  EXPECT_EQ(verdict.status, Status::kCrashed);
  EXPECT_TRUE(verdict.reason.starts_with("capture on stream 0: ")) << verdict.reason;
}

TEST(StressReplay, OfNoTokensIsVacuous) {
  const Verdict verdict = replayed(Promising(), 8, "v1:h=1:s=0,0:splits=2");
  EXPECT_EQ(verdict.status, Status::kVacuous);
  EXPECT_NE(verdict.reason.find("every step has the same answer"), std::string::npos);
}

// Memory that was released is the next that is given, as from a caching allocator.
class RecyclingDevice : public FakeDevice {
 public:
  Result<Buffer> allocate(const std::string& label, std::size_t bytes,
                          std::uint16_t fill) override {
    auto& free = free_[bytes];
    if (free.empty()) return FakeDevice::allocate(label, bytes, fill);
    const Buffer buffer = free.back();
    free.pop_back();
    std::fill_n(reinterpret_cast<std::uint16_t*>(buffer.address), bytes / 2, fill);
    return buffer;
  }
  void release(const Buffer& buffer) override { free_[buffer.bytes].push_back(buffer); }
  void release_all() override {
    free_.clear();
    FakeDevice::release_all();
  }

 private:
  std::map<std::size_t, std::vector<Buffer>> free_;
};

// What it computes with lies in memory that it releases when it has launched.
class ReleasesItsTable : public Promising {
 public:
  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<ReleasesItsTable>(); }
  Outcome launch(Device& device, Module module, const Problem& p,
                 const MlaTensors& t) const override {
    const std::uint16_t one = 0x3f80;
    const auto table = device.allocate("table", 4096, one);
    if (!table.ok()) return table.trouble();
    Outcome launched = Promising::launch(device, module, p, t);
    static_cast<FakeDevice&>(device).run([lse = t.lse.address, factor = table->address] {
      *reinterpret_cast<float*>(lse) *=
          static_cast<float>(decode_bf16(*reinterpret_cast<const std::uint16_t*>(factor)));
    });
    device.release(*table);
    return launched;
  }
};

TEST(StressReplay, ATemporaryThatWasReleasedAfterTheCaptureIsFound) {
  RecyclingDevice device;
  const Verdict verdict =
      stress_replay(ReleasesItsTable(), device, *parse_token(kToken), times(40));
  EXPECT_EQ(verdict.status, Status::kFailed) << verdict.reason;
  EXPECT_TRUE(verdict.reason.starts_with("replay ")) << verdict.reason;
  EXPECT_NE(verdict.reason.find("lse"), std::string::npos) << verdict.reason;
}

// One bit of lse is another one in some launches.
class Flips : public FakeKernel {
 public:
  explicit Flips(std::set<int> launches) : launches_(std::move(launches)) {}
  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<Flips>(launches_); }
  Outcome launch(Device& device, Module module, const Problem& p,
                 const MlaTensors& t) const override {
    Outcome launched = FakeKernel::launch(device, module, p, t);
    if (launches_.contains(++launch_)) reinterpret_cast<std::uint32_t*>(t.lse.address)[3] ^= 1;
    return launched;
  }

 private:
  std::set<int> launches_;
  mutable int launch_ = 0;
};

Verdict repeated(const Kernel& kernel, int count = 20) {
  FakeDevice device;
  Verdict verdict = stress_repeat(kernel, device, *parse_token(kToken), times(count));
  EXPECT_TRUE(device.is_empty());
  return verdict;
}

TEST(StressRepeat, PassesARightKernel) {
  const Verdict verdict = repeated(FakeKernel());
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  EXPECT_EQ(verdict.remarks.back(), "20 launches");
}

TEST(StressRepeat, OneBitOfOneLaunchIsFoundAndNamed) {
  const Verdict verdict = repeated(Flips({7}));
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_EQ(verdict.bucket, "repeat.differs.lse.fake_kernel");
  EXPECT_EQ(verdict.wrong, 1);
  EXPECT_TRUE(verdict.reason.starts_with("launch 7 of 20")) << verdict.reason;
  EXPECT_NE(verdict.reason.find("lse differs at sequence 1, query token 0, head 1: "),
            std::string::npos)
      << verdict.reason;
  EXPECT_NE(verdict.reason.find("1 of 6 elements of lse"), std::string::npos) << verdict.reason;
  EXPECT_TRUE(verdict.reason.ends_with("1 of 19 launches fail")) << verdict.reason;
}

TEST(StressRepeat, CountsTheLaunchesThatDiffer) {
  EXPECT_TRUE(repeated(Flips({4, 11, 20})).reason.ends_with("3 of 19 launches fail"));
}

TEST(StressRepeat, AWrongFirstLaunchIsTheOraclesToTell) {
  const Verdict verdict = repeated(FakeKernel(Defect::kDropLastToken));
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_TRUE(verdict.reason.starts_with("launch 1 of 20: ")) << verdict.reason;
  EXPECT_TRUE(verdict.bucket.starts_with("scores.")) << verdict.bucket;
}

TEST(StressRepeat, ALaunchThatLeavesARowOrAnInputIsFound) {
  EXPECT_TRUE(
      repeated(FakeKernel(Defect::kWritesTheLastRowOnce)).bucket.starts_with("stage2.unwritten"));
  EXPECT_EQ(repeated(FakeKernel(Defect::kChangesKv)).bucket, "memory.input.kv.fake_kernel");
}

TEST(StressRepeat, WithoutAPromiseOfBitsTheOracleJudgesEveryLaunch) {
  class Unsteady : public Flips {
   public:
    using Flips::Flips;
    Contract contract(const Problem& problem) const override {
      Contract contract = Flips::contract(problem);
      contract.run_to_run_bitwise = false;
      return contract;
    }
  };
  EXPECT_EQ(repeated(Unsteady({7})).status, Status::kPassed);
}

TEST(StressOrder, LaunchesTheKernelsOtherBuildsOfTheSameName) {
  class Seen : public FakeDevice {
   public:
    Result<Module> load_module(const std::string& path) override {
      paths.push_back(path);
      return Module{0};
    }
    std::vector<std::string> paths;
  } device;
  class WithObject : public FakeKernel {
   public:
    std::string code_object(std::string_view target) const override {
      return "fake." + std::string(target) + ".co";
    }
    std::unique_ptr<Kernel> fresh() const override { return std::make_unique<WithObject>(); }
  };
  StressOptions options = times(2);
  options.verify.code_objects = "objects";
  const Verdict verdict = stress_order(WithObject(), device, *parse_token(kToken), options);
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  EXPECT_EQ(device.paths, (std::vector<std::string>{
                              "objects/fake.host.co", "objects/fake_forward.host.co",
                              "objects/fake_reverse.host.co", "objects/fake_seeded.host.co"}));
}

TEST(StressOrder, ABuildThatGivesOtherBitsIsFound) {
  FakeDevice device;
  // The fresh launcher of each build flips its second launch.
  const Verdict verdict = stress_order(Flips({2}), device, *parse_token(kToken), times(3));
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_EQ(verdict.bucket, "order.differs.lse.fake_kernel");
  EXPECT_TRUE(verdict.reason.starts_with("in the order 'forward', launch 2 of 3: "))
      << verdict.reason;
  EXPECT_TRUE(verdict.reason.ends_with("3 of 9 launches fail")) << verdict.reason;
}

TEST(Stress, TakesNoCaseThatIsManyLaunchesAlready) {
  EXPECT_EQ(why_not_stressed(*parse_token(kToken)), "");
  for (const char* token :
       {"v1:s=65:steps=launch", "v1:s=65:prop=repeat", "v1:s=64,64:page=16:prefix=16"}) {
    EXPECT_NE(why_not_stressed(*parse_token(token)), "") << token;
  }
}

}  // namespace
}  // namespace attest
