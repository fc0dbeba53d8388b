#include "harness/device/gpu/staging.hpp"

#include <algorithm>
#include <cstring>

namespace attest::gpu_driver {
namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;
constexpr std::size_t kLine = 256;  // where a copy begins
constexpr unsigned kPortable = 1;   // CU_MEMHOSTALLOC_PORTABLE, hipHostMallocPortable

}  // namespace

Outcome Staging::open() {
  void* made = nullptr;
  Outcome o = streams_.run(streams_.driver().allocate_pinned, &made, kBytes, kPortable);
  if (o.ok()) memory_ = static_cast<std::byte*>(made);
  return o;
}

Staging::~Staging() {
  if (memory_ == nullptr || !streams_.can_free()) return;
  static_cast<void>(streams_.run(streams_.driver().release_pinned, static_cast<void*>(memory_)));
}

// Up to so many bytes that no copy in flight uses.
Result<std::span<std::byte>> Staging::room(std::size_t bytes) {
  if (used_ == kBytes && streams_.times_idle() == idle_before_) {
    if (const Outcome o = streams_.wait(); !o.ok()) return o.trouble();
  }
  if (streams_.times_idle() != idle_before_) used_ = 0;
  const std::size_t taken = std::min(bytes, kBytes - used_);
  std::byte* const begin = memory_ + used_;
  used_ = std::min(kBytes, (used_ + taken + kLine - 1) / kLine * kLine);
  return std::span{begin, taken};
}

Outcome Staging::write(Address to, std::span<const std::byte> from) {
  while (!from.empty()) {
    const auto part = room(from.size());
    if (!part.ok()) return part.trouble();
    std::memcpy(part->data(), from.data(), part->size());
    const auto stream = streams_.for_memory();
    if (!stream.ok()) return stream.trouble();
    idle_before_ = streams_.times_idle();
    Outcome o =
        streams_.run(streams_.driver().copy_to_device, to, part->data(), part->size(), *stream);
    if (!o.ok()) return o;
    to += part->size();
    from = from.subspan(part->size());
  }
  return Done{};
}

Outcome Staging::read(Address from, std::span<std::byte> to) {
  while (!to.empty()) {
    const auto part = room(to.size());
    if (!part.ok()) return part.trouble();
    const auto stream = streams_.for_memory();
    if (!stream.ok()) return stream.trouble();
    idle_before_ = streams_.times_idle();
    Outcome o =
        streams_.run(streams_.driver().copy_to_host, part->data(), from, part->size(), *stream);
    if (o.ok()) o = streams_.wait();
    if (!o.ok()) return o;
    std::memcpy(to.data(), part->data(), part->size());
    from += part->size();
    to = to.subspan(part->size());
  }
  return Done{};
}

}  // namespace attest::gpu_driver
