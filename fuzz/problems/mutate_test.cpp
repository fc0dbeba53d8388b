#include <gtest/gtest.h>

#include <algorithm>

#include "fuzz/problems/cost.hpp"
#include "fuzz/problems/draw.hpp"

namespace attest {
namespace {

const DrawOptions& options() {
  static const DrawOptions kOptions{.kernels = all_kernels()};
  return kOptions;
}

TEST(Mutate, StepsAreValidAndAffordableAndKeepKernelPropertyAndSteps) {
  for (int i = 0; i < 300; ++i) {
    Case c = draw_case(3, i, options());
    c.property = "heads";
    c.steps = "add65.replay";
    const Kernel& kernel = *find_kernel(c.kernel);
    const double most_ms = std::max(options().usual_ms, cost_ms(c.problem, kernel));
    for (int seed = 0; seed < 5; ++seed) {
      const Case next = mutate_case(c, seed, options());
      EXPECT_EQ(next, mutate_case(c, seed, options()));
      EXPECT_NE(next, c);
      EXPECT_EQ(why_invalid(next.problem), "") << to_token(next);
      EXPECT_EQ(kernel.why_unsupported(next.problem), "") << to_token(next);
      EXPECT_LE(cost_ms(next.problem, kernel), most_ms) << to_token(next);
      EXPECT_EQ(next.kernel, c.kernel);
      EXPECT_EQ(next.property, "heads");
      EXPECT_EQ(next.steps, "add65.replay");
    }
  }
}

// The number of axes that differ.
int distance(const Case& a, const Case& b) {
  const Problem &p = a.problem, &q = b.problem;
  return (p.h_q != q.h_q) + (p.s_kv != q.s_kv) + (p.s_q != q.s_q) + (p.page_size != q.page_size) +
         (p.num_splits != q.num_splits) + (p.sm_scale != q.sm_scale) +
         (p.page_order != q.page_order) + (p.grid_order != q.grid_order) +
         (p.shared_prefix != q.shared_prefix) + (p.page_base != q.page_base) +
         (p.kv_indptr_start != q.kv_indptr_start) + (p.q_pad != q.q_pad) + (p.o_pad != q.o_pad) +
         (a.distribution != b.distribution) + (a.seed != b.seed) + (a.schedule != b.schedule);
}

// A batch that grows has more s_kv and s_q; pages of another size have another base and prefix.
TEST(Mutate, StepsAreSmall) {
  int small = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    const Case c = draw_case(4, seed, options());
    const int moved = distance(c, mutate_case(c, seed, options()));
    EXPECT_LE(moved, 6);
    small += moved <= 2;
  }
  EXPECT_GE(small, 700);
}

TEST(Mutate, EveryAxisMoves) {
  const Case c = *parse_token(
      "v1:k=mla_decode:h=16:s=64,128:q=1,2:page=16:splits=4:prefix=32:base=3:start=2:qpad=8");
  const auto moves = [&](auto&& differs) {
    for (int seed = 0; seed < 1000; ++seed) {
      if (differs(mutate_case(c, seed, options()))) return true;
    }
    return false;
  };
  const auto moves_field = [&](auto field) {
    return moves([&](const Case& next) { return next.problem.*field != c.problem.*field; });
  };
  EXPECT_TRUE(moves_field(&Problem::h_q));
  EXPECT_TRUE(moves_field(&Problem::s_kv));
  EXPECT_TRUE(moves_field(&Problem::s_q));
  EXPECT_TRUE(moves_field(&Problem::page_size));
  EXPECT_TRUE(moves_field(&Problem::num_splits));
  EXPECT_TRUE(moves_field(&Problem::sm_scale));
  EXPECT_TRUE(moves_field(&Problem::page_order));
  EXPECT_TRUE(moves_field(&Problem::grid_order));
  EXPECT_TRUE(moves_field(&Problem::shared_prefix));
  EXPECT_TRUE(moves_field(&Problem::page_base));
  EXPECT_TRUE(moves_field(&Problem::kv_indptr_start));
  EXPECT_TRUE(moves_field(&Problem::q_pad));
  EXPECT_TRUE(moves_field(&Problem::o_pad));
  EXPECT_TRUE(moves([&](const Case& next) { return next.distribution != c.distribution; }));
  EXPECT_TRUE(moves([&](const Case& next) { return next.seed != c.seed; }));
  EXPECT_TRUE(moves([&](const Case& next) { return next.schedule != c.schedule; }));
  EXPECT_TRUE(moves([&](const Case& next) { return next.problem.b() == 1; }));
  EXPECT_TRUE(moves([&](const Case& next) { return next.problem.b() == 3; }));
}

}  // namespace
}  // namespace attest
