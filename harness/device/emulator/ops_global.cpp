// GLOBAL, FLAT and SCRATCH. Every active lane's address is checked against the allocation table
// before the access; each instruction remembers the allocation it touched last. Source: MI300 ISA,
// chapters 10 and 12.15-12.17.
#include <fmt/format.h>

#include "harness/device/emulator/atomic_ops.hpp"
#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/store_buffer.hpp"

namespace attest::emulator {
namespace {

enum class Space { kGlobal, kFlat, kScratch };

Flow outside(Wave& w, const Inst& in, const char* what, int lane, u64 address, int bytes) {
  if (Monitor* const monitor = w.group->monitor) monitor->outside(w, in, lane, address, bytes);
  return fault(w, in,
               fmt::format("{} of {} bytes at {:#x} by lane {} is outside every buffer: {}", what,
                           bytes, address, lane, w.group->memory->nearest(address)));
}

// Where the text has the address and the scalar base: "dst, v[4:5], off", "v4, data, s[2:3]",
// scratch "dst, v4|off, s33|off".
struct Slots {
  int address, base;
};
constexpr Slots kLoad{1, 2}, kStore{0, 2};
struct LaneAddresses {
  alignas(64) u64 at[kLanes];
};
void global_addresses(const Wave& w, const Inst& in, Slots slots, LaneAddresses* out) {
  const Operand& v = in.op[slots.address];
  const u64 offset = static_cast<u64>(static_cast<i64>(in.offset));
  if (in.op[slots.base].kind == Operand::Kind::kScalar) {
    const u64 base = w.s64(in.op[slots.base].reg) + offset;
    for (int l = 0; l < kLanes; ++l) out->at[l] = base + w.v[v.reg][l];
    return;
  }
  const u32 *low = w.v[v.reg], *high = w.v[v.reg + 1];
  for (int l = 0; l < kLanes; ++l) out->at[l] = (u64{high[l]} << 32 | low[l]) + offset;
}
// LDS and private memory as host addresses; a lane outside them keeps an address that no allocation
// holds.
u64 aperture_address(Wave& w, int lane, u64 address, int bytes) {
  const u64 inside = address & 0xffffffff;
  if (address >> 32 == kSharedAperture >> 32 && inside + bytes <= w.group->lds.size()) {
    return reinterpret_cast<u64>(w.group->lds.data()) + inside;
  }
  if (address >> 32 == kPrivateAperture >> 32 && inside + bytes <= w.scratch_stride) {
    return reinterpret_cast<u64>(w.scratch.data()) + u64{w.scratch_stride} * lane + inside;
  }
  return address;
}
bool is_aperture(u64 address) {
  return address >> 32 == kSharedAperture >> 32 || address >> 32 == kPrivateAperture >> 32;
}

bool in_range(const AddressRange& range, u64 at, int bytes) {
  return at >= range.begin && at + bytes <= range.end;
}

// First lane whose access is in no allocation, or -1.
template <Space kSpace>
int check(Wave& w, const Inst& in, LaneAddresses* a, int bytes) {
  AddressRange range = (*w.group->cache)[in.index];
  const u64 exec = w.exec();
  if constexpr (kSpace == Space::kGlobal) {
    u64 bad = 0;
    for (int l = 0; l < kLanes; ++l) bad |= u64{!in_range(range, a->at[l], bytes)} << l;
    if ((bad & exec) == 0) return -1;
  }
  for (int l = 0; l < kLanes; ++l) {
    if (!(exec >> l & 1)) continue;
    if (kSpace == Space::kFlat && is_aperture(a->at[l])) {
      a->at[l] = aperture_address(w, l, a->at[l], bytes);
      if (is_aperture(a->at[l])) return l;
      continue;
    }
    if (in_range(range, a->at[l], bytes)) continue;
    const Allocation* found = w.group->memory->find(a->at[l]);
    if (!found || a->at[l] + bytes > found->end) return l;
    range = {found->begin, found->end};
  }
  (*w.group->cache)[in.index] = range;
  return -1;
}
template <>
int check<Space::kScratch>(Wave& w, const Inst&, LaneAddresses* a, int bytes) {
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    if (a->at[l] + bytes > w.scratch_stride) return l;
    a->at[l] += reinterpret_cast<u64>(w.scratch.data()) + u64{w.scratch_stride} * l;
  }
  return -1;
}

template <Space kSpace>
int resolve(Wave& w, const Inst& in, Slots slots, int bytes, LaneAddresses* out) {
  if constexpr (kSpace == Space::kScratch) {
    const u32 base =
        in.op[slots.base].kind == Operand::Kind::kScalar ? scalar32(w, in.op[slots.base]) : 0;
    const bool has_vector = in.op[slots.address].kind == Operand::Kind::kVector;
    for (int l = 0; l < kLanes; ++l) {
      out->at[l] = static_cast<u32>(base + (has_vector ? w.v[in.op[slots.address].reg][l] : 0) +
                                    static_cast<u32>(in.offset));
    }
  } else {
    global_addresses(w, in, slots, out);
  }
  return check<kSpace>(w, in, out, bytes);
}

// Lanes of a flat access whose bytes lie in LDS, told to the checks of LDS. Returns the others.
u64 watch_lds(const Wave& w, const Inst& in, const LaneAddresses& a, Access access, int data_row) {
  const u64 begin = reinterpret_cast<u64>(w.group->lds.data()), size = w.group->lds.size();
  u32 at[kLanes];
  u64 inside = 0;
  for (int l = 0; l < kLanes; ++l) {
    inside |= u64{a.at[l] - begin < size} << l;
    at[l] = static_cast<u32>(a.at[l] - begin);
  }
  const u64 lanes = access.lanes;
  access.lanes &= inside;
  if (access.lanes) w.group->monitor->lds(w, in, at, access, data_row);
  return lanes & ~inside;
}

// The checks that watch are told of an access before it is done, and may say where its bytes lie.
template <Space kSpace>
void watch(const Wave& w, const Inst& in, AccessKind kind, int bytes, LaneAddresses* a,
           int data_row = -1) {
  if constexpr (kSpace == Space::kScratch) return;
  if (Monitor* const monitor = w.group->monitor) {
    Access access{.kind = kind, .bytes = bytes, .lanes = w.exec()};
    if constexpr (kSpace == Space::kFlat) access.lanes = watch_lds(w, in, *a, access, data_row);
    monitor->global(w, in, a->at, access, data_row);
  }
  if (w.group->stores) w.group->stores->settle(a->at, w.exec(), bytes);
}

bool is_within(u64 at, const std::vector<std::byte>& memory) {
  return at - reinterpret_cast<u64>(memory.data()) < memory.size();
}

// The buffer that a store goes to; null: to memory, as a flat store with a lane in LDS or private
// memory does.
template <Space kSpace>
StoreBuffer* late(const Wave& w, const LaneAddresses& a, int bytes) {
  StoreBuffer* const stores = w.group->stores;
  if (kSpace == Space::kScratch || !stores) return nullptr;
  for (int l = 0; kSpace == Space::kFlat && l < kLanes; ++l) {
    if (w.active(l) && (is_within(a.at[l], w.group->lds) || is_within(a.at[l], w.scratch)))
      return nullptr;
  }
  stores->begin(w.id, a.at, w.exec(), bytes);
  return stores;
}
template <class T>
void store_lane(StoreBuffer* stores, int lane, u64 at, const T& data) {
  if (stores) {
    stores->put(lane, &data);
  } else {
    std::memcpy(reinterpret_cast<void*>(at), &data, sizeof data);
  }
}

template <Space kSpace, int kDwords>
Flow load(Wave& w, const Inst& in) {
  LaneAddresses a;
  if (const int lane = resolve<kSpace>(w, in, kLoad, 4 * kDwords, &a); lane >= 0)
    return outside(w, in, "read", lane, a.at[lane], 4 * kDwords);
  watch<kSpace>(w, in, AccessKind::kLoad, 4 * kDwords, &a);
  alignas(64) u32 rows[kDwords][kLanes];
  if (w.exec() == kAllLanes) {
    for (int l = 0; l < kLanes; ++l) {
      u32 lane[kDwords];
      std::memcpy(lane, reinterpret_cast<const void*>(a.at[l]), sizeof lane);
      for (int d = 0; d < kDwords; ++d) rows[d][l] = lane[d];
    }
    for (int d = 0; d < kDwords; ++d) std::memcpy(w.v[in.op[0].reg + d], rows[d], sizeof rows[d]);
    return Flow::kNext;
  }
  for (int l = 0; l < kLanes; ++l) {
    u32 lane[kDwords] = {};
    if (w.active(l)) std::memcpy(lane, reinterpret_cast<const void*>(a.at[l]), sizeof lane);
    for (int d = 0; d < kDwords; ++d) rows[d][l] = lane[d];
  }
  for (int d = 0; d < kDwords; ++d) store_row(w, in.op[0].reg + d, rows[d]);
  return Flow::kNext;
}
template <Space kSpace, int kDwords>
Flow store_dwords(Wave& w, const Inst& in) {
  LaneAddresses a;
  if (const int lane = resolve<kSpace>(w, in, kStore, 4 * kDwords, &a); lane >= 0) {
    return outside(w, in, "write", lane, a.at[lane], 4 * kDwords);
  }
  watch<kSpace>(w, in, AccessKind::kStore, 4 * kDwords, &a, in.op[1].reg);
  StoreBuffer* const stores = late<kSpace>(w, a, 4 * kDwords);
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    u32 lane[kDwords];
    for (int d = 0; d < kDwords; ++d) lane[d] = w.v[in.op[1].reg + d][l];
    store_lane(stores, l, a.at[l], lane);
  }
  return Flow::kNext;
}
template <Space kSpace, class T, int kHalf>
Flow load_small(Wave& w, const Inst& in) {
  LaneAddresses a;
  if (const int lane = resolve<kSpace>(w, in, kLoad, sizeof(T), &a); lane >= 0)
    return outside(w, in, "read", lane, a.at[lane], sizeof(T));
  watch<kSpace>(w, in, AccessKind::kLoad, sizeof(T), &a);
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(a.at[l]), sizeof value);
    u32& to = w.v[in.op[0].reg][l];
    const u32 wide = static_cast<u32>(static_cast<i32>(value));
    to = into_half<kHalf>(to, wide);
  }
  return Flow::kNext;
}
template <Space kSpace, class T, int kShift>
Flow store_small(Wave& w, const Inst& in) {
  LaneAddresses a;
  if (const int lane = resolve<kSpace>(w, in, kStore, sizeof(T), &a); lane >= 0)
    return outside(w, in, "write", lane, a.at[lane], sizeof(T));
  watch<kSpace>(w, in, AccessKind::kStore, sizeof(T), &a, in.op[1].reg);
  StoreBuffer* const stores = late<kSpace>(w, a, sizeof(T));
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    const T value = static_cast<T>(w.v[in.op[1].reg][l] >> kShift);
    store_lane(stores, l, a.at[l], value);
  }
  return Flow::kNext;
}

