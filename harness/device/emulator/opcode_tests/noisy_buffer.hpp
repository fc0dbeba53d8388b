// Device memory with one buffer full of noise, for the tests of memory instructions.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "harness/device/emulator/memory.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {

class NoisyBuffer {
 public:
  explicit NoisyBuffer(std::size_t size) {
    auto made = memory.allocate("opcode test", size, 0xabcd);
    EXPECT_TRUE(made.ok());
    buffer = *made;
    for (std::size_t i = 0; i < size; i += 8) {
      const u64 v = draw(Kind::kU64, i + 3) ^ i * 0x9e3779b97f4a7c15ull;
      std::memcpy(bytes() + i, &v, 8);
    }
  }
  std::uint8_t* bytes() const { return reinterpret_cast<std::uint8_t*>(buffer.address); }
  u32 dword(u64 at, int size) const {
    u32 v = 0;
    std::memcpy(&v, bytes() + at, static_cast<std::size_t>(size));
    return v;
  }
  std::vector<std::uint8_t> copy() const { return {bytes(), bytes() + buffer.bytes}; }

  Memory memory;
  Buffer buffer;
};

}  // namespace attest::emulator::opcode_tests
