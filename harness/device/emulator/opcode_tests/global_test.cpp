// global_*, flat_* and scratch_*. Rules: CDNA3 ISA guide, "Flat, Global and Scratch": address =
// VGPR pair + 13-bit signed offset, or SGPR pair + 32-bit VGPR + offset; sub-dword loads extend or
// (D16) fill one half; inactive lanes do nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/atomic_rules.hpp"
#include "harness/device/emulator/opcode_tests/noisy_buffer.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr u64 kSomeLanes = 0xff00ffff0ff05a01ull;
constexpr std::size_t kBytes = 16384;

struct Load {
  const char* name;
  int bytes;
  bool sign;
  int half;
};
const Load kLoads[] = {{"load_dword", 4, false, -1},    {"load_dwordx2", 8, false, -1},
                       {"load_dwordx3", 12, false, -1}, {"load_dwordx4", 16, false, -1},
                       {"load_ubyte", 1, false, -1},    {"load_sbyte", 1, true, -1},
                       {"load_ushort", 2, false, -1},   {"load_sshort", 2, true, -1},
                       {"load_ubyte_d16", 1, false, 0}, {"load_ubyte_d16_hi", 1, false, 1},
                       {"load_sbyte_d16", 1, true, 0},  {"load_sbyte_d16_hi", 1, true, 1},
                       {"load_short_d16", 2, false, 0}, {"load_short_d16_hi", 2, false, 1}};
struct Store {
  const char* name;
  int bytes, shift;
};
const Store kStores[] = {{"store_dword", 4, 0},    {"store_dwordx2", 8, 0},
                         {"store_dwordx3", 12, 0}, {"store_dwordx4", 16, 0},
                         {"store_byte", 1, 0},     {"store_byte_d16_hi", 1, 16},
                         {"store_short", 2, 0},    {"store_short_d16_hi", 2, 16}};

// How the address is written.
enum class Addressing { kVector, kScalarBase, kFlat };

u64 read(const std::vector<std::uint8_t>& from, u64 at, int bytes) {
  u64 v = 0;
  std::memcpy(&v, from.data() + at, static_cast<std::size_t>(bytes));
  return v;
}

u64 place(unsigned lane, int bytes) {
  return 4096 + ((lane * 37 + 5) % 64) * static_cast<u64>(std::max(bytes, 4)) * 3;
}

WaveState start(const NoisyBuffer& space, Addressing form, int bytes, u64 exec) {
  WaveState state;
  state.exec = exec;
  for (unsigned r = 2; r < 32; ++r) {
    for (unsigned lane = 0; lane < 64; ++lane)
      state.vgpr[r * 64 + lane] =
          static_cast<u32>(draw(Kind::kU64, r * 64 + lane + 5) * 2654435761u);
  }
  state.sgpr[2] = static_cast<u32>(space.buffer.address);
  state.sgpr[3] = static_cast<u32>(space.buffer.address >> 32);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 a = place(lane, bytes) + (form == Addressing::kScalarBase ? 0 : space.buffer.address);
    state.vgpr[lane] = static_cast<u32>(a);
    state.vgpr[64 + lane] =
        form == Addressing::kScalarBase ? 0xdeadbeefu : static_cast<u32>(a >> 32);
  }
  return state;
}

const char* prefix(Addressing form) { return form == Addressing::kFlat ? "flat_" : "global_"; }
std::string address_text(Addressing form) {
  return form == Addressing::kScalarBase ? "v0" : "v[0:1]";
}
std::string tail(Addressing form, int offset) {
  const std::string base = form == Addressing::kVector       ? ", off"
                           : form == Addressing::kScalarBase ? ", s[2:3]"
                                                             : "";
  return base + (offset ? fmt::format(" offset:{}", offset) : "");
}

u32 loaded(const Load& op, const std::vector<std::uint8_t>& memory, u64 at, u32 old) {
  u64 v = read(memory, at, std::min(op.bytes, 4));
  if (op.sign) v = static_cast<u32>(sign_extended(v, 8 * op.bytes));
  if (op.half == 0) v = (old & 0xffff0000u) | (v & 0xffff);
  if (op.half == 1) v = (old & 0xffffu) | (v & 0xffff) << 16;
  return static_cast<u32>(v);
}

