// State of one wave64 and of its workgroup, and how vector instructions fetch and store their
// operands.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "harness/core/arith.hpp"
#include "harness/device/emulator/inst.hpp"

namespace attest::emulator {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr int kLanes = 64;
inline constexpr u64 kAllLanes = ~u64{0};
// Flat addresses above these reach LDS and private memory; no host address is that high.
inline constexpr u64 kSharedAperture = u64{0x00010000} << 32,
                     kPrivateAperture = u64{0x00020000} << 32;

// Bits of MODE beside rounding and denormals.
inline constexpr u32 kModeDx10Clamp = 0x100, kModeIeee = 0x200, kModeFp16Overflow = 1u << 23,
                     kModeGprIndex = 1u << 27;

struct AddressRange {
  u64 begin = 1, end = 0;
};

class Monitor;
class StoreBuffer;

struct Workgroup {
  std::vector<std::byte> lds;
  Memory* memory = nullptr;
  std::vector<AddressRange>* cache =
      nullptr;  // [instruction] the allocation it touched last, one set a host thread
  Dim3 id;
  u32 linear = 0;                 // of id, x fastest
  int slot = 0;                   // of the workgroups that are resident at once
  Arith arith = Arith::kFma;      // of matrix unit and transcendentals
  Monitor* monitor = nullptr;     // the checks that watch; null: none
  StoreBuffer* stores = nullptr;  // that are late; null: none are
};

struct alignas(64) Wave {
  alignas(64) u32 v[512][kLanes];     // a0 is row 256
  alignas(64) u32 staged[8][kLanes];  // broadcast or modified sources: two rows an operand
  alignas(64) u32 lane_mask[kLanes];  // all ones where lane_mask_exec has a one
  u64 lane_mask_exec = 0;
  u32 s[128];
  bool scc = false;
  u32 mode = 0xf0;
  u32 pc = 0;  // index of the next instruction
  int id = 0;
  int shadow = 0;         // of the waves that are resident at once
  int initial_sgprs = 0;  // that a launch fills, from s0
  bool waiting = false, ended = false;
  const Program* program = nullptr;
  Workgroup* group = nullptr;
  std::vector<std::byte> scratch;  // [lane][scratch_bytes]
  u32 scratch_stride = 0;
  std::string fault;

