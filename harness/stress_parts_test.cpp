// What stress is made of: the steps of a graph, temporaries, and the comparison of bits.
#include <gtest/gtest.h>

#include <set>

#include "harness/fake_device.hpp"
#include "harness/stress_bits.hpp"
#include "harness/stress_steps.hpp"

namespace attest {
namespace {

TEST(ReplaySteps, FitIntoTheGraphOfTheFirstAndAreOthers) {
  const Case c = *parse_token("v1:h=3:s=900,0,65,130,7:q=3,1,2,1,1:page=16:seed=4");
  const std::vector<Case> steps = replay_steps(FakeKernel(), c, 16);
  ASSERT_EQ(steps.size(), 16u);
  EXPECT_EQ(steps[0].problem.s_kv, c.problem.s_kv);
  std::set<std::vector<int>> lengths;
  std::set<std::string> distributions;
  for (const Case& step : steps) {
    const Problem& p = step.problem;
    EXPECT_EQ(p.b(), c.problem.b());
    EXPECT_EQ(p.h_q, c.problem.h_q);
    EXPECT_EQ(p.num_splits, 4) << "the rule's choice for the captured shape";
    EXPECT_EQ(p.total_q(), c.problem.total_q());
    EXPECT_EQ(p.max_s_q(), c.problem.max_s_q());
    EXPECT_EQ(p.page_size, c.problem.page_size);
    EXPECT_LE(p.total_kv(), c.problem.total_kv());
    EXPECT_EQ(why_invalid(p), "");
    EXPECT_TRUE(parse_token(to_token(step)).ok());
    lengths.insert(p.s_kv);
    distributions.insert(step.distribution);
  }
  EXPECT_GT(lengths.size(), 12u);
  EXPECT_GT(distributions.size(), 3u);
  EXPECT_EQ(replay_steps(FakeKernel(), c, 16), steps);
}

TEST(ReplaySteps, EachIsTakenOnceByEachStreamBeforeAnyIsTakenAgain) {
  const Case c = *parse_token("v1:h=2:s=65,40,7:page=16:splits=2");
  for (const int stream : {0, 1}) {
    std::set<std::size_t> taken;
    for (int round = 0; round < 16; ++round) taken.insert(step_of(c, stream, round, 16));
    EXPECT_EQ(taken.size(), 16u);
  }
  EXPECT_NE(step_of(c, 0, 0, 16), step_of(c, 1, 0, 16));
}

TEST(Temporaries, AreOthersEachTurnAndLeaveNothing) {
  FakeDevice device;
  {
    Temporaries temporaries(device, Seed{3}, {64, 0, 4096});
    for (int turn = 0; turn < 5; ++turn) ASSERT_TRUE(temporaries.turn().ok());
    EXPECT_FALSE(device.is_empty());
  }
  EXPECT_TRUE(device.is_empty());
  device.refuse_to_allocate = "temporary";
  EXPECT_FALSE(Temporaries(device, Seed{3}, {64}).turn().ok());
}

// Two sequences, the second of which sees nothing of its second split.
struct Pair {
  Problem problem = parse_token("v1:h=1:s=70,66:q=1,4:splits=2")->problem;
  Contract contract;
  Subject subject{"k", problem, contract, 2};
  Output a, b;
  Pair() {
    a.o.resize(5 * kDV);
    a.lse.resize(5);
    a.partial_o.resize(10 * kDV);
    a.partial_lse.resize(10);
    b = a;
  }
};

TEST(BitDifference, IsNoneOfEqualBitsAndTheFirstAsDataFlows) {
  Pair pair;
  EXPECT_FALSE(bit_difference(pair.subject, pair.a, pair.b));
  pair.b.o[kDV + 3] = 1;
  pair.b.o[kDV + 9] = 1;
  auto found = bit_difference(pair.subject, pair.b, pair.a);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at.tensor, "o");
  EXPECT_EQ(found->at.sequence, 1);
  EXPECT_EQ(found->at.column, 3);
  EXPECT_EQ(found->elements, 2);
  EXPECT_EQ(found->of, 5 * kDV);
  pair.b.partial_lse[1] = 0x80000000;  // -0
  found = bit_difference(pair.subject, pair.b, pair.a);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at.tensor, "partial_lse");
  EXPECT_EQ(found->at.split, 1);
  EXPECT_EQ(found->at.actual_bits, 0x80000000);
}

TEST(BitDifference, OfAPartialThatShowsNoTokenIsNone) {
  Pair pair;
  // Query token 0 of sequence 1 sees 63 of its 66 tokens; the second split begins at token 64.
  pair.b.partial_o[(1 * 2 + 1) * kDV + 5] = 7;
  EXPECT_FALSE(bit_difference(pair.subject, pair.b, pair.a));
  pair.b.partial_o[(4 * 2 + 1) * kDV + 5] = 7;
  EXPECT_TRUE(bit_difference(pair.subject, pair.b, pair.a));
}

}  // namespace
}  // namespace attest
