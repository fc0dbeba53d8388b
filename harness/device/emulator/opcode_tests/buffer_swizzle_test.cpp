// Swizzled buffers: records of `stride` bytes lie interleaved in groups of index_stride, four bytes
// of each after the other. Rule: CDNA3 ISA guide, "Swizzled Buffer Addressing"; here the layout is
// walked, not computed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/noisy_buffer.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr std::size_t kBytes = 16384;
constexpr u32 kStride = 48;

// Where byte `offset` of record `index` lies, found by walking through memory.
std::vector<std::vector<u32>> walk(u32 records, u32 index_stride) {
  std::vector<std::vector<u32>> at(records, std::vector<u32>(kStride));
  u32 here = 0;
  for (u32 group = 0; group < records; group += index_stride) {
    for (u32 element = 0; element < kStride; element += 4) {
      for (u32 i = 0; i < index_stride; ++i) {
        for (u32 byte = 0; byte < 4; ++byte, ++here) {
          if (group + i < records) at[group + i][element + byte] = here;
        }
      }
    }
  }
  return at;
}

// `extra`: bits of the resource's last dword.
WaveState start(const NoisyBuffer& space, u32 records, u32 extra) {
  WaveState state;
  state.sgpr[8] = static_cast<u32>(space.buffer.address);
  state.sgpr[9] = static_cast<u32>(space.buffer.address >> 32) | kStride << 16 | 0x80000000u;
  state.sgpr[10] = records;
  state.sgpr[11] = extra;
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = lane * 37 % 64;       // index
    state.vgpr[64 + lane] = lane % 8 * 4;    // offset within the record
    state.vgpr[128 + lane] = lane % 24 + 5;  // one that is not a multiple of 4
    for (unsigned r = 4; r < 16; ++r)
      state.vgpr[r * 64 + lane] = static_cast<u32>(draw(Kind::kU64, r * 64 + lane) * 2654435761u);
  }
  return state;
}

void run(const std::string& text, NoisyBuffer& space, WaveState& state) {
  const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
}

}  // namespace

TEST(BufferSwizzle, LoadsFollowTheInterleavedRecords) {
  for (u32 code = 0; code < 4; ++code) {
    const u32 records = 50;
    const auto at = walk(64, 8u << code);
    NoisyBuffer space(kBytes);
    WaveState state = start(space, records, code << 21);
    const WaveState before = state;
    run("buffer_load_dword v4, v0, s[8:11], 0 idxen offset:4\n"
        "buffer_load_dwordx4 v[8:11], v[0:1], s[8:11], 0 idxen offen offset:4\n"
        "v_mov_b32 v1, v2\nbuffer_load_ubyte v5, v[0:1], s[8:11], 0 idxen offen",
        space, state);
    for (unsigned lane = 0; lane < 64; ++lane) {
      const u32 index = before.vgpr[lane], offset = before.vgpr[64 + lane] + 4;
      const bool inside = index < records;
      EXPECT_EQ(state.vgpr[4 * 64 + lane], inside ? space.dword(at[index][4], 4) : 0) << lane;
      for (u32 d = 0; d < 4; ++d) {
        EXPECT_EQ(state.vgpr[(8 + d) * 64 + lane],
                  inside ? space.dword(at[index][offset + 4 * d], 4) : 0)
            << lane << ", dword " << d;
      }
      EXPECT_EQ(state.vgpr[5 * 64 + lane],
                inside ? space.dword(at[index][before.vgpr[128 + lane]], 1) : 0)
          << lane;
    }
  }
}

TEST(BufferSwizzle, StoresFollowTheInterleavedRecords) {
  NoisyBuffer space(kBytes);
  WaveState state = start(space, 64, 1 << 21);
  const auto at = walk(64, 16);
  auto want = space.copy();
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (u32 d = 0; d < 3; ++d) {
      std::memcpy(want.data() + at[state.vgpr[lane]][state.vgpr[64 + lane] + 4 * d],
                  &state.vgpr[(8 + d) * 64 + lane], 4);
    }
  }
  run("buffer_store_dwordx3 v[8:10], v[0:1], s[8:11], 0 idxen offen", space, state);
  EXPECT_TRUE(space.copy() == want);
}

TEST(BufferSwizzle, ALoadMayOverwriteItsAddress) {
  NoisyBuffer space(kBytes);
  WaveState state = start(space, 64, 3 << 21);
  const WaveState before = state;
  const auto at = walk(64, 64);
  run("buffer_load_dwordx2 v[0:1], v0, s[8:11], 0 idxen", space, state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(state.vgpr[lane], space.dword(at[before.vgpr[lane]][0], 4));
    EXPECT_EQ(state.vgpr[64 + lane], space.dword(at[before.vgpr[lane]][4], 4));
  }
}

// ADD_TID_ENABLE: the lane's number is added to the index: per-lane records without an index.
TEST(BufferSwizzle, TheLaneMayBeTheIndex) {
  NoisyBuffer space(kBytes);
  WaveState state = start(space, kBytes, 3u << 21 | 1u << 23);
  const auto at = walk(64, 64);
  run("buffer_load_dwordx2 v[4:5], off, s[8:11], 0 offset:8", space, state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(state.vgpr[4 * 64 + lane], space.dword(at[lane][8], 4)) << lane;
    EXPECT_EQ(state.vgpr[5 * 64 + lane], space.dword(at[lane][12], 4)) << lane;
  }
}

TEST(BufferSwizzle, WithoutAnIndexRecordsAreBytes) {
  NoisyBuffer space(kBytes);
  WaveState state = start(space, 100, 0);
  state.sgpr[9] &= 0x7fffffff;  // a stride, but not swizzled
  run("buffer_load_dword v4, off, s[8:11], 0 offset:96\n"
      "buffer_load_dword v5, off, s[8:11], 0 offset:100",
      space, state);
  EXPECT_EQ(state.vgpr[4 * 64], space.dword(96, 4));
  EXPECT_EQ(state.vgpr[5 * 64], 0u);
}

}  // namespace attest::emulator::opcode_tests
