#include "harness/device/emulator/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/core/inputs.hpp"

namespace attest::emulator {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kGuard =
    64 * 1024;  // bytes on each side; the far one starts at the exact end
constexpr std::size_t kMaxBytes = std::size_t{1} << 47;  // x86-64's user addresses

struct Owned {
  PoisonedMemory storage;  // guard, buffer, guard
  std::size_t bytes = 0;
  std::uint16_t fill = 0;
};

}  // namespace

struct Memory::Impl {
  std::vector<Allocation> table;  // sorted by begin, disjoint
  std::vector<Owned> owned;

  void insert(Allocation a) {
    const auto at =
        std::upper_bound(table.begin(), table.end(), a.begin,
                         [](std::uint64_t begin, const Allocation& b) { return begin < b.begin; });
    table.insert(at, std::move(a));
  }
  void erase(std::uint64_t begin) {
    std::erase_if(table, [begin](const Allocation& a) { return a.begin == begin; });
  }
  const Owned* owner(const Buffer& buffer) const {
    for (const Owned& o : owned) {
      if (reinterpret_cast<std::uint64_t>(o.storage.bytes().data()) + kGuard == buffer.address)
        return &o;
    }
    return nullptr;
  }
};

Memory::Memory() : impl_(std::make_unique<Impl>()) {}
Memory::~Memory() = default;

Result<Buffer> Memory::allocate(const std::string& label, std::size_t bytes, std::uint16_t fill) {
  const auto refused = [&](std::string_view why) {
    return Trouble{TroubleKind::kInfra,
                   fmt::format("no memory for {} ({} bytes): {}", label, bytes, why)};
  };
  if (bytes > kMaxBytes) return refused("more than an address space holds");
  const std::size_t total = 2 * kGuard + (bytes + kPage - 1) / kPage * kPage;
  auto storage = PoisonedMemory::make(total, fill);
  if (!storage.ok()) return refused(storage.trouble().text);
  const std::uint64_t begin = reinterpret_cast<std::uint64_t>(storage->bytes().data()) + kGuard;
  impl_->insert({label, begin, begin + bytes});
  impl_->owned.push_back({std::move(*storage), bytes, fill});
  return Buffer{begin, bytes};
}

void Memory::adopt(const std::string& label, std::span<const std::byte> bytes) {
  const auto begin = reinterpret_cast<std::uint64_t>(bytes.data());
  impl_->insert({label, begin, begin + bytes.size()});
}

void Memory::abandon(std::span<const std::byte> bytes) {
  impl_->erase(reinterpret_cast<std::uint64_t>(bytes.data()));
}

void Memory::release(const Buffer& buffer) {
  impl_->erase(buffer.address);
  std::erase_if(impl_->owned, [&](const Owned& o) {
    return reinterpret_cast<std::uint64_t>(o.storage.bytes().data()) + kGuard == buffer.address;
  });
}

void Memory::release_all() {
  for (const Owned& o : impl_->owned)
    impl_->erase(reinterpret_cast<std::uint64_t>(o.storage.bytes().data()) + kGuard);
  impl_->owned.clear();
}

std::string Memory::guard_damage(const Buffer& buffer) const {
  const Owned* o = impl_->owner(buffer);
  if (!o) return "the buffer is not one of this device's";
  const auto bytes = o->storage.bytes();
  // The pattern's phase is that of the storage's start.
  const auto changed = [&](std::size_t at) {
    return bytes[at] != static_cast<std::byte>(at % 2 ? o->fill >> 8 : o->fill & 0xff);
  };
  for (std::size_t at = kGuard; at-- > 0;) {
    if (changed(at))
      return fmt::format("the byte {} before its start was written ({:#04x})", kGuard - at,
                         static_cast<int>(bytes[at]));
  }
  for (std::size_t at = kGuard + o->bytes; at < bytes.size(); ++at) {
    if (changed(at))
      return fmt::format("the byte {} after its end was written ({:#04x})", at - kGuard - o->bytes,
                         static_cast<int>(bytes[at]));
  }
  return {};
}

const Allocation* Memory::find(std::uint64_t address) const {
  const auto& table = impl_->table;
  auto at =
      std::upper_bound(table.begin(), table.end(), address,
                       [](std::uint64_t value, const Allocation& a) { return value < a.begin; });
  if (at == table.begin()) return nullptr;
  --at;
  return address < at->end ? &*at : nullptr;
}

std::string Memory::nearest(std::uint64_t address) const {
  const Allocation* best = nullptr;
  std::uint64_t distance = ~std::uint64_t{0};
  for (const Allocation& a : impl_->table) {
    const std::uint64_t d = address < a.begin  ? a.begin - address
                            : address >= a.end ? address - a.end
                                               : 0;
    if (d < distance) {
      distance = d;
      best = &a;
    }
  }
  if (!best) return "no buffer is allocated";
  const char* side = address < best->begin  ? "before the start of"
                     : address >= best->end ? "after the end of"
                                            : "inside";
  const std::uint64_t bytes =
      address < best->begin || address >= best->end ? distance : address - best->begin;
  return fmt::format("{} bytes {} {} [{:#x}, {} bytes]", bytes, side, best->label, best->begin,
                     best->end - best->begin);
}

}  // namespace attest::emulator
