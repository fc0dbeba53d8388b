// s_load, s_buffer_load and the cache and clock instructions. Rules: CDNA3 ISA guide, "Scalar
// memory": the two low address bits are ignored; buffer loads read 0 beyond num_records.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr std::size_t kBytes = 4096;

class Space {
 public:
  Space() {
    auto made = memory.allocate("opcode test", kBytes, 0xabcd);
    EXPECT_TRUE(made.ok());
    buffer = *made;
    for (std::size_t i = 0; i < kBytes; i += 4) {
      const u32 v = static_cast<u32>(i * 2654435761u + 17);
      std::memcpy(reinterpret_cast<char*>(buffer.address) + i, &v, 4);
    }
  }
  static u32 word(std::size_t at) { return static_cast<u32>(at * 2654435761u + 17); }
  Memory memory;
  Buffer buffer;
};

const int kWidths[] = {1, 2, 4, 8, 16};

std::string name_of(const char* stem, int width) {
  return width == 1 ? stem : fmt::format("{}x{}", stem, width);
}
std::string registers(int first, int width) {
  return width == 1 ? fmt::format("s{}", first) : fmt::format("s[{}:{}]", first, first + width - 1);
}

WaveState start(const Space& space) {
  WaveState state;
  for (unsigned r = 0; r < state.sgpr.size(); ++r) state.sgpr[r] = 0x1000000 + r;
  state.sgpr[2] = static_cast<u32>(space.buffer.address);
  state.sgpr[3] = static_cast<u32>(space.buffer.address >> 32);
  state.sgpr[4] = 192;
  state.sgpr[8] = state.sgpr[2];
  state.sgpr[9] = state.sgpr[3];
  state.sgpr[10] = 1024;
  state.sgpr[11] = 0x00027000;
  state.exec = 0;  // scalar loads do not look at EXEC
  return state;
}

// Where the load starts, in bytes, and how it is written.
struct Way {
  const char* operand;
  std::size_t at;
};

void check_load(const char* stem, const char* base, int width, const Way& way, std::size_t limit) {
  const std::string name = name_of(stem, width);
  if (!implemented(name)) return;
  Space space;
  WaveState state = start(space);
  const WaveState before = state;
  const std::string text = fmt::format("{} {}, {}, {}\ns_waitcnt lgkmcnt(0)", name,
                                       registers(16, width), base, way.operand);
  const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  for (unsigned r = 0; r < 64; ++r) {
    const bool written = r >= 16 && r < 16u + width;
    const std::size_t at = way.at + 4 * (r - 16);
    EXPECT_EQ(state.sgpr[r], !written          ? before.sgpr[r]
                             : at + 4 <= limit ? Space::word(at)
                                               : 0)
        << text << ", s" << r;
  }
}

}  // namespace

std::vector<std::string> scalar_memory_mnemonics() {
  std::vector<std::string> names = {"s_memtime", "s_memrealtime", "s_dcache_inv", "s_dcache_wb"};
  for (int width : kWidths) {
    names.push_back(name_of("s_load_dword", width));
    names.push_back(name_of("s_buffer_load_dword", width));
  }
  return names;
}

TEST(ScalarMemory, LoadsOfEveryWidth) {
  for (int width : kWidths) {
    for (const Way& way : {Way{"0x0", 0}, Way{"0x100", 256}, Way{"s4", 192},
                           Way{"s4 offset:0x40", 256}, Way{"0x7c4", 0x7c4}}) {
      check_load("s_load_dword", "s[2:3]", width, way, kBytes);
    }
  }
}

TEST(ScalarMemory, BufferLoadsReadZeroBeyondTheRange) {
  for (int width : kWidths) {
    for (const Way& way : {Way{"0x0", 0}, Way{"0x100", 256}, Way{"s4", 192}, Way{"0x400", 1024},
                           Way{"0x7c0", 0x7c0}}) {
      check_load("s_buffer_load_dword", "s[8:11]", width, way, 1024);
    }
  }
}

TEST(ScalarMemory, LowAddressBitsAreIgnored) {
  Space space;
  WaveState state = start(space);
  state.sgpr[2] += 2;
  state.sgpr[4] = 101;
  const Outcome outcome =
      run_snippet("s_load_dword s16, s[2:3], s4", "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  EXPECT_EQ(state.sgpr[16], Space::word(100));
}

TEST(ScalarMemory, NegativeOffsetsReachBackwards) {
  Space space;
  WaveState state = start(space);
  state.sgpr[2] += 1024;
  const Outcome outcome =
      run_snippet("s_load_dwordx2 s[16:17], s[2:3], -0x100", "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  EXPECT_EQ(state.sgpr[16], Space::word(768));
  EXPECT_EQ(state.sgpr[17], Space::word(772));
}

TEST(ScalarMemory, ClocksDoNotRunBackwardsAndCachesAreNoState) {
  Space space;
  WaveState state = start(space);
  const Outcome outcome = run_snippet(
      "s_memtime s[20:21]\ns_nop 7\ns_memtime s[22:23]\ns_memrealtime s[24:25]\ns_memrealtime "
      "s[26:27]\ns_dcache_inv\ns_dcache_wb\n"
      "s_waitcnt lgkmcnt(0)",
      "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  const auto pair = [&](int r) { return state.sgpr[r] | u64{state.sgpr[r + 1]} << 32; };
  EXPECT_LE(pair(20), pair(22));
  EXPECT_LE(pair(24), pair(26));
}

}  // namespace attest::emulator::opcode_tests
