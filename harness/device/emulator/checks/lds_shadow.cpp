#include "harness/device/emulator/checks/lds_shadow.hpp"

#include <algorithm>

namespace attest::emulator {
namespace {

template <class Fn>
inline void for_lanes(const LdsLanes& a, u64 lanes, Fn fn) {
  if (lanes == kAllLanes) {
    for (int l = 0; l < kLanes; ++l) fn(a.at[l]);
  } else {
    for (u64 left = lanes; left != 0; left &= left - 1) fn(a.at[std::countr_zero(left)]);
  }
}

struct Shadowed {
  u8* bits;
  u32* cells;  // the first of the track; null: nobody tracks
  u32 tag;
};

// Marks `count` cells unless something of this epoch did. True: one held this very tag already.
inline u32 claim(u32* cells, int count, u32 tag) {
  u32 again = 0;
  for (int i = 0; i < count; ++i) {
    const u32 old = cells[i];
    again |= static_cast<u32>(old == tag);
    cells[i] = (old ^ tag) >> 16 ? tag : old;
  }
  return again;
}

// The same for a count known at compile time: one vector.
template <int kCount>
inline u32 claim(u32* cells, u32 tag) {
  if constexpr (kCount == 4) {
    using Cells = u32 __attribute__((vector_size(16)));
    Cells old;
    std::memcpy(&old, cells, sizeof old);
    const Cells tags = {tag, tag, tag, tag}, same = static_cast<Cells>(old == tags);
    const Cells now = static_cast<Cells>((old ^ tags) > 0xffffu) != 0 ? tags : old;
    std::memcpy(cells, &now, sizeof now);
    return same[0] | same[1] | same[2] | same[3];
  }
  return claim(cells, kCount, tag);
}

template <int kBytes>
inline u64 any_bits(const u8* bits) {
  u64 all = 0;
  for (int i = 0; i < kBytes; i += 8) {
    u64 word = 0;
    std::memcpy(&word, bits + i, kBytes - i < 8 ? kBytes - i : 8);
    all |= word;
  }
  return all;
}

u8 folded(u64 bits, u32 again) {
  bits |= bits >> 32;
  bits |= bits >> 16;
  return static_cast<u8>(bits | bits >> 8 | (again ? LdsShadow::kAgain : 0));
}

// kCell: bytes of a cell, 4 or 1.
template <int kBytes, int kCell, bool kStore, bool kTrack>
u8 touch_lanes(const LdsLanes& a, const Shadowed& s) {
  u64 bits = 0;
  u32 again = 0;
  for_lanes(a, kStore ? a.lanes : a.distinct, [&](u32 at) {
    if constexpr (kStore) {
      std::memset(s.bits + at, 0, kBytes);
    } else {
      bits |= any_bits<kBytes>(s.bits + at);
    }
    if constexpr (kTrack) {
      const u32 now = claim<kBytes / kCell>(s.cells + at / kCell, s.tag);
      if constexpr (kStore) again |= now;
    }
  });
  return folded(bits, again);
}
template <int kBytes, int kCell>
u8 touch_lanes(const LdsLanes& a, const Shadowed& s, bool store) {
  if (s.cells) {
    return store ? touch_lanes<kBytes, kCell, true, true>(a, s)
                 : touch_lanes<kBytes, kCell, false, true>(a, s);
  }
  return store ? touch_lanes<kBytes, kCell, true, false>(a, s)
               : touch_lanes<kBytes, kCell, false, false>(a, s);
}

// Dwords one after the other, of all lanes.
u8 touch_range(u32 at, int dwords, const Shadowed& s, bool store) {
  u64 bits = 0;
  u32 again = 0;
  if (store) {
    std::memset(s.bits + at, 0, static_cast<std::size_t>(dwords) * 4);
  } else {
    for (int i = 0; i < dwords * 4; ++i) bits |= s.bits[at + static_cast<u32>(i)];
  }
  if (s.cells) again = claim(s.cells + at / 4, dwords, s.tag);
  return folded(bits, again);
}

// Sizes and alignments that are rare.
u8 touch_bytes(const LdsLanes& a, const Shadowed& s, bool store) {
  u64 bits = 0;
  u32 again = 0;
  for_lanes(a, store ? a.lanes : a.distinct, [&](u32 at) {
    for (int i = 0; i < a.bytes; ++i) {
      u8& of_byte = s.bits[at + static_cast<u32>(i)];
      if (store) of_byte = 0;
      bits |= of_byte;
    }
    if (s.cells) again |= claim(s.cells + at, a.bytes, s.tag);
  });
  return folded(bits, again);
}

}  // namespace

void LdsShadow::resize(std::size_t bytes, int waves) {
  if (bytes == bits_.size() && static_cast<std::size_t>(waves) == waves_.size()) return;
  bits_.assign(bytes, kUndefined);
  waves_.assign(static_cast<std::size_t>(waves), {});
  // At least 16 bytes, so that no lane touches more than two.
  block_shift_ = std::max(4, static_cast<int>(std::bit_width(bytes)) - 6);
}

void LdsShadow::begin_workgroup() {
  std::fill(bits_.begin(), bits_.end(), kUndefined);
  next_epoch();
}

void LdsShadow::next_epoch() {
  active_ = {};
  if (++epoch_ <= 0xffff) return;
  epoch_ = 1;  // cells of the first time round must not look new
  for (auto& kinds : waves_) {
    for (Kind& kind : kinds) {
      for (Track* t : {&kind.dwords, &kind.bytes}) std::fill(t->cells.begin(), t->cells.end(), 0u);
    }
  }
}

LdsLanes LdsShadow::look_at(const u32* at, int bytes, u64 lanes) const {
  LdsLanes a{.at = at, .bytes = bytes, .lanes = lanes};
  u32 low = 0, gaps = 0;
  u64 blocks = 0;
  const auto last = static_cast<u32>(bytes - 1);
  for (int l = 0; l < kLanes; ++l) {
    const u64 on = lanes >> l & 1;
    low |= at[l] & -static_cast<u32>(on);
    // The lanes' first bytes alone: where all are aligned, a lane lies in one block.
    blocks |= on << (at[l] >> block_shift_ & 63);
  }
  u64 same = 0;
  for (int l = 1; l < kLanes; ++l) {
    gaps |= at[l] - at[l - 1] - static_cast<u32>(bytes);
    same |= u64{at[l] == at[l - 1]} << l;
  }
  a.distinct = lanes & ~(same & lanes << 1);
  a.dwords = (low & 3) == 0 && bytes % 4 == 0;
  a.adjoining = a.dwords && lanes == kAllLanes && gaps == 0;
  if ((low & last) != 0) {
    for_lanes(a, a.distinct,
              [&](u32 first) { blocks |= u64{1} << ((first + last) >> block_shift_ & 63); });
  }
  a.blocks = blocks;
  return a;
}

LdsShadow::Track& LdsShadow::track(int wave, AccessKind kind, const LdsLanes& lanes) {
  auto& kinds = waves_[static_cast<std::size_t>(wave)];
  Kind& both = kinds[static_cast<std::size_t>(kind)];
  u32& active = active_[static_cast<std::size_t>(kind)];
  if (!(active >> wave & 1)) {
    active |= 1u << wave;
    both.dwords.blocks = both.bytes.blocks = 0;
  }
  Track& chosen = lanes.dwords ? both.dwords : both.bytes;
  if (chosen.cells.empty())
    chosen.cells.resize(lanes.dwords ? (bits_.size() + 3) / 4 : bits_.size());
  return chosen;
}

u8 LdsShadow::touch(int wave, AccessKind kind, const LdsLanes& lanes, u16 site, bool tracked) {
  Shadowed s{.bits = bits_.data(), .cells = nullptr, .tag = epoch_ << 16 | site};
  if (tracked) {
    Track& t = track(wave, kind, lanes);
    t.blocks |= lanes.blocks;
    s.cells = t.cells.data();
  }
  const bool store = kind == AccessKind::kStore;
  if (lanes.adjoining) return touch_range(lanes.at[0], lanes.bytes / 4 * kLanes, s, store);
  if (lanes.dwords) {
    if (lanes.bytes == 4) return touch_lanes<4, 4>(lanes, s, store);
    if (lanes.bytes == 8) return touch_lanes<8, 4>(lanes, s, store);
    if (lanes.bytes == 12) return touch_lanes<12, 4>(lanes, s, store);
    return touch_lanes<16, 4>(lanes, s, store);
  }
  if (lanes.bytes == 1) return touch_lanes<1, 1>(lanes, s, store);
  if (lanes.bytes == 2) return touch_lanes<2, 1>(lanes, s, store);
  return touch_bytes(lanes, s, store);
}

u32 LdsShadow::others(int wave, AccessKind kind, const LdsLanes& lanes) const {
  u32 found = 0;
  u32 left = active_[static_cast<std::size_t>(kind)] & ~(1u << wave);
  for (; left != 0; left &= left - 1) {
    const int other = std::countr_zero(left);
    const Kind& k = tracks(other, kind);
    if (((k.dwords.blocks | k.bytes.blocks) & lanes.blocks) != 0) found |= 1u << other;
  }
  return found;
}

bool LdsShadow::meets(int other, AccessKind kind, const LdsLanes& a) const {
  const Kind& k = tracks(other, kind);
  u32 hits = 0;
  if ((k.dwords.blocks & a.blocks) != 0) {
    const u32 *cells = k.dwords.cells.data(), epoch = epoch_;
    const auto count = [&](u32 first, u32 dwords) {
      for (u32 i = 0; i < dwords; ++i) hits |= static_cast<u32>(cells[first + i] >> 16 == epoch);
    };
    if (a.adjoining) {
      count(a.at[0] / 4, static_cast<u32>(a.bytes / 4 * kLanes));
    } else {
      for_lanes(a, a.distinct, [&](u32 at) {
        count(at / 4, (at + static_cast<u32>(a.bytes) - 1) / 4 - at / 4 + 1);
      });
    }
  }
  if ((k.bytes.blocks & a.blocks) != 0) {
    for_lanes(a, a.distinct, [&](u32 at) {
      for (int i = 0; i < a.bytes; ++i)
        hits |= static_cast<u32>(k.bytes.cells[at + static_cast<u32>(i)] >> 16 == epoch_);
    });
  }
  return hits != 0;
}

u16 LdsShadow::site_at(int wave, AccessKind kind, u32 byte) const {
  if (!(active_[static_cast<std::size_t>(kind)] >> wave & 1)) return 0;
  const Kind& k = tracks(wave, kind);
  const u32 dword = k.dwords.cells.empty() ? 0 : k.dwords.cells[byte / 4];
  if (dword >> 16 == epoch_) return static_cast<u16>(dword);
  const u32 cell = k.bytes.cells.empty() ? 0 : k.bytes.cells[byte];
  return cell >> 16 == epoch_ ? static_cast<u16>(cell) : u16{0};
}

}  // namespace attest::emulator
