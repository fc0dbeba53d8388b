// DS: LDS reads, writes, atomics, and the cross-lane permutes. Source: MI300 ISA, chapters 11
// and 12.13. An access beyond the workgroup's LDS is a fault here; hardware reads zero and drops
// the write.
#include <fmt/format.h>

#include <algorithm>

#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/float_ops.hpp"
#include "harness/device/emulator/swizzle.hpp"

namespace attest::emulator {
namespace {

Flow outside(Wave& w, const Inst& in, int lane, u64 at, int bytes) {
  return fault(
      w, in,
      fmt::format("LDS access of {} bytes at {} by lane {} is outside the workgroup's {} bytes",
                  bytes, at, lane, w.group->lds.size()));
}

// Byte addresses of all lanes, or the lane that is outside (-1: none).
template <int kBytes>
int addresses(Wave& w, const u32* base, u32 offset, u32* out) {
  const u64 size = w.group->lds.size(), exec = w.exec();
  u64 bad = 0;
  for (int l = 0; l < kLanes; ++l) {
    out[l] = base[l] + offset;
    bad |= u64{u64{out[l]} + kBytes > size} << l;  // base + offset wraps: LLVM folds negative bases
  }
  bad &= exec;
  return bad ? std::countr_zero(bad) : -1;
}

// The checks that watch are told of an access before it is done.
void watch(const Wave& w, const Inst& in, AccessKind kind, int bytes, const u32* at,
           int data_row = -1, int dword = 0) {
  if (Monitor* const monitor = w.group->monitor) {
    monitor->lds(w, in, at, {.kind = kind, .bytes = bytes, .lanes = w.exec(), .dword = dword},
                 data_row);
  }
}

// Rows of a register tuple, for whole-wave writes; others go through a mask.
template <int kDwords>
void scatter(Wave& w, int reg, const u32 (*rows)[kLanes]) {
  for (int d = 0; d < kDwords; ++d) store_row(w, reg + d, rows[d]);
}

template <int kDwords>
Flow read_at(Wave& w, const Inst& in, int reg, u32 offset) {
  u32 at[kLanes];
  if (const int lane = addresses<4 * kDwords>(w, w.v[in.op[1].reg], offset, at); lane >= 0) {
    return outside(w, in, lane, at[lane], 4 * kDwords);
  }
  watch(w, in, AccessKind::kLoad, 4 * kDwords, at);
  const std::byte* lds = w.group->lds.data();
  alignas(64) u32 rows[kDwords][kLanes];
  const u64 exec = w.exec();
  for (int l = 0; l < kLanes; ++l) {
    u32 lane[kDwords] = {};
    if (exec >> l & 1) std::memcpy(lane, lds + at[l], sizeof lane);
    for (int d = 0; d < kDwords; ++d) rows[d][l] = lane[d];
  }
  scatter<kDwords>(w, reg, rows);
  return Flow::kNext;
}
template <int kDwords>
Flow read(Wave& w, const Inst& in) {
  return read_at<kDwords>(w, in, in.op[0].reg, static_cast<u32>(in.offset));
}
template <int kDwords, int kScale>
Flow read2(Wave& w, const Inst& in) {
  // The address register may be part of the destination, so that it is kept.
  alignas(64) u32 base[kLanes];
  std::memcpy(base, w.v[in.op[1].reg], sizeof base);
  if (Flow f = read_at<kDwords>(w, in, in.op[0].reg, static_cast<u32>(in.offset) * kScale);
      f != Flow::kNext)
    return f;
  u32 at[kLanes];
  const u32 offset = static_cast<u32>(in.offset1) * kScale;
  if (const int lane = addresses<4 * kDwords>(w, base, offset, at); lane >= 0)
    return outside(w, in, lane, at[lane], 4 * kDwords);
  watch(w, in, AccessKind::kLoad, 4 * kDwords, at, -1, kDwords);
  alignas(64) u32 rows[kDwords][kLanes] = {};
  for (int l = 0; l < kLanes; ++l) {
    u32 lane[kDwords] = {};
    if (w.active(l)) std::memcpy(lane, w.group->lds.data() + at[l], sizeof lane);
    for (int d = 0; d < kDwords; ++d) rows[d][l] = lane[d];
  }
  scatter<kDwords>(w, in.op[0].reg + kDwords, rows);
  return Flow::kNext;
}
template <int kDwords>
Flow write_at(Wave& w, const Inst& in, int reg, u32 offset) {
  u32 at[kLanes];
  if (const int lane = addresses<4 * kDwords>(w, w.v[in.op[0].reg], offset, at); lane >= 0) {
    return outside(w, in, lane, at[lane], 4 * kDwords);
  }
  watch(w, in, AccessKind::kStore, 4 * kDwords, at, reg);
  std::byte* lds = w.group->lds.data();
  const u64 exec = w.exec();
  for (int l = 0; l < kLanes; ++l) {
    u32 lane[kDwords];
    for (int d = 0; d < kDwords; ++d) lane[d] = w.v[reg + d][l];
    if (exec >> l & 1) std::memcpy(lds + at[l], lane, sizeof lane);
  }
  return Flow::kNext;
}
template <int kDwords>
Flow write(Wave& w, const Inst& in) {
  return write_at<kDwords>(w, in, in.op[1].reg, static_cast<u32>(in.offset));
}
template <int kDwords, int kScale>
Flow write2(Wave& w, const Inst& in) {
  if (Flow f = write_at<kDwords>(w, in, in.op[1].reg, static_cast<u32>(in.offset) * kScale);
      f != Flow::kNext)
    return f;
  return write_at<kDwords>(w, in, in.op[2].reg, static_cast<u32>(in.offset1) * kScale);
}

// Sub-dword reads. kHalf: -1 whole register, 0 low half kept company by the old high half, 1 the
// high half.
template <class T, int kHalf>
Flow read_small(Wave& w, const Inst& in) {
  u32 at[kLanes];
  if (const int lane = addresses<sizeof(T)>(w, w.v[in.op[1].reg], static_cast<u32>(in.offset), at);
      lane >= 0) {
    return outside(w, in, lane, at[lane], sizeof(T));
  }
  watch(w, in, AccessKind::kLoad, sizeof(T), at);
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    T value;
    std::memcpy(&value, w.group->lds.data() + at[l], sizeof value);
    u32& to = w.v[in.op[0].reg][l];
    const u32 wide = static_cast<u32>(static_cast<i32>(value));
    to = into_half<kHalf>(to, wide);
  }
  return Flow::kNext;
}
template <class T, int kShift>
Flow write_small(Wave& w, const Inst& in) {
  u32 at[kLanes];
  if (const int lane = addresses<sizeof(T)>(w, w.v[in.op[0].reg], static_cast<u32>(in.offset), at);
      lane >= 0) {
    return outside(w, in, lane, at[lane], sizeof(T));
  }
  watch(w, in, AccessKind::kStore, sizeof(T), at, in.op[1].reg);
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    const T value = static_cast<T>(w.v[in.op[1].reg][l] >> kShift);
    std::memcpy(w.group->lds.data() + at[l], &value, sizeof value);
  }
  return Flow::kNext;
}

