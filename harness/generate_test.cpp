#include "harness/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"
#include "harness/core/poison.hpp"
#include "harness/core/random.hpp"
#include "harness/strawmen.hpp"

namespace attest {
namespace {

Inputs made(const Problem& p, std::string_view distribution = "normal", int threads = 2,
            std::uint64_t seed = 3) {
  Case c;
  c.problem = p;
  c.distribution = distribution;
  c.seed = {seed};
  EXPECT_EQ(why_invalid(p), "");
  auto inputs = generate(c, Walk{}, threads);
  EXPECT_TRUE(inputs.ok());
  return std::move(*inputs);
}

// The stored row of a token, by way of the page table.
std::vector<std::uint16_t> kv_row(const Problem& p, const Inputs& in, int seq, int token) {
  const std::int64_t page = in.kv_indices[in.kv_indptr[seq] + token / p.page_size];
  const auto* const row =
      in.kv.data<std::uint16_t>() + (page * p.page_size + token % p.page_size) * kDQk;
  return {row, row + kDQk};
}

const Problem kRagged{.h_q = 3, .s_kv = {65, 0, 130, 16}, .s_q = {1, 2, 4, 1}, .page_size = 16};

TEST(Generate, TablesDescribeTheLengths) {
  const Inputs in = made(kRagged);
  EXPECT_EQ(in.qo_indptr, (std::vector<std::int32_t>{0, 1, 3, 7, 8}));
  EXPECT_EQ(in.kv_indptr, (std::vector<std::int32_t>{0, 5, 5, 14, 15}));
  EXPECT_EQ(in.kv_last_page_len, (std::vector<std::int32_t>{1, 0, 2, 16}));
  EXPECT_EQ(in.kv_indices.size(), 15u);
}

TEST(Generate, GivesEveryPageToOneOwnerInEachOrder) {
  for (const PageOrder order :
       {PageOrder::kShuffled, PageOrder::kSequential, PageOrder::kReversed}) {
    Problem p = kRagged;
    p.page_order = order;
    p.page_base = 5;
    const Inputs in = made(p);
    const std::set<std::int32_t> pages(in.kv_indices.begin(), in.kv_indices.end());
    EXPECT_EQ(pages.size(), 15u);
    EXPECT_GE(*pages.begin(), 5);
    EXPECT_LT(*pages.rbegin(), in.num_pages);
    EXPECT_EQ(in.used_pages, std::vector<std::int32_t>(pages.begin(), pages.end()));
    EXPECT_EQ(std::is_sorted(in.kv_indices.begin(), in.kv_indices.end()),
              order == PageOrder::kSequential);
    EXPECT_EQ(std::is_sorted(in.kv_indices.rbegin(), in.kv_indices.rend()),
              order == PageOrder::kReversed);
    EXPECT_EQ(in.kv.size(), in.num_pages * 16u * kDQk * 2);
  }
}

TEST(Generate, PoisonsExactlyWhatNoTokenUses) {
  const Inputs in = made(kRagged);
  std::set<std::int64_t> used;  // rows of the pool
  for (int seq = 0; seq < 4; ++seq) {
    for (int token = 0; token < kRagged.s_kv[seq]; ++token) {
      used.insert(in.kv_indices[in.kv_indptr[seq] + token / 16] * 16 + token % 16);
    }
  }
  EXPECT_EQ(used.size(), 65u + 130 + 16);
  EXPECT_GT(in.num_pages, 15);  // there are unused pages
  for (std::int64_t row = 0; row < in.num_pages * 16; ++row) {
    for (int d = 0; d < kDQk; ++d) {
      const std::uint16_t bits = in.kv.data<std::uint16_t>()[row * kDQk + d];
      ASSERT_EQ(bits == kPoison16, !used.contains(row)) << row << " " << d;
    }
  }
}

TEST(Generate, PoisonsPadsOfQ) {
  Problem p = kRagged;
  p.q_pad = 24;
  const Inputs in = made(p);
  ASSERT_EQ(in.q.size(), p.rows() * 600u * 2);
  for (std::int64_t i = 0; i < p.rows() * 600; ++i) {
    ASSERT_EQ(in.q.data<std::uint16_t>()[i] == kPoison16, i % 600 >= kDQk) << i;
  }
}

TEST(Strawmen, HaveTheNamesByWhichDistributionsKnowThem) {
  const std::set<std::string_view> judged(strawman_names().begin(), strawman_names().end());
  EXPECT_EQ(judged,
            std::set<std::string_view>(std::begin(strawman::kAll), std::end(strawman::kAll)));
}

TEST(Generate, SharesThePagesOfACommonPrefix) {
  const Problem p{
      .h_q = 1, .s_kv = {100, 64, 200}, .s_q = {1, 1, 1}, .page_size = 16, .shared_prefix = 48};
  for (const Distribution* distribution : all_distributions()) {
    const Inputs in = made(p, distribution->name());
    for (int page = 0; page < 3; ++page) {
      EXPECT_EQ(in.kv_indices[in.kv_indptr[0] + page], in.kv_indices[in.kv_indptr[1] + page]);
      EXPECT_EQ(in.kv_indices[in.kv_indptr[0] + page], in.kv_indices[in.kv_indptr[2] + page]);
    }
    EXPECT_EQ(in.used_pages.size(), 3u + 4 + 1 + 10);
    EXPECT_EQ(std::set(in.kv_indices.begin(), in.kv_indices.end()).size(), in.used_pages.size());
    EXPECT_NE(kv_row(p, in, 0, 50), kv_row(p, in, 2, 50));
  }
}

TEST(Generate, PutsHostileIdsInFrontAndBehind) {
  Problem p = kRagged;
  p.kv_indptr_start = 7;
  const Inputs in = made(p);
  EXPECT_EQ(in.kv_indptr.front(), 7);
  ASSERT_EQ(in.kv_indices.size(), 7u + 15 + 7);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(in.kv_indices[i], kHostilePage);
    EXPECT_EQ(in.kv_indices[22 + i], kHostilePage);
  }
}

TEST(Generate, ContentDependsNeitherOnThreadsNorOnWhereItIsStored) {
  Problem moved = kRagged;
  moved.page_order = PageOrder::kReversed;
  moved.page_size = 64;
  moved.page_base = 3;
  for (const char* distribution : {"normal", "monotone", "uniform_logits"}) {
    const Inputs one = made(kRagged, distribution, 1), other = made(moved, distribution, 4);
    for (int seq : {0, 2, 3}) {
      for (int token = 0; token < kRagged.s_kv[seq]; ++token) {
        ASSERT_EQ(kv_row(kRagged, one, seq, token), kv_row(moved, other, seq, token));
      }
    }
    EXPECT_TRUE(std::ranges::equal(one.q.bytes(), other.q.bytes()));
  }
}

TEST(Generate, AnotherSeedMakesOtherNumbers) {
  const Inputs one = made(kRagged, "normal", 1, 3), other = made(kRagged, "normal", 1, 4);
  EXPECT_FALSE(std::ranges::equal(one.q.bytes(), other.q.bytes()));
  EXPECT_NE(kv_row(kRagged, one, 0, 0), kv_row(kRagged, other, 0, 0));
  EXPECT_NE(one.kv_indices, other.kv_indices);
}

TEST(Generate, ReachesPagesBeyondFourGib) {
  Problem p{.h_q = 1, .s_kv = {40}, .s_q = {1}, .page_size = 16, .page_base = 240000};
  const Inputs in = made(p);
  EXPECT_GT(in.kv_indices[0] * std::int64_t{16} * kDQk * 2, std::int64_t{1} << 32);
  std::vector<std::uint16_t> expected(kDQk);
  fill_normal(stream_of(Seed{3}, Tensor::kKv, 0, 39), expected);
  EXPECT_EQ(kv_row(p, in, 0, 39), expected);
}

Elements stored_row(const Problem& p, const Inputs& in, int seq, int token) {
  const std::int64_t page = in.kv_indices[in.kv_indptr[seq] + token / p.page_size];
  return in.kv_elements() + (page * p.page_size + token % p.page_size) * kDQk;
}

TEST(Generate, Fp8HoldsTheNumbersOfBf16DividedByItsDescaleFactor) {
  Problem fp8 = kRagged;
  fp8.q_type = fp8.kv_type = Storage::kFp8;
  fp8.q_scale = 0.5f;
  fp8.kv_scale = 3;
  for (const char* distribution : {"normal", "needles"}) {
    const Inputs in = made(fp8, distribution), of_bf16 = made(kRagged, distribution);
    EXPECT_EQ(in.q_scale, std::vector<float>{0.5f});
    EXPECT_EQ(in.kv_scale, std::vector<float>{3});
    const auto expect_stored = [](float actual, float drawn, float scale) {
      const double away = std::abs(double{actual} * scale - drawn);
      ASSERT_LE(away, std::max(std::abs(drawn) * 0x1p-4, 0x1p-11 * scale)) << drawn;
      ASSERT_FALSE(std::isnan(actual));
    };
    for (std::int64_t i = 0; i < fp8.rows() * kDQk; ++i) {
      expect_stored(in.q_elements()[i], of_bf16.q_elements()[i], 0.5f);
    }
    for (int d = 0; d < kDQk; ++d) {
      expect_stored(stored_row(fp8, in, 2, 129)[d], stored_row(kRagged, of_bf16, 2, 129)[d], 3);
    }
  }
}

TEST(Generate, PoisonsFp8WithItsOwnNanExactlyWhereNoTokenIs) {
  Problem p = kRagged;
  p.q_pad = 24;
  p.q_type = p.kv_type = Storage::kFp8;
  const Inputs in = made(p);
  ASSERT_EQ(in.q.size(), p.rows() * 600u);
  ASSERT_EQ(in.kv.size(), in.num_pages * 16u * kDQk);
  for (std::int64_t i = 0; i < p.rows() * 600; ++i) {
    ASSERT_EQ(in.q.data<std::uint8_t>()[i] == 0x80, i % 600 >= kDQk) << i;
  }
  const auto* const bytes = in.kv.data<std::uint8_t>();
  EXPECT_EQ(std::count(bytes, bytes + in.kv.size(), 0x80),
            std::ssize(in.kv.bytes()) - (65 + 130 + 16) * kDQk);
}

TEST(Generate, RefusesAnUnknownDistribution) {
  Case c;
  c.distribution = "nonsense";
  const auto inputs = generate(c, Walk{}, 1);
  ASSERT_FALSE(inputs.ok());
  EXPECT_EQ(inputs.trouble().kind, TroubleKind::kUsage);
}

}  // namespace
}  // namespace attest
