// Which elements are shown, and what they must be: what a right kernel leaves there is accepted,
// and what the wrong one left is not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "fuzz/properties/property.hpp"
#include "harness/fake_device.hpp"
#include "harness/judge_element.hpp"
#include "harness/standalone/failure.hpp"
#include "harness/standalone/property_faults.hpp"

namespace attest {
namespace {

// A fake kernel on a recorded fake device: its launcher knows the fake one.
class OnFake final : public Kernel {
 public:
  OnFake(std::unique_ptr<Kernel> kernel, FakeDevice& device)
      : kernel_(std::move(kernel)), device_(device) {}
  std::string_view name() const override { return kernel_->name(); }
  std::string_view summary() const override { return kernel_->summary(); }
  Contract contract(const Problem& p) const override { return kernel_->contract(p); }
  std::string why_unsupported(const Problem& p) const override {
    return kernel_->why_unsupported(p);
  }
  int num_splits(const Problem& p) const override { return kernel_->num_splits(p); }
  std::string code_object(std::string_view target) const override {
    return kernel_->code_object(target);
  }
  std::unique_ptr<Kernel> fresh() const override {
    return std::make_unique<OnFake>(kernel_->fresh(), device_);
  }
  Outcome launch(Device&, Module module, const Problem& p, const MlaTensors& t) const override {
    return kernel_->launch(device_, module, p, t);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  FakeDevice& device_;
};

Failure failure_of(const std::string& token, Defect defect) {
  FakeDevice device;
  return record_failure(OnFake(std::make_unique<FakeKernel>(defect), device), device,
                        *parse_token(token), {"", 1, {}});
}

std::uint32_t bits_at(const Record& record, const ElementAt& at, int bytes) {
  const auto& read = std::get<RecordedRead>(record.events[at.event]);
  std::vector<std::byte> held = read.bytes;
  if (held.empty()) held = record.written(read.buffer, read.offset, read.size, at.event);
  std::uint32_t bits = 0;
  std::memcpy(&bits, held.data() + at.offset - read.offset, bytes);
  return bits;
}

// Whether the element is right by what a record holds there.
bool accepts(const FaultyElement& element, const Record& record) {
  const std::uint32_t bits = bits_at(record, element.at, element.bytes);
  const auto other = [&] { return bits_at(record, element.other, element.bytes); };
  const auto value = [&](std::uint32_t x) {
    return value_of(element.bytes == 4 ? Stored::kFp32 : Stored::kBf16, x);
  };
  const auto& read = std::get<RecordedRead>(record.events[element.at.event]);
  const std::uint32_t fill = record.buffers[read.buffer].fill;
  switch (element.must) {
    case Must::kLieWithin:
      return element.low <= value(bits) && value(bits) <= element.high;
    case Must::kHold:
      return bits == element.wanted;
    case Must::kBeFinite:
      return std::isfinite(value(bits));
    case Must::kBeWritten:
      return bits != (element.bytes == 4 ? fill * 0x10001u : fill);
    case Must::kEqualOther:
      return bits == other();
    case Must::kBeNearOther:
      return std::abs(value(bits) - value(other()) - element.shift) <= element.bound;
  }
  return false;
}

// The same case by a right kernel makes the same calls, so that events agree.
void expect_tells_right_from_wrong(const Failure& wrong, const Failure& right) {
  ASSERT_EQ(right.verdict.status, Status::kPassed) << right.verdict.reason;
  EXPECT_TRUE(right.elements.empty());
  ASSERT_GE(right.record.events.size(), wrong.record.events.size());  // it ends where it fails
  EXPECT_FALSE(wrong.elements.empty()) << wrong.verdict.reason << wrong.why_no_elements;
  for (const FaultyElement& element : wrong.elements) {
    EXPECT_EQ(bits_at(wrong.record, element.at, element.bytes), element.at.seen) << element.name;
    EXPECT_FALSE(accepts(element, wrong.record)) << element.name;
    EXPECT_TRUE(accepts(element, right.record)) << element.name;
  }
}

struct Edit {
  Defect defect;
  const char* token;
  std::set<std::string> tensors;  // that have faults
};

const Edit kEdits[] = {
    {Defect::kDropLastToken,
     "v1:h=3:s=300,65:splits=3:dist=needles",
     {"partial_lse", "partial_o", "lse", "o"}},
    {Defect::kDropLastToken, "v1:h=3:s=300,65:splits=1:opad=8", {"lse", "o"}},
    {Defect::kLseInBase2, "v1:h=3:s=300:splits=3", {"lse"}},
    {Defect::kReadsPastThePageTable, "v1:h=3:s=64:page=16:splits=1", {"lse", "o"}},
    {Defect::kLeavesARowUnwritten, "v1:h=3:s=100,20:splits=2", {"lse", "o"}},
    {Defect::kWritesZeros, "v1:h=3:s=300:splits=3:dist=uniform_logits:opad=8", {"o"}},
    {Defect::kWritesDeadSplit, "v1:h=3:s=65:splits=3", {"partial_lse"}},
};

TEST(Faults, AreWhatARightKernelDoesNotHaveInEachTensor) {
  for (const Edit& edit : kEdits) {
    SCOPED_TRACE(edit.token);
    const Failure wrong = failure_of(edit.token, edit.defect);
    expect_tells_right_from_wrong(wrong, failure_of(edit.token, Defect::kNone));
    std::map<std::string, std::size_t> tensors;
    for (const FaultyElement& element : wrong.elements)
      ++tensors[element.name.substr(0, element.name.find('['))];
    std::set<std::string> names;
    for (const auto& [name, count] : tensors) {
      names.insert(name);
      EXPECT_LE(count, kFaultsShown);
    }
    EXPECT_EQ(names, edit.tensors);
  }
}

TEST(Faults, BeginWithTheElementThatTheVerdictNames) {
  const Failure failure = failure_of("v1:h=3:s=300:splits=3", Defect::kLseInBase2);
  const Worst& worst = failure.verdict.worst[2];
  ASSERT_EQ(worst.tensor, "lse");
  ASSERT_FALSE(failure.elements.empty());
  EXPECT_EQ(failure.elements[0].at.seen, worst.actual_bits);
  EXPECT_EQ(failure.elements[0].expected, worst.expected);
  EXPECT_EQ(failure.elements[0].bound, worst.bound);
}

TEST(Faults, AChangedInputIsShownByTheWordsThatChanged) {
  const char* const token = "v1:h=3:s=300:splits=3";
  const Failure wrong = failure_of(token, Defect::kChangesKv);
  expect_tells_right_from_wrong(wrong, failure_of(token, Defect::kNone));
  for (const FaultyElement& element : wrong.elements)
    EXPECT_TRUE(element.name.starts_with("kv[byte ")) << element.name;
}

TEST(Faults, AWrittenPadIsShownAndTheOutputBesideItIsNot) {
  const char* const token = "v1:h=3:s=300:splits=3:opad=8";
  const Failure wrong = failure_of(token, Defect::kWritesPadOfO);
  expect_tells_right_from_wrong(wrong, failure_of(token, Defect::kNone));
  for (const FaultyElement& element : wrong.elements) {
    EXPECT_TRUE(element.name.starts_with("o[byte ")) << element.name;
    EXPECT_GE(element.at.offset / 2 % (kDV + 8), static_cast<std::size_t>(kDV)) << element.name;
  }
}

TEST(PropertyFaults, EachPropertyHasARelation) {
  for (const Property* property : all_properties())
    EXPECT_NE(relation_of(property->name()), nullptr) << property->name();
}

// Each property that sees a defect, by an element that a right kernel has right.
TEST(PropertyFaults, TellAWrongKernelFromARightOne) {
  std::set<Relation> seen;
  for (const Property* property : all_properties()) {
    for (const Defect defect :
         {Defect::kDropLastToken, Defect::kLeavesARowUnwritten, Defect::kLseInBase2,
          Defect::kWritesDeadSplit, Defect::kDiagonalOffByOne, Defect::kWritesZeros}) {
      const std::string token = fmt::format(
          "v1:h=3:s=70,300:q=2:splits=3:page=16:dist=needles:prop={}", property->name());
      const Failure wrong = failure_of(token, defect);
      if (wrong.verdict.status != Status::kFailed) continue;
      SCOPED_TRACE(fmt::format("{} {}", token, wrong.verdict.reason));
      const Relation relation = *relation_of(property->name());
      seen.insert(relation);
      if (relation == Relation::kComputed) {
        EXPECT_TRUE(wrong.elements.empty());
        EXPECT_NE(wrong.why_no_elements.find("prefix"), std::string::npos);
      } else {
        expect_tells_right_from_wrong(wrong, failure_of(token, Defect::kNone));
      }
    }
  }
  EXPECT_EQ(seen.size(), 4u) << "a relation that no defect breaks is not tested";
}

bool has_guard_damage(const Record& record) {
  return std::any_of(record.events.begin(), record.events.end(), [](const RecordedEvent& event) {
    return std::holds_alternative<RecordedGuardDamage>(event);
  });
}

// What only a second launch in the same memory shows.
TEST(TrajectoryFaults, TellAWrongKernelFromARightOne) {
  for (const Defect defect : {Defect::kKeepsTheFirstLengths, Defect::kPlansAtCapture,
                              Defect::kSumsIntoItsWorkspace, Defect::kReturnsThePreviousAnswer,
                              Defect::kWritesTheLastRowOnce, Defect::kWritesBehindTheBatch}) {
    int failed = 0;
    for (const char* const steps :
         {"launch.grow0,130.launch", "capture.grow1,3.replay3", "launch.dirty.grow0,2.launch",
          "launch.finish1.launch", "launch.finish1.dirty.launch"}) {
      const std::string token =
          fmt::format("v1:h=3:s=70,300:splits=3:page=16:dist=needles:steps={}", steps);
      const Failure wrong = failure_of(token, defect);
      if (wrong.verdict.status != Status::kFailed) continue;
      SCOPED_TRACE(fmt::format("{} {}", token, wrong.verdict.reason));
      if (has_guard_damage(wrong.record)) continue;  // shown by that, and other events follow
      ++failed;
      expect_tells_right_from_wrong(wrong, failure_of(token, Defect::kNone));
    }
    EXPECT_GT(failed, 0) << static_cast<int>(defect);
  }
}

}  // namespace
}  // namespace attest
