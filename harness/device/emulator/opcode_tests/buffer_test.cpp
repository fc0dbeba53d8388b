// buffer_* (MUBUF). Rules: CDNA3 ISA guide, "Memory buffer instructions": address = base + SGPR
// offset + offset + (offen) VGPR + (idxen) stride * index; raw buffers read 0 and drop stores where
// offset is not below num_records (in bytes); structured ones where the index is not below
// num_records (in records).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/noisy_buffer.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr std::size_t kBytes = 8192;
constexpr u32 kRecords = 3000;  // bytes of the descriptor, fewer than the allocation has

struct Access {
  const char* name;
  int bytes;
  bool sign;
  int half;  // -1: the whole register; loads of 0 and 1 keep the other half
};
const Access kLoads[] = {
    {"buffer_load_dword", 4, false, -1},    {"buffer_load_dwordx2", 8, false, -1},
    {"buffer_load_dwordx3", 12, false, -1}, {"buffer_load_dwordx4", 16, false, -1},
    {"buffer_load_ubyte", 1, false, -1},    {"buffer_load_sbyte", 1, true, -1},
    {"buffer_load_ushort", 2, false, -1},   {"buffer_load_sshort", 2, true, -1},
    {"buffer_load_short_d16", 2, false, 0}, {"buffer_load_short_d16_hi", 2, false, 1},
    {"buffer_load_ubyte_d16", 1, false, 0}, {"buffer_load_ubyte_d16_hi", 1, false, 1},
    {"buffer_load_sbyte_d16", 1, true, 0},  {"buffer_load_sbyte_d16_hi", 1, true, 1}};
const Access kStores[] = {
    {"buffer_store_dword", 4, false, -1},      {"buffer_store_dwordx2", 8, false, -1},
    {"buffer_store_dwordx3", 12, false, -1},   {"buffer_store_dwordx4", 16, false, -1},
    {"buffer_store_byte", 1, false, -1},       {"buffer_store_short", 2, false, -1},
    {"buffer_store_byte_d16_hi", 1, false, 1}, {"buffer_store_short_d16_hi", 2, false, 1}};

WaveState start(const NoisyBuffer& space, u32 stride, u32 records, u64 exec) {
  WaveState state;
  state.exec = exec;
  state.sgpr[8] = static_cast<u32>(space.buffer.address);
  state.sgpr[9] = static_cast<u32>(space.buffer.address >> 32) | stride << 16;
  state.sgpr[10] = records;
  state.sgpr[11] = 0x00027000;  // 32-bit untyped data, as compilers set it
  state.sgpr[4] = 64;
  for (unsigned r = 2; r < 32; ++r) {
    for (unsigned lane = 0; lane < 64; ++lane)
      state.vgpr[r * 64 + lane] =
          static_cast<u32>(draw(Kind::kU64, r * 64 + lane + 5) * 2654435761u);
  }
  return state;
}

u32 loaded(const Access& op, u32 raw, u32 old) {
  u32 v = op.sign ? static_cast<u32>(sign_extended(raw, 8 * op.bytes)) : raw;
  if (op.half == 0) v = (old & 0xffff0000u) | (v & 0xffff);
  if (op.half == 1) v = (old & 0xffffu) | (v & 0xffff) << 16;
  return v;
}

// Lanes walk from inside the range to beyond it, always whole elements.
u32 walk(unsigned lane) { return ((lane * 29) % 64) * 64; }

void check_raw_load(const Access& op, bool offen, bool soffset, u64 exec) {
  if (!implemented(op.name)) return;
  NoisyBuffer space(kBytes);
  WaveState state = start(space, 0, soffset ? kBytes : kRecords, exec);
  for (unsigned lane = 0; lane < 64; ++lane)
    state.vgpr[lane] = soffset ? walk(lane) / 2 : walk(lane);
  const WaveState before = state;
  const int dwords = (op.bytes + 3) / 4;
  const std::string text =
      fmt::format("{} {}, {}, s[8:11], {}{} offset:16", op.name, registers(4, dwords),
                  offen ? "v0" : "off", soffset ? "s4" : "0", offen ? " offen" : "");
  const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 offset = 16 + (offen ? before.vgpr[lane] : 0);
    const bool inside = offset + op.bytes <= before.sgpr[10];
    for (int d = 0; d < dwords; ++d) {
      const u32 old = before.vgpr[(4 + d) * 64 + lane];
      const u32 raw =
          inside ? space.dword(offset + (soffset ? 64 : 0) + 4 * d, std::min(op.bytes, 4)) : 0;
      EXPECT_EQ(state.vgpr[(4 + d) * 64 + lane], (exec >> lane) & 1 ? loaded(op, raw, old) : old)
          << text << ", lane " << lane << " offset " << offset;
    }
  }
}

void check_raw_store(const Access& op, u64 exec) {
  if (!implemented(op.name)) return;
  NoisyBuffer space(kBytes);
  WaveState state = start(space, 0, kRecords, exec);
  for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[lane] = walk(lane);
  auto want = space.copy();
  const std::string text = fmt::format("{} {}, v0, s[8:11], 0 offen offset:16", op.name,
                                       registers(4, (op.bytes + 3) / 4));
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 offset = 16 + walk(lane);
    if (!((exec >> lane) & 1) || offset + op.bytes > kRecords) continue;
    for (int b = 0; b < op.bytes; ++b) {
      const int bit = 8 * (b % 4) + (op.half == 1 ? 16 : 0);
      want[offset + b] = static_cast<std::uint8_t>(state.vgpr[(4 + b / 4) * 64 + lane] >> bit);
    }
  }
  const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  EXPECT_TRUE(space.copy() == want) << text;
}

}  // namespace

std::vector<std::string> buffer_mnemonics() {
  std::vector<std::string> names;
  for (const Access& op : kLoads) names.push_back(op.name);
  for (const Access& op : kStores) names.push_back(op.name);
  return names;
}

TEST(Buffer, RawLoadsReadZeroBeyondTheRange) {
  for (const Access& op : kLoads) {
    for (u64 exec : {~u64{0}, u64{0xff00ffff0ff05a01}}) {
      check_raw_load(op, true, false, exec);
      check_raw_load(op, true, true, exec);
      check_raw_load(op, false, false, exec);
    }
  }
}

TEST(Buffer, RawStoresBeyondTheRangeAreDropped) {
  for (const Access& op : kStores) {
    for (u64 exec : {~u64{0}, u64{0xff00ffff0ff05a01}}) check_raw_store(op, exec);
  }
}

TEST(Buffer, IndexedAccessCountsRecords) {
  NoisyBuffer space(kBytes);
  WaveState state = start(space, 48, 40, ~u64{0});
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = (lane * 11) % 64;   // index
    state.vgpr[64 + lane] = lane % 4 * 8;  // offset within the record
  }
  const WaveState before = state;
  const Outcome outcome = run_snippet(
      "buffer_load_dword v4, v0, s[8:11], 0 idxen offset:4\nbuffer_load_dword v5, v[0:1], s[8:11], "
      "0 idxen offen offset:4",
      "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u32 index = before.vgpr[lane], at = index * 48 + 4;
    EXPECT_EQ(state.vgpr[4 * 64 + lane], index < 40 ? space.dword(at, 4) : 0) << lane;
    EXPECT_EQ(state.vgpr[5 * 64 + lane], index < 40 ? space.dword(at + lane % 4 * 8, 4) : 0)
        << lane;
  }
}

}  // namespace attest::emulator::opcode_tests
