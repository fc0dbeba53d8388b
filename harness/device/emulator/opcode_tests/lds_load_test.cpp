// Loads that go to LDS instead of registers. Rule: CDNA3 ISA guide, "Memory Buffer Load to LDS":
// LDS address = M0[15:0] + instruction offset + 4 * lane; bytes and halves are extended to a dword;
// lanes beyond a buffer's range write 0; inactive ones write nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/noisy_buffer.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr std::size_t kBytes = 8192;
constexpr u32 kRecords = 3000;

struct Element {
  const char* type;
  int bytes;
  bool sign;
};
const Element kElements[] = {{"dword", 4, false},
                             {"ubyte", 1, false},
                             {"sbyte", 1, true},
                             {"ushort", 2, false},
                             {"sshort", 2, true}};

u32 extended(const Element& e, u32 raw) {
  return e.sign ? static_cast<u32>(sign_extended(raw, 8 * e.bytes)) : raw;
}
// Odd multiples, so that neighbours in LDS are no neighbours in memory.
u32 place(unsigned lane) { return lane * 29 % 64 * 64; }

u32 lds_dword(const WaveState& state, std::size_t at) {
  u32 v = 0;
  std::memcpy(&v, state.lds.data() + at, 4);
  return v;
}

WaveState start(u64 exec) {
  WaveState state;
  state.exec = exec;
  state.m0 = 0xabcd0200;  // only the low half is the LDS offset
  state.lds.assign(4096, std::byte{0x5a});
  return state;
}

void run(const std::string& text, NoisyBuffer& space, WaveState& state) {
  const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
}

void check_buffer(const Element& e, bool offen, bool soffset, u64 exec) {
  NoisyBuffer space(kBytes);
  WaveState state = start(exec);
  state.sgpr[8] = static_cast<u32>(space.buffer.address);
  state.sgpr[9] = static_cast<u32>(space.buffer.address >> 32);
  state.sgpr[10] = soffset ? kBytes : kRecords;
  state.sgpr[4] = 64;
  for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[lane] = place(lane);
  const std::string text =
      fmt::format("buffer_load_{} {}, s[8:11], {}{} offset:16 lds", e.type, offen ? "v0" : "off",
                  soffset ? "s4" : "0", offen ? " offen" : "");
  run(text, space, state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 offset = 16 + (offen ? place(lane) : 0), from = offset + (soffset ? 64 : 0);
    const bool inside = from + static_cast<u64>(e.bytes) <= state.sgpr[10];
    const u32 want = (exec >> lane & 1) == 0 ? 0x5a5a5a5a
                     : inside                ? extended(e, space.dword(from, e.bytes))
                                             : 0;
    EXPECT_EQ(lds_dword(state, 0x200 + 16 + 4 * lane), want) << text << ", lane " << lane;
  }
}

void check_global(const Element& e, bool scalar_base, u64 exec) {
  NoisyBuffer space(kBytes);
  WaveState state = start(exec);
  state.sgpr[2] = static_cast<u32>(space.buffer.address);
  state.sgpr[3] = static_cast<u32>(space.buffer.address >> 32);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 a = place(lane) + (scalar_base ? 0 : space.buffer.address);
    state.vgpr[lane] = static_cast<u32>(a);
    state.vgpr[64 + lane] = static_cast<u32>(a >> 32);
  }
  const std::string text = fmt::format("global_load_lds_{} {} offset:16", e.type,
                                       scalar_base ? "v0, s[2:3]" : "v[0:1], off");
  run(text, space, state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u32 want =
        exec >> lane & 1 ? extended(e, space.dword(16 + place(lane), e.bytes)) : 0x5a5a5a5a;
    EXPECT_EQ(lds_dword(state, 0x200 + 16 + 4 * lane), want) << text << ", lane " << lane;
  }
}

void check_scratch(const Element& e, u64 exec) {
  NoisyBuffer space(64);
  WaveState state = start(exec);
  for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[lane] = 0x80c0ff81u + lane * 0x01030507u;
  const std::string text = fmt::format(
      "scratch_store_dword off, v0, off offset:8\nscratch_load_lds_{} off, off offset:8", e.type);
  run(text, space, state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u32 raw = state.vgpr[lane] & (e.bytes == 4 ? ~0u : (1u << 8 * e.bytes) - 1);
    EXPECT_EQ(lds_dword(state, 0x200 + 8 + 4 * lane),
              exec >> lane & 1 ? extended(e, raw) : 0x5a5a5a5a)
        << text << ", lane " << lane;
  }
}

constexpr u64 kExecs[] = {~u64{0}, 0xff00ffff0ff05a01};

}  // namespace

std::vector<std::string> lds_load_mnemonics() {
  std::vector<std::string> names;
  for (const Element& e : kElements) {
    names.push_back(fmt::format("buffer_load_{} lds", e.type));
    names.push_back(fmt::format("global_load_lds_{}", e.type));
    names.push_back(fmt::format("scratch_load_lds_{}", e.type));
  }
  return names;
}

TEST(LdsLoad, BufferLoadsLandAtM0PlusFourBytesALane) {
  for (const Element& e : kElements) {
    for (u64 exec : kExecs) {
      check_buffer(e, true, false, exec);
      check_buffer(e, true, true, exec);
      check_buffer(e, false, false, exec);
    }
  }
}

TEST(LdsLoad, GlobalLoadsLandAtM0PlusFourBytesALane) {
  for (const Element& e : kElements) {
    for (u64 exec : kExecs) {
      check_global(e, false, exec);
      check_global(e, true, exec);
    }
  }
}

TEST(LdsLoad, ScratchLoadsLandAtM0PlusFourBytesALane) {
  for (const Element& e : kElements) {
    for (u64 exec : kExecs) check_scratch(e, exec);
  }
}

TEST(LdsLoad, ALaneBeyondTheLdsIsNamed) {
  NoisyBuffer space(kBytes);
  WaveState state = start(~u64{0});
  state.m0 = 4096 - 4 * 40;
  state.sgpr[2] = static_cast<u32>(space.buffer.address);
  state.sgpr[3] = static_cast<u32>(space.buffer.address >> 32);
  const Outcome outcome =
      run_snippet("global_load_lds_dword v0, s[2:3]", "gfx942", space.memory, state);
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.trouble().text.find("lane 40"), std::string::npos) << outcome.trouble().text;
}

}  // namespace attest::emulator::opcode_tests
