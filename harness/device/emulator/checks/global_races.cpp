#include "harness/device/emulator/checks/global_races.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace attest::emulator {
namespace {

// 0b0101 -> 0x00ff00ff
u32 spread(u32 bytes) {
  u32 wide = 0;
  for (int b = 0; b < 4; ++b) wide |= (bytes >> b & 1) * (u32{0xff} << 8 * b);
  return wide;
}

// The bytes that a store's lane writes, 4 bytes in.
struct LaneData {
  std::array<u8, 4 + 64 + 4> bytes{};

  LaneData(const Wave& w, const Inst& in, const Access& access, int row, int lane) {
    if (access.kind != AccessKind::kStore || row < 0) return;
    for (int d = 0; d < (access.bytes + 3) / 4; ++d)
      std::memcpy(&bytes[4 + 4 * static_cast<std::size_t>(d)], &w.v[row + d][lane], 4);
    if (w.program->text[in.index].find("_d16_hi") != std::string::npos)
      std::memmove(&bytes[4], &bytes[6], 2);
  }
  // Of the aligned dword that begins `from` bytes behind the first byte.
  u32 dword(i64 from) const {
    u32 value;
    std::memcpy(&value, &bytes[static_cast<std::size_t>(4 + from)], 4);
    return value;
  }
};

// Whether the report is of `a`, and not of `b`: the same one whichever came first. The read, else
// the plain access, else the later in the program.
bool is_place(const Manner& a, u32 inst_a, const Manner& b, u32 inst_b) {
  if (a.writes() != b.writes()) return b.writes();
  if (a.atomic != b.atomic) return a.atomic < b.atomic;
  return inst_a > inst_b;
}

// Calls fn(index of the dword, its bytes that are accessed, offset of its first byte from `at`).
template <class Fn>
void for_dwords(u64 offset, int bytes, Fn fn) {
  const u64 end = offset + static_cast<u64>(bytes);
  for (u64 dword = offset / 4; dword * 4 < end; ++dword) {
    u32 mask = 0xf;
    if (dword * 4 < offset) mask &= 0xf << (offset - dword * 4);
    if (dword * 4 + 4 > end) mask &= 0xf >> (dword * 4 + 4 - end);
    fn(dword, mask & 0xf, static_cast<i64>(dword * 4) - static_cast<i64>(offset));
  }
}

}  // namespace

void GlobalRaces::begin_launch(const Program& program, const Dim3& grid) {
  program_ = &program;
  grid_ = grid;
  gave_up_ = false;
  gfx90a_ = program.object && program.object->target() == "gfx90a";
  log_.begin_launch(program.insts.size());
  first_split_ += static_cast<u32>(splits_.size());
  splits_.clear();
}
bool GlobalRaces::nearly_full() const {
  return log_.nearly_full() || first_split_ + splits_.size() > RaceLog::kNumbers / 2;
}
void GlobalRaces::reset() {
  log_.reset();
  splits_.clear();
  first_split_ = 1;
}

void GlobalRaces::acquire(Standing& me, const RaceCell& cell, u32 bytes) const {
  if (is_split(cell)) {
    for (int b = 0; b < 4; ++b) {
      if (bytes >> b & 1) acquire(me, splits_[cell.write - first_split_][b], 1u << b);
    }
    return;
  }
  if (!written(cell) || !(mask(cell.write) & bytes)) return;
  const AccessRecord& from = log_.at(number(cell.write));
  if (from.manner.releases) RaceLog::acquire(me, from);
}

// A check that says no more must say so.
void GlobalRaces::give_up(const Wave& w, const Inst& in) {
  if (gave_up_) return;
  gave_up_ = true;
  reports_.add(
      Check::kGlobalRace, w, in, -1,
      [] {
        return std::string(
            "the launch has more accesses than this check can keep: races from here on are not "
            "found");
      },
      {}, true);
}

void GlobalRaces::access(const Wave& w, const Inst& in, const u64* at, const Access& access,
                         int data_row, const Place& place) {
  if (log_.overflowed() || splits_.size() > RaceLog::kNumbers / 2) return give_up(w, in);
  Now now{.me = &log_.standing(*w.group), .record = 0, .manner = manner_of(in, access, gfx90a_)};
  if (now.manner.acquires) {
    for (u64 left = access.lanes; left; left &= left - 1) {
      for_dwords(at[std::countr_zero(left)] - place.begin, access.bytes,
                 [&](u64 dword, u32 bytes, i64) { acquire(*now.me, place.cells[dword], bytes); });
    }
  }
  now.record = log_.record(w, in, *now.me, now.manner);
  for (u64 left = access.lanes; left; left &= left - 1) {
    now.lane = std::countr_zero(left);
    const u64 offset = at[now.lane] - place.begin;
    RaceCell* const cells = &place.cells[offset / 4];
    if (offset % 4 == 0 && access.bytes % 4 == 0) {
      const u32* const data =
          access.kind == AccessKind::kStore ? &w.v[data_row][now.lane] : nullptr;
      touch_dwords(now, cells, access.bytes / 4, data, at[now.lane]);
      continue;
    }
    const LaneData data(w, in, access, data_row, now.lane);
    for_dwords(offset, access.bytes, [&](u64 dword, u32 bytes, i64 from) {
      touch(now, place.cells[dword], bytes, data.dword(from), place.begin + dword * 4);
    });
  }
  if (now.race) report(w, in, place, now.manner, *now.race, false);
  if (now.benign) report(w, in, place, now.manner, *now.benign, true);
}