// Of the load, sign- or zero-extended, a dword a lane.
template <Space kSpace, class T>
Flow load_to_lds(Wave& w, const Inst& in) {
  LaneAddresses a;
  if (const int lane = resolve<kSpace>(w, in, kLoad, sizeof(T), &a); lane >= 0)
    return outside(w, in, "read", lane, a.at[lane], sizeof(T));
  watch<kSpace>(w, in, AccessKind::kLoad, sizeof(T), &a);
  alignas(64) u32 row[kLanes] = {};
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(a.at[l]), sizeof value);
    row[l] = static_cast<u32>(static_cast<i64>(value));
  }
  return store_to_lds(w, in, row);
}

// Atomics, in lane order, atomic against other host threads. With sc0 (glc) the old value is
// returned to op[0].
template <Space kSpace, class T, auto Fn, int kDataCount>
Flow atomic(Wave& w, const Inst& in) {
  const int slot = in.glc ? 1 : 0, data = slot + 1;
  LaneAddresses a;
  if (const int lane = resolve<kSpace>(w, in, {slot, slot + 2}, sizeof(T), &a); lane >= 0)
    return outside(w, in, "atomic", lane, a.at[lane], sizeof(T));
  const int data_reg = in.op[data].reg;
  watch<kSpace>(w, in, AccessKind::kAtomic, sizeof(T), &a, data_reg);
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    if (a.at[l] % sizeof(T)) return outside(w, in, "misaligned atomic", l, a.at[l], sizeof(T));
    const T old = run_atomic<T, Fn, kDataCount>(w, data_reg, l, a.at[l]);
    if (in.glc) put_lane(w, in.op[0].reg, l, old);
  }
  return Flow::kNext;
}
template <Space kSpace>
struct Atomics {
  template <class T, auto Fn, int kDataCount>
  static Flow run(Wave& w, const Inst& in) {
    return atomic<kSpace, T, Fn, kDataCount>(w, in);
  }
};
template <Space kSpace>
void add_atomics(std::vector<Semantics>& all, std::string_view space) {
  AtomicTable<Atomics<kSpace>> table(all, space);
  table.template one<u32, [](u32 m, u32 x, u32) { return atomic_pk_add_bf16(m, x); }>(
      "pk_add_bf16");
}

