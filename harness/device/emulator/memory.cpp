#include "harness/device/emulator/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <deque>
#include <mutex>

#include "harness/core/inputs.hpp"

namespace attest::emulator {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kGuard =
    64 * 1024;  // bytes on each side; the far one starts at the exact end
constexpr std::size_t kMaxBytes = std::size_t{1} << 47;  // x86-64's user addresses

// Where buffers lie, so that what a wild access says is the same in each run: in the part of
// x86-64's user addresses that neither the kernel's random placing of programs, libraries and
// stacks (all at 0x2aaa'aaaa'a000 and above, in both of its layouts) nor AddressSanitizer's shadow
// (up to 0x1000'7fff'7fff) uses.
constexpr std::uint64_t kFirst = 0x1100'0000'0000;
constexpr std::uint64_t kRegionBytes = std::uint64_t{1} << 38;  // of one Memory: an MI300X has less
constexpr std::size_t kRegions = 100;                           // to 0x2a00'0000'0000
// Between buffers, so that an offset that is somewhat wrong hits none but its own's neighbourhood.
constexpr std::uint64_t kGap = std::uint64_t{16} << 20;
constexpr std::size_t kRemembered = 4096;  // released buffers

// One of the regions, or none when all are taken. The lowest free one: which one a Memory gets
// depends on those that live beside it alone.
class Region {
 public:
  Region() {
    const std::lock_guard lock(mutex());
    while (index_ < kRegions && taken()[index_]) ++index_;
    if (index_ < kRegions) taken().set(index_);
  }
  ~Region() {
    const std::lock_guard lock(mutex());
    if (index_ < kRegions) taken().reset(index_);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::uint64_t begin() const { return kFirst + index_ * kRegionBytes; }
  std::uint64_t end() const { return index_ < kRegions ? begin() + kRegionBytes : begin(); }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::bitset<kRegions>& taken() {
    static std::bitset<kRegions> one;
    return one;
  }

  std::size_t index_ = 0;
};

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::uint64_t begin_of(const PoisonedMemory& storage) {
  return reinterpret_cast<std::uint64_t>(storage.bytes().data()) + kGuard;
}

struct Owned {
  PoisonedMemory storage;  // guard, buffer, guard
  std::size_t bytes = 0;
  std::uint16_t fill = 0;
};

}  // namespace

struct Memory::Impl {
  std::vector<Allocation> table;  // sorted by begin, disjoint
  std::vector<Owned> owned;
  Region region;
  std::uint64_t next = region.begin();  // where the next buffer's storage goes
  std::deque<Allocation> released;      // the latest last
  bool all_released = false;            // and nothing allocated since

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
      if (begin_of(o.storage) == buffer.address) return &o;
    }
    return nullptr;
  }

  // Buffers lie one behind the other. Where something else is in the way, or no region or no more
  // of it is to be had, a buffer lies where the system puts it.
  Result<PoisonedMemory> storage(std::size_t bytes, std::uint16_t fill) {
    if (all_released) {
      released.clear();
      next = region.begin();
      all_released = false;
    }
    if (next < region.end() && bytes <= region.end() - next) {
      const std::uint64_t at = next;
      next = round_up(at + bytes, kGap) + kGap;
      auto placed = PoisonedMemory::make(bytes, fill, at);
      if (placed.ok()) return placed;
    }
    return PoisonedMemory::make(bytes, fill);
  }

  void forget(const Owned& o) {
    const auto held = std::find_if(
        table.begin(), table.end(),
        [begin = begin_of(o.storage)](const Allocation& a) { return a.begin == begin; });
    if (released.size() == kRemembered) released.pop_front();
    released.push_back(std::move(*held));
    table.erase(held);
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
  auto storage = impl_->storage(2 * kGuard + round_up(bytes, kPage), fill);
  if (!storage.ok()) return refused(storage.trouble().text);
  const std::uint64_t begin = begin_of(*storage);
  impl_->insert({.label = label, .begin = begin, .end = begin + bytes, .adopted = false});
  impl_->owned.push_back({std::move(*storage), bytes, fill});
  return Buffer{begin, bytes};
}

void Memory::adopt(const std::string& label, std::span<const std::byte> bytes) {
  const auto begin = reinterpret_cast<std::uint64_t>(bytes.data());
  impl_->insert({.label = label, .begin = begin, .end = begin + bytes.size(), .adopted = true});
}

void Memory::abandon(std::span<const std::byte> bytes) {
  impl_->erase(reinterpret_cast<std::uint64_t>(bytes.data()));
}

void Memory::release(const Buffer& buffer) {
  const Owned* o = impl_->owner(buffer);
  if (!o) return;
  impl_->forget(*o);
  impl_->owned.erase(impl_->owned.begin() + (o - impl_->owned.data()));
}

void Memory::release_all() {
  for (const Owned& o : impl_->owned) impl_->forget(o);
  impl_->owned.clear();
  impl_->all_released = true;
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

const Allocation* Memory::released(std::uint64_t address) const {
  const auto& all = impl_->released;
  const auto at = std::find_if(all.rbegin(), all.rend(), [address](const Allocation& a) {
    return address >= a.begin && address < a.end;
  });
  return at == all.rend() || find(address) ? nullptr : &*at;
}

std::string Memory::nearest(std::uint64_t address) const {
  if (const Allocation* gone = released(address)) {
    return fmt::format("{} bytes inside {}, which was released [{:#x}, {} bytes]",
                       address - gone->begin, gone->label, gone->begin, gone->end - gone->begin);
  }
  const Allocation* best = nullptr;
  std::uint64_t distance = ~std::uint64_t{0};
  for (const Allocation& a : impl_->table) {
    const std::uint64_t d = address < a.begin  ? a.begin - address
                            : address >= a.end ? address - a.end
                                               : 0;
    // What is adopted lies elsewhere in each run: it is what was meant only when it is close.
    if (d < distance && (!a.adopted || d <= kGuard)) {
      distance = d;
      best = &a;
    }
  }
  if (!best) return impl_->table.empty() ? "no buffer is allocated" : "no buffer is near";
  const char* side = address < best->begin  ? "before the start of"
                     : address >= best->end ? "after the end of"
                                            : "inside";
  const std::uint64_t bytes =
      address < best->begin || address >= best->end ? distance : address - best->begin;
  return fmt::format("{} bytes {} {} [{:#x}, {} bytes]", bytes, side, best->label, best->begin,
                     best->end - best->begin);
}

}  // namespace attest::emulator
