#include "harness/verify_property.hpp"

#include <gtest/gtest.h>

#include "fuzz/properties/property.hpp"
#include "harness/fake_device.hpp"

namespace attest {
namespace {

// A fake kernel that promises bits, with a mistake made before or after what it does.
class Suspect : public FakeKernel {
 public:
  using Mistake = void (*)(const FakeDevice&, int launches, Problem&, MlaTensors&);
  struct Made {
    Mistake before = nullptr, after = nullptr;
    bool promises_bits = true;
  };
  explicit Suspect(Made made, Defect defect = Defect::kNone)
      : FakeKernel(defect), made_(made), defect_(defect) {}

  Contract contract(const Problem& p) const override {
    Contract contract = FakeKernel::contract(p);
    contract.run_to_run_bitwise = made_.promises_bits;
    contract.layout_invariant = contract.batch_invariant = made_.promises_bits;
    return contract;
  }
  std::unique_ptr<Kernel> fresh() const override {
    return std::make_unique<Suspect>(made_, defect_);
  }
  Outcome launch(Device& device, Module module, const Problem& problem,
                 const MlaTensors& tensors) const override {
    Problem p = problem;
    MlaTensors t = tensors;
    const auto& fake = static_cast<const FakeDevice&>(device);
    if (made_.before != nullptr) made_.before(fake, launches_, p, t);
    const Outcome outcome = FakeKernel::launch(device, module, p, t);
    if (made_.after != nullptr) made_.after(fake, launches_, p, t);
    ++launches_;
    return outcome;
  }

 private:
  Made made_;
  Defect defect_;
  mutable int launches_ = 0;
};

template <class T>
T* at(const Buffer& buffer) {
  return reinterpret_cast<T*>(buffer.address);
}

void lose_last_token(Problem& p) {
  for (int& s_kv : p.s_kv) s_kv = std::max(1, s_kv - 1);
}

// ---- mistakes, each one line of a kernel or a launcher ----

void second_launch_is_short(const FakeDevice&, int launches, Problem& p, MlaTensors&) {
  if (launches > 0) lose_last_token(p);
}
void odd_schedules_are_short(const FakeDevice& device, int, Problem& p, MlaTensors&) {
  if (device.schedule.seed % 2 == 1) lose_last_token(p);
}
void split_major_is_short(const FakeDevice&, int, Problem& p, MlaTensors&) {
  if (p.grid_order == GridOrder::kSplitMajor) lose_last_token(p);
}
void pages_of_16_are_short(const FakeDevice&, int, Problem& p, MlaTensors&) {
  if (p.page_size == 16) lose_last_token(p);
}
void scale_is_built_in(const FakeDevice&, int, Problem& p, MlaTensors&) {
  p.sm_scale = Problem{}.sm_scale;
}
void lone_splits_are_short(const FakeDevice&, int, Problem& p, MlaTensors&) {
  if (p.num_splits == 1) lose_last_token(p);
}
void after_an_empty_sequence_is_short(const FakeDevice&, int, Problem& p, MlaTensors&) {
  for (int seq = 1; seq < p.b(); ++seq) {
    if (p.s_kv[seq - 1] == 0) p.s_kv[seq] = std::max(p.s_kv[seq] - 1, 0);
  }
}
// The first page's neighbours in the pool, whatever the table says.
void pages_follow_the_first(const FakeDevice&, int, Problem& p, MlaTensors& t) {
  static std::vector<int> table;
  table.assign(at<int>(t.kv_indices), at<int>(t.kv_indices) + t.kv_indices.bytes / sizeof(int));
  const int pages = static_cast<int>(t.kv.bytes / (std::size_t{2} * p.page_size * kDQk));
  for (std::size_t i = 1; i < table.size(); ++i) table[i] = (table[0] + i) % pages;
  t.kv_indices.address = reinterpret_cast<std::uint64_t>(table.data());
}
// Weighs whatever the slot behind the last holds, if it is a number.
void slot_past_the_live_ones(const FakeDevice&, int, Problem& p, MlaTensors& t) {
  const float found = at<float>(t.partial_lse)[p.rows() * p.num_splits - 1];
  if (found > -1e30f) at<float>(t.lse)[0] += 0.001f * found;
}
void third_head_is_the_second(const FakeDevice&, int, Problem& p, MlaTensors& t) {
  at<float>(t.lse)[2] = at<float>(t.lse)[1];
  std::copy_n(at<std::uint16_t>(t.o) + p.o_stride_h(), kDV,
              at<std::uint16_t>(t.o) + 2 * p.o_stride_h());
}
void exp_overflows(const FakeDevice&, int, Problem& p, MlaTensors& t) {
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    if (at<float>(t.lse)[row] > 88) at<float>(t.lse)[row] = HUGE_VALF;
  }
}
void sink_of_logit_0(const FakeDevice&, int, Problem& p, MlaTensors& t) {
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    float& lse = at<float>(t.lse)[row];
    const double share = 1 / (1 + std::exp(-double{lse}));
    lse = static_cast<float>(lse - std::log(share));
    auto* const o = at<std::uint16_t>(t.o) + row * p.o_stride_h();
    for (int d = 0; d < kDV; ++d) o[d] = encode_bf16(share * decode_bf16(o[d]));
  }
}

