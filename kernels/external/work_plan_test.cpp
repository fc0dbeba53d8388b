#include "kernels/external/work_plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace attest::external {
namespace {

Problem ragged(int s_q) {
  Problem p;
  p.s_kv = {1, 0, 63, 64, 65, 1000, 129};
  p.s_q.assign(p.s_kv.size(), s_q);
  p.kv_indptr_start = 5;
  return p;
}

// Tokens of the launch, first to last, that an item works on.
void expect_item_in_its_sequence(const Problem& p, const WorkItem& item) {
  int kv_begin = p.kv_indptr_start, q_begin = 0;
  for (int seq = 0; seq < item.sequence; ++seq) {
    kv_begin += p.s_kv[seq];
    q_begin += p.s_q[seq];
  }
  EXPECT_EQ(item.q_begin, q_begin);
  EXPECT_EQ(item.q_end, q_begin + p.s_q[item.sequence]);
  EXPECT_GE(item.kv_begin, kv_begin);
  EXPECT_LE(item.kv_begin, item.kv_end);
  EXPECT_EQ(item.kv_end + item.kv_after, kv_begin + p.s_kv[item.sequence]);
}

TEST(WorkPlan, CoversEveryTokenOfEverySequenceOnce) {
  for (const int splits : {1, 2, 7, 64}) {
    const Problem p = ragged(1);
    std::map<int, int> times;  // entry of kv_indices
    for (const WorkItem& item : plan_work(p, SplitRule{}, splits).items) {
      expect_item_in_its_sequence(p, item);
      for (int entry = item.kv_begin; entry < item.kv_end; ++entry) ++times[entry];
    }
    EXPECT_EQ(times.size(), static_cast<std::size_t>(p.total_kv()));
    for (const auto& [entry, n] : times) EXPECT_EQ(n, 1) << entry;
  }
}

TEST(WorkPlan, GivesEveryQueryTokenOfASplitItsOwnPartialRow) {
  for (const int s_q : {1, 4}) {
    const Problem p = ragged(s_q);
    const int splits = 3;
    std::set<int> rows;
    for (const WorkItem& item : plan_work(p, SplitRule{}, splits).items) {
      if (item.kv_begin == item.kv_end) continue;
      for (int i = 0; i < s_q; ++i) {
        EXPECT_TRUE(rows.insert(item.partial_row + i).second) << item.partial_row + i;
      }
    }
    EXPECT_GE(*rows.begin(), 0);
    EXPECT_LT(*rows.rbegin(), p.total_q() * splits);
  }
}

TEST(WorkPlan, HasAnItemWithoutTokensForASequenceWithoutTokens) {
  const Problem p = ragged(2);
  int empty = 0;
  for (const WorkItem& item : plan_work(p, SplitRule{}, 2).items) {
    if (item.kv_begin != item.kv_end) continue;
    ++empty;
    EXPECT_EQ(item.sequence, 1);
    EXPECT_EQ(item.partial_row, -1);
  }
  EXPECT_EQ(empty, 1);
}

TEST(WorkPlan, SharesAllItemsOutInOrderSeveralAWorkgroup) {
  for (const int splits : {1, 4}) {
    const WorkPlan plan = plan_work(ragged(1), SplitRule{}, splits);
    EXPECT_EQ(plan.indptr.front(), 0);
    EXPECT_EQ(plan.indptr.back(), static_cast<int>(plan.items.size()));
    for (std::size_t w = 1; w < plan.indptr.size(); ++w) {
      EXPECT_LT(plan.indptr[w - 1], plan.indptr[w]);
    }
    EXPECT_LT(plan.indptr.size() - 1, plan.items.size());
  }
}

TEST(WorkPlan, OfUnsplitSequencesWritesTheFinalOutput) {
  const Problem p = ragged(1);
  const WorkPlan plan = plan_unsplit_work(p);
  ASSERT_EQ(plan.items.size(), p.s_kv.size());
  for (const WorkItem& item : plan.items) {
    EXPECT_EQ(item.partial_row, -1);
    EXPECT_EQ(item.kv_end - item.kv_begin, p.s_kv[item.sequence]);
    EXPECT_EQ(item.kv_after, 0);
  }
}

}  // namespace
}  // namespace attest::external
