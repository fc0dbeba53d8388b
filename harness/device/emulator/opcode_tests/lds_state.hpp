// A wave and an LDS full of noise, for the tests of LDS instructions.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {

inline constexpr u64 kSomeLanes = 0xff00ffff0ff05a01ull;

inline u64 lds_at(const WaveState& s, u64 address, int bytes) {
  u64 v = 0;
  std::memcpy(&v, s.lds.data() + address, static_cast<std::size_t>(bytes));
  return v;
}

inline WaveState start() {
  WaveState state;
  for (std::size_t i = 0; i < state.lds.size(); i += 8) {
    const u64 v = draw(Kind::kU64, i) ^ i * 0x9e3779b97f4a7c15ull;
    std::memcpy(state.lds.data() + i, &v, 8);
  }
  for (unsigned r = 0; r < 32; ++r) {
    for (unsigned lane = 0; lane < 64; ++lane)
      state.vgpr[r * 64 + lane] =
          static_cast<u32>(draw(Kind::kU64, r * 64 + lane + 5) * 2654435761u);
  }
  state.m0 = 0xffffffffu;
  return state;
}

inline void run(const std::string& text, WaveState& state) {
  Memory memory;
  const Outcome outcome = run_snippet(text, "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
}

}  // namespace attest::emulator::opcode_tests