// Whole dwords. Most have no story in this launch, or the one of the dword before.
void GlobalRaces::touch_dwords(Now& now, RaceCell* cells, int dwords, const u32* data,
                               u64 address) {
  constexpr u32 kWhole = u32{0xf} << 28;
  for (int d = 0; d < dwords; ++d) {
    RaceCell& cell = cells[d];
    const u32 value = data ? data[d * kLanes] : 0;
    const bool unread = !read(cell), unwritten = !written(cell) && !is_split(cell);
    if (now.manner.writes()) {
      if (unread && (unwritten || cell.write == (kWhole | now.record))) {
        cell = {.write = kWhole | now.record, .read = 0, .value = value};
        continue;
      }
    } else if ((unwritten || cell.write == now.harmless) && now.to != 0 &&
               now.from == (unread ? 0 : cell.read)) {
      cell.read = now.to;
      continue;
    }
    const bool others = now.race || now.benign;
    const RaceCell before = cell;
    touch(now, cell, 0xf, value, address + 4 * static_cast<u64>(d));
    if (now.manner.writes() || is_split(cell)) continue;
    now.from = unread ? 0 : before.read;
    now.to = cell.read;
    if (!unwritten && !others && !now.race) now.harmless = before.write;
  }
}

void GlobalRaces::touch(Now& now, RaceCell& cell, u32 bytes, u32 value, u64 address) {
  if (!is_split(cell) && must_split(now, cell, bytes)) split(cell);
  if (is_split(cell)) {
    const std::size_t parts = cell.write - first_split_;
    for (int b = 0; b < 4; ++b) {
      if (bytes >> b & 1) touch(now, splits_[parts][b], 1u << b, value, address);
    }
    return;
  }
  compare(now, cell, bytes, value, address);
  if (!now.manner.writes()) {
    const Number before = read(cell) ? number(cell.read) : 0;
    const u32 all = before ? mask(cell.read) | bytes : bytes;
    cell.read = all << 28 | log_.with(before, *now.me, now.record);
    return;
  }
  const u32 all = written(cell) ? mask(cell.write) | bytes : bytes;
  cell.write = all << 28 | now.record;
  cell.value = (cell.value & ~spread(bytes)) | (value & spread(bytes));
  const u32 still_read = read(cell) ? mask(cell.read) & ~bytes : 0;
  cell.read = still_read ? still_read << 28 | number(cell.read) : 0;
}

// Whether the cell would have to say different things of its bytes.
bool GlobalRaces::must_split(const Now& now, const RaceCell& cell, u32 bytes) {
  if (!now.manner.writes()) {
    if (!read(cell) || mask(cell.read) == bytes) return false;
    const Number set = number(cell.read);
    const bool stays = log_.with(set, *now.me, now.record) == set;
    return !stays || !((bytes & ~mask(cell.read)) == 0 || log_.single(set));
  }
  if (!written(cell) || (mask(cell.write) & ~bytes) == 0) return false;
  const AccessRecord& last = log_.at(number(cell.write));
  return last.moment != now.me->now() || last.manner != now.manner;
}

void GlobalRaces::split(RaceCell& cell) {
  std::array<RaceCell, 4> parts;
  for (u32 b = 0; b < 4; ++b) {
    const u32 bit = u32{1} << 28 << b;
    parts[b].value = cell.value;
    if (written(cell) && cell.write & bit) parts[b].write = bit | number(cell.write);
    if (read(cell) && cell.read & bit) parts[b].read = bit | number(cell.read);
  }
  cell = {.write = first_split_ + static_cast<u32>(splits_.size()), .read = 0, .value = 0};
  splits_.push_back(parts);
}

void GlobalRaces::compare(Now& now, const RaceCell& cell, u32 bytes, u32 value, u64 address) const {
  const auto races = [&](const AccessRecord& other) {
    return !now.me->after(other.moment) && !other.manner.atomic_with(now.manner);
  };
  const auto found = [&](std::optional<Conflict>& first, u32 where, Number other) {
    if (!first) first = {now.lane, address + std::countr_zero(where), other};
  };
  if (const u32 both = mask(cell.write) & bytes; both && written(cell)) {
    const Number other = number(cell.write);
    if (races(log_.at(other))) {
      const bool stores =
          now.manner.kind == AccessKind::kStore && log_.at(other).manner.kind == AccessKind::kStore;
      const bool same = stores && ((cell.value ^ value) & spread(both)) == 0;
      found(same ? now.benign : now.race, both, other);
    }
  }
  if (const u32 both = mask(cell.read) & bytes; now.manner.writes() && both && read(cell)) {
    if (const Number other = log_.find(number(cell.read), races)) found(now.race, both, other);
  }
}

void GlobalRaces::report(const Wave& w, const Inst& in, const Place& place, const Manner& manner,
                         const Conflict& conflict, bool benign) {
  const AccessRecord& last = log_.at(conflict.other);
  const Party now{w.group->linear, in.index, static_cast<std::int16_t>(w.id),
                  static_cast<std::int16_t>(conflict.lane)};
  const Party before{last.moment.workgroup, last.inst, last.wave, -1};
  const bool swap = is_place(last.manner, last.inst, manner, in.index);
  const auto verb = [](const Manner& m) { return m.writes() ? "writes" : "reads"; };
  reports_.add(
      Check::kGlobalRace, *program_, grid_, swap ? before : now,
      [&] {
        return fmt::format(
            "{} byte {}+{}, which another workgroup {}{}, and nothing orders the two",
            verb(swap ? last.manner : manner), place.label, conflict.byte - place.begin,
            verb(swap ? manner : last.manner), benign ? " with the same value" : "");
      },
      swap ? now : before, benign);
}

}  // namespace attest::emulator
