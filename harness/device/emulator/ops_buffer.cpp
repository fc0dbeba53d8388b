// MUBUF: raw buffers by a 4-dword resource: base [47:0], stride [61:48], num_records, flags.
// Out-of-range lanes read zero and do not write. Swizzled buffers are refused.
// Source: MI300 ISA, chapter 9.1.
#include <fmt/format.h>

#include "harness/device/emulator/checks/monitor.hpp"

namespace attest::emulator {
namespace {

struct Resource {
  u64 base;
  u32 stride, records;
  bool swizzled;
};
Resource resource(const Wave& w, const Operand& op) {
  const u32* s = &w.s[op.reg];
  return {s[0] | u64{s[1] & 0xffff} << 32, s[1] >> 16 & 0x3fff, s[2], (s[1] >> 31 & 1) != 0};
}

struct LaneBytes {
  u64 at[kLanes];
  u64 in_range = 0;  // lanes the resource lets through
};
// Operands: data, vaddr or off, resource, soffset. With idxen and offen the pair holds index,
// offset.
LaneBytes lanes(const Wave& w, const Inst& in, const Resource& r, u32 bytes) {
  LaneBytes out;
  const u32 soffset = scalar32(w, in.op[3]);
  const Operand& v = in.op[1];
  for (int l = 0; l < kLanes; ++l) {
    const u32 index = in.idxen ? w.v[v.reg][l] : 0;
    const u32 voffset = in.offen ? w.v[v.reg + in.idxen][l] : 0;
    const u64 offset = u64{voffset} + static_cast<u32>(in.offset);
    out.at[l] = r.base + soffset + u64{index} * r.stride + offset;
    // Raw: the offset's end within num_records bytes. Structured (stride != 0): the index within
    // num_records.
    const bool ok = r.stride == 0 ? offset + soffset + bytes <= r.records
                                  : index < r.records && (!in.idxen || offset + bytes <= r.stride);
    out.in_range |= u64{ok} << l;
  }
  return out;
}

// First active in-range lane that is outside every allocation, or -1.
int check(Wave& w, const Inst& in, const LaneBytes& a, u32 bytes) {
  AddressRange range = (*w.group->cache)[in.index];
  for (int l = 0; l < kLanes; ++l) {
    if (!(w.exec() & a.in_range) || !((w.exec() & a.in_range) >> l & 1)) continue;
    if (a.at[l] >= range.begin && a.at[l] + bytes <= range.end) continue;
    const Allocation* found = w.group->memory->find(a.at[l]);
    if (!found || a.at[l] + bytes > found->end) return l;
    range = {found->begin, found->end};
  }
  (*w.group->cache)[in.index] = range;
  return -1;
}
Flow outside(Wave& w, const Inst& in, int lane, u64 address, u32 bytes) {
  if (Monitor* const monitor = w.group->monitor)
    monitor->outside(w, in, lane, address, static_cast<int>(bytes));
  return fault(
      w, in,
      fmt::format("buffer access of {} bytes at {:#x} by lane {} is outside every buffer: {}",
                  bytes, address, lane, w.group->memory->nearest(address)));
}

void watch(const Wave& w, const Inst& in, AccessKind kind, int bytes, LaneBytes* a,
           int data_row = -1) {
  if (Monitor* const monitor = w.group->monitor) {
    monitor->global(w, in, a->at, {.kind = kind, .bytes = bytes, .lanes = w.exec() & a->in_range},
                    data_row);
  }
}

template <class T, int kCount, bool kStore>
Flow access(Wave& w, const Inst& in) {
  const Resource r = resource(w, in.op[2]);
  if (r.swizzled) return fault(w, in, "swizzled buffers are not modelled");
  constexpr u32 kBytes = sizeof(T) * kCount;
  LaneBytes a = lanes(w, in, r, kBytes);
  if (const int lane = check(w, in, a, kBytes); lane >= 0)
    return outside(w, in, lane, a.at[lane], kBytes);
  watch(w, in, kStore ? AccessKind::kStore : AccessKind::kLoad, kBytes, &a,
        kStore ? in.op[0].reg : -1);
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    T value[kCount] = {};
    const bool ok = a.in_range >> l & 1;
    if (kStore) {
      for (int d = 0; d < kCount; ++d) value[d] = static_cast<T>(w.v[in.op[0].reg + d][l]);
      if (ok) std::memcpy(reinterpret_cast<void*>(a.at[l]), value, sizeof value);
    } else {
      if (ok) std::memcpy(value, reinterpret_cast<const void*>(a.at[l]), sizeof value);
      for (int d = 0; d < kCount; ++d)
        w.v[in.op[0].reg + d][l] = static_cast<u32>(static_cast<i64>(value[d]));
    }
  }
  return Flow::kNext;
}

template <class T>
Flow load_to_lds(Wave& w, const Inst& in) {
  const Resource r = resource(w, in.op[2]);
  if (r.swizzled) return fault(w, in, "swizzled buffers are not modelled");
  LaneBytes a = lanes(w, in, r, sizeof(T));
  if (const int lane = check(w, in, a, sizeof(T)); lane >= 0)
    return outside(w, in, lane, a.at[lane], sizeof(T));
  watch(w, in, AccessKind::kLoad, sizeof(T), &a);
  alignas(64) u32 row[kLanes] = {};
  const u64 wanted = w.exec() & a.in_range;
  for (int l = 0; l < kLanes; ++l) {
    if (!(wanted >> l & 1)) continue;
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(a.at[l]), sizeof value);
    row[l] = static_cast<u32>(static_cast<i64>(value));
  }
  return store_to_lds(w, in, row);
}

}  // namespace

std::vector<Semantics> buffer_semantics() {
  return {
      {"buffer_load_dword", access<u32, 1, false>},
      {"buffer_load_dwordx2", access<u32, 2, false>},
      {"buffer_load_dwordx3", access<u32, 3, false>},
      {"buffer_load_dwordx4", access<u32, 4, false>},
      {"buffer_load_ubyte", access<u8, 1, false>},
      {"buffer_load_sbyte", access<std::int8_t, 1, false>},
      {"buffer_load_ushort", access<u16, 1, false>},
      {"buffer_load_sshort", access<std::int16_t, 1, false>},
      {"buffer_load_dword lds", load_to_lds<u32>},
      {"buffer_load_ubyte lds", load_to_lds<u8>},
      {"buffer_load_sbyte lds", load_to_lds<std::int8_t>},
      {"buffer_load_ushort lds", load_to_lds<u16>},
      {"buffer_load_sshort lds", load_to_lds<std::int16_t>},
      {"buffer_store_dword", access<u32, 1, true>},
      {"buffer_store_dwordx2", access<u32, 2, true>},
      {"buffer_store_dwordx3", access<u32, 3, true>},
      {"buffer_store_dwordx4", access<u32, 4, true>},
      {"buffer_store_byte", access<u8, 1, true>},
      {"buffer_store_short", access<u16, 1, true>},
  };
}

}  // namespace attest::emulator
