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
      for (int l = 0; l < kLanes; ++l) {
        const std::size_t offset = random() % (bytes - static_cast<std::size_t>(count));
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
  written.write(10, 10);
  EXPECT_TRUE(written.bits().all(0, 64));
}

TEST(WrittenBytes, TheHostAndKernelsAddToTheSame) {
  WrittenBytes written(256);
  written.begin_kernels();
  written.write(Extent{0, 64});
  written.write(64, 16);
  EXPECT_TRUE(written.bits().all(32, 48));
  EXPECT_FALSE(written.bits().all(32, 49));
  written.forget({0, 256});
  EXPECT_FALSE(written.bits().all(0, 1));
}

}  // namespace
}  // namespace attest::emulator
