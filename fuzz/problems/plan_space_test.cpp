#include "fuzz/problems/plan_space.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "fuzz/problems/draw.hpp"

namespace attest {
namespace {

Case case_of(std::string_view token) { return *parse_token(token); }

std::string_view value(const Case& c, int sequence, Feature feature) {
  const Features features = features_of(c.problem, sequence, *find_kernel(c.kernel));
  return values_of(feature)[features[static_cast<int>(feature)]];
}

TEST(Features, SayHowALengthLiesToTilesSplitsAndPages) {
  const Case c = case_of("v1:k=mla_decode:s=0,1,33,64,130,260,400:page=16:splits=4");
  using enum Feature;
  const auto of = [&](Feature feature) {
    std::vector<std::string_view> values;
    for (int seq = 0; seq < c.problem.b(); ++seq) values.push_back(value(c, seq, feature));
    return values;
  };
  using Words = std::vector<std::string_view>;
  // Of 4 splits of at least 64 tokens; the last of 260 and of 400 take 65 and 100.
  EXPECT_EQ(of(kSplits), (Words{"many, no token", "more than tokens", "one live", "one live",
                                "some empty", "all live, even", "all live, even"}));
  EXPECT_EQ(of(kLastTile),
            (Words{"none", "one token", "one token", "full", "between", "one token", "between"}));
  EXPECT_EQ(of(kSplitTail),
            (Words{"none", "none", "none", "none", "full", "one token", "between"}));
  EXPECT_EQ(of(kPageEdge),
            (Words{"no token", "one past", "one past", "at it", "inside", "inside", "at it"}));
}

TEST(Features, SayWhichBranchOfThePlanIsTaken) {
  using enum Feature;
  const Case c = case_of("v1:k=mla_decode_bf16_partials:h=64:s=5,300:q=8,1:page=64:splits=16");
  EXPECT_EQ(value(c, 0, kPartials), "bf16");
  EXPECT_EQ(value(c, 0, kWaves), "one");
  EXPECT_EQ(value(c, 0, kHeadEdge), "at it");
  EXPECT_EQ(value(c, 0, kGrid), "auto, splits a multiple of 8");
  EXPECT_EQ(value(c, 0, kQueryTokens), "ragged");
  EXPECT_EQ(value(c, 0, kUnseen), "some, 0 < s_kv < s_q");
  EXPECT_EQ(value(c, 1, kUnseen), "none");
  EXPECT_EQ(value(c, 1, kSplitSource), "given");
  const Case d = case_of("v1:k=mla_decode:h=17:s=64,80:page=16:prefix=64:base=120000:scale=0");
  EXPECT_EQ(value(d, 0, kPrefix), "all");
  EXPECT_EQ(value(d, 1, kPrefix), "a part");
  EXPECT_EQ(value(d, 1, kWaves), "several");
  EXPECT_EQ(value(d, 1, kHeadEdge), "one past");
  EXPECT_EQ(value(d, 1, kPageBase), "2 GiB or more");
  EXPECT_EQ(value(d, 1, kSplitSource), "kernel's own rule");
  EXPECT_EQ(value(d, 1, kScale), "0");
}

TEST(Features, HaveAllTheirValuesInWords) {
  for (int f = 0; f < kFeatures; ++f) {
    EXPECT_FALSE(name_of(Feature{f}).empty()) << f;
    EXPECT_GE(values_of(Feature{f}).size(), 2u) << name_of(Feature{f});
  }
}

// Small problems, all of them: none has a pair that a rule excludes.
TEST(PlanRules, HoldForEverySmallProblem) {
  PlanSpace space;
  Case c;
  for (int s_kv = 0; s_kv <= 200; ++s_kv) {
    for (int splits : {0, 1, 2, 3, 4, 8, 200, 256}) {
      for (int page_size : {1, 16, 64}) {
        for (int s_q : {1, 2, 8}) {
          c.problem = {.h_q = s_kv % 128 + 1,
                       .s_kv = {s_kv},
                       .s_q = {s_q},
                       .page_size = page_size,
                       .num_splits = splits};
          if (splits % 2 == 0) c.problem.shared_prefix = s_kv / page_size * page_size;
          ASSERT_EQ(why_invalid(c.problem), "");
          space.add(c, *find_kernel(c.kernel));
        }
      }
    }
  }
  for (const FeaturePair& pair : space.seen_though_impossible())
    ADD_FAILURE() << to_string(pair) << ": "
                  << why_impossible(pair.a, pair.value_a, pair.b, pair.value_b);
}

TEST(PlanSpace, ThreeThousandDrawnCasesShowNearlyAllPossiblePairs) {
  const DrawOptions options{.kernels = all_kernels()};
  PlanSpace space;
  for (int i = 0; i < 3000; ++i) {
    const Case c = draw_case(1, i, options);
    space.add(c, *find_kernel(c.kernel));
  }
  EXPECT_EQ(space.cases(), 3000);
  EXPECT_GE(space.seen(), 0.99 * space.possible());
  for (const FeaturePair& pair : space.seen_though_impossible())
    ADD_FAILURE() << "a rule excludes it: " << to_string(pair);
  std::cout << space.summary() << "; never seen:\n";
  for (const FeaturePair& pair : space.never_seen()) std::cout << "  " << to_string(pair) << '\n';
}

TEST(PlanSpace, ListsWhatWasNeverSeenInWords) {
  PlanSpace space;
  EXPECT_EQ(space.seen(), 0);
  EXPECT_GT(space.possible(), 2000);
  const Case c = case_of("v1:k=mla_decode:s=64:splits=2");
  space.add(c, *find_kernel(c.kernel));
  EXPECT_EQ(space.seen(), kFeatures * (kFeatures - 1) / 2);
  EXPECT_EQ(space.never_seen().size() + space.seen(), static_cast<std::size_t>(space.possible()));
  const auto never = space.never_seen();
  const auto names = [&](std::string_view text) {
    return std::any_of(never.begin(), never.end(),
                       [&](const FeaturePair& pair) { return to_string(pair) == text; });
  };
  EXPECT_TRUE(names("splits: some empty + page size: 16"));
  EXPECT_FALSE(names("splits: one live + page size: 1"));            // seen
  EXPECT_FALSE(names("page size: 1 + end to page edge: one past"));  // impossible
}

TEST(PlanSpace, MergesToTheSameInAnyOrder) {
  const DrawOptions options{.kernels = all_kernels()};
  PlanSpace parts[3], all;
  for (int i = 0; i < 60; ++i) {
    const Case c = draw_case(1, i, options);
    parts[i % 3].add(c, *find_kernel(c.kernel));
    all.add(c, *find_kernel(c.kernel));
  }
  PlanSpace forwards, backwards;
  for (int i : {0, 1, 2}) forwards.merge(parts[i]);
  for (int i : {2, 1, 0}) backwards.merge(parts[i]);
  EXPECT_EQ(forwards, all);
  EXPECT_EQ(backwards, all);
  EXPECT_LT(parts[0].seen(), all.seen());
}

}  // namespace
}  // namespace attest
