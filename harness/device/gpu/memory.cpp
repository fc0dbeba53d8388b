#include "harness/device/gpu/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace attest::gpu_driver {
namespace {

// Plain allocations are kept for the next case: to make and to free one waits for the whole GPU.
constexpr std::size_t kMostPooledBytes = std::size_t{2} << 30;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// A power of two, or three quarters of one; of what is large, as much as is asked for.
std::size_t size_class(std::size_t bytes) {
  constexpr std::size_t kLarge = std::size_t{64} << 20, kPage = std::size_t{2} << 20;
  if (bytes > kLarge) return rounded_up(bytes, kPage);
  const std::size_t power = std::bit_ceil(bytes);
  return bytes <= power / 4 * 3 ? power / 4 * 3 : power;
}

}  // namespace

Memory::~Memory() {
  if (!streams_.can_free()) return;
  static_cast<void>(release_all());
  shrink_pool(0);
}

Outcome Memory::open(int device, const std::string& target) {
  device_ = device;
  if (page_ != GuardPage::kNone) {
    if (const std::string why = why_no_guard_pages(driver()); !why.empty()) {
      return Trouble{TroubleKind::kInfra, why};
    }
    AllocationProperties properties;
    properties.location.id = device_;
    Outcome o = streams_.run(driver().granularity, &page_bytes_, &properties, 0);
    if (!o.ok()) return o;
  }
  return zones_.open(target);
}

// [unmapped] mapping [unmapped], with the buffer at one of the mapping's ends.
Outcome Memory::map_block(Block& block) {
  AllocationProperties properties;
  properties.location.id = device_;
  const std::size_t taken = rounded_up(block.bytes, kAlignmentAtPage);
  block.mapped = rounded_up(taken + kZoneBytes, page_bytes_);
  block.reserved_bytes = block.mapped + 2 * page_bytes_;
  Outcome o = streams_.run(driver().reserve, &block.reserved, block.reserved_bytes, std::size_t{0},
                           Address{0}, 0ULL);
  if (!o.ok()) return o;
  block.begin = block.reserved + page_bytes_;
  block.address = page_ == GuardPage::kAfter ? block.begin + block.mapped - taken : block.begin;
  o = streams_.run(driver().create, &block.handle, block.mapped, &properties, 0ULL);
  if (!o.ok()) return o;
  o = streams_.run(driver().map, block.begin, block.mapped, std::size_t{0}, block.handle, 0ULL);
  if (!o.ok()) return o;
  block.is_mapped = true;
  AccessDescription access;
  access.location.id = device_;
  return streams_.run(driver().set_access, block.begin, block.mapped, &access, std::size_t{1});
}

Outcome Memory::take_plain(Block& block) {
  block.mapped = rounded_up(block.bytes, kAlignment) + 2 * kZoneBytes;
  block.taken = size_class(block.mapped);
  if (const auto pooled = pool_.find(block.taken); pooled != pool_.end()) {
    block.begin = pooled->second;
    pooled_bytes_ -= block.taken;
    pool_.erase(pooled);
  } else {
    Outcome o = streams_.run(driver().allocate, &block.begin, block.taken);
    if (!o.ok() && !pool_.empty()) {
      shrink_pool(0);
      o = streams_.run(driver().allocate, &block.begin, block.taken);
    }
    if (!o.ok()) return o;
  }
  block.address = block.begin + kZoneBytes;
  return Done{};
}

Outcome Memory::take_block(Block& block) {
  Outcome o = page_ == GuardPage::kNone ? take_plain(block) : map_block(block);
  if (!o.ok()) return o;
  const auto stream = streams_.for_memory();
  if (!stream.ok()) return stream.trouble();
  return streams_.run(driver().fill_16, block.begin, block.fill, block.mapped / 2, *stream);
}

Result<Buffer> Memory::allocate(const std::string& label, std::size_t bytes, std::uint16_t fill) {
  Block block;
  block.bytes = bytes;
  block.fill = fill;
  if (const Outcome made = take_block(block); !made.ok()) {
    give_back(block);
    return Trouble{made.trouble().kind, fmt::format("no memory for {} ({} bytes): {}", label, bytes,
                                                    made.trouble().text)};
  }
  blocks_[block.address] = block;
  checked_.reset();
  return Buffer{block.address, bytes};
}

