#include "harness/device/emulator/checks/cached_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace attest::emulator {
namespace {

constexpr LineBits kWholeLine = ~LineBits{0};

int first_bit(LineBits bits) {
  const u64 low = static_cast<u64>(bits);
  return low ? std::countr_zero(low) : 64 + std::countr_zero(static_cast<u64>(bits >> 64));
}
int length_of_ones(LineBits bits) { return bits == kWholeLine ? kLineBytes : first_bit(~bits); }

void copy_bytes(u8* to, const u8* from, LineBits bits) {
  while (bits) {
    const int begin = first_bit(bits), length = length_of_ones(bits >> begin);
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(length));
    if (begin + length == kLineBytes) return;
    bits &= kWholeLine << (begin + length);
  }
}

// Calls with each XCD of a set of them.
template <class F>
void for_xcds(unsigned set, const F& call) {
  for (; set; set &= set - 1) call(std::countr_zero(set));
}

}  // namespace

CachedBuffer::CachedBuffer(const Buffer& buffer)
    : memory_(reinterpret_cast<u8*>(buffer.address)),
      padded_((buffer.bytes + kLineBytes - 1) / kLineBytes * kLineBytes),
      lines_count_(padded_ / kLineBytes) {
  const std::size_t held_bytes = kXcds * lines_count_ * sizeof(Held);
  const std::size_t outdated_bytes = lines_count_ * sizeof(LineBits);
  map_bytes_ =
      kXcds * padded_ + held_bytes + outdated_bytes + padded_ + lines_count_ * sizeof(Line);
  void* map = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  madvise(map, map_bytes_, MADV_NOHUGEPAGE);  // a huge page would be zeroed for each line
  map_ = map;
  u8* at = copies_ = static_cast<u8*>(map);
  held_ = reinterpret_cast<Held*>(at += kXcds * padded_);
  memory_outdated_ = reinterpret_cast<LineBits*>(at += held_bytes);
  last_ = reinterpret_cast<u32*>(at += outdated_bytes);
  lines_ = reinterpret_cast<Line*>(at + padded_);
}
CachedBuffer::~CachedBuffer() { munmap(map_, map_bytes_); }

CachedBuffer::Parts CachedBuffer::parts_of(u64 offset, int bytes) {
  const auto line = static_cast<u32>(offset / kLineBytes);
  const int begin = static_cast<int>(offset % kLineBytes), end = begin + bytes;
  const LineBits bits = ((LineBits{1} << bytes) - 1) << begin;
  if (end <= kLineBytes) return {{{{line, bits}, {}}}, 1};
  const LineBits rest = (LineBits{1} << (end - kLineBytes)) - 1;
  return {{{{line, bits}, {line + 1, rest}}}, 2};
}

void CachedBuffer::hold(int xcd, u32 line) {
  touched_ = true;
  if (lines_[line].held >> xcd & 1) return;
  lines_[line].held = static_cast<u8>(lines_[line].held | 1u << xcd);
  held_lines_[static_cast<std::size_t>(xcd)].push_back(line);
}

// A line is about to differ between XCDs. The end of the buffer's last line is its guard zone.
void CachedBuffer::mirror(u32 line) {
  touched_ = true;
  if (lines_[line].mirrored) return;
  lines_[line].mirrored = true;
  for_xcds(lines_[line].held, [&](int xcd) {
    std::memcpy(copy(xcd, line), memory(line), kLineBytes);
    held(xcd, line).valid = kWholeLine;
  });
}

void CachedBuffer::fill(int xcd, u32 line, LineBits bits) {
  Held& h = held(xcd, line);
  copy_bytes(copy(xcd, line), memory(line), bits);
  h.outdated = (h.outdated & ~bits) | (memory_outdated_[line] & bits);
  h.valid |= bits;
}

// An older store that replaces a newer one of the same value replaces nothing.
void CachedBuffer::write_back(u32 line, int xcd, LineBits bits) {
  Held& h = held(xcd, line);
  bits &= h.dirty;
  LineBits outdated = h.outdated & bits;
  for (LineBits rest = outdated & ~memory_outdated_[line]; rest; rest &= rest - 1) {
    const int at = first_bit(rest);
    if (copy(xcd, line)[at] == memory(line)[at]) outdated &= ~(LineBits{1} << at);
  }
  copy_bytes(memory(line), copy(xcd, line), bits);
  memory_outdated_[line] = (memory_outdated_[line] & ~bits) | outdated;
  h.outdated &= ~bits | outdated;
  h.dirty &= ~bits;
}

// The last store of these bytes is the XCD's: what the others have is older.
void CachedBuffer::stored(int xcd, const Part& part, u32 store) {
  for_xcds(lines_[part.line].held & ~(1u << xcd),
           [&](int other) { held(other, part.line).outdated |= part.bits; });
  held(xcd, part.line).stored |= part.bits;
  held(xcd, part.line).outdated &= ~part.bits;
  const std::size_t first = std::size_t{part.line} * kLineBytes + first_bit(part.bits);
  const auto length = static_cast<std::size_t>(length_of_ones(part.bits >> first_bit(part.bits)));
  for (std::size_t d = first / 4; d <= (first + length - 1) / 4; ++d) {
    last_[d] = store << 3 | static_cast<u32>(xcd);
  }
}

u64 CachedBuffer::load(int xcd, u64 offset, int bytes, Stale* stale) {
  const Parts parts = parts_of(offset, bytes);
  bool mirrored = false;
  for (const Part& p : parts) {
    hold(xcd, p.line);
    mirrored |= lines_[p.line].mirrored;
  }
  if (!mirrored) return reinterpret_cast<u64>(memory_) + offset;
  for (const Part& p : parts) {
    mirror(p.line);
    const Held& h = held(xcd, p.line);
    if (p.bits & ~h.valid) fill(xcd, p.line, ~h.valid);
    note(xcd, p, h.outdated & p.bits, copy(xcd, p.line), stale);
  }
  return reinterpret_cast<u64>(copy(xcd, 0)) + offset;
}

