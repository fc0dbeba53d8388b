#include "harness/device/emulator/checks/lds_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/device/emulator/checks/register_checks.hpp"

namespace attest::emulator {
namespace {

constexpr std::array kKinds = {AccessKind::kLoad, AccessKind::kStore, AccessKind::kAtomic};

bool conflict(AccessKind a, AccessKind b) {
  if (a == AccessKind::kStore || b == AccessKind::kStore) return true;
  return a != b;
}

const char* verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::kLoad:
      return "reads";
    case AccessKind::kStore:
      return "writes";
    case AccessKind::kAtomic:
      break;
  }
  return "changes by an atomic";
}

// A race has two places; the report's is the same whichever wave came first: the read, before the
// plain access, before the later instruction.
int precedence(AccessKind kind) {
  if (kind == AccessKind::kLoad) return 2;
  return kind == AccessKind::kStore ? 1 : 0;
}

// ds_write_b8_d16_hi and ds_write_b16_d16_hi store a register's high half.
int shift_of(const Program& program, const Inst& in) {
  return program.text[in.index].find("_d16_hi") == std::string::npos ? 0 : 16;
}

}  // namespace

void LdsChecks::begin_launch(const Program& program, const Dim3& grid, int groups,
                             int waves_of_group, std::size_t lds_bytes) {
  races_on_ = on_.has(Check::kLdsRace);
  undefined_on_ = on_.has(Check::kUninitialised);
  program_ = &program;
  grid_ = grid;
  waves_ = waves_of_group;
  slots_.resize(static_cast<std::size_t>(groups));
  for (auto& slot : slots_) {
    if (!slot) slot = std::make_unique<Slot>();
    slot->shadow.resize(lds_bytes, waves_of_group);
    if (!on_.has(Check::kWaits) || !registers_) continue;
    if (!slot->waits) slot->waits.emplace(reports_, *registers_);
    slot->waits->begin_launch(program, grid, waves_of_group);
  }
  sites_.assign(program.insts.size(), 0);
  inst_of_site_.assign(1, 0);
}

void LdsChecks::begin_workgroup(const Workgroup& group) {
  Slot& slot = slot_of(group);
  slot.shadow.begin_workgroup();
  if (slot.waits) slot.waits->begin_workgroup();
}

void LdsChecks::barrier_released(const Workgroup& group) {
  Slot& slot = slot_of(group);
  slot.shadow.next_epoch();
  if (slot.waits) slot.waits->barrier_released(slot.shadow);
}

void LdsChecks::at_barrier(const Wave& w) {
  Slot& slot = slot_of(*w.group);
  if (slot.waits) slot.waits->at_barrier(w, slot.shadow);
}

u16 LdsChecks::site_of(const Inst& in) {
  u16& site = sites_[in.index];
  if (site == 0) {
    // Instructions beyond 65,535 share the last number.
    if (inst_of_site_.size() <= 0xffff) inst_of_site_.push_back(in.index);
    site = static_cast<u16>(inst_of_site_.size() - 1);
  }
  return site;
}

u64 LdsChecks::access(const Wave& w, const Inst& in, const u32* at, const Access& access,
                      int data_row, u64 undefined_data) {
  if (access.lanes == 0) return 0;
  Slot& slot = slot_of(*w.group);
  const bool track = races_on_ && waves_ > 1;
  const Now now{.w = w,
                .in = in,
                .kind = access.kind,
                .lanes = slot.shadow.look_at(at, access.bytes, access.lanes),
                .data_row = data_row};
  if (track) races(slot, now);
  const u8 bits = slot.shadow.touch(w.id, access.kind, now.lanes, site_of(in), track);
  if (access.kind == AccessKind::kStore) {
    if (slot.waits && !in.lds) slot.waits->stored(w, in, now.lanes);
    if (slot.waits && in.lds) slot.waits->brings(w, in, now.lanes, slot.shadow);
    if (bits & LdsShadow::kAgain) collisions(now);
    if (undefined_data != 0) store_undefined(slot.shadow, now, undefined_data);
    return 0;
  }
  if (slot.waits && access.kind == AccessKind::kAtomic) slot.waits->stored(w, in, now.lanes);
  if ((bits & LdsShadow::kLate) && slot.waits) slot.waits->read(w, in, now.lanes, slot.shadow);
  if (access.kind == AccessKind::kAtomic && undefined_data != 0)
    store_undefined(slot.shadow, now, undefined_data);
  return undefined_on_ && (bits & LdsShadow::kUndefined) ? undefined_lanes(slot.shadow, now.lanes)
                                                         : 0;
}

void LdsChecks::dma(const Wave& w, const Inst& in, const u32* at, const Access& access,
                    u64 undefined) {
  this->access(w, in, at, access, -1, undefined);
}

void LdsChecks::races(const Slot& slot, const Now& now) {
  for (const AccessKind theirs : kKinds) {
    if (!conflict(now.kind, theirs)) continue;
    u32 left = slot.shadow.others(now.w.id, theirs, now.lanes);
    for (; left != 0; left &= left - 1) {
      const int other = std::countr_zero(left);
      if (slot.shadow.meets(other, theirs, now.lanes)) races_with(slot, now, other, theirs);
    }
  }
}