void Memory::free_pages(const Block& block) {
  if (block.is_mapped) static_cast<void>(streams_.run(driver().unmap, block.begin, block.mapped));
  if (block.handle != 0) static_cast<void>(streams_.run(driver().release_handle, block.handle));
  static_cast<void>(streams_.run(driver().free_address, block.reserved, block.reserved_bytes));
}

// Nothing in flight uses its pages.
void Memory::give_back(const Block& block) {
  if (block.reserved != 0) return free_pages(block);
  if (block.begin == 0) return;
  pool_.emplace(block.taken, block.begin);
  pooled_bytes_ += block.taken;
  shrink_pool(kMostPooledBytes);
}

// The largest first.
void Memory::shrink_pool(std::size_t most_bytes) {
  if (pooled_bytes_ <= most_bytes) return;
  // To free waits for what runs, without a limit.
  if (!streams_.wait().ok()) return;
  while (pooled_bytes_ > most_bytes) {
    const auto largest = std::prev(pool_.end());
    static_cast<void>(streams_.run(driver().release, largest->second));
    pooled_bytes_ -= largest->first;
    pool_.erase(largest);
  }
}

Outcome Memory::release(const Buffer& buffer) {
  const auto found = blocks_.find(buffer.address);
  if (found == blocks_.end()) return Done{};
  if (found->second.reserved != 0) {
    if (Outcome o = streams_.wait(); !o.ok()) return o;
  }
  give_back(found->second);
  blocks_.erase(found);
  checked_.reset();
  return Done{};
}

Outcome Memory::release_all() {
  while (!blocks_.empty()) {
    const auto& [address, block] = *blocks_.begin();
    if (Outcome o = release({address, block.bytes}); !o.ok()) return o;
  }
  return Done{};
}

std::string Memory::copy_refused(const char* what, const Buffer& buffer, std::size_t offset,
                                 std::size_t bytes) const {
  if (offset > buffer.bytes || buffer.bytes - offset < bytes) {
    return fmt::format("a {} of {} bytes at {} is outside a buffer of {} bytes", what, bytes,
                       offset, buffer.bytes);
  }
  const auto held = blocks_.find(buffer.address);
  if (bytes > 0 && (held == blocks_.end() || held->second.bytes < buffer.bytes)) {
    return fmt::format("a {} of a buffer that is not allocated", what);
  }
  return {};
}

Outcome Memory::check_zones() {
  std::vector<GuardZone> zones;
  for (const auto& [address, block] : blocks_) {
    const auto zone = [&](Address at, std::size_t bytes, bool is_before) {
      // The pattern's phase is that of the block's begin.
      const bool is_odd = ((at - block.begin) & 1) != 0;
      const auto swapped = static_cast<std::uint16_t>(block.fill << 8 | block.fill >> 8);
      zones.push_back({at, static_cast<unsigned>(bytes), is_odd ? swapped : block.fill, is_before});
    };
    const std::size_t before = std::min<std::size_t>(address - block.begin, kZoneBytes);
    const Address end = address + block.bytes;
    zone(address - before, before, true);
    zone(end, std::min(block.begin + block.mapped - end, kZoneBytes + kAlignment), false);
  }
  const auto found = zones_.check(zones);
  if (!found.ok()) return found.trouble();
  checked_.emplace();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Address address = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(i))->first;
    const GuardFinding &before = (*found)[2 * i], &after = (*found)[2 * i + 1];
    if (before.distance != kUnchanged) {
      (*checked_)[address] = fmt::format("the byte {} before its start was written ({:#04x})",
                                         before.distance + 1, before.value);
    } else if (after.distance != kUnchanged) {
      (*checked_)[address] = fmt::format("the byte {} after its end was written ({:#04x})",
                                         after.distance, after.value);
    }
  }
  return Done{};
}

Result<std::string> Memory::damage(const Buffer& buffer) {
  if (!blocks_.contains(buffer.address)) {
    return std::string("the buffer is not one of this device's");
  }
  if (!checked_) {
    if (const Outcome o = check_zones(); !o.ok()) return o.trouble();
  }
  const auto found = checked_->find(buffer.address);
  return found == checked_->end() ? std::string{} : found->second;
}

}  // namespace attest::gpu_driver
