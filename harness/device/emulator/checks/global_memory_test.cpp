// The parts of the checks on global memory.
#include <gtest/gtest.h>

#include <random>

#include "harness/device/emulator/checks/granule_bits.hpp"
#include "harness/device/emulator/checks/written_bytes.hpp"

namespace attest::emulator {
namespace {

TEST(GranuleBits, GranulesAreTheLargestThatAllBoundsShare) {
  const std::vector<Extent> rows = {{0, 1152}, {2304, 3456}};
  EXPECT_EQ(granule_shift(rows, 4000), 7);
  const std::vector<Extent> tail = {{0, 1152}, {2304, 3458}};
  EXPECT_EQ(granule_shift(tail, 4000), 1);
  EXPECT_EQ(granule_shift(tail, 3458), 7);  // the end of the buffer cuts its last granule
}

// Against a plain map of bytes.
TEST(GranuleBits, KnowEachByteOfRandomExtents) {
  std::mt19937 random(1);
  for (const int shift : {0, 1, 2, 4, 7}) {
    const std::size_t granule = std::size_t{1} << shift, bytes = 300 * granule + granule / 2;
    GranuleBits bits(bytes, shift);
    std::vector<bool> plain(bytes);
    for (int turn = 0; turn < 40; ++turn) {
      const std::size_t begin = random() % 301 * granule;
      const std::size_t end = std::min(bytes, begin + random() % 90 * granule);
      const bool value = random() % 3 != 0;
      value ? bits.set(Extent{begin, end}) : bits.clear(Extent{begin, end});
      for (std::size_t at = begin; at < end; ++at) plain[at] = value;
    }
    for (int turn = 0; turn < 400; ++turn) {
      const int count = 1 << random() % 7;
      u64 at[kLanes], wanted = 0;
      // Anywhere, or one behind the other, or 16 rows.
      const std::size_t pattern = random() % 3, least = random() % (bytes / 2);
      const std::size_t room = bytes - static_cast<std::size_t>(count);
      for (std::size_t l = 0; l < kLanes; ++l) {
        const std::size_t offset = pattern == 0 ? random() % room
                                   : pattern == 1
                                       ? (least + l * static_cast<std::size_t>(count)) % room
                                       : (least + l % 16 * 3 * granule + l / 16) % room;
        at[l] = 1000 + offset;
        bool all = true;
        for (int b = 0; b < count; ++b) all &= plain[offset + static_cast<std::size_t>(b)];
        EXPECT_EQ(bits.all(offset, count), all);
        wanted |= u64{!all} << l;
      }
      const u64 lanes = turn % 2 ? kAllLanes : random();
      ASSERT_EQ(bits.holes(at, lanes, 1000, count), wanted & lanes) << shift << " " << count;
    }
  }
}

TEST(GranuleBits, LanesSetWhatTheyTouchAndNoMore) {
  std::mt19937 random(2);
  for (const bool in_order : {false, true}) {
    GranuleBits bits(5000, 0);
    std::vector<bool> plain(5000);
    u64 at[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) {
      at[l] = 70000 + (in_order ? 333 + 16 * l : random() % 4984);
      for (std::size_t b = 0; b < 16; ++b) plain[at[l] - 70000 + b] = true;
    }
    bits.set(at, kAllLanes, 70000, 16);
    for (std::size_t b = 0; b < 5000; ++b) ASSERT_EQ(bits.all(b, 1), plain[b]) << b;
  }
}

TEST(WrittenBytes, PiecesInAnyOrderCoverTheWhole) {
  WrittenBytes written(1000);
  EXPECT_FALSE(written.covers({}));
  for (const std::size_t at : {900, 0, 300, 100, 200, 700, 500, 600, 800})
    written.write({at, at + 100});
  EXPECT_FALSE(written.covers({}));
  const std::vector<Extent> held = {{0, 400}, {500, 1000}}, one_too_many = {{0, 401}};
  EXPECT_TRUE(written.covers(held));
  EXPECT_FALSE(written.covers(one_too_many));
  written.write({399, 501});
  EXPECT_TRUE(written.covers({}));
}

TEST(WrittenBytes, WhatIsForgottenIsNotWritten) {
  WrittenBytes written(1000);
  written.write({0, 1000});
  written.forget({10, 20});
  const std::vector<Extent> left = {{0, 10}, {20, 1000}};
  EXPECT_FALSE(written.covers({}));
  EXPECT_TRUE(written.covers(left));
  written.begin_kernels();
  EXPECT_TRUE(written.bits().all(0, 10));
  EXPECT_FALSE(written.bits().all(19, 2));
  const u64 at = 1010;
  written.write(&at, 1, 1000, 10);
  EXPECT_TRUE(written.bits().all(0, 64));
}

TEST(WrittenBytes, TheHostAndKernelsAddToTheSame) {
  WrittenBytes written(256);
  written.begin_kernels();
  written.write(Extent{0, 64});
  const u64 at = 1064;
  written.write(&at, 1, 1000, 16);
  EXPECT_TRUE(written.bits().all(32, 48));
  EXPECT_FALSE(written.bits().all(32, 49));
  written.forget({0, 256});
  EXPECT_FALSE(written.bits().all(0, 1));
}

}  // namespace
}  // namespace attest::emulator