void check_load(const Load& op, Addressing form, int offset, u64 exec) {
  const std::string name = prefix(form) + std::string(op.name);
  if (!implemented(name)) return;
  NoisyBuffer space(kBytes);
  WaveState state = start(space, form, op.bytes, exec);
  const WaveState before = state;
  const int dwords = (op.bytes + 3) / 4;
  const std::string text = fmt::format("{} {}, {}{}", name, registers(4, dwords),
                                       address_text(form), tail(form, offset));
  const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  const auto memory = space.copy();
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (int d = 0; d < dwords; ++d) {
      const u32 old = before.vgpr[(4 + d) * 64 + lane];
      const u64 at = place(lane, op.bytes) + offset + 4 * d;
      const u32 want = (exec >> lane) & 1 ? loaded(op, memory, at, old) : old;
      EXPECT_EQ(state.vgpr[(4 + d) * 64 + lane], want)
          << text << ", lane " << lane << ", dword " << d;
    }
  }
}

void check_store(const Store& op, Addressing form, int offset, u64 exec) {
  const std::string name = prefix(form) + std::string(op.name);
  if (!implemented(name)) return;
  NoisyBuffer space(kBytes);
  WaveState state = start(space, form, op.bytes, exec);
  auto want = space.copy();
  const int dwords = (op.bytes + 3) / 4;
  const std::string text = fmt::format("{} {}, {}{}", name, address_text(form),
                                       registers(4, dwords), tail(form, offset));
  for (unsigned lane = 0; lane < 64; ++lane) {
    if (!((exec >> lane) & 1)) continue;
    for (int b = 0; b < op.bytes; ++b) {
      const int bit = op.shift + 8 * b;
      want[place(lane, op.bytes) + offset + b] =
          static_cast<std::uint8_t>(state.vgpr[(4 + bit / 32) * 64 + lane] >> (bit % 32));
    }
  }
  const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  EXPECT_TRUE(space.copy() == want) << text << fmt::format(" exec {:#x}", exec);
}

void check_atomic(const Atomic& op, Addressing form, bool returns, u64 exec, u64 seed) {
  const std::string name = fmt::format("{}atomic_{}", prefix(form), op.name);
  if (!implemented(name)) return;
  NoisyBuffer space(kBytes);
  const int dwords = op.wide ? 2 : 1;
  WaveState state = start(space, form, 8, exec);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 memory = draw(op.kind, seed + lane), data = draw(op.kind, ~(seed + lane));
    const u64 compare = lane % 2 ? memory : draw(op.kind, seed + 3 * lane);
    std::memcpy(space.bytes() + place(lane, 8) + 8, &memory, op.wide ? 8 : 4);
    for (int d = 0; d < dwords;
         ++d) {  // the new value lies in the lower registers, the compare value above it
      state.vgpr[(8 + d) * 64 + lane] = static_cast<u32>(data >> (32 * d));
      state.vgpr[(8 + dwords + d) * 64 + lane] = static_cast<u32>(compare >> (32 * d));
    }
  }
  const WaveState before = state;
  const auto memory_before = space.copy();
  const std::string text = fmt::format(
      "{} {}{}, {}{}{}", name, returns ? registers(4, dwords) + ", " : "", address_text(form),
      registers(8, is_cmpswap(op) ? 2 * dwords : dwords), tail(form, 8), returns ? " sc0" : "");
  const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  const auto memory_after = space.copy();
  for (unsigned lane = 0; lane < 64; ++lane) {
    const auto pair = [&](int reg) {
      return before.vgpr[reg * 64 + lane] |
             (op.wide ? u64{before.vgpr[(reg + 1) * 64 + lane]} << 32 : 0);
    };
    const bool active = (exec >> lane) & 1;
    const u64 at = place(lane, 8) + 8, memory = read(memory_before, at, 4 * dwords);
    const u64 want = active ? op.rule(memory, pair(8), pair(8 + dwords)) : memory;
    EXPECT_EQ(disagreement(read(memory_after, at, 4 * dwords), want, op.kind,
                           active ? op.match : Match::kBits),
              "")
        << text << fmt::format(", lane {}: memory {:#x}, data {:#x}", lane, memory, pair(8));
    const u64 got =
        state.vgpr[4 * 64 + lane] | (op.wide ? u64{state.vgpr[5 * 64 + lane]} << 32 : 0);
    EXPECT_EQ(got, returns && active ? memory : pair(4)) << text << ", returned to lane " << lane;
  }
}

}  // namespace