// Atomics in lane order. Operands: [return,] address, data[, data2].
template <class T, bool kReturn, auto Fn>
Flow atomic(Wave& w, const Inst& in) {
  const int a = kReturn ? 1 : 0;
  u32 at[kLanes];
  if (const int lane = addresses<sizeof(T)>(w, w.v[in.op[a].reg], static_cast<u32>(in.offset), at);
      lane >= 0) {
    return outside(w, in, lane, at[lane], sizeof(T));
  }
  watch(w, in, AccessKind::kAtomic, sizeof(T), at, in.op[a + 1].reg);
  constexpr int kDwords = sizeof(T) / 4;
  for (int l = 0; l < kLanes; ++l) {
    if (!w.active(l)) continue;
    T old, x = 0, y = 0;
    std::memcpy(&old, w.group->lds.data() + at[l], sizeof old);
    for (int d = kDwords; d-- > 0;) {
      x = static_cast<T>((u64{x} << 31 << 1) | w.v[in.op[a + 1].reg + d][l]);
      if (in.op[a + 2].kind == Operand::Kind::kVector)
        y = static_cast<T>((u64{y} << 31 << 1) | w.v[in.op[a + 2].reg + d][l]);
    }
    const T value = Fn(old, x, y);
    std::memcpy(w.group->lds.data() + at[l], &value, sizeof value);
    for (int d = 0; kReturn && d < kDwords; ++d)
      w.v[in.op[0].reg + d][l] = static_cast<u32>(u64{old} >> 32 * d);
  }
  return Flow::kNext;
}

