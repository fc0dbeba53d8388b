#include "harness/device/emulator/store_buffer.hpp"

#include <algorithm>

namespace attest::emulator {

AddressRange StoreBuffer::range_of(const u64* at, u64 lanes, int bytes) {
  AddressRange range{~u64{0}, 0};
  for (; lanes != 0; lanes &= lanes - 1) {
    const u64 begin = at[std::countr_zero(lanes)];
    range.begin = std::min(range.begin, begin);
    range.end = std::max(range.end, begin + static_cast<u64>(bytes));
  }
  return range;
}

void StoreBuffer::settle_lanes(Pending& store, u64 lanes) {
  store.lanes &= ~lanes;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    std::memcpy(reinterpret_cast<void*>(store.at[lane]), store.data[lane],
                static_cast<std::size_t>(store.bytes));
  }
}

void StoreBuffer::wait(int wave, u32 outstanding) {
  const u64 issued = issued_[static_cast<std::size_t>(wave)];
  std::erase_if(pending_, [&](Pending& store) {
    const bool own = store.wave == wave && issued - store.number >= outstanding;
    if (!own && !(store.before_barrier && outstanding == 0)) return false;
    settle_lanes(store, store.lanes);
    return true;
  });
}

void StoreBuffer::settle(const u64* at, u64 lanes, int bytes) {
  if (pending_.empty()) return;
  const AddressRange range = range_of(at, lanes, bytes);
  std::erase_if(pending_, [&](Pending& store) {
    if (store.range.begin >= range.end || range.begin >= store.range.end) return false;
    settle_lanes(store, store.lanes);
    return true;
  });
}

void StoreBuffer::begin(int wave, const u64* at, u64 lanes, int bytes) {
  Pending& store = pending_.emplace_back();
  store.wave = wave;
  store.bytes = bytes;
  store.number = issued_[static_cast<std::size_t>(wave)];
  store.lanes = lanes;
  store.range = range_of(at, lanes, bytes);
  std::copy(at, at + kLanes, store.at);
}

void StoreBuffer::put(int lane, const void* data) {
  Pending& store = pending_.back();
  std::memcpy(store.data[lane], data, static_cast<std::size_t>(store.bytes));
}

void StoreBuffer::settle_some(u64 choice) {
  if (pending_.empty()) return;
  const auto chosen = pending_.begin() + static_cast<std::ptrdiff_t>(choice % pending_.size());
  // The lowest lanes, so that of lanes that store to one place the highest still wins.
  const u64 lowest = kAllLanes >> (choice >> 32 & 63);
  settle_lanes(*chosen, chosen->lanes & lowest);
  if (chosen->lanes == 0) pending_.erase(chosen);
}

void StoreBuffer::settle_all() {
  for (Pending& store : pending_) settle_lanes(store, store.lanes);
  pending_.clear();
}

}  // namespace attest::emulator