std::vector<std::string> global_mnemonics() {
  std::vector<std::string> names;
  for (const char* prefix : {"global_", "flat_", "scratch_"}) {
    for (const Load& op : kLoads) names.push_back(prefix + std::string(op.name));
    for (const Store& op : kStores) names.push_back(prefix + std::string(op.name));
  }
  for (const char* prefix : {"global_atomic_", "flat_atomic_"}) {
    for (const Atomic& op : memory_atomics()) names.push_back(prefix + std::string(op.name));
  }
  return names;
}

TEST(Global, LoadsOfEveryWidth) {
  for (const Load& op : kLoads) {
    for (u64 exec : {~u64{0}, kSomeLanes, u64{0}}) {
      for (int offset : {0, 4, 4095, -4096}) {
        if (offset == 4095 && op.bytes > 1) offset = 4080;
        check_load(op, Addressing::kVector, offset, exec);
        check_load(op, Addressing::kScalarBase, offset, exec);
        if (offset >= 0) check_load(op, Addressing::kFlat, offset, exec);
      }
    }
  }
}

TEST(Global, StoresOfEveryWidth) {
  for (const Store& op : kStores) {
    for (u64 exec : {~u64{0}, kSomeLanes, u64{0}}) {
      for (int offset : {0, 4, 4080, -4096}) {
        check_store(op, Addressing::kVector, offset, exec);
        check_store(op, Addressing::kScalarBase, offset, exec);
        if (offset >= 0) check_store(op, Addressing::kFlat, offset, exec);
      }
    }
  }
}