// Passes by what the XCD has cached, its own stores apart.
u64 CachedBuffer::load_coherent(int xcd, u64 offset, int bytes, Stale* stale) {
  const Parts parts = parts_of(offset, bytes);
  bool own = false;
  for (const Part& p : parts) own |= (held(xcd, p.line).dirty & p.bits) != 0;
  for (const Part& p : parts) {
    if (!own) {
      note(xcd, p, memory_outdated_[p.line] & p.bits, memory(p.line), stale);
      continue;
    }
    hold(xcd, p.line);
    mirror(p.line);
    const Held& h = held(xcd, p.line);
    fill(xcd, p.line, p.bits & ~h.dirty);
    note(xcd, p, h.outdated & p.bits, copy(xcd, p.line), stale);
  }
  return (own ? reinterpret_cast<u64>(copy(xcd, 0)) : reinterpret_cast<u64>(memory_)) + offset;
}

u64 CachedBuffer::store(int xcd, u64 offset, int bytes, u32 store) {
  for (const Part& p : parts_of(offset, bytes)) {
    mirror(p.line);
    hold(xcd, p.line);
    Held& h = held(xcd, p.line);
    if (h.dirty == 0) dirty_lines_[static_cast<std::size_t>(xcd)].push_back(p.line);
    h.valid |= p.bits;
    h.dirty |= p.bits;
    memory_outdated_[p.line] |= p.bits;
    stored(xcd, p, store);
  }
  return reinterpret_cast<u64>(copy(xcd, 0)) + offset;
}

// Memory gets the bytes; the XCD fetches them when it loads them.
void CachedBuffer::in_memory(int xcd, const Part& part, u32 store) {
  touched_ = true;
  if (lines_[part.line].held & ~(1u << xcd)) mirror(part.line);
  if (!lines_[part.line].mirrored) return;
  Held& h = held(xcd, part.line);
  h.valid &= ~part.bits;
  h.dirty &= ~part.bits;
  memory_outdated_[part.line] &= ~part.bits;
  stored(xcd, part, store);
}

u64 CachedBuffer::store_coherent(int xcd, u64 offset, int bytes, u32 store) {
  for (const Part& p : parts_of(offset, bytes)) in_memory(xcd, p, store);
  return reinterpret_cast<u64>(memory_) + offset;
}

u64 CachedBuffer::atomic(int xcd, u64 offset, int bytes, u32 store, Stale* stale) {
  for (const Part& p : parts_of(offset, bytes)) {
    if (lines_[p.line].mirrored) write_back(p.line, xcd, p.bits);
    note(xcd, p, memory_outdated_[p.line] & p.bits, memory(p.line), stale);
    in_memory(xcd, p, store);
  }
  return reinterpret_cast<u64>(memory_) + offset;
}

bool CachedBuffer::same_value(int xcd, u32 line, LineBits bits, int last, const u8* got) {
  if (bits & ~held(xcd, line).stored) return false;
  const Held& other = held(last, line);
  for (; bits; bits &= bits - 1) {
    const LineBits bit = bits & (~bits + 1);
    const int at = first_bit(bits);
    if (!(other.dirty & bit) && (memory_outdated_[line] & bit)) return false;  // it is lost
    const u8 newest = (other.dirty & bit ? copy(last, line) : memory(line))[at];
    if (newest != got[at]) return false;
  }
  return true;
}

void CachedBuffer::note(int xcd, const Part& part, LineBits outdated, const u8* got, Stale* stale) {
  if (outdated == 0 || (stale->found && !stale->same_value)) return;
  const int at = first_bit(outdated);
  const LineBits bit = LineBits{1} << at;
  stale->found = true;
  stale->offset = std::size_t{part.line} * kLineBytes + at;
  stale->store = last_[stale->offset / 4] >> 3;
  stale->xcd = static_cast<int>(last_[stale->offset / 4] & 7);
  stale->same_value = same_value(xcd, part.line, outdated, stale->xcd, got);
  if (memory_outdated_[part.line] & bit) {
    const bool cached = (held(stale->xcd, part.line).dirty & bit) != 0;
    stale->why = cached ? Stale::Why::kNotWrittenBack : Stale::Why::kOverwritten;
  } else {
    const bool own = (held(xcd, part.line).dirty & bit) != 0;
    stale->why = own ? Stale::Why::kOwnStore : Stale::Why::kCachedBefore;
  }
}

void CachedBuffer::write_back(int xcd) {
  auto& lines = dirty_lines_[static_cast<std::size_t>(xcd)];
  for (const u32 line : lines) write_back(line, xcd, kWholeLine);
  lines.clear();
}

void CachedBuffer::invalidate(int xcd) {
  std::erase_if(held_lines_[static_cast<std::size_t>(xcd)], [&](u32 line) {
    if (lines_[line].mirrored) {
      Held& h = held(xcd, line);
      h.valid &= h.dirty;
      if (h.valid) return false;
    }
    lines_[line].held = static_cast<u8>(lines_[line].held & ~(1u << xcd));
    return true;
  });
}

void CachedBuffer::end_launch() {
  if (!touched_) return;
  for (int xcd = 0; xcd < kXcds; ++xcd) write_back(xcd);
  for (auto& lines : held_lines_) lines.clear();
  madvise(map_, map_bytes_, MADV_DONTNEED);  // zeros again
  touched_ = false;
}

}  // namespace attest::emulator
