// LDS instructions. Rules: CDNA3 ISA guide, "DS instructions": address = VGPR + offset
// (read2/write2: two offsets counted in elements, st64 forms in 64 elements), inactive lanes do
// nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "harness/device/emulator/opcode_tests/lds_state.hpp"

namespace attest::emulator::opcode_tests {
namespace {

struct Load {
  const char* name;
  int bytes;
  bool sign;
  int half;  // -1: the whole register; 0, 1: that half, the other is kept (D16)
};
const Load kLoads[] = {{"ds_read_b32", 4, false, -1},    {"ds_read_b64", 8, false, -1},
                       {"ds_read_b96", 12, false, -1},   {"ds_read_b128", 16, false, -1},
                       {"ds_read_u8", 1, false, -1},     {"ds_read_i8", 1, true, -1},
                       {"ds_read_u16", 2, false, -1},    {"ds_read_i16", 2, true, -1},
                       {"ds_read_u8_d16", 1, false, 0},  {"ds_read_u8_d16_hi", 1, false, 1},
                       {"ds_read_i8_d16", 1, true, 0},   {"ds_read_i8_d16_hi", 1, true, 1},
                       {"ds_read_u16_d16", 2, false, 0}, {"ds_read_u16_d16_hi", 2, false, 1}};

struct Store {
  const char* name;
  int bytes;
  int shift;  // where in the register the data starts
};
const Store kStores[] = {{"ds_write_b32", 4, 0},  {"ds_write_b64", 8, 0},
                         {"ds_write_b96", 12, 0}, {"ds_write_b128", 16, 0},
                         {"ds_write_b8", 1, 0},   {"ds_write_b8_d16_hi", 1, 16},
                         {"ds_write_b16", 2, 0},  {"ds_write_b16_d16_hi", 2, 16}};

std::string registers(int first, int dwords) {
  return dwords == 1 ? fmt::format("v{}", first)
                     : fmt::format("v[{}:{}]", first, first + dwords - 1);
}
u32 address(unsigned lane, int bytes) {
  return ((lane * 37 + 5) % 64) * static_cast<u32>(std::max(bytes, 4)) * 3;
}

void check_load(const Load& op, unsigned offset, u64 exec) {
  if (!implemented(op.name)) return;
  WaveState state = start();
  state.exec = exec;
  for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[lane] = address(lane, op.bytes);
  const WaveState before = state;
  const int dwords = (op.bytes + 3) / 4;
  const std::string text =
      fmt::format("{} {}, v0 offset:{}", op.name, registers(4, dwords), offset);
  run(text, state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (int d = 0; d < dwords; ++d) {
      const u32 old = before.vgpr[(4 + d) * 64 + lane];
      const u64 at = before.vgpr[lane] + offset + 4 * d;
      u64 v = lds_at(before, at, std::min(op.bytes, 4));
      if (op.sign) v = static_cast<u32>(sign_extended(v, 8 * op.bytes));
      if (op.half == 0) v = (old & 0xffff0000u) | (v & 0xffff);
      if (op.half == 1) v = (old & 0xffffu) | (v & 0xffff) << 16;
      const u64 want = (exec >> lane) & 1 ? v : old;
      EXPECT_EQ(state.vgpr[(4 + d) * 64 + lane], want)
          << text << ", lane " << lane << ", dword " << d;
    }
  }
}

void check_store(const Store& op, unsigned offset, u64 exec) {
  if (!implemented(op.name)) return;
  WaveState state = start();
  state.exec = exec;
  for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[lane] = address(lane, op.bytes);
  WaveState want = state;
  const int dwords = (op.bytes + 3) / 4;
  const std::string text =
      fmt::format("{} v0, {} offset:{}", op.name, registers(4, dwords), offset);
  for (unsigned lane = 0; lane < 64; ++lane) {
    if (!((exec >> lane) & 1)) continue;
    for (int b = 0; b < op.bytes; ++b) {
      const int bit = op.shift + 8 * b;
      want.lds[want.vgpr[lane] + offset + b] =
          static_cast<std::byte>(want.vgpr[(4 + bit / 32) * 64 + lane] >> (bit % 32));
    }
  }
  run(text, state);
  EXPECT_TRUE(state.lds == want.lds) << text;
  EXPECT_TRUE(state.vgpr == want.vgpr) << text;
}

struct Pair {  // read2 and write2
  const char* suffix;
  int bytes, stride;
};
const Pair kPairs[] = {
    {"2_b32", 4, 4}, {"2_b64", 8, 8}, {"2st64_b32", 4, 256}, {"2st64_b64", 8, 512}};

void check_pair(const Pair& op, unsigned offset0, unsigned offset1, u64 exec) {
  const int dwords = op.bytes / 4;
  WaveState state = start();
  state.exec = exec;
  for (unsigned lane = 0; lane < 64; ++lane)
    state.vgpr[lane] = lane * op.bytes * (op.stride == op.bytes ? 2 : 1);  // no two lanes overlap
  const WaveState before = state;
  const std::string text = fmt::format("ds_read{} {}, v0 offset0:{} offset1:{}", op.suffix,
                                       registers(4, 2 * dwords), offset0, offset1);
  run(text, state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (int d = 0; d < 2 * dwords; ++d) {
      const u64 at =
          before.vgpr[lane] + (d < dwords ? offset0 : offset1) * op.stride + 4 * (d % dwords);
      const u64 want =
          (exec >> lane) & 1 ? lds_at(before, at, 4) : before.vgpr[(4 + d) * 64 + lane];
      EXPECT_EQ(state.vgpr[(4 + d) * 64 + lane], want)
          << text << ", lane " << lane << ", dword " << d;
    }
  }
  const std::string write =
      fmt::format("ds_write{} v0, {}, {} offset0:{} offset1:{}", op.suffix, registers(8, dwords),
                  registers(16, dwords), offset0, offset1);
  state = before;
  run(write, state);
  WaveState want = before;
  for (unsigned lane = 0; lane < 64; ++lane) {
    if (!((exec >> lane) & 1)) continue;
    for (int d = 0; d < 2 * dwords; ++d) {
      const u64 at =
          before.vgpr[lane] + (d < dwords ? offset0 : offset1) * op.stride + 4 * (d % dwords);
      const u32 v = before.vgpr[((d < dwords ? 8 : 16) + d % dwords) * 64 + lane];
      std::memcpy(want.lds.data() + at, &v, 4);
    }
  }
  EXPECT_TRUE(state.lds == want.lds) << write;
}

}  // namespace

std::vector<std::string> lds_mnemonics() {
  std::vector<std::string> names = {"ds_permute_b32", "ds_bpermute_b32", "ds_swizzle_b32"};
  for (const Load& op : kLoads) names.push_back(op.name);
  for (const Store& op : kStores) names.push_back(op.name);
  for (const Pair& op : kPairs) {
    for (const char* verb : {"ds_read", "ds_write"}) names.push_back(verb + std::string(op.suffix));
  }
  for (const std::string& name : lds_atomic_mnemonics()) names.push_back(name);
  return names;
}

TEST(Lds, LoadsOfEveryWidth) {
  for (const Load& op : kLoads) {
    for (unsigned offset : {0, 16, 4080}) {
      for (u64 exec : {~u64{0}, kSomeLanes, u64{0}}) check_load(op, offset, exec);
    }
  }
}

TEST(Lds, StoresOfEveryWidth) {
  for (const Store& op : kStores) {
    for (unsigned offset : {0, 16, 4080}) {
      for (u64 exec : {~u64{0}, kSomeLanes, u64{0}}) check_store(op, offset, exec);
    }
  }
}

TEST(Lds, TwoAddressForms) {
  for (const Pair& op : kPairs) {
    for (u64 exec : {~u64{0}, kSomeLanes}) {
      check_pair(op, 0, 1, exec);
      check_pair(op, 3, 2, exec);
      check_pair(op, 17, 100, exec);
    }
  }
}

TEST(Lds, OverlappingStoresKeepTheHighestLane) {
  WaveState state = start();
  for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[lane] = 64;
  const u32 last = state.vgpr[4 * 64 + 63];
  run("ds_write_b32 v0, v4", state);
  EXPECT_EQ(lds_at(state, 64, 4), last);
}

TEST(Lds, BpermutePullsAndPermutePushes) {
  for (u64 exec : {~u64{0}, kSomeLanes}) {
    WaveState state = start();
    state.exec = exec;
    for (unsigned lane = 0; lane < 64; ++lane)
      state.vgpr[lane] = ((lane * 29 + 3) % 64) * 4 + (lane % 3) * 256 + lane % 4;
    const WaveState before = state;
    run("ds_bpermute_b32 v4, v0, v1\nds_permute_b32 v5, v0, v1\nds_bpermute_b32 v6, v0, v1 "
        "offset:8",
        state);
    u32 pushed[64] = {};
    for (unsigned lane = 0; lane < 64; ++lane) {
      if ((exec >> lane) & 1) pushed[before.vgpr[lane] / 4 % 64] = before.vgpr[64 + lane];
    }
    for (unsigned lane = 0; lane < 64; ++lane) {
      const bool active = (exec >> lane) & 1;
      const unsigned from = before.vgpr[lane] / 4 % 64, from8 = (before.vgpr[lane] + 8) / 4 % 64;
      EXPECT_EQ(state.vgpr[256 + lane], !active              ? before.vgpr[256 + lane]
                                        : (exec >> from) & 1 ? before.vgpr[64 + from]
                                                             : 0)
          << lane;
      EXPECT_EQ(state.vgpr[320 + lane], active ? pushed[lane] : before.vgpr[320 + lane]) << lane;
      EXPECT_EQ(state.vgpr[384 + lane], !active               ? before.vgpr[384 + lane]
                                        : (exec >> from8) & 1 ? before.vgpr[64 + from8]
                                                              : 0)
          << lane;
    }
  }
}

TEST(Lds, SwizzleByQuadAndByBitMasks) {
  // offset[15] = 1: quad mode, two bits a lane; else source = ((lane & and) | or) ^ xor within each
  // 32 lanes.
  struct Case {
    std::string text;
    unsigned quad, conjunction, disjunction, flip;
    bool is_quad;
  };
  const Case cases[] = {{"swizzle(QUAD_PERM, 1, 2, 3, 0)", 0x39, 0, 0, 0, true},
                        {"swizzle(QUAD_PERM, 3, 2, 1, 0)", 0x1b, 0, 0, 0, true},
                        {"swizzle(SWAP, 16)", 0, 31, 0, 16, false},
                        {"swizzle(REVERSE, 8)", 0, 31, 0, 7, false},
                        {"swizzle(BROADCAST, 8, 3)", 0, 24, 3, 0, false},
                        {"0x3c15", 0, 0x15, 0x00, 0x0f, false},
                        {"0x0cb0", 0, 0x10, 0x05, 0x03, false}};
  for (const Case& c : cases) {
    for (u64 exec : {~u64{0}, kSomeLanes}) {
      WaveState state = start();
      state.exec = exec;
      const WaveState before = state;
      run("ds_swizzle_b32 v4, v1 offset:" + c.text, state);
      for (unsigned lane = 0; lane < 64; ++lane) {
        const unsigned from =
            c.is_quad ? (lane & ~3u) + ((c.quad >> (2 * (lane & 3))) & 3)
                      : (lane & 32) + ((((lane & 31) & c.conjunction) | c.disjunction) ^ c.flip);
        const u32 moved = (exec >> from) & 1 ? before.vgpr[64 + from] : 0;
        EXPECT_EQ(state.vgpr[256 + lane], (exec >> lane) & 1 ? moved : before.vgpr[256 + lane])
            << c.text << ", lane " << lane;
      }
    }
  }
}

TEST(Lds, AccumulationRegistersAreDataToo) {
  WaveState state = start();
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = lane * 16;
    for (unsigned r = 0; r < 4; ++r) state.agpr[r * 64 + lane] = 9000 + 100 * r + lane;
  }
  run("ds_write_b128 v0, a[0:3]\nds_read_b64 a[4:5], v0 offset:8", state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(lds_at(state, lane * 16, 4), 9000 + lane);
    EXPECT_EQ(state.agpr[4 * 64 + lane], 9200 + lane);
    EXPECT_EQ(state.agpr[5 * 64 + lane], 9300 + lane);
  }
}

}  // namespace attest::emulator::opcode_tests
