#include "harness/split_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/core/poison.hpp"

namespace attest {
namespace {

constexpr SplitRule kRule = {.dealt_tile = 16};

Problem ragged() {
  Problem p;
  p.s_kv = {70, 0, 3, 33};
  p.s_q = {2, 1, 4, 1};
  p.num_splits = 3;
  return p;
}

// Token t of sequence `seq` lies in page 1000 * seq + t.
Inputs tables_of(const Problem& p) {
  Inputs in;
  in.num_pages = 4000;
  in.qo_indptr = {0};
  in.kv_indptr = {0};
  for (int seq = 0; seq < p.b(); ++seq) {
    for (int t = 0; t < p.s_kv[seq]; ++t) in.kv_indices.push_back(1000 * seq + t);
    in.qo_indptr.push_back(in.qo_indptr.back() + p.s_q[seq]);
    in.kv_indptr.push_back(static_cast<int>(in.kv_indices.size()));
    in.kv_last_page_len.push_back(p.s_kv[seq] > 0);
  }
  return in;
}

std::vector<int> tokens_of(const Inputs& in, int sequence) {
  return {in.kv_indices.begin() + in.kv_indptr[sequence],
          in.kv_indices.begin() + in.kv_indptr[sequence + 1]};
}

TEST(SplitOrder, MakesASequenceOfEachQueryTokenAndWhatItSees) {
  const Problem p = ragged();
  const auto [problem, in] = in_split_order(p, kRule, p.num_splits, tables_of(p));
  EXPECT_EQ(problem.s_kv, (std::vector<int>{69, 70, 0, 0, 1, 2, 3, 33}));
  EXPECT_EQ(problem.s_q, std::vector<int>(8, 1));
  EXPECT_EQ(why_invalid(problem), "");
  EXPECT_EQ(in.qo_indptr, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  const std::vector<int> seen = tokens_of(in, 0);
  EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).size(), 69u);
  EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).count(69), 0u);  // masked
  EXPECT_EQ(tokens_of(in, 5), (std::vector<int>{2000, 2001}));
}

TEST(SplitOrder, PutsTheTilesOfASplitIntoTheRangeThatTheRuleGivesIt) {
  const Problem p = ragged();
  const auto [problem, in] = in_split_order(p, kRule, p.num_splits, tables_of(p));
  for (int sequence = 0; sequence < problem.b(); ++sequence) {
    const std::vector<int> tokens = tokens_of(in, sequence);
    const auto live = live_splits(kRule, problem.s_kv[sequence], p.num_splits);
    int at = 0;
    for (int split = 0; split < static_cast<int>(live.size()); ++split) {
      EXPECT_EQ(live[split].begin, at);
      for (; at < live[split].end; ++at) {
        EXPECT_EQ(tokens[at] % 1000 / 16 % p.num_splits, split) << tokens[at];
      }
    }
    EXPECT_EQ(at, problem.s_kv[sequence]);
  }
}

TEST(SplitOrder, TakesPagesApart) {
  Problem p = ragged();
  p.page_size = 16;
  p.s_kv = {20};
  p.s_q = {1};
  Inputs in;
  in.num_pages = 10;
  in.qo_indptr = {0, 1};
  in.kv_indptr = {1, 3};
  in.kv_indices = {-7, 8, 2};
  in.kv_last_page_len = {4};
  const InSplitOrder made = in_split_order(p, kRule, 1, std::move(in));
  EXPECT_EQ(made.problem.page_size, 1);
  EXPECT_EQ(made.inputs.num_pages, 160);
  EXPECT_EQ(made.inputs.kv_indices.front(), 8 * 16);
  EXPECT_EQ(made.inputs.kv_indices.back(), 2 * 16 + 3);
}

TEST(SplitOrder, ForgetsWhatAMaskedSplitLeftWhereItSaysThatItHasNoWeight) {
  Problem p;
  p.h_q = 1;
  p.s_kv = {17};
  p.s_q = {2};  // the first query token sees 16 tokens: tile 1 hides from it, tile 2 is not there
  Output output;
  output.partial_lse = {7, 0xff800000, 7, 7, 0xff800000, 7};
  output.partial_o.assign(6 * kDV, 7);
  forget_masked_splits(p, kRule, 3, output);
  EXPECT_EQ(output.partial_lse, (std::vector<std::uint32_t>{7, kPoison32, 7, 7, 0xff800000, 7}));
  EXPECT_EQ(std::count(output.partial_o.begin(), output.partial_o.end(), kPoison32), kDV);
  EXPECT_EQ(output.partial_o[kDV], kPoison32);
  output.partial_lse[1] = 8;
  forget_masked_splits(p, kRule, 3, output);
  EXPECT_EQ(output.partial_lse[1], 8u);
}

}  // namespace
}  // namespace attest