Flow bpermute(
    Wave& w,
    const Inst& in) {  // pull: D[l] = data[(address[l] / 4) mod 64]; inactive sources give 0
  const u32 *address = w.v[in.op[1].reg], *data = w.v[in.op[2].reg];
  alignas(64) u32 r[kLanes];
  const u64 exec = w.exec();
  for (int l = 0; l < kLanes; ++l) {
    const u32 from = (address[l] + static_cast<u32>(in.offset)) >> 2 & 63;
    r[l] = exec >> from & 1 ? data[from] : 0;
  }
  store_row(w, in.op[0].reg, r);
  return Flow::kNext;
}
Flow permute(
    Wave& w,
    const Inst& in) {  // push: D[(address[l] / 4) mod 64] = data[l]; lanes nobody writes get 0
  const u32 *address = w.v[in.op[1].reg], *data = w.v[in.op[2].reg];
  alignas(64) u32 r[kLanes] = {};
  for (int l = 0; l < kLanes; ++l) {
    if (w.active(l)) r[(address[l] + static_cast<u32>(in.offset)) >> 2 & 63] = data[l];
  }
  store_row(w, in.op[0].reg, r);
  return Flow::kNext;
}
Flow swizzle(Wave& w, const Inst& in) {
  const u32* data = w.v[in.op[1].reg];
  const u32 o = static_cast<u32>(in.offset);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const int from = swizzle_source(o, l);
    r[l] = w.active(from) ? data[from] : 0;
  }
  store_row(w, in.op[0].reg, r);
  return Flow::kNext;
}

// Both forms of an atomic: ds_add_u32, and ds_add_rtn_u32, which returns the old value.
template <class T, auto Fn>
void add_atomic(std::vector<Semantics>& all, std::string_view op, std::string_view type) {
  all.push_back({keep_name(fmt::format("ds_{}_{}", op, type)), atomic<T, false, Fn>});
  all.push_back({keep_name(fmt::format("ds_{}_rtn_{}", op, type)), atomic<T, true, Fn>});
}
template <class T>
void add_atomics(std::vector<Semantics>& all) {
  using S = std::make_signed_t<T>;
  const bool wide = sizeof(T) == 8;
  const std::string_view u = wide ? "u64" : "u32", i = wide ? "i64" : "i32",
                         b = wide ? "b64" : "b32";
  add_atomic<T, [](T m, T x, T) { return static_cast<T>(m + x); }>(all, "add", u);
  add_atomic<T, [](T m, T x, T) { return static_cast<T>(m - x); }>(all, "sub", u);
  add_atomic<T, [](T m, T x, T) { return static_cast<T>(x - m); }>(all, "rsub", u);
  add_atomic<T, [](T m, T x, T) { return static_cast<T>(m >= x ? 0 : m + 1); }>(all, "inc", u);
  add_atomic<T, [](T m, T x, T) { return static_cast<T>(m == 0 || m > x ? x : m - 1); }>(all, "dec",
                                                                                         u);
  add_atomic<T, [](T m, T x, T) { return static_cast<S>(m) < static_cast<S>(x) ? m : x; }>(
      all, "min", i);
  add_atomic<T, [](T m, T x, T) { return static_cast<S>(m) > static_cast<S>(x) ? m : x; }>(
      all, "max", i);
  add_atomic<T, [](T m, T x, T) { return m < x ? m : x; }>(all, "min", u);
  add_atomic<T, [](T m, T x, T) { return m > x ? m : x; }>(all, "max", u);
  add_atomic<T, [](T m, T x, T) { return static_cast<T>(m & x); }>(all, "and", b);
  add_atomic<T, [](T m, T x, T) { return static_cast<T>(m | x); }>(all, "or", b);
  add_atomic<T, [](T m, T x, T) { return static_cast<T>(m ^ x); }>(all, "xor", b);
  add_atomic<T, [](T m, T c, T x) { return m == c ? x : m; }>(all, "cmpst", b);
  all.push_back({keep_name(fmt::format("ds_wrxchg_rtn_{}", b)),
                 atomic<T, true, [](T, T x, T) { return x; }>});
}
}  // namespace

