// Stores that are late: which access, wait or choice brings them to memory.
#include "harness/device/emulator/store_buffer.hpp"

#include <gtest/gtest.h>

#include <array>

namespace attest::emulator {
namespace {

// Two waves that store single words to 256 words of memory.
class StoreBufferTest : public testing::Test {
 protected:
  u64 address(int word) { return reinterpret_cast<u64>(&memory_[static_cast<std::size_t>(word)]); }
  // `lanes` words from `word` on.
  void store(int wave, int word, u32 value, int lanes = 1) {
    std::array<u64, kLanes> at{};
    for (int lane = 0; lane < lanes; ++lane)
      at[static_cast<std::size_t>(lane)] = address(word + lane);
    const u64 mask = (u64{1} << lanes) - 1;
    buffer_.issue(wave);
    buffer_.settle(at.data(), mask, 4);
    buffer_.begin(wave, at.data(), mask, 4);
    for (int lane = 0; lane < lanes; ++lane) buffer_.put(lane, &value);
  }
  void touch(int word) {
    const u64 at = address(word);
    buffer_.settle(&at, 1, 4);
  }
  u32 word(int at) const { return memory_[static_cast<std::size_t>(at)]; }

  alignas(64) std::array<u32, 256> memory_{};
  StoreBuffer buffer_{2};
};

TEST_F(StoreBufferTest, AStoreIsLateUntilItsWaveWaitsForIt) {
  store(0, 3, 5);
  store(1, 4, 6);
  EXPECT_EQ(word(3), 0u);
  buffer_.wait(0, 0);
  EXPECT_EQ(word(3), 5u);
  EXPECT_EQ(word(4), 0u) << "the other wave did not wait";
  buffer_.wait(1, 0);
  EXPECT_EQ(word(4), 6u);
  EXPECT_TRUE(buffer_.empty());
}

TEST_F(StoreBufferTest, ACountLeavesThatManyOfTheYoungestOutstanding) {
  for (int i = 0; i < 4; ++i) store(0, i, 1);
  buffer_.wait(0, 4);
  EXPECT_EQ(word(0), 0u);
  buffer_.wait(0, 3);
  EXPECT_EQ(word(0), 1u);
  EXPECT_EQ(word(1), 0u);
  buffer_.issue(0);  // a load counts too
  buffer_.wait(0, 3);
  EXPECT_EQ(word(1), 1u);
  EXPECT_EQ(word(2), 0u);
}

TEST_F(StoreBufferTest, NoMoreThan63AreOutstanding) {
  store(0, 0, 1);
  for (int i = 0; i < 62; ++i) buffer_.issue(0);
  EXPECT_EQ(word(0), 0u);
  buffer_.issue(0);
  EXPECT_EQ(word(0), 1u);
}

TEST_F(StoreBufferTest, AnAccessOfTheSameBytesComesAfterIt) {
  store(0, 10, 5);
  store(0, 20, 6);
  touch(11);
  EXPECT_EQ(word(10), 0u);
  touch(10);
  EXPECT_EQ(word(10), 5u);
  EXPECT_EQ(word(20), 0u);
}

TEST_F(StoreBufferTest, TwoStoresToOnePlaceKeepTheirOrder) {
  store(0, 10, 1);
  store(1, 10, 2);
  EXPECT_EQ(word(10), 1u);
  buffer_.wait(1, 0);
  buffer_.wait(0, 0);
  EXPECT_EQ(word(10), 2u);
}

TEST_F(StoreBufferTest, StoresToDifferentPlacesPassEachOtherAndInPart) {
  bool in_part = false, passed = false;
  for (u64 choice = 0; choice < 64; ++choice) {
    memory_.fill(0);
    store(0, 0, 1, 16);
    store(0, 100, 1, 16);
    buffer_.settle_some(choice << 32 | choice % 2);
    in_part |= word(100) == 1 && word(115) == 0;
    passed |= word(100) == 1 && word(0) == 0;
    buffer_.settle_all();
    ASSERT_TRUE(buffer_.empty());
    for (int i = 0; i < 16; ++i) ASSERT_TRUE(word(i) == 1 && word(100 + i) == 1);
  }
  EXPECT_TRUE(in_part);
  EXPECT_TRUE(passed);
}

}  // namespace
}  // namespace attest::emulator
