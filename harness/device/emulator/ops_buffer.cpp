// MUBUF: buffers by a 4-dword resource. Out-of-range lanes read zero and do not write. Buffer
// formats are not modelled. Source: MI300 ISA, chapter 9.1.
#include <fmt/format.h>

#include "harness/device/emulator/atomic_ops.hpp"
#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/store_buffer.hpp"

namespace attest::emulator {
namespace {

// base [47:0], stride [61:48], swizzle [63], num_records [95:64], data format [114:111], index
// stride [118:117] (8, 16, 32, 64 records), add lane number [119]; then the data format is the
// stride's bits 17:14. Elements of swizzled buffers are of 4 bytes since GFX9. Source: MI300 ISA,
// "Buffer Resource"; LLVM, SIInstrInfo::getScratchRsrcWords23.
struct Resource {
  u64 base;
  u32 stride, records, index_stride;
  bool swizzled, adds_lane;
};
Resource resource(const Wave& w, const Operand& op) {
  const u32* s = &w.s[op.reg];
  Resource r{.base = s[0] | u64{s[1] & 0xffff} << 32,
             .stride = s[1] >> 16 & 0x3fff,
             .records = s[2],
             .index_stride = 8u << (s[3] >> 21 & 3),
             .swizzled = (s[1] >> 31 & 1) != 0,
             .adds_lane = (s[3] >> 23 & 1) != 0};
  if (r.adds_lane) r.stride |= (s[3] >> 15 & 15) << 14;
  return r;
}

// Of a record and an offset in it, from the base.
u64 buffer_offset(const Resource& r, u32 index, u64 offset) {
  if (!r.swizzled) return u64{index} * r.stride + offset;
  const u64 group = index / r.index_stride, in_group = index % r.index_stride;
  return (group * r.stride + (offset & ~u64{3})) * r.index_stride + in_group * 4 + (offset & 3);
}

struct LaneBytes {
  u64 at[kLanes];
  u64 in_range = 0;  // lanes the resource lets through
};
// Operands: data, vaddr or off, resource, soffset. With idxen and offen the pair holds index,
// offset. `skip`: bytes of the access that lie before.
LaneBytes lanes(const Wave& w, const Inst& in, const Resource& r, u32 bytes, u32 skip = 0) {
  LaneBytes out;
  const u32 soffset = scalar32(w, in.op[3]);
  const Operand& v = in.op[1];
  // num_records counts records where an index picks one. Source: Mesa, ac_build_buffer_descriptor
  // (GFX9).
  const bool structured = r.stride != 0 && in.idxen;
  for (int l = 0; l < kLanes; ++l) {
    const u32 index = (in.idxen ? w.v[v.reg][l] : 0) + (r.adds_lane ? static_cast<u32>(l) : 0);
    const u32 voffset = in.offen ? w.v[v.reg + in.idxen][l] : 0;
    const u64 offset = u64{voffset} + static_cast<u32>(in.offset) + skip;
    const u64 from_base = buffer_offset(r, index, offset);
    out.at[l] = r.base + soffset + from_base;
    const bool ok = structured ? index < r.records && offset + bytes <= r.stride
                               : from_base + soffset + bytes <= r.records;
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
           int data_row = -1, int dword = 0) {
  if (Monitor* const monitor = w.group->monitor) {
    const Access access{
        .kind = kind, .bytes = bytes, .lanes = w.exec() & a->in_range, .dword = dword};
    monitor->global(w, in, a->at, access, data_row);
  }
  if (w.group->stores) w.group->stores->settle(a->at, w.exec() & a->in_range, bytes);
}

// Loads and stores kCount elements from v[reg] on; of a load into half a register, kHalf is that
// half, of a store of the upper half, 1.
template <class T, int kCount, bool kStore, int kHalf>
Flow move(Wave& w, const Inst& in, LaneBytes& a, int reg) {
  constexpr u32 kBytes = sizeof(T) * kCount;
  if (const int lane = check(w, in, a, kBytes); lane >= 0)
    return outside(w, in, lane, a.at[lane], kBytes);
  watch(w, in, kStore ? AccessKind::kStore : AccessKind::kLoad, kBytes, &a, kStore ? reg : -1,
        reg - in.op[0].reg);
  StoreBuffer* const stores = kStore ? w.group->stores : nullptr;
  if (stores) stores->begin(w.id, a.at, w.exec() & a.in_range, kBytes);
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    T value[kCount] = {};
    const bool ok = a.in_range >> l & 1;
    if (kStore) {
      for (int d = 0; d < kCount; ++d)
        value[d] = static_cast<T>(w.v[reg + d][l] >> (kHalf == 1 ? 16 : 0));
      if (ok && stores) stores->put(l, value);
      if (ok && !stores) std::memcpy(reinterpret_cast<void*>(a.at[l]), value, sizeof value);
    } else {
      if (ok) std::memcpy(value, reinterpret_cast<const void*>(a.at[l]), sizeof value);
      for (int d = 0; d < kCount; ++d) {
        u32& to = w.v[reg + d][l];
        to = into_half<kHalf>(to, static_cast<u32>(static_cast<i64>(value[d])));
      }
    }
  }
  return Flow::kNext;
}
template <class T, int kCount, bool kStore, int kHalf = -1>
Flow access(Wave& w, const Inst& in) {
  const Resource r = resource(w, in.op[2]);
  const int reg = in.op[0].reg;
  if (!r.swizzled || kCount == 1) {
    LaneBytes a = lanes(w, in, r, sizeof(T) * kCount);
    return move<T, kCount, kStore, kHalf>(w, in, a, reg);
  }
  // Each dword of a swizzled record lies elsewhere. All addresses first: a load may overwrite them.
  LaneBytes a[kCount];
  for (u32 d = 0; d < kCount; ++d) a[d] = lanes(w, in, r, sizeof(T), 4 * d);
  for (int d = 0; d < kCount; ++d) {
    if (Flow f = move<T, 1, kStore, kHalf>(w, in, a[d], reg + d); f != Flow::kNext) return f;
  }
  return Flow::kNext;
}

// Out of range, memory stays and 0 is returned.
struct Atomics {
  template <class T, auto Fn, int kDataCount>
  static Flow run(Wave& w, const Inst& in) {
    LaneBytes a = lanes(w, in, resource(w, in.op[2]), sizeof(T));
    if (const int lane = check(w, in, a, sizeof(T)); lane >= 0)
      return outside(w, in, lane, a.at[lane], sizeof(T));
    const int reg = in.op[0].reg;
    watch(w, in, AccessKind::kAtomic, sizeof(T), &a, reg);
    for (int l = 0; l < kLanes; ++l) {
      if (!w.active(l)) continue;
      const bool ok = a.in_range >> l & 1;
      if (ok && a.at[l] % sizeof(T))
        return fault(w, in,
                     fmt::format("misaligned buffer atomic at {:#x} by lane {}", a.at[l], l));
      const T old = ok ? run_atomic<T, Fn, kDataCount>(w, reg, l, a.at[l]) : T{0};
      if (in.glc) put_lane(w, reg, l, old);
    }
    return Flow::kNext;
  }
};

template <class T>
Flow load_to_lds(Wave& w, const Inst& in) {
  LaneBytes a = lanes(w, in, resource(w, in.op[2]), sizeof(T));
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
  std::vector<Semantics> all = {
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
      {"buffer_store_byte_d16_hi", access<u8, 1, true, 1>},
      {"buffer_store_short_d16_hi", access<u16, 1, true, 1>},
      {"buffer_load_ubyte_d16", access<u8, 1, false, 0>},
      {"buffer_load_ubyte_d16_hi", access<u8, 1, false, 1>},
      {"buffer_load_sbyte_d16", access<std::int8_t, 1, false, 0>},
      {"buffer_load_sbyte_d16_hi", access<std::int8_t, 1, false, 1>},
      {"buffer_load_short_d16", access<u16, 1, false, 0>},
      {"buffer_load_short_d16_hi", access<u16, 1, false, 1>},
  };
  AtomicTable<Atomics>(all, "buffer");
  return all;
}

}  // namespace attest::emulator
