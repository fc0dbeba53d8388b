#include "harness/device/gpu/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/core/check.hpp"

namespace attest::gpu_driver {
namespace {

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

Memory::~Memory() { release_all(); }

Trouble Memory::trouble(const char* call, Code code) const {
  return {is_fault(code) ? TroubleKind::kCrashed : TroubleKind::kInfra,
          error_text(driver_, call, code)};
}

// [unmapped] mapping [unmapped], with the buffer at one of the mapping's ends.
Outcome Memory::map_block(Block& block) {
  AllocationProperties properties;
  properties.location.id = device_;
  std::size_t page = 0;
  if (const Code code = driver_.granularity(&page, &properties, 0); code != 0) {
    return trouble("cuMemGetAllocationGranularity", code);
  }
  const std::size_t taken = rounded_up(block.bytes, kAlignment);
  block.mapped = rounded_up(taken + kZoneBytes, page);
  block.reserved_bytes = block.mapped + 2 * page;
  if (const Code code = driver_.reserve(&block.reserved, block.reserved_bytes, page, 0, 0)) {
    return trouble("cuMemAddressReserve", code);
  }
  block.begin = block.reserved + page;
  block.address = page_ == GuardPage::kAfter ? block.begin + block.mapped - taken : block.begin;
  if (const Code code = driver_.create(&block.handle, block.mapped, &properties, 0)) {
    return trouble("cuMemCreate", code);
  }
  if (const Code code = driver_.map(block.begin, block.mapped, 0, block.handle, 0)) {
    return trouble("cuMemMap", code);
  }
  AccessDescription access;
  access.location.id = device_;
  if (const Code code = driver_.set_access(block.begin, block.mapped, &access, 1)) {
    return trouble("cuMemSetAccess", code);
  }
  return Done{};
}

Outcome Memory::allocate_block(Block& block) {
  if (page_ != GuardPage::kNone) return map_block(block);
  block.mapped = rounded_up(block.bytes, kAlignment) + 2 * kZoneBytes;
  if (const Code code = driver_.allocate(&block.begin, block.mapped)) {
    return trouble("cuMemAlloc", code);
  }
  block.address = block.begin + kZoneBytes;
  return Done{};
}

Result<Buffer> Memory::allocate(const std::string& label, std::size_t bytes, std::uint16_t fill) {
  Block block{.label = label, .bytes = bytes, .fill = fill};
  Outcome made = allocate_block(block);
  if (made.ok()) {
    const Code code = driver_.fill_16(block.begin, fill, block.mapped / 2, stream_);
    if (code != 0) made = trouble("cuMemsetD16", code);
  }
  if (!made.ok()) {
    free_block(block);
    return Trouble{made.trouble().kind,
                   fmt::format("{} of {} bytes: {}", label, bytes, made.trouble().text)};
  }
  blocks_[block.address] = block;
  return Buffer{block.address, bytes};
}

void Memory::free_block(const Block& block) {
  if (block.reserved == 0) {
    if (block.begin != 0) driver_.release(block.begin);
    return;
  }
  if (block.handle != 0) {
    driver_.unmap(block.begin, block.mapped);
    driver_.release_handle(block.handle);
  }
  driver_.free_address(block.reserved, block.reserved_bytes);
}

void Memory::release(const Buffer& buffer) {
  const auto found = blocks_.find(buffer.address);
  ATTEST_CHECK(found != blocks_.end());
  free_block(found->second);
  blocks_.erase(found);
}

void Memory::release_all() {
  for (const auto& [address, block] : blocks_) free_block(block);
  blocks_.clear();
}

// The bytes of a zone that lies at `from`, which do not hold the pattern: index of the first; -1:
// all do.
Result<std::int64_t> Memory::first_changed(const Block& block, Address from, std::size_t bytes,
                                           bool backwards, unsigned char& value) const {
  std::vector<unsigned char> zone(bytes);
  if (const Code code = driver_.copy_to_host(zone.data(), from, bytes)) {
    return trouble("cuMemcpyDtoH", code);
  }
  for (std::size_t n = 0; n < bytes; ++n) {
    const std::size_t i = backwards ? bytes - 1 - n : n;
    // The pattern's phase is that of the block's begin.
    const bool is_high = ((from - block.begin + i) & 1) != 0;
    value = zone[i];
    if (value != static_cast<unsigned char>(is_high ? block.fill >> 8 : block.fill)) {
      return static_cast<std::int64_t>(i);
    }
  }
  return std::int64_t{-1};
}

Result<std::string> Memory::damage(const Buffer& buffer) {
  const auto found = blocks_.find(buffer.address);
  if (found == blocks_.end()) return std::string("the buffer is not one of this device's");
  const Block& block = found->second;
  const std::size_t before = std::min<std::size_t>(block.address - block.begin, kZoneBytes);
  const Address end = block.address + block.bytes;
  const std::size_t after = std::min<std::size_t>(block.begin + block.mapped - end, kZoneBytes);
  unsigned char value = 0;
  auto at = first_changed(block, block.address - before, before, true, value);
  if (!at.ok()) return at.trouble();
  if (*at >= 0) {
    return fmt::format("the byte {} before its start was written ({:#04x})",
                       static_cast<std::int64_t>(before) - *at, value);
  }
  at = first_changed(block, end, after, false, value);
  if (!at.ok()) return at.trouble();
  if (*at < 0) return std::string{};
  return fmt::format("the byte {} after its end was written ({:#04x})", *at, value);
}

std::string Memory::describe(Address address) const {
  const Block* nearest = nullptr;
  std::uint64_t least = ~std::uint64_t{0};
  for (const auto& [begin, block] : blocks_) {
    const Address end = begin + block.bytes;
    const std::uint64_t away = address < begin ? begin - address
                               : address < end ? 0
                                               : address - end;
    if (away < least) least = away, nearest = &block;
  }
  if (nearest == nullptr) return "no buffer is there";
  return fmt::format("{} bytes {} {}", least, address < nearest->address ? "before" : "after",
                     nearest->label);
}

}  // namespace attest::gpu_driver