  u64 s64(int reg) const {
    u64 value;
    std::memcpy(&value, &s[reg], 8);
    return value;
  }
  void set_s64(int reg, u64 value) { std::memcpy(&s[reg], &value, 8); }
  u64 exec() const { return s64(kExec); }
  bool active(int lane) const { return exec() >> lane & 1; }
  const u32* mask() {
    if (lane_mask_exec != exec()) rebuild_mask(exec());
    return lane_mask;
  }
  void rebuild_mask(u64 bits) {
    lane_mask_exec = bits;
    for (int lane = 0; lane < kLanes; ++lane) lane_mask[lane] = -static_cast<u32>(bits >> lane & 1);
  }
};

// Scalar source, 32 and 64 bits wide.
u32 scalar32(const Wave& w, const Operand& op);
u64 scalar64(const Wave& w, const Operand& op);
inline void set_scalar32(Wave& w, const Operand& op, u32 value) { w.s[op.reg & 127] = value; }
inline void set_scalar64(Wave& w, const Operand& op, u64 value) { w.set_s64(op.reg & 127, value); }

// 64 lanes of source `slot` (the operand's position in the text): the register row itself, or a
// staged copy after broadcast, SDWA, DPP, abs and neg.
const u32* fetch_slow(Wave& w, const Inst& in, int slot, bool high);
inline const u32* fetch(Wave& w, const Inst& in, int slot) {
  const Operand& op = in.op[slot];
  if (in.plain && op.kind == Operand::Kind::kVector) return w.v[op.reg];
  if (in.plain && op.kind == Operand::Kind::kConstant) return op.row;
  return fetch_slow(w, in, slot, false);
}
inline const u32* fetch_high(Wave& w, const Inst& in, int slot) {
  const Operand& op = in.op[slot];
  if (in.plain && op.kind == Operand::Kind::kVector) return w.v[op.reg + 1];
  if (in.plain && op.kind == Operand::Kind::kConstant) return op.row_high;
  return fetch_slow(w, in, slot, true);
}

// The lane that DPP reads for `lane`, or -1. Source: CDNA3 ISA, "DPP_CTRL".
int dpp_source(u16 ctrl, int lane);

// Writes a result row to a vector register under EXEC, SDWA's and DPP's rules, omod and clamp.
void store_slow(Wave& w, const Inst& in, int reg, u32* row);
inline void store(Wave& w, const Inst& in, u32* row) {
  if (in.plain && w.exec() == kAllLanes) {
    std::memcpy(w.v[in.op[0].reg], row, sizeof w.v[0]);
  } else {
    store_slow(w, in, in.op[0].reg, row);
  }
}
// Under EXEC only.
void store_row(Wave& w, int reg, const u32* row);
void store64(Wave& w, const Inst& in, u32* low, u32* high);

// 1.0f that the compiler does not see through: x * kOpaqueOne flushes denormals as the control word
// says, where it would fold x * 1.0f to x.
extern const float kOpaqueOne, kOpaqueZero;

// A loaded 16-bit value in its register: -1 the whole register, 0 or 1 that half of it (D16).
template <int kHalf>
constexpr u32 into_half(u32 old, u32 value) {
  if (kHalf < 0) return value;
  return kHalf == 0 ? (old & 0xffff0000) | (value & 0xffff) : (old & 0xffff) | value << 16;
}

inline float as_float(u32 bits) { return std::bit_cast<float>(bits); }
inline u32 as_bits(float value) { return std::bit_cast<u32>(value); }
inline double as_double(u32 low, u32 high) { return std::bit_cast<double>(u64{high} << 32 | low); }
inline bool is_nan32(u32 bits) { return (bits & 0x7fffffff) > 0x7f800000; }

Flow fault(Wave& w, const Inst& in, std::string what);

// The LDS end of a load that bypasses registers: each active lane's dword of `row` goes to
// M0[15:0] + the instruction's offset + 4 * lane. Source: MI300 ISA, "Memory Buffer Load to LDS".
Flow store_to_lds(Wave& w, const Inst& in, const u32* row);

// The host's floating-point control for a wave's MODE: rounding and denormals of f32, or of f64 and
// f16.
u32 host_control_f32(u32 mode);
u32 host_control_f64(u32 mode);
// Sets the host's control word for a scope when it differs from `wanted`.
class HostControl {
 public:
  HostControl(u32 current, u32 wanted);
  ~HostControl();

 private:
  u32 restore_;
  bool changed_;
};
void set_host_control(u32 control);
// Puts the thread's control word back at its end, also when memory runs out.
class KeptHostControl {
 public:
  KeptHostControl();
  ~KeptHostControl();
  KeptHostControl(const KeptHostControl&) = delete;
  KeptHostControl& operator=(const KeptHostControl&) = delete;

 private:
  u32 control_;
};

// One lane-wise operation a handler: Fn maps the sources' bits to the result's bits.
template <auto Fn>
Flow map1(Wave& w, const Inst& in) {
  const u32* a = fetch(w, in, 1);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = Fn(a[l]);
  store(w, in, r);
  return Flow::kNext;
}
template <auto Fn>
Flow map2(Wave& w, const Inst& in) {
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = Fn(a[l], b[l]);
  store(w, in, r);
  return Flow::kNext;
}
template <auto Fn>
Flow map3(Wave& w, const Inst& in) {
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2), *c = fetch(w, in, 3);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = Fn(a[l], b[l], c[l]);
  store(w, in, r);
  return Flow::kNext;
}

// One of two handlers: integer instructions saturate under clamp.
template <Handler kWrapping, Handler kSaturating>
Flow by_clamp(Wave& w, const Inst& in) {
  return in.clamp ? kSaturating(w, in) : kWrapping(w, in);
}

}  // namespace attest::emulator
