#include "fuzz/problems/simpler.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <set>

#include "fuzz/distributions/distribution.hpp"
#include "fuzz/problems/draw.hpp"

namespace attest {
namespace {

// Tests are deterministic: the same cases each time, unless RC_PARAMS says otherwise.
[[maybe_unused]] const int kFixedSeed = setenv("RC_PARAMS", "seed=20 max_success=200", 0);

const DrawOptions& options() {
  static const DrawOptions kOptions{.kernels = all_kernels()};
  return kOptions;
}

using Simpler = std::vector<Case> (*)(const Case&, const Kernel&);
constexpr Simpler kAll[] = {smaller_shapes, plainer_values, plainer_schedules};

std::vector<Case> simpler_than(const Case& c, Simpler simpler) {
  return simpler(c, *find_kernel(c.kernel));
}

RC_GTEST_PROP(Simpler, EveryCandidateIsValidTakenDifferentAndLessComplex, ()) {
  Case c = draw_case(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange(0, 1000), options());
  c.property = "heads";
  c.steps = "add65.replay";
  // A random walk down, so that simplified cases are simplified too.
  for (bool found = true; found;) {
    found = false;
    for (const Simpler simpler : kAll) {
      const std::vector<Case> candidates = simpler_than(c, simpler);
      std::set<std::string> tokens;
      for (const Case& next : candidates) {
        RC_ASSERT(why_invalid(next.problem).empty());
        RC_ASSERT(find_kernel(c.kernel)->why_unsupported(next.problem).empty());
        RC_ASSERT(complexity(next) < complexity(c));
        RC_ASSERT(complexity(next) >= 0);
        RC_ASSERT(next.kernel == c.kernel);
        RC_ASSERT(next.property == "heads" && next.steps == "add65.replay");
        RC_ASSERT(find_distribution(next.distribution) != nullptr);
        RC_ASSERT(tokens.insert(to_token(next)).second);
      }
      if (!candidates.empty() && !found) {
        found = true;
        c = candidates[*rc::gen::inRange<std::size_t>(0, candidates.size())];
      }
    }
  }
}

TEST(Simpler, ShapesKeepTheDataAndValuesKeepTheShape) {
  for (int i = 0; i < 100; ++i) {
    const Case c = draw_case(9, i, options());
    for (const Case& next : simpler_than(c, smaller_shapes)) {
      EXPECT_EQ(next.distribution, c.distribution);
      EXPECT_EQ(next.seed, c.seed);
      EXPECT_EQ(next.schedule, c.schedule);
    }
    for (Case next : simpler_than(c, plainer_values)) {
      next.problem.sm_scale = c.problem.sm_scale;
      EXPECT_EQ(next.problem, c.problem);
      EXPECT_EQ(next.schedule, c.schedule);
    }
    for (Case next : simpler_than(c, plainer_schedules)) {
      next.schedule = c.schedule;
      EXPECT_EQ(next, c);
    }
  }
}

// A kernel that always fails is shown by the simplest case there is: no axis is forgotten.
TEST(Simpler, EveryAxisOfAnyCaseGoesToItsSimplestValue) {
  const Case simplest = *parse_token("v1:k=mla_decode:h=1:s=0:splits=1:dist=one_hot");
  for (const Simpler simpler : kAll) EXPECT_TRUE(simpler_than(simplest, simpler).empty());
  for (int i = 0; i < 200; ++i) {
    Case c = draw_case(5, i, options());
    for (const Simpler simpler : kAll) {
      for (int steps = 0; steps < 100; ++steps) {
        const std::vector<Case> candidates = simpler_than(c, simpler);
        if (candidates.empty()) break;
        c = candidates[0];
      }
    }
    c.kernel = simplest.kernel;
    EXPECT_EQ(to_token(c), to_token(simplest));
  }
}

TEST(Simpler, ASchedulesKindGoesBeforeItsSeed) {
  Case c = *parse_token("v1:k=mla_decode:sched=d12345");
  std::vector<std::string> texts;
  for (const Case& next : simpler_than(c, plainer_schedules))
    texts.push_back(to_string(next.schedule));
  ASSERT_GT(texts.size(), 20u);
  EXPECT_EQ(texts[0], "0");
  EXPECT_EQ(texts[1], "l0");
  EXPECT_EQ(texts.back(), "d7");
  c.schedule = *parse_schedule("17");
  for (const Case& next : simpler_than(c, plainer_schedules)) {
    EXPECT_NE(next.schedule.kind, ScheduleKind::kInterleaved);
    EXPECT_NE(next.schedule.kind, ScheduleKind::kDelayed);
  }
}

// ---- A greedy loop over the candidates, with predicates like those of structural bugs.

struct Bug {
  const char* name;
  bool (*fails)(const Problem& p);
  int most_heads = 16, most_sequences = 2, most_tokens = 32;  // where the loop must end
};

bool some(const Problem& p, auto&& is) {
  for (int seq = 0; seq < p.b(); ++seq)
    if (is(seq)) return true;
  return false;
}

constexpr Bug kBugs[] = {
    {"one token past a tile, split",
     [](const Problem& p) {
       return p.num_splits > 1 && some(p, [&](int seq) { return p.s_kv[seq] % 16 == 1; });
     }},
    {"a second tile of heads", [](const Problem& p) { return p.h_q > 16; }, 17},
    {"a wide tile of heads", [](const Problem& p) { return p.h_q % 64 == 0; }, 64},
    {"a last head that is not the tile's", [](const Problem& p) { return p.h_q % 16 == 15; }},
    {"a query token that sees nothing",
     [](const Problem& p) {
       return p.max_s_q() >= 2 && some(p, [&](int seq) { return p.visible(seq, 0) <= 0; });
     }},
    {"a second live split",
     [](const Problem& p) {
       return p.num_splits != 1 && some(p, [&](int seq) { return p.s_kv[seq] > 64; });
     },
     16, 2, 65},
    {"an empty split beside a live one",
     [](const Problem& p) {
       return p.num_splits > 2 && some(p, [&](int seq) { return p.s_kv[seq] > 64; });
     },
     16, 2, 80},
    {"a page that is not full",
     [](const Problem& p) {
       return some(p, [&](int seq) { return p.s_kv[seq] % p.page_size != 0; });
     }},
    {"two sequences of different lengths",
     [](const Problem& p) {
       return some(p, [&](int seq) { return p.s_kv[seq] != p.s_kv[0] && p.s_kv[seq] > 0; });
     }},
    {"ragged query tokens",
     [](const Problem& p) { return some(p, [&](int seq) { return p.s_q[seq] != p.s_q[0]; }); }},
    {"slack in front of the table", [](const Problem& p) { return p.kv_indptr_start > 0; }},
    {"a strided o, split",
     [](const Problem& p) { return p.o_pad > 0 && p.num_splits > 1 && p.total_kv() > 0; }},
    {"a shared prefix", [](const Problem& p) { return p.shared_prefix > 0 && p.b() > 1; }},
    {"split-major of several sequences",
     [](const Problem& p) { return p.grid_order == GridOrder::kSplitMajor && p.b() > 1; }},
    {"anything", [](const Problem&) { return true; }},
};

struct Shrunk {
  Case c;
  int evaluations = 0, until_small = 0;
};

bool is_small(const Problem& p, const Bug& bug) {
  return p.b() <= bug.most_sequences && p.h_q <= bug.most_heads &&
         *std::max_element(p.s_kv.begin(), p.s_kv.end()) <= bug.most_tokens;
}

constexpr int kFar = 10'000;  // evaluations: it does not end

Shrunk shrink(Case c, const Bug& bug) {
  Shrunk at{std::move(c)};
  for (bool found = true; found && at.evaluations < kFar;) {
    found = false;
    for (const Case& next : simpler_than(at.c, smaller_shapes)) {
      ++at.evaluations;
      if (!bug.fails(next.problem)) continue;
      at.c = next;
      found = true;
      break;
    }
    if (at.until_small == 0 && is_small(at.c.problem, bug)) at.until_small = at.evaluations;
  }
  return at;
}

TEST(Simpler, AGreedyLoopIsSoonSmallForStructuralBugs) {
  for (const Bug& bug : kBugs) {
    std::vector<int> until_small, in_all;
    for (int i = 0; i < 500; ++i) {
      const Case c = draw_case(11, i, options());
      if (!bug.fails(c.problem)) continue;
      const Shrunk shrunk = shrink(c, bug);
      EXPECT_TRUE(is_small(shrunk.c.problem, bug))
          << bug.name << ": " << to_token(c) << " ends as " << to_token(shrunk.c);
      until_small.push_back(shrunk.until_small);
      in_all.push_back(shrunk.evaluations);
    }
    ASSERT_GE(until_small.size(), 20u) << bug.name;
    std::sort(until_small.begin(), until_small.end());
    std::sort(in_all.begin(), in_all.end());
    const std::size_t most = until_small.size() * 95 / 100;
    EXPECT_LE(until_small[most], 60) << bug.name;
    std::cout << bug.name << ": " << until_small.size() << " cases, evaluations until small "
              << until_small[until_small.size() / 2] << " (median), " << until_small[most]
              << " (95 %), " << until_small.back() << " (most); until the end "
              << in_all[in_all.size() / 2] << ", " << in_all[most] << ", " << in_all.back() << '\n';
  }
}

}  // namespace
}  // namespace attest
