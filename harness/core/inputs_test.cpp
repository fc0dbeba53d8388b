#include "harness/core/inputs.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace attest {
namespace {

TEST(PoisonedMemory, HoldsThePatternEverywhereWhenSmall) {
  auto memory = PoisonedMemory::make(10'001, 0x7FC1);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->size(), 10'001u);
  for (std::size_t i = 0; i < 5'000; ++i) ASSERT_EQ(memory->data<std::uint16_t>()[i], 0x7FC1);
}

TEST(PoisonedMemory, HoldsThePatternInASparsePoolAndKeepsWritesApart) {
  const std::size_t bytes = (std::size_t{5} << 30) + 6;
  auto memory = PoisonedMemory::make(bytes, 0xFFC3);
  ASSERT_TRUE(memory.ok()) << memory.trouble().text;
  auto* at = memory->data<std::uint16_t>();
  const std::size_t last = bytes / 2 - 1, step = std::size_t{2} << 19;  // elements of one chunk
  at[7] = 1;
  EXPECT_EQ(at[7], 1);
  EXPECT_EQ(at[8], 0xFFC3);
  EXPECT_EQ(at[7 + step], 0xFFC3);  // another view of the same pattern page
  EXPECT_EQ(at[last], 0xFFC3);
  at[last] = 2;
  EXPECT_EQ(at[last], 2);
}

TEST(PoisonedMemory, MovesWithoutACopy) {
  auto made = PoisonedMemory::make(64, 0x1234);
  ASSERT_TRUE(made.ok());
  const auto* before = made->data<std::byte>();
  PoisonedMemory moved = std::move(*made);
  EXPECT_EQ(moved.data<std::byte>(), before);
  EXPECT_EQ(made->size(), 0u);
}

TEST(PoisonedMemory, LiesWhereItWasAskedForUnlessSomethingElseDoes) {
  for (const std::size_t bytes : {std::size_t{64}, PoisonedMemory::kLazyBytes + 64}) {
    const std::uintptr_t at = 0x1200'0000'0000;
    auto memory = PoisonedMemory::make(bytes, 0x1234, at);
    ASSERT_TRUE(memory.ok()) << memory.trouble().text;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data<std::byte>()), at);
    EXPECT_FALSE(PoisonedMemory::make(bytes, 0x4321, at).ok());
    EXPECT_EQ(memory->data<std::uint16_t>()[bytes / 2 - 1], 0x1234);
  }
}

TEST(PoisonedMemory, SaysHowMuchWasAskedWhenThereIsNone) {
  auto memory = PoisonedMemory::make(std::size_t{1} << 60, 0);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.trouble().kind, TroubleKind::kInfra);
  EXPECT_NE(memory.trouble().text.find("1152921504606846976"), std::string::npos);
}

}  // namespace
}  // namespace attest
