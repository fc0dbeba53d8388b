// Device memory of the emulator: host memory whose allocations know their exact bounds. Device
// addresses are host addresses, so that a load is a load; every access is checked against the table
// first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/core/device.hpp"

namespace attest::emulator {

struct Allocation {
  std::string label;
  std::uint64_t begin = 0, end = 0;  // addresses of the usable bytes
};

class Memory {
 public:
  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Memory filled with a repeated 16-bit pattern, guard zones of the same pattern on both sides.
  // Large buffers are filled lazily (one page of the pattern mapped many times, copy on write), so
  // that a sparse 5 GiB KV pool costs only the pages that are written.
  Result<Buffer> allocate(const std::string& label, std::size_t bytes, std::uint16_t fill);
  // Makes memory that someone else owns (a code object's image, kernel arguments) legal to access.
  void adopt(const std::string& label, std::span<const std::byte> bytes);
  void abandon(std::span<const std::byte> bytes);
  void release(const Buffer& buffer);
  void release_all();  // not adopted memory
  std::string guard_damage(const Buffer& buffer) const;

  // The allocation that holds `address`, or null. Stable until the next allocate or release; not
  // called concurrently with those.
  const Allocation* find(std::uint64_t address) const;
  // For a report: "12 bytes after kv_indices [0x..., 4096 bytes]".
  std::string nearest(std::uint64_t address) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attest::emulator
