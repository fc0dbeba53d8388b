// Copies between the host and a device through pinned memory of its own: from pageable memory a
// driver copies one after the other, for all threads of a process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/device/gpu/streams.hpp"

namespace attest::gpu_driver {

class Staging {
 public:
  explicit Staging(Streams& streams) : streams_(streams) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  Outcome open();
  // Returns before the copy has ended; later launches, fills and copies find it done.
  Outcome write(Address to, std::span<const std::byte> from);
  // What all earlier launches left there.
  Outcome read(Address from, std::span<std::byte> to);

 private:
  Result<std::span<std::byte>> room(std::size_t bytes);

  Streams& streams_;
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
  std::uint64_t idle_before_ = 0;  // times_idle() when the last copy began
};

}  // namespace attest::gpu_driver