Flow store_to_lds(Wave& w, const Inst& in, const u32* row) {
  alignas(64) u32 base[kLanes], at[kLanes];
  for (int l = 0; l < kLanes; ++l) base[l] = (w.s[kM0] & 0xffff) + 4 * static_cast<u32>(l);
  if (const int lane = addresses<4>(w, base, static_cast<u32>(in.offset), at); lane >= 0)
    return outside(w, in, lane, at[lane], 4);
  if (Monitor* const monitor = w.group->monitor)
    monitor->lds_dma(w, in, at, {.kind = AccessKind::kStore, .bytes = 4, .lanes = w.exec()});
  for (int l = 0; l < kLanes; ++l) {
    if (w.active(l)) std::memcpy(w.group->lds.data() + at[l], &row[l], 4);
  }
  return Flow::kNext;
}

std::vector<Semantics> lds_semantics() {
  std::vector<Semantics> all = {
      {"ds_read_b32", read<1>},
      {"ds_read_b64", read<2>},
      {"ds_read_b96", read<3>},
      {"ds_read_b128", read<4>},
      {"ds_read2_b32", read2<1, 4>},
      {"ds_read2_b64", read2<2, 8>},
      {"ds_read2st64_b32", read2<1, 256>},
      {"ds_read2st64_b64", read2<2, 512>},
      {"ds_read_u8", read_small<u8, -1>},
      {"ds_read_i8", read_small<std::int8_t, -1>},
      {"ds_read_u16", read_small<u16, -1>},
      {"ds_read_i16", read_small<std::int16_t, -1>},
      {"ds_read_u8_d16", read_small<u8, 0>},
      {"ds_read_u8_d16_hi", read_small<u8, 1>},
      {"ds_read_i8_d16", read_small<std::int8_t, 0>},
      {"ds_read_i8_d16_hi", read_small<std::int8_t, 1>},
      {"ds_read_u16_d16", read_small<u16, 0>},
      {"ds_read_u16_d16_hi", read_small<u16, 1>},
      {"ds_write_b32", write<1>},
      {"ds_write_b64", write<2>},
      {"ds_write_b96", write<3>},
      {"ds_write_b128", write<4>},
      {"ds_write2_b32", write2<1, 4>},
      {"ds_write2_b64", write2<2, 8>},
      {"ds_write2st64_b32", write2<1, 256>},
      {"ds_write2st64_b64", write2<2, 512>},
      {"ds_write_b8", write_small<u8, 0>},
      {"ds_write_b16", write_small<u16, 0>},
      {"ds_write_b8_d16_hi", write_small<u8, 16>},
      {"ds_write_b16_d16_hi", write_small<u16, 16>},
      {"ds_bpermute_b32", bpermute},
      {"ds_permute_b32", permute},
      {"ds_swizzle_b32", swizzle},
      {"ds_add_f32", atomic<u32, false, [](u32 m, u32 x, u32) { return add_f32(m, x); }>},
      {"ds_add_rtn_f32", atomic<u32, true, [](u32 m, u32 x, u32) { return add_f32(m, x); }>},
  };
  add_atomics<u32>(all);
  add_atomics<u64>(all);
  add_atomic<u64, [](u64 m, u64 x, u64) { return atomic_add_f64(m, x); }>(all, "add", "f64");
  add_atomic<u64, [](u64 m, u64 x, u64) { return atomic_min_f64(m, x); }>(all, "min", "f64");
  add_atomic<u64, [](u64 m, u64 x, u64) { return atomic_max_f64(m, x); }>(all, "max", "f64");
  add_atomic<u32, [](u32 m, u32 x, u32) { return min32<true>(m, x); }>(all, "min", "f32");
  add_atomic<u32, [](u32 m, u32 x, u32) { return max32<true>(m, x); }>(all, "max", "f32");
  add_atomic<u32, [](u32 m, u32 x, u32) { return atomic_pk_add_f16(m, x); }>(all, "pk_add", "f16");
  add_atomic<u32, [](u32 m, u32 x, u32) { return atomic_pk_add_bf16(m, x); }>(all, "pk_add",
                                                                              "bf16");
  return all;
}

}  // namespace attest::emulator
