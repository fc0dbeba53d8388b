// buffer_atomic_*. Rules: as of the global ones; lanes beyond the buffer's range leave memory alone
// and return 0.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/atomic_rules.hpp"
#include "harness/device/emulator/opcode_tests/noisy_buffer.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr std::size_t kBytes = 8192;
constexpr u32 kRecords = 3000;

u32 place(unsigned lane) { return lane * 29 % 64 * 64; }

u64 read(const std::vector<std::uint8_t>& from, u64 at, int bytes) {
  u64 v = 0;
  std::memcpy(&v, from.data() + at, static_cast<std::size_t>(bytes));
  return v;
}

u64 pair_at(const WaveState& state, const Atomic& op, int reg, unsigned lane) {
  return state.vgpr[reg * 64 + lane] | (op.wide ? u64{state.vgpr[(reg + 1) * 64 + lane]} << 32 : 0);
}

void check_atomic(const Atomic& op, bool returns, u64 exec) {
  NoisyBuffer space(kBytes);
  const int dwords = op.wide ? 2 : 1;
  WaveState state;
  state.exec = exec;
  state.sgpr[8] = static_cast<u32>(space.buffer.address);
  state.sgpr[9] = static_cast<u32>(space.buffer.address >> 32);
  state.sgpr[10] = kRecords;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 memory = draw(op.kind, lane), data = draw(op.kind, ~u64{lane});
    const u64 compare = lane % 2 ? memory : draw(op.kind, 3 * lane);
    std::memcpy(space.bytes() + place(lane) + 16, &memory, op.wide ? 8 : 4);
    state.vgpr[lane] = place(lane);
    for (int d = 0; d < dwords; ++d) {
      state.vgpr[(8 + d) * 64 + lane] = static_cast<u32>(data >> (32 * d));
      state.vgpr[(8 + dwords + d) * 64 + lane] = static_cast<u32>(compare >> (32 * d));
    }
  }
  const WaveState before = state;
  const auto memory_before = space.copy();
  const std::string text =
      fmt::format("buffer_atomic_{} {}, v0, s[8:11], 0 offen offset:16{}", op.name,
                  registers(8, is_cmpswap(op) ? 2 * dwords : dwords), returns ? " sc0" : "");
  const Outcome outcome = run_snippet(text, "gfx942", space.memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  const auto memory_after = space.copy();
  for (unsigned lane = 0; lane < 64; ++lane) {
    const bool active = exec >> lane & 1;
    const u64 at = place(lane) + 16, memory = read(memory_before, at, 4 * dwords);
    const bool inside = at + 4 * static_cast<u64>(dwords) <= kRecords;
    const u64 data = pair_at(before, op, 8, lane), second = pair_at(before, op, 8 + dwords, lane);
    const u64 want = active && inside ? op.rule(memory, data, second) : memory;
    EXPECT_EQ(disagreement(read(memory_after, at, 4 * dwords), want, op.kind, op.match), "")
        << text << ", lane " << lane;
    EXPECT_EQ(pair_at(state, op, 8, lane), !returns || !active ? data
                                           : inside            ? memory
                                                               : 0)
        << text << ", returned to lane " << lane;
  }
}

bool of_buffers(const Atomic& op) { return std::string(op.name) != "pk_add_bf16"; }

}  // namespace

std::vector<std::string> buffer_atomic_mnemonics() {
  std::vector<std::string> names;
  for (const Atomic& op : memory_atomics()) {
    if (of_buffers(op)) names.push_back("buffer_atomic_" + std::string(op.name));
  }
  return names;
}

TEST(BufferAtomic, FollowsTheIsaGuide) {
  for (const Atomic& op : memory_atomics()) {
    if (!of_buffers(op)) continue;
    for (u64 exec : {~u64{0}, u64{0xff00ffff0ff05a01}}) {
      check_atomic(op, true, exec);
      check_atomic(op, false, exec);
    }
  }
}

TEST(BufferAtomic, AMisalignedOneIsRefused) {
  NoisyBuffer space(kBytes);
  WaveState state;
  state.sgpr[8] = static_cast<u32>(space.buffer.address);
  state.sgpr[9] = static_cast<u32>(space.buffer.address >> 32);
  state.sgpr[10] = kRecords;
  const Outcome outcome =
      run_snippet("buffer_atomic_add v0, off, s[8:11], 0 offset:2", "gfx942", space.memory, state);
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.trouble().text.find("misaligned"), std::string::npos);
}

}  // namespace attest::emulator::opcode_tests