template <Space kS>
void add_lds_loads(std::vector<Semantics>& all, std::string_view space) {
  const auto add = [&](std::string_view type, Handler run) {
    all.push_back({keep_name(fmt::format("{}_load_lds_{}", space, type)), run});
  };
  add("dword", load_to_lds<kS, u32>);
  add("ubyte", load_to_lds<kS, u8>);
  add("sbyte", load_to_lds<kS, std::int8_t>);
  add("ushort", load_to_lds<kS, u16>);
  add("sshort", load_to_lds<kS, std::int16_t>);
}

// The "sc1/sc0 wb/inv" cache controls: without checks the emulator has one coherent memory.
Flow cache_control(Wave& w, const Inst& in) {
  if (Monitor* const monitor = w.group->monitor) monitor->cache_control(w, in);
  return Flow::kNext;
}

#define ATTEST_MEMORY_OPS(prefix, space)                                                  \
  {prefix "_load_dword", load<space, 1>}, {prefix "_load_dwordx2", load<space, 2>},       \
      {prefix "_load_dwordx3", load<space, 3>}, {prefix "_load_dwordx4", load<space, 4>}, \
      {prefix "_load_ubyte", load_small<space, u8, -1>},                                  \
      {prefix "_load_sbyte", load_small<space, std::int8_t, -1>},                         \
      {prefix "_load_ushort", load_small<space, u16, -1>},                                \
      {prefix "_load_sshort", load_small<space, std::int16_t, -1>},                       \
      {prefix "_load_ubyte_d16", load_small<space, u8, 0>},                               \
      {prefix "_load_ubyte_d16_hi", load_small<space, u8, 1>},                            \
      {prefix "_load_sbyte_d16", load_small<space, std::int8_t, 0>},                      \
      {prefix "_load_sbyte_d16_hi", load_small<space, std::int8_t, 1>},                   \
      {prefix "_load_short_d16", load_small<space, u16, 0>},                              \
      {prefix "_load_short_d16_hi", load_small<space, u16, 1>},                           \
      {prefix "_store_dword", store_dwords<space, 1>},                                    \
      {prefix "_store_dwordx2", store_dwords<space, 2>},                                  \
      {prefix "_store_dwordx3", store_dwords<space, 3>},                                  \
      {prefix "_store_dwordx4", store_dwords<space, 4>},                                  \
      {prefix "_store_byte", store_small<space, u8, 0>},                                  \
      {prefix "_store_short", store_small<space, u16, 0>},                                \
      {prefix "_store_byte_d16_hi", store_small<space, u8, 16>}, {                        \
    prefix "_store_short_d16_hi", store_small<space, u16, 16>                             \
  }

}  // namespace

std::vector<Semantics> global_semantics() {
  std::vector<Semantics> all = {
      ATTEST_MEMORY_OPS("global", Space::kGlobal),
      ATTEST_MEMORY_OPS("flat", Space::kFlat),
      ATTEST_MEMORY_OPS("scratch", Space::kScratch),
      {"buffer_wbl2", cache_control},
      {"buffer_inv", cache_control},
      {"buffer_wbinvl1", cache_control},
      {"buffer_wbinvl1_vol", cache_control},
      {"buffer_invl2", cache_control},
  };
  add_atomics<Space::kGlobal>(all, "global");
  add_atomics<Space::kFlat>(all, "flat");
  add_lds_loads<Space::kGlobal>(all, "global");
  add_lds_loads<Space::kScratch>(all, "scratch");
  return all;
}

}  // namespace attest::emulator
