// Which elements are shown, and what they must be: what a right kernel leaves there is accepted,
// and what the wrong one left is not.
#include "harness/standalone/faults.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "harness/fake_device.hpp"
#include "harness/judge_element.hpp"

namespace attest {
namespace {

struct Ran {
  Verdict verdict;
  Record record;
  std::vector<FaultyElement> faults, changed;
};

Ran run_of(std::string_view token, Defect defect) {
  const auto c = parse_token(token);
  FakeDevice device;
  RecordingDevice recording(device);
  Ran run;
  VerifyOptions options{"", 1, {}};
  options.at_judgement = [&](const Judgement& judgement) {
    run.faults = faulty_elements(judgement, recording.record());
  };
  run.verdict = verify(FakeKernel(defect), recording, *c, options);
  run.record = recording.record();
  run.changed = changed_elements(c->problem, run.record);
  return run;
}

// What a run left where another run's element lies.
std::uint32_t bits_at(const Record& record, const FaultyElement& element) {
  const auto& read = std::get<RecordedRead>(record.events[element.event]);
  std::vector<std::byte> bytes = read.bytes;
  if (bytes.empty()) bytes = record.written(read.buffer, read.offset, read.size, element.event);
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + element.offset - read.offset, element.bytes);
  return bits;
}

bool accepts(const FaultyElement& element, std::uint32_t bits) {
  if (element.exact) return bits == element.wanted;
  const double value = value_of(element.bytes == 4 ? Stored::kFp32 : Stored::kBf16, bits);
  return element.low <= value && value <= element.high;
}

// The same case by a right kernel makes the same calls, so that events agree.
void expect_tells_right_from_wrong(const std::vector<FaultyElement>& elements, const Ran& wrong,
                                   const Ran& right) {
  ASSERT_EQ(right.record.events.size(), wrong.record.events.size());
  for (const FaultyElement& element : elements) {
    EXPECT_EQ(bits_at(wrong.record, element), element.seen) << element.name;
    EXPECT_FALSE(accepts(element, element.seen)) << element.name;
    EXPECT_TRUE(accepts(element, bits_at(right.record, element))) << element.name;
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
    const Ran wrong = run_of(edit.token, edit.defect);
    expect_tells_right_from_wrong(wrong.faults, wrong, run_of(edit.token, Defect::kNone));
    std::map<std::string, std::size_t> tensors;
    for (const FaultyElement& element : wrong.faults)
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
  const Ran run = run_of("v1:h=3:s=300:splits=3", Defect::kLseInBase2);
  const Worst& worst = run.verdict.worst[2];
  ASSERT_EQ(worst.tensor, "lse");
  ASSERT_FALSE(run.faults.empty());
  EXPECT_EQ(run.faults[0].seen, worst.actual_bits);
  EXPECT_EQ(run.faults[0].expected, worst.expected);
  EXPECT_EQ(run.faults[0].bound, worst.bound);
}

TEST(Faults, AChangedInputIsShownByTheWordsThatChanged) {
  const char* const token = "v1:h=3:s=300:splits=3";
  const Ran wrong = run_of(token, Defect::kChangesKv);
  ASSERT_FALSE(wrong.changed.empty());
  EXPECT_TRUE(wrong.changed[0].name.starts_with("kv[byte ")) << wrong.changed[0].name;
  expect_tells_right_from_wrong(wrong.changed, wrong, run_of(token, Defect::kNone));
}

TEST(Faults, AWrittenPadIsShownAndTheOutputBesideItIsNot) {
  const char* const token = "v1:h=3:s=300:splits=3:opad=8";
  const Ran wrong = run_of(token, Defect::kWritesPadOfO);
  ASSERT_FALSE(wrong.changed.empty());
  for (const FaultyElement& element : wrong.changed) {
    EXPECT_TRUE(element.name.starts_with("o[byte ")) << element.name;
    EXPECT_GE(element.offset / 2 % (kDV + 8), static_cast<std::size_t>(kDV)) << element.name;
  }
  expect_tells_right_from_wrong(wrong.changed, wrong, run_of(token, Defect::kNone));
}

TEST(Faults, OfARightKernelThereAreNone) {
  const Ran run = run_of("v1:h=3:s=300,0:q=2,1:splits=3:opad=8", Defect::kNone);
  EXPECT_EQ(run.verdict.status, Status::kPassed) << run.verdict.reason;
  EXPECT_TRUE(run.faults.empty());
  EXPECT_TRUE(run.changed.empty());
}

}  // namespace
}  // namespace attest
