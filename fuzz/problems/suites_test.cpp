#include "fuzz/problems/suites.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "fuzz/distributions/distribution.hpp"
#include "fuzz/trajectories/steps.hpp"
#include "harness/core/case.hpp"

namespace attest {
namespace {

std::vector<Case> cases_of(std::string_view name) {
  std::vector<Case> cases;
  for (std::string_view token : find_suite(name)->tokens) {
    const auto parsed = parse_token(token);
    EXPECT_TRUE(parsed.ok()) << token << ": " << (parsed.ok() ? "" : parsed.trouble().text);
    if (parsed.ok()) cases.push_back(*parsed);
  }
  return cases;
}

TEST(Suites, HoldCanonicalTokensOfKnownDistributionsOnceEach) {
  for (const Suite& suite : all_suites()) {
    std::set<std::string> seen;
    for (const Case& c : cases_of(suite.name)) {
      EXPECT_TRUE(seen.insert(to_token(c)).second) << to_token(c);
      EXPECT_NE(find_distribution(c.distribution), nullptr) << c.distribution;
    }
    for (std::string_view token : suite.tokens)
      EXPECT_TRUE(seen.contains(std::string{token})) << token;
    EXPECT_EQ(seen.size(), suite.tokens.size());
    EXPECT_FALSE(suite.purpose.empty());
    EXPECT_EQ(find_suite(suite.name), &suite);
  }
  EXPECT_EQ(find_suite("nonsense"), nullptr);
}

template <class Value>
std::set<Value> values(Value (*value)(const Case&)) {
  std::set<Value> seen;
  for (const Case& c : cases_of("smoke")) seen.insert(value(c));
  return seen;
}

TEST(Smoke, CoversEveryAxis) {
  const auto has_all = [](const auto& seen, auto list) {
    for (const auto& value : list) EXPECT_TRUE(seen.contains(value)) << value;
  };
  using Ints = std::initializer_list<int>;
  has_all(values<int>([](const Case& c) { return c.problem.h_q; }),
          Ints{1, 5, 12, 16, 17, 64, 128});
  has_all(values<int>([](const Case& c) { return c.problem.max_s_q(); }),
          Ints{1, 2, 3, 4, 5, 6, 7, 8});
  has_all(values<int>([](const Case& c) { return c.problem.page_size; }), Ints{1, 16, 64});
  has_all(values<int>([](const Case& c) { return c.problem.num_splits; }),
          Ints{0, 1, 2, 7, 8, 16, 64, 256});
  has_all(values<int>([](const Case& c) { return static_cast<int>(c.problem.page_order); }),
          Ints{0, 1, 2});
  has_all(values<int>([](const Case& c) { return static_cast<int>(c.problem.grid_order); }),
          Ints{0, 1, 2});
  has_all(values<std::string>([](const Case& c) { return c.kernel; }),
          std::initializer_list<const char*>{"mla_decode", "mla_decode_bf16_partials"});
  for (const Distribution* distribution : all_distributions()) {
    has_all(values<std::string>([](const Case& c) { return c.distribution; }),
            std::initializer_list<std::string>{std::string{distribution->name()}});
  }
}

TEST(Smoke, HasCasesOfEverySpecialKind) {
  const std::vector<Case> cases = cases_of("smoke");
  const auto some = [&](auto&& is) { return std::any_of(cases.begin(), cases.end(), is); };
  EXPECT_TRUE(some([](const Case& c) { return c.problem.s_kv[0] == 0; }));
  EXPECT_TRUE(some([](const Case& c) {
    return c.problem.s_q[0] > c.problem.s_kv[0] && c.problem.s_kv[0] == 0;
  }));
  EXPECT_TRUE(some([](const Case& c) {
    return c.problem.b() > 1 && c.problem.s_kv[1] > 0 && c.problem.s_q[1] > c.problem.s_kv[1];
  }));
  EXPECT_TRUE(some([](const Case& c) {
    return std::set(c.problem.s_q.begin(), c.problem.s_q.end()).size() > 2;
  }));
  EXPECT_TRUE(some([](const Case& c) {
    return c.problem.page_base * c.problem.page_size * kDQk * 2 > (4ll << 30);
  }));
  EXPECT_TRUE(some([](const Case& c) { return c.problem.q_pad > 0 && c.problem.o_pad > 0; }));
  EXPECT_TRUE(some([](const Case& c) { return c.problem.kv_indptr_start > 0; }));
  EXPECT_TRUE(some([](const Case& c) { return c.problem.shared_prefix > 0; }));
  EXPECT_TRUE(some([](const Case& c) { return c.schedule.seed > 1; }));
  EXPECT_TRUE(some([](const Case& c) { return c.problem.sm_scale < 0; }));
  EXPECT_TRUE(some(
      [](const Case& c) { return c.problem.num_splits == 256 && c.problem.s_kv[0] >= 256 * 64; }));
}

TEST(Smoke, StaysWithinItsBudgetOfWork) {
  std::int64_t work = 0;  // KV tokens times blocks of 16 heads times query tokens
  for (const Case& c : cases_of("smoke")) {
    for (int seq = 0; seq < c.problem.b(); ++seq) {
      work +=
          std::int64_t{1} * c.problem.s_kv[seq] * c.problem.s_q[seq] * ((c.problem.h_q + 15) / 16);
    }
  }
  EXPECT_LE(work, 400'000);
}

TEST(Fp8Suite, HasEveryStorageFactorAndShapeThatShippedKernelsDifferBy) {
  const std::vector<Case> cases = cases_of("fp8");
  EXPECT_GE(cases.size(), 20u);
  const auto some = [&](auto&& is) { return std::any_of(cases.begin(), cases.end(), is); };
  for (const Case& c : cases) EXPECT_EQ(c.problem.kv_type, Storage::kFp8) << to_token(c);
  EXPECT_TRUE(some([](const Case& c) { return c.problem.q_type == Storage::kBf16; }));
  for (const float factor : {0.5f, 3.0f, 1e-3f}) {
    EXPECT_TRUE(some([=](const Case& c) { return c.problem.q_scale == factor; })) << factor;
    EXPECT_TRUE(some([=](const Case& c) { return c.problem.kv_scale == factor; })) << factor;
  }
  for (const int s_q : {1, 2, 4}) {
    EXPECT_TRUE(some([=](const Case& c) { return c.problem.max_s_q() == s_q; })) << s_q;
  }
  for (const int h_q : {16, 128}) {
    EXPECT_TRUE(some([=](const Case& c) { return c.problem.h_q == h_q; })) << h_q;
  }
  EXPECT_TRUE(some([](const Case& c) { return c.problem.s_kv[0] == 0; }));
  EXPECT_TRUE(some([](const Case& c) { return c.problem.s_kv[0] >= 16384; }));
}

TEST(Trajectories, CanBeGoneThroughAndReplayOneCaptureAHundredTimes) {
  int most_replays = 0;
  for (const Case& c : cases_of("trajectories")) {
    EXPECT_EQ(why_invalid_steps(c), "") << to_token(c);
    ASSERT_TRUE(moves_of(c).ok());
    int replays = 0;
    const auto moves = *moves_of(c);
    for (const Move& move : moves) {
      replays += move.step.verb == Verb::kReplay;
      if (move.step.verb == Verb::kCapture) replays = 0;
    }
    most_replays = std::max(most_replays, replays);
  }
  EXPECT_GE(most_replays, 100);
}

TEST(RealSuites, AreInFullSizeWithOneNormalAndOneStructuredDistribution) {
  const std::vector<int> ragged = {1, 63, 64, 65, 4096, 4097, 65536, 327600};
  const std::vector<int> boundary = {308736, 308737, 312831, 312832,
                                     312833, 320000, 327599, 327600};
  for (const auto& [name, lengths] : {std::pair{"ragged", ragged}, {"prefix_boundary", boundary}}) {
    std::set<std::string> distributions;
    for (const Case& c : cases_of(name)) {
      EXPECT_EQ(c.problem.s_kv, lengths);
      EXPECT_EQ(c.problem.h_q, 12);
      distributions.insert(c.distribution);
      if (name == std::string{"prefix_boundary"}) {
        EXPECT_EQ(c.problem.shared_prefix, 308736);
      }
    }
    EXPECT_EQ(distributions, (std::set<std::string>{"needles", "normal"}));
  }
}

}  // namespace
}  // namespace attest
