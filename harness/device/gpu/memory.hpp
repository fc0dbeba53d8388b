// Memory of a GPU whose buffers know their exact bounds: guard zones on both sides hold a pattern,
// and where a buffer is to end, or to begin, at an unmapped page, a wild access faults.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/core/device.hpp"
#include "harness/device/gpu/driver.hpp"

namespace attest::gpu_driver {

// A buffer is aligned to it: up to so many bytes less one, which hold the pattern, may lie between its end and the
// unmapped page.
inline constexpr std::size_t kAlignment = 256;
inline constexpr std::size_t kZoneBytes = 4096;  // of pattern, each side that has no page

class Memory {
 public:
  Memory(const Driver& driver, int device, Stream stream, GuardPage page)
      : driver_(driver), device_(device), stream_(stream), page_(page) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Result<Buffer> allocate(const std::string& label, std::size_t bytes, std::uint16_t fill);
  void release(const Buffer& buffer);
  void release_all();
  // Empty: both zones hold their pattern; else which side and byte changed.
  Result<std::string> damage(const Buffer& buffer);
  // "kv + 0x40, 64 bytes behind its end": the buffer nearest to an address.
  std::string describe(Address address) const;

 private:
  struct Block {
    std::string label;
    std::size_t bytes = 0;
    std::uint16_t fill = 0;
    Address begin = 0;       // of the mapping, or allocation
    std::size_t mapped = 0;  // bytes from there
    Address reserved = 0;    // of the address range; 0: a plain allocation
    std::size_t reserved_bytes = 0;
    unsigned long long handle = 0;
    Address address = 0;  // of the buffer
  };
  Outcome map_block(Block& block);
  Outcome allocate_block(Block& block);
  void free_block(const Block& block);
  Result<std::int64_t> first_changed(const Block& block, Address from, std::size_t bytes,
                                     bool backwards, unsigned char& value) const;
  Trouble trouble(const char* call, Code code) const;

  const Driver& driver_;
  int device_;
  Stream stream_;
  GuardPage page_;
  std::map<Address, Block> blocks_;  // by the buffer's address
};

}  // namespace attest::gpu_driver
