#include "harness/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>

#include "harness/core/poison.hpp"
#include "harness/fake_device.hpp"
#include "harness/generate.hpp"

namespace attest {
namespace {

// A problem with its inputs, and a session whose outputs have room for a larger one.
struct Trial {
  explicit Trial(std::string_view token, Defect defect = Defect::kNone)
      : c(*parse_token(token)),
        kernel(defect),
        inputs(std::move(*generate(c, walk_of(kernel, c.problem), 1))),
        session(kernel, device, kPoison16) {
    Problem larger = c.problem;
    larger.s_kv.push_back(1);
    larger.s_q.push_back(1);
    session.open("", {&inputs}, output_sizes(kernel, larger));
    session.write(inputs);
  }
  Output collected() {
    auto output = session.collect(c.problem, inputs);
    EXPECT_TRUE(output.ok());
    return output.ok() ? *output : Output{};
  }

  Case c;
  FakeKernel kernel;
  FakeDevice device;
  Inputs inputs;
  Session session;
};

TEST(Session, ASecondLaunchInTheSameMemoryGivesTheSameBits) {
  Trial t("v1:h=2:s=100,0,65:page=16:splits=3:qpad=8:opad=8");
  t.session.launch(t.c.problem);
  const Output first = t.collected();
  EXPECT_TRUE(first.damage.empty());
  t.session.poison_outputs();
  t.session.launch(t.c.problem);
  const Output second = t.collected();
  EXPECT_EQ(first.o, second.o);
  EXPECT_EQ(first.partial_lse, second.partial_lse);
  EXPECT_TRUE(second.damage.empty());
}

TEST(Session, PoisonedOutputsHoldPoisonAndLeftOnesWhatWasThere) {
  Trial t("v1:h=2:s=100:splits=1");
  t.session.launch(t.c.problem);
  const Output first = t.collected();
  t.session.leave_outputs();
  EXPECT_EQ(t.session.read(t.c.problem).o, first.o);
  t.session.poison_outputs();
  EXPECT_EQ(t.session.read(t.c.problem).o, std::vector<std::uint16_t>(2 * kDV, kPoison16));
}

TEST(Session, AReplaySeesWhatWasChangedInPlace) {
  Trial t("v1:h=1:s=80:splits=1");
  const Graph graph = t.session.capture(t.c.problem);
  EXPECT_EQ(t.session.read(t.c.problem).o[0], kPoison16) << "a capture runs nothing";
  t.session.replay(graph, t.c.problem);
  const Output before = t.collected();
  t.inputs.kv_last_page_len = {1};
  t.inputs.kv_indptr = {0, 33};  // 33 tokens
  t.session.write(t.inputs);
  t.session.replay(graph, t.c.problem);
  const Output after = t.collected();
  EXPECT_NE(before.lse, after.lse);
  t.c.problem.s_kv = {33};
  t.session.launch(t.c.problem);
  EXPECT_EQ(t.collected().lse, after.lse);
}

TEST(Session, AWriteBehindTheLastRowOfASmallerBatchIsDamage) {
  for (const bool left : {false, true}) {
    Trial t("v1:h=1:s=80:splits=1", Defect::kWritesBehindTheBatch);
    t.session.launch(t.c.problem);
    EXPECT_TRUE(t.collected().damage.empty());
    if (left) t.session.leave_outputs();
    t.session.launch(t.c.problem);
    const Output output = t.collected();
    ASSERT_EQ(output.damage.size(), 1u) << left;
    EXPECT_EQ(output.damage[0], "wrote behind the last row of lse, at byte 4");
  }
}

TEST(Session, AChangedInputIsDamage) {
  Trial t("v1:h=1:s=80:splits=1", Defect::kChangesKv);
  t.session.launch(t.c.problem);
  ASSERT_EQ(t.collected().damage.size(), 1u);
  EXPECT_NE(t.collected().damage[0].find("changed its input kv"), std::string::npos);
}

// Of a smaller problem in memory that a larger one used.
TEST(Session, PagesThatAreNotUsedAnyMoreHoldPoisonAndNoInputSeemsChanged) {
  const Case large = *parse_token("v1:h=2:s=300,90:page=16:splits=3:seed=4");
  const Case small = *parse_token("v1:h=1:s=70:page=16:splits=2");
  FakeKernel kernel;
  FakeDevice device;
  const Inputs before = std::move(*generate(large, walk_of(kernel, large.problem), 1));
  const Inputs inputs = std::move(*generate(small, walk_of(kernel, small.problem), 1));
  Session session(kernel, device, kPoison16);
  session.open("", {&inputs, &before}, output_sizes(kernel, large.problem));
  session.write(before);
  session.launch(large.problem);
  session.write(inputs);
  session.leave_outputs();
  session.launch(small.problem);
  const auto output = session.collect(small.problem, inputs);
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->damage.empty()) << output->damage[0];
}

std::vector<std::uint8_t> bytes_in(FakeDevice& device, const Buffer& buffer) {
  std::vector<std::uint8_t> bytes(buffer.bytes);
  EXPECT_TRUE(device.read(buffer, 0, std::as_writable_bytes(std::span{bytes})).ok());
  return bytes;
}

// A kernel that keeps what it was given.
class Seen : public FakeKernel {
 public:
  Outcome launch(Device&, Module, const Problem&, const MlaTensors& t) const override {
    tensors = t;
    return Done{};
  }
  mutable MlaTensors tensors;
};

TEST(Session, AnFp8TensorIsOfBytesWithItsDescaleFactorAndNanWhereNobodyWrote) {
  const Case c =
      *parse_token("v1:h=2:s=70:page=16:splits=2:qpad=8:qt=fp8:kvt=fp8:qscale=0.5:kvscale=3");
  Seen kernel;
  FakeDevice device;
  const Inputs inputs = std::move(*generate(c, walk_of(kernel, c.problem), 1));
  Session session(kernel, device, kPoison16);
  session.open("", {&inputs}, output_sizes(kernel, c.problem));
  session.write(inputs);
  session.launch(c.problem);
  const MlaTensors& t = kernel.tensors;
  EXPECT_EQ(t.q.bytes, 2u * 584);
  EXPECT_EQ(t.kv.bytes, inputs.num_pages * 16u * 576);
  ASSERT_EQ(t.q_scale.bytes, 4u);
  ASSERT_EQ(t.kv_scale.bytes, 4u);
  EXPECT_EQ(*reinterpret_cast<const float*>(t.q_scale.address), 0.5f);
  EXPECT_EQ(*reinterpret_cast<const float*>(t.kv_scale.address), 3.0f);
  const auto kv = bytes_in(device, t.kv);
  EXPECT_GE(std::ranges::count(kv, 0x80), (inputs.num_pages - 5) * 16 * 576);  // unused pages
  EXPECT_EQ(*reinterpret_cast<const std::uint8_t*>(t.kv.address - 1), 0x80);   // a guard zone
  const auto lse = bytes_in(device, t.lse);
  EXPECT_EQ(lse[0] | lse[1] << 8, kPoison16);
}

TEST(Session, Bf16HasNoDescaleFactors) {
  const Case c = *parse_token("v1:h=2:s=70:splits=2");
  Seen kernel;
  FakeDevice device;
  const Inputs inputs = std::move(*generate(c, walk_of(kernel, c.problem), 1));
  Session session(kernel, device, kPoison16);
  session.open("", {&inputs}, output_sizes(kernel, c.problem));
  session.launch(c.problem);
  EXPECT_EQ(kernel.tensors.q_scale.bytes, 0u);
  EXPECT_EQ(kernel.tensors.kv_scale.bytes, 0u);
}

TEST(Session, PagesOfFp8ThatAreNotUsedAnyMoreHoldItsNan) {
  const Case large = *parse_token("v1:h=2:s=300,90:page=16:splits=3:seed=4:kvt=fp8");
  const Case small = *parse_token("v1:h=1:s=70:page=16:splits=2:kvt=fp8");
  Seen kernel;
  FakeDevice device;
  const Inputs before = std::move(*generate(large, walk_of(kernel, large.problem), 1));
  const Inputs inputs = std::move(*generate(small, walk_of(kernel, small.problem), 1));
  Session session(kernel, device, kPoison16);
  session.open("", {&inputs, &before}, output_sizes(kernel, large.problem));
  session.write(before);
  session.write(inputs);
  session.launch(small.problem);
  const auto kv = bytes_in(device, kernel.tensors.kv);
  EXPECT_EQ(std::ranges::count(kv, 0x80), std::ssize(kv) - 70 * 576);
}

TEST(Session, TheFirstTroubleSticks) {
  Trial t("v1:h=1:s=80:splits=1");
  t.device.ends_with = {TroubleKind::kCrashed, "a fault"};
  t.session.launch(t.c.problem);
  t.device.ends_with = {};
  t.session.launch(t.c.problem);
  const auto output = t.session.collect(t.c.problem, t.inputs);
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.trouble().text, "a fault");
}

}  // namespace
}  // namespace attest