void LdsChecks::races_with(const Slot& slot, const Now& now, int other, AccessKind theirs) {
  u16 last = 0;
  for (u64 left = now.lanes.lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (u32 i = 0; i < static_cast<u32>(now.lanes.bytes); ++i) {
      const u32 byte = now.lanes.at[lane] + i;
      const u16 site = slot.shadow.site_at(other, theirs, byte);
      // Only this wave's first access of the kind counts: what came before has been reported.
      if (site == 0 || site == last || slot.shadow.site_at(now.w.id, now.kind, byte) != 0) continue;
      last = site;
      race(now, other, theirs, site, lane, byte);
    }
  }
}

void LdsChecks::race(const Now& now, int other, AccessKind theirs, u16 site, int lane, u32 byte) {
  const u32 workgroup = now.w.group->linear;
  const Party mine{.workgroup = workgroup,
                   .inst = now.in.index,
                   .wave = static_cast<std::int16_t>(now.w.id),
                   .lane = static_cast<std::int16_t>(lane)};
  const Party their{.workgroup = workgroup,
                    .inst = inst_of_site_[site],
                    .wave = static_cast<std::int16_t>(other)};
  const int ours_first = precedence(now.kind) - precedence(theirs);
  const bool here = ours_first != 0 ? ours_first > 0 : mine.inst >= their.inst;
  const Party &at = here ? mine : their, &against = here ? their : mine;
  const bool both_store = now.kind == AccessKind::kStore && theirs == AccessKind::kStore;
  const bool benign = both_store && stores_what_is_there(now, lane, byte);
  const auto what = [&] {
    return fmt::format("wave {} {} LDS byte {}, wave {} {} it{}, and no barrier lies between",
                       at.wave, verb(here ? now.kind : theirs), byte, against.wave,
                       verb(here ? theirs : now.kind), benign ? ", with one value" : "");
  };
  reports_.add(Check::kLdsRace, *program_, grid_, at, what, against, benign);
}

// Lanes of one instruction that store to one byte. Equal values are what a broadcast needs.
void LdsChecks::collisions(const Now& now) {
  if (now.data_row < 0 || !races_on_) return;
  const LdsLanes& a = now.lanes;
  const auto value = [&](int lane, u32 i) {
    const u32 row = now.w.v[now.data_row + static_cast<int>(i / 4)][lane];
    return static_cast<u8>(row >> shift_of(*program_, now.in) >> 8 * (i % 4));
  };
  for (u64 left = a.lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (u64 later = left & (left - 1); later != 0; later &= later - 1) {
      const int other = std::countr_zero(later);
      const u32 begin = std::max(a.at[lane], a.at[other]),
                end = std::min(a.at[lane], a.at[other]) + static_cast<u32>(a.bytes);
      for (u32 byte = begin; byte < end; ++byte) {
        if (value(lane, byte - a.at[lane]) == value(other, byte - a.at[other])) continue;
        reports_.add(Check::kLdsRace, now.w, now.in, lane, [&] {
          return fmt::format(
              "lanes {} and {} store different values to LDS byte {} in one "
              "instruction: which one stays is undefined",
              lane, other, byte);
        });
        return;
      }
    }
  }
}

bool LdsChecks::stores_what_is_there(const Now& now, int lane, u32 byte) const {
  if (now.data_row < 0) return false;
  const u32 i = byte - now.lanes.at[lane];
  const u32 row = now.w.v[now.data_row + static_cast<int>(i / 4)][lane];
  const auto mine = static_cast<u8>(row >> shift_of(*program_, now.in) >> 8 * (i % 4));
  return now.w.group->lds[byte] == std::byte{mine};
}

u64 LdsChecks::undefined_lanes(LdsShadow& shadow, const LdsLanes& a) {
  undefined_dwords_ = {};
  u64 found = 0;
  for (u64 left = a.lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (u32 i = 0; i < static_cast<u32>(a.bytes); ++i) {
      const u32 byte = a.at[lane] + i;
      if (!(shadow.bits(byte) & LdsShadow::kUndefined)) continue;
      if (found == 0) undefined_byte_ = byte;
      found |= u64{1} << lane;
      undefined_dwords_[i / 4] |= u64{1} << lane;
    }
  }
  return found;
}

void LdsChecks::store_undefined(LdsShadow& shadow, const Now& now, u64 lanes) {
  const LdsLanes& a = now.lanes;
  for (int i = 0; i < a.bytes; ++i) {
    const u64 of_dword = registers_ && now.data_row >= 0
                             ? lanes & registers_->undefined(now.w, now.data_row + i / 4)
                             : lanes;
    for (u64 left = of_dword; left != 0; left &= left - 1) {
      shadow.bits(a.at[std::countr_zero(left)] + static_cast<u32>(i)) |= LdsShadow::kUndefined;
    }
  }
}

}  // namespace attest::emulator