TEST(Global, DwordAccessNeedsNoAlignmentBeyondItsUnit) {
  NoisyBuffer space(kBytes);
  WaveState state = start(space, Addressing::kVector, 16, ~u64{0});
  const auto memory = space.copy();
  const Outcome outcome = run_snippet("global_load_dwordx4 v[4:7], v[0:1], off offset:4", "gfx942",
                                      space.memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(state.vgpr[7 * 64 + lane], read(memory, place(lane, 16) + 16, 4));
}

TEST(Global, AtomicsFollowTheIsaGuide) {
  for (const Atomic& op : memory_atomics()) {
    for (u64 seed = 0; seed < 3; ++seed) {
      for (Addressing form : {Addressing::kVector, Addressing::kScalarBase, Addressing::kFlat}) {
        for (bool returns : {false, true})
          check_atomic(op, form, returns, seed == 2 ? kSomeLanes : ~u64{0}, seed * 100);
      }
    }
  }
}

TEST(Global, AtomicsOfManyLanesOnOneAddressAllCount) {
  NoisyBuffer space(kBytes);
  WaveState state = start(space, Addressing::kVector, 4, ~u64{0});
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = static_cast<u32>(space.buffer.address);
    state.vgpr[64 + lane] = static_cast<u32>(space.buffer.address >> 32);
    state.vgpr[8 * 64 + lane] = lane + 1;
  }
  std::memset(space.bytes(), 0, 4);
  const Outcome outcome =
      run_snippet("global_atomic_add v4, v[0:1], v8, off sc0", "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  EXPECT_EQ(read(space.copy(), 0, 4), 64u * 65 / 2);
  std::vector<u32> seen(state.vgpr.begin() + 4 * 64, state.vgpr.begin() + 5 * 64);
  std::sort(seen.begin(), seen.end());
  EXPECT_TRUE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

TEST(Global, AccessOutsideEveryAllocationIsAFaultThatNamesTheInstruction) {
  for (const char* text : {"global_load_dword v4, v[0:1], off offset:16",
                           "global_store_dword v[0:1], v4, off offset:16",
                           "global_atomic_add v[0:1], v4, off offset:16",
                           "flat_load_dwordx4 v[4:7], v[0:1] offset:16"}) {
    NoisyBuffer space(kBytes);
    WaveState state = start(space, Addressing::kVector, 4, u64{1} << 41);
    const u64 end = space.buffer.address + kBytes - 16;
    state.vgpr[41] = static_cast<u32>(end);
    state.vgpr[64 + 41] = static_cast<u32>(end >> 32);
    const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
    ASSERT_FALSE(outcome.ok()) << text;
    EXPECT_EQ(outcome.trouble().kind, TroubleKind::kCrashed);
    EXPECT_NE(outcome.trouble().text.find("lane 41"), std::string::npos) << outcome.trouble().text;
  }
}

TEST(Global, InactiveLanesMayHoldBadAddresses) {
  NoisyBuffer space(kBytes);
  WaveState state = start(space, Addressing::kVector, 4, 0x3);
  for (unsigned lane = 2; lane < 64; ++lane) state.vgpr[64 + lane] = 0xffffffffu;
  const Outcome outcome =
      run_snippet("global_load_dword v4, v[0:1], off\nglobal_store_dword v[0:1], v5, off", "gfx942",
                  space.memory, state);
  EXPECT_TRUE(outcome.ok()) << outcome.trouble().text;
}

TEST(Scratch, WhatALaneStoresItAloneLoads) {
  for (const Store& s : kStores) {
    for (const Load& l : kLoads) {
      if (l.bytes != s.bytes || !implemented("scratch_" + std::string(s.name)) ||
          !implemented("scratch_" + std::string(l.name)))
        continue;
      NoisyBuffer space(kBytes);
      WaveState state = start(space, Addressing::kVector, 4, kSomeLanes);
      state.sgpr[4] = 32;
      for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[lane] = 64;
      const WaveState before = state;
      const int dwords = (l.bytes + 3) / 4;
      // By an SGPR, by a VGPR (64 = 32 + offset 32 of the same address), and by an offset alone.
      const std::string text = fmt::format(
          "scratch_{} off, {}, s4 offset:32\nscratch_{} {}, v0, off\ns_mov_b32 s4, 0\nscratch_{} "
          "{}, off, s4 offset:64",
          s.name, registers(8, dwords), l.name, registers(12, dwords), l.name,
          registers(16, dwords));
      const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
      ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
      for (unsigned lane = 0; lane < 64; ++lane) {
        for (int d = 0; d < dwords; ++d) {
          const u32 data = before.vgpr[(8 + d) * 64 + lane] >> s.shift;
          std::vector<std::uint8_t> stored(8);
          std::memcpy(stored.data(), &data, 4);
          for (int base : {12, 16}) {
            const u32 old = before.vgpr[(base + d) * 64 + lane];
            const u32 want = (kSomeLanes >> lane) & 1 ? loaded(l, stored, 0, old) : old;
            EXPECT_EQ(state.vgpr[(base + d) * 64 + lane], want)
                << text << ", lane " << lane << ", v" << base + d;
          }
        }
      }
    }
  }
}

TEST(Scratch, AccumulationRegistersAreDataToo) {
  NoisyBuffer space(kBytes);
  WaveState state = start(space, Addressing::kVector, 16, ~u64{0});
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (unsigned k = 0; k < 4; ++k) state.agpr[k * 64 + lane] = 9000 + 100 * k + lane;
  }
  const Outcome outcome = run_snippet(
      "global_store_dwordx4 v[0:1], a[0:3], off\nglobal_load_dwordx2 a[4:5], v[0:1], off offset:8",
      "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(read(space.copy(), place(lane, 16), 4), 9000 + lane);
    EXPECT_EQ(state.agpr[4 * 64 + lane], 9200 + lane);
    EXPECT_EQ(state.agpr[5 * 64 + lane], 9300 + lane);
  }
}

}  // namespace attest::emulator::opcode_tests