Verdict verified(const std::string& token, std::string_view property,
                 const Suspect& kernel = Suspect({})) {
  const auto c = parse_token(token + ":prop=" + std::string{property});
  EXPECT_TRUE(c.ok()) << (c.ok() ? "" : c.trouble().text);
  FakeDevice device;
  const Verdict verdict = verify(kernel, device, *c, {"", 2, {}});
  EXPECT_TRUE(device.is_empty());
  return verdict;
}

constexpr const char* kRight[] = {
    "v1:h=1:s=3",
    "v1:h=3:s=1,63,64,65,200,0:page=16:splits=3:dist=needles",
    "v1:h=2:s=150,2,0:q=2,4,1:splits=1:dist=monotone",
    "v1:h=4:s=200,100:page=64:splits=2:start=1:qpad=8:opad=16:dist=uniform_logits",
    "v1:h=2:s=192,130,200:page=64:splits=8:prefix=128",
};

// Whether bits are promised or not: a right kernel that keeps bits keeps bounds too.
TEST(VerifyProperty, PassesARightKernelOrSaysWhyNot) {
  for (const Property* property : all_properties()) {
    int passed = 0;
    for (const char* token : kRight) {
      for (const bool promises_bits : {true, false}) {
        const Verdict verdict =
            verified(token, property->name(), Suspect({nullptr, nullptr, promises_bits}));
        if (verdict.status == Status::kSkipped) {
          EXPECT_NE(verdict.reason.find("says nothing of it: "), std::string::npos);
          continue;
        }
        EXPECT_EQ(verdict.status, Status::kPassed)
            << property->name() << " " << token << ": " << verdict.reason;
        EXPECT_GT(verdict.checked, 0);
        ++passed;
      }
    }
    EXPECT_GT(passed, 1) << property->name();
  }
}

struct Kill {
  const char* property;
  const char* token;
  const char* bucket;  // begins so
  Suspect::Made made = {};
  Defect defect = Defect::kNone;
};

constexpr const char* kPlain = "v1:h=3:s=150,70:splits=3:dist=wide_logits";

const Kill kKills[] = {
    {"memory", kPlain, "memory.damage.all.", {}, Defect::kWritesBeforeO},
    {"memory", kPlain, "memory.damage.all.", {}, Defect::kChangesKv},
    {"memory", kPlain, "memory.unwritten.", {}, Defect::kLeavesARowUnwritten},
    {"memory", "v1:h=3:s=65:splits=3", "memory.overwritten.", {}, Defect::kWritesDeadSplit},
    {"repeat", kPlain, "repeat.differs.", {second_launch_is_short}},
    {"repeat", kPlain, "repeat.wrong.", {second_launch_is_short, nullptr, false}},
    {"poison",
     "v1:h=3:s=65:splits=3",
     "poison.differs.scattered.",
     {nullptr, slot_past_the_live_ones}},
    {"schedule", kPlain, "schedule.differs.", {odd_schedules_are_short}},
    {"grid", kPlain, "grid.differs.", {split_major_is_short}},
    {"pages", kPlain, "pages.nonfinite.", {pages_follow_the_first}},
    {"page_size",
     "v1:h=3:s=150,70:splits=3:page=16",
     "page_size.differs.",
     {pages_of_16_are_short}},
    {"batch", kPlain, "batch.differs.", {after_an_empty_sequence_is_short}},
    {"heads", kPlain, "heads.differs.", {nullptr, third_head_is_the_second}},
    {"mtp_rows",
     "v1:h=3:s=150,70:q=2:splits=1",
     "mtp_rows.differs.",
     {},
     Defect::kDiagonalOffByOne},
    {"masked_tokens", kPlain, "masked_tokens.differs.", {}, Defect::kDiagonalOffByOne},
    {"scaled", kPlain, "scaled.differs.scattered.", {scale_is_built_in}},
    {"splits", "v1:h=3:s=150,70:splits=1", "splits.wrong.", {lone_splits_are_short}},
    {"splits", kPlain, "splits.wrong.", {}, Defect::kMergeStartsAtSecondSplit},
    {"prefix", kPlain, "prefix.wrong.scattered.", {}, Defect::kLseInBase2},
    {"prefix", kPlain, "prefix.wrong.", {nullptr, sink_of_logit_0}},
    {"duplicated", kPlain, "duplicated.wrong.scattered.", {}, Defect::kLseInBase2},
    {"shifted", kPlain, "shifted.wrong.scattered.", {}, Defect::kLseInBase2},
    {"shifted", kPlain, "shifted.nonfinite.", {nullptr, exp_overflows}},
    {"constant_v", kPlain, "constant_v.wrong.", {nullptr, sink_of_logit_0}},
    {"lone_token", kPlain, "lone_token.wrong.scattered.", {nullptr, sink_of_logit_0}},
    {"lone_token", kPlain, "lone_token.wrong.scattered.", {scale_is_built_in}},
    {"replay", "v1:h=3:s=150,70:splits=1", "replay.differs.", {}, Defect::kPlansAtCapture},
    {"replay", kPlain, "replay.unwritten.", {}, Defect::kPlansAtCapture},  // splits that are live
    {"dirty_workspace",
     "v1:h=3:s=65:splits=3",
     "dirty_workspace.differs.scattered.",
     {nullptr, slot_past_the_live_ones}},
    {"dirty_workspace", kPlain, "dirty_workspace.unwritten.", {}, Defect::kWritesTheLastRowOnce},
};

