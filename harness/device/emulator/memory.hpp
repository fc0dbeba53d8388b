// Device memory of the emulator: host memory whose allocations know their exact bounds. Device
// addresses are host addresses, so that a load is a load; every access is checked against the table
// first. Buffers lie at the same addresses in each run, far from each other: the same allocations
// since the last release_all give the same addresses, whatever a process did before.
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
  bool adopted = false;
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
  // Of a released buffer the address is not given again before release_all, when that can be.
  void release_all();  // not adopted memory
  std::string guard_damage(const Buffer& buffer) const;

  // The allocation that holds `address`, or null. Stable until the next allocate or release; not
  // called concurrently with those.
  const Allocation* find(std::uint64_t address) const;
  // The buffer that held `address` and was released, or null: also after release_all, until the
  // next allocate.
  const Allocation* released(std::uint64_t address) const;
  // For a report: "12 bytes after the end of kv_indices [0x..., 4096 bytes]", "8 bytes inside q,
  // which was released [0x..., 64 bytes]".
  std::string nearest(std::uint64_t address) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attest::emulator
