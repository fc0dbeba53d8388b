#include "fuzz/properties/parts/scene.hpp"

#include <gtest/gtest.h>

#include <array>

namespace attest {
namespace {

// Rows that say which they are.
class Drawn {
 public:
  explicit Drawn(Problem p) : scene(std::move(p)) {
    const Problem& problem = scene.problem;
    for (int seq = 0; seq < problem.b(); ++seq) {
      for (int token = 0; token < problem.s_kv[seq]; ++token) {
        scene.tokens[seq].push_back(row(1000 * (seq + 1) + token));
      }
    }
    for (int i = 0; i < problem.rows(); ++i) scene.q.push_back(row(10 + i));
  }
  Scene scene;

 private:
  Scene::Row row(int id) {
    static constexpr std::array<std::uint16_t, kDQk> kZeros{};
    return scene.made(kZeros.data(), [&](Numbers x) { x[0] = x[kDQk - 1] = id; });
  }
};

const Problem kRagged{.h_q = 3,
                      .s_kv = {70, 0, 17},
                      .s_q = {2, 1, 1},
                      .page_size = 16,
                      .page_base = 5,
                      .kv_indptr_start = 3,
                      .q_pad = 8};

TEST(Scene, IsTheSameAfterItWasPlaced) {
  const Drawn drawn(kRagged);
  const auto inputs = place(drawn.scene, {.seed = 1});
  ASSERT_TRUE(inputs.ok());
  const Scene again(kRagged, *inputs);
  for (int seq = 0; seq < kRagged.b(); ++seq) {
    ASSERT_EQ(again.tokens[seq].size(), drawn.scene.tokens[seq].size());
    for (std::size_t i = 0; i < again.tokens[seq].size(); ++i) {
      EXPECT_TRUE(std::equal(again.tokens[seq][i], again.tokens[seq][i] + kDQk,
                             drawn.scene.tokens[seq][i]));
    }
  }
  for (std::size_t i = 0; i < again.q.size(); ++i) {
    EXPECT_TRUE(std::equal(again.q[i], again.q[i] + kDQk, drawn.scene.q[i]));
  }
}

TEST(Scene, PlacesItsTablesAsTheProblemSays) {
  const auto inputs = place(Drawn(kRagged).scene, {.seed = 1, .extra_pages = 2});
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(inputs->qo_indptr, (std::vector<std::int32_t>{0, 2, 3, 4}));
  EXPECT_EQ(inputs->kv_indptr, (std::vector<std::int32_t>{3, 8, 8, 10}));
  EXPECT_EQ(inputs->kv_last_page_len, (std::vector<std::int32_t>{6, 0, 1}));
  EXPECT_EQ(inputs->kv_indices.size(), 13u);
  EXPECT_EQ(inputs->kv_indices.front(), kHostilePage);
  EXPECT_EQ(inputs->kv_indices.back(), kHostilePage);
  EXPECT_EQ(inputs->num_pages, 5 + 7 + 2);
  EXPECT_EQ(inputs->used_pages.size(), 7u);
  EXPECT_GE(inputs->used_pages.front(), 5);
}

TEST(Scene, LeavesPoisonWhereNobodyReads) {
  const auto inputs = place(Drawn(kRagged).scene, {.seed = 1}, 0x1234);
  ASSERT_TRUE(inputs.ok());
  const auto* const kv = inputs->kv.data<std::uint16_t>();
  const std::int64_t last = inputs->kv_indices[3 + 4];  // 6 tokens of 16
  EXPECT_EQ(kv[(last * 16 + 5) * kDQk], 1000 + 69);
  EXPECT_EQ(kv[(last * 16 + 6) * kDQk], 0x1234);
  EXPECT_EQ(kv[0], 0x1234);  // in front of page_base
  EXPECT_EQ(inputs->q.data<std::uint16_t>()[kDQk], 0x1234);
}

TEST(Scene, OfFp8MovesRowsOfBytes) {
  Problem p = kRagged;
  p.q_type = p.kv_type = Storage::kFp8;
  p.kv_scale = 3;
  Inputs inputs;
  ASSERT_TRUE(make_rows(p, p.total_q(), 12, kPoison16, inputs).ok());
  for (std::size_t i = 0; i < inputs.kv.size(); ++i)
    inputs.kv.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i / kDQk * 7 + i % 5);
  for (std::size_t i = 0; i < inputs.q.size(); ++i)
    inputs.q.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 101);
  inputs.kv_indptr = {0, 5, 5, 7};
  inputs.kv_indices = {6, 1, 9, 0, 3, 8, 2};
  const auto placed = place(Scene(p, inputs), {.seed = 1});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->kv_scale, std::vector<float>{3});
  EXPECT_EQ(placed->kv.size(), placed->num_pages * 16u * kDQk);
  const auto row = [](const Inputs& in, std::int64_t entry, int slot) {
    const auto* const at =
        in.kv.data<std::uint8_t>() + (std::int64_t{in.kv_indices[entry]} * 16 + slot) * kDQk;
    return std::vector<std::uint8_t>(at, at + kDQk);
  };
  EXPECT_EQ(row(*placed, 3 + 4, 5), row(inputs, 4, 5));
  EXPECT_EQ(row(*placed, 3 + 6, 0), row(inputs, 6, 0));
  EXPECT_EQ(row(*placed, 3 + 6, 1), std::vector<std::uint8_t>(kDQk, 0x80));  // a page's tail
  for (int i = 0; i < p.rows() * 584; ++i) {
    const std::uint8_t expected = i % 584 < kDQk ? i % 101 : 0x80;
    ASSERT_EQ(placed->q.data<std::uint8_t>()[i], expected) << i;
  }
}

TEST(Scene, EqualPagesAreOnePage) {
  Drawn drawn({.h_q = 1, .s_kv = {32, 40}, .s_q = {1, 1}, .page_size = 16});
  std::copy_n(drawn.scene.tokens[0].begin(), 32, drawn.scene.tokens[1].begin());
  const auto inputs = place(drawn.scene, {});
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(inputs->used_pages.size(), 3u);
  EXPECT_EQ(inputs->kv_indices[0], inputs->kv_indices[2]);
}

TEST(Scene, AnotherSeedIsAnotherPlace) {
  const Drawn drawn(kRagged);
  const auto one = place(drawn.scene, {.seed = 1}), two = place(drawn.scene, {.seed = 2});
  EXPECT_NE(one->kv_indices, two->kv_indices);
}

TEST(Scene, ARowThatSequencesShareIsChangedOnce) {
  Drawn drawn({.h_q = 1, .s_kv = {2, 2}, .s_q = {1, 1}});
  drawn.scene.tokens[1][0] = drawn.scene.tokens[0][0];
  drawn.scene.change_tokens([](Numbers x) { x[0] += 1; });
  EXPECT_EQ(drawn.scene.tokens[0][0], drawn.scene.tokens[1][0]);
  EXPECT_EQ(drawn.scene.tokens[0][0][0], 1001);
  EXPECT_EQ(drawn.scene.tokens[1][1][0], 2002);
}

}  // namespace
}  // namespace attest