TEST(VerifyProperty, EachPropertyRejectsADefectAndNamesItsKind) {
  for (const Kill& kill : kKills) {
    const std::string token =
        kill.made.before == scale_is_built_in ? std::string{kill.token} + ":scale=0.1" : kill.token;
    const Verdict verdict = verified(token, kill.property, Suspect(kill.made, kill.defect));
    EXPECT_EQ(verdict.status, Status::kFailed) << kill.property << ": " << verdict.reason;
    EXPECT_TRUE(verdict.bucket.starts_with(kill.bucket) && verdict.bucket.ends_with(".fake_kernel"))
        << verdict.bucket << " is not " << kill.bucket << ": " << verdict.reason;
    EXPECT_TRUE(verdict.reason.starts_with("fake_kernel: " + std::string{kill.property}))
        << verdict.reason;
  }
}

TEST(VerifyProperty, EveryPropertyHasADefectThatItRejects) {
  for (const Property* property : all_properties()) {
    const auto rejects = [&](const Kill& kill) { return kill.property == property->name(); };
    EXPECT_TRUE(std::any_of(std::begin(kKills), std::end(kKills), rejects)) << property->name();
  }
}

TEST(VerifyProperty, SaysWhichElementDiffersInDecimalAndInBits) {
  const Verdict verdict =
      verified("v1:h=2:s=65:splits=3", "poison", Suspect({nullptr, slot_past_the_live_ones}));
  EXPECT_NE(verdict.reason.find("lse differs at sequence 0, query token 0, head 0: "),
            std::string::npos)
      << verdict.reason;
  EXPECT_NE(verdict.reason.find(" (0x4"), std::string::npos) << verdict.reason;
  EXPECT_NE(verdict.reason.find("1 of "), std::string::npos) << verdict.reason;
  ASSERT_EQ(verdict.worst.size(), 1u);
  EXPECT_EQ(verdict.wrong, 1);
}

TEST(VerifyProperty, SkipsTheOrderOfWorkWhereTheDeviceAloneChoosesIt) {
  struct Hardware : FakeDevice {
    bool is_emulated() const override { return false; }
  } hardware;
  Case c;
  c.kernel = "fake_kernel";
  c.problem.s_kv = {5};
  c.problem.s_q = {1};
  c.property = "schedule";
  const Suspect kernel({});
  const Verdict verdict = verify_property(kernel, hardware, c, {});
  EXPECT_EQ(verdict.status, Status::kSkipped);
  EXPECT_NE(verdict.reason.find("fake chooses its own schedule"), std::string::npos);
  FakeDevice emulator;
  EXPECT_EQ(verify_property(kernel, emulator, c, {}).status, Status::kPassed);
}

TEST(VerifyProperty, TurnsTroubleIntoItsStatus) {
  for (const auto& [kind, status] :
       {std::pair{TroubleKind::kCrashed, Status::kCrashed}, {TroubleKind::kHung, Status::kHung}}) {
    FakeDevice device;
    device.ends_with = {kind, "so it went"};
    const Verdict verdict =
        verify(Suspect({}), device, *parse_token("v1:h=1:prop=repeat"), {"", 1, {}});
    EXPECT_EQ(verdict.status, status);
    EXPECT_TRUE(device.is_empty());
  }
}

}  // namespace
}  // namespace attest
