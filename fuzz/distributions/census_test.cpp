#include "fuzz/distributions/census.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "fuzz/distributions/parts/test_rows.hpp"

namespace attest {
namespace {

using test::kv_row;
using test::prepare;
using test::q_row;
using test::Values;

// V summed over the first `visible` tokens of a sequence, from the rows.
std::vector<int> sums_of_rows(const Problem& p, const Sampler& sampler, int seq, int visible) {
  std::vector<int> sums(kDV);
  for (int token = 0; token < visible; ++token) {
    const Values row = kv_row(sampler, test::owner_of(p, seq, token), token);
    for (int column = 0; column < kDV; ++column) {
      sums[column] += static_cast<int>(decode_bf16(row[column]));
    }
  }
  return sums;
}

TEST(Census, CountsAreTheSumsOfItsRows) {
  const Problem p{.s_kv = {128, 130, 700}, .s_q = {1, 2, 1}, .page_size = 16, .shared_prefix = 128};
  const auto sampler = prepare("census", p, {}, Seed{3});
  for (int seq = 0; seq < 3; ++seq) {
    for (int visible : {1, 63, 64, 65, 128, p.s_kv[seq]}) {
      if (visible > p.s_kv[seq]) continue;
      EXPECT_EQ(census_counts(p, Seed{3}, seq, visible), sums_of_rows(p, *sampler, seq, visible));
    }
  }
}

TEST(Census, EveryTokenCountsOnceInEachCode) {
  const Problem p{.s_kv = {200}, .page_size = 16};
  const auto sampler = prepare("census", p);
  for (int token = 0; token < 200; ++token) {
    const Values row = kv_row(*sampler, 0, token);
    int block = 0, page = 0;
    for (int column = 0; column < kDV; ++column) {
      const float v = decode_bf16(row[column]);
      EXPECT_TRUE(v == 0 || v == 1 || v == -1);
      (column < kCensusColumns ? block : page) += v != 0;
    }
    EXPECT_EQ(block, 1);
    EXPECT_EQ(page, 1);
    for (int head : {0, 3}) EXPECT_EQ(q_row(*sampler, 0, 0, head), Values(kDQk));
  }
}

TEST(Census, NoColumnCountsMoreThanSixtyFourAtAnyLength) {
  for (int page_size : {1, 16, 64}) {
    const Problem p{.s_kv = {100'000}, .page_size = page_size};
    for (int visible : {64, 20'000, 40'001, 99'999, 100'000}) {
      int largest = 0;
      for (int count : census_counts(p, Seed{1}, 0, visible))
        largest = std::max(largest, std::abs(count));
      EXPECT_LE(largest, 64) << page_size << " " << visible;
      EXPECT_GE(largest, visible >= 20'000 && page_size == 64 ? 64 : 1);
    }
  }
}

// What bf16 shows of it: neighbouring counts over one length are different numbers.
TEST(Census, EachCountOfALengthIsItsOwnNumber) {
  for (int length : {1, 65, 1000, 327'600, 1 << 20}) {
    std::set<std::uint16_t> codes;
    for (int count = -65; count <= 65; ++count) codes.insert(encode_bf16(count / double(length)));
    EXPECT_EQ(codes.size(), 131u) << length;
  }
}

TEST(Census, PagesOfSequencesHaveTheirOwnColumns) {
  const Problem p{.s_kv = {1024, 1024}, .s_q = {1, 1}, .page_size = 16};
  const auto sampler = prepare("census", p);
  int same = 0;
  for (int token = 0; token < 1024; token += 16) {
    Values a = kv_row(*sampler, 0, token), b = kv_row(*sampler, 1, token);
    a.resize(kDV);
    b.resize(kDV);
    same += a == b;
  }
  EXPECT_LE(same, 4);  // Source: 64 pages, one chance in 512 each
}

}  // namespace
}  // namespace attest
