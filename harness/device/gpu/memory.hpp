// Memory of a GPU whose buffers know their exact bounds: zones on both sides of each hold a
// pattern, which is checked on the device; and where a buffer is to end, or to begin, at an
// unmapped page, an access beyond faults.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/device.hpp"
#include "harness/device/gpu/guard_zones.hpp"
#include "harness/device/gpu/staging.hpp"
#include "harness/device/gpu/streams.hpp"

namespace attest::gpu_driver {

inline constexpr std::size_t kAlignment = 256;  // of a buffer
// Of a buffer that ends at an unmapped page: the largest access of one thread. Up to so many bytes
// less one lie between its end and the page; they hold the pattern. With 256 a short overrun would
// mostly stay in them; and rows of a serving engine's tensors, which kernels are given in practice,
// are aligned no better.
inline constexpr std::size_t kAlignmentAtPage = 16;
inline constexpr std::size_t kZoneBytes = 64 * 1024;  // of pattern, each side that has no page

class Memory {
 public:
  Memory(Streams& streams, Staging& staging, GuardPage page)
      : streams_(streams), page_(page), zones_(streams, staging) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Outcome open(int device, const std::string& target);
  Result<Buffer> allocate(const std::string& label, std::size_t bytes, std::uint16_t fill);
  Outcome release(const Buffer& buffer);
  Outcome release_all();
  // Empty, or why these bytes are not all a buffer's.
  std::string copy_refused(const char* what, const Buffer& buffer, std::size_t offset,
                           std::size_t bytes) const;
  // Empty: both zones hold their pattern; else which side and byte changed. The first call after a
  // launch looks at the zones of all buffers at once.
  Result<std::string> damage(const Buffer& buffer);
  void note_launch() { checked_.reset(); }

 private:
  struct Block {
    std::size_t bytes = 0;  // of the buffer
    std::uint16_t fill = 0;
    Address begin = 0;       // of the mapping, or allocation
    std::size_t mapped = 0;  // bytes from there that hold the pattern at first: zones and buffer
    std::size_t taken = 0;   // of a plain allocation, by its size class
    Address reserved = 0;    // of the address range; 0: a plain allocation
    std::size_t reserved_bytes = 0;
    unsigned long long handle = 0;
    bool is_mapped = false;
    Address address = 0;  // of the buffer
  };
  Outcome map_block(Block& block);
  Outcome take_block(Block& block);
  Outcome take_plain(Block& block);
  void give_back(const Block& block);
  void free_pages(const Block& block);
  void shrink_pool(std::size_t most_bytes);
  Outcome check_zones();

  const Driver& driver() const { return streams_.driver(); }

  Streams& streams_;
  GuardPage page_;
  int device_ = 0;
  std::size_t page_bytes_ = 0;
  std::map<Address, Block> blocks_;           // by the buffer's address
  std::multimap<std::size_t, Address> pool_;  // released plain allocations, by size
  std::size_t pooled_bytes_ = 0;
  GuardZones zones_;
  std::optional<std::map<Address, std::string>> checked_;  // what is damaged, since the last launch
};

}  // namespace attest::gpu_driver
