#include "harness/device/emulator/wave.hpp"

#include <fmt/format.h>
#include <xmmintrin.h>

#include <cmath>

namespace attest::emulator {

int dpp_source(u16 ctrl, int lane) {
  const int row = lane & ~15, in_row = lane & 15;
  if (ctrl <= 0xff) return (lane & ~3) | (ctrl >> 2 * (lane & 3) & 3);
  if (ctrl >= 0x101 && ctrl <= 0x10f) {  // row_shl
    const int from = in_row + (ctrl & 15);
    return from > 15 ? -1 : row + from;
  }
  if (ctrl >= 0x111 && ctrl <= 0x11f) {  // row_shr
    const int from = in_row - (ctrl & 15);
    return from < 0 ? -1 : row + from;
  }
  if (ctrl >= 0x121 && ctrl <= 0x12f) return row + ((in_row - (ctrl & 15)) & 15);  // row_ror
  if (ctrl >= 0x150 && ctrl <= 0x15f) return row + (ctrl & 15);                    // row_newbcast
  switch (ctrl) {
    case 0x130:
      return lane == 63 ? -1 : lane + 1;  // wave_shl
    case 0x134:
      return (lane + 1) & 63;  // wave_rol
    case 0x138:
      return lane - 1;  // wave_shr
    case 0x13c:
      return (lane - 1) & 63;  // wave_ror
    case 0x140:
      return row + (15 - in_row);  // row_mirror
    case 0x141:
      return (lane & ~7) + (7 - (lane & 7));  // row_half_mirror
    case 0x142:
      return lane < 16 ? -1 : row - 1;  // row_bcast15
    case 0x143:
      return lane < 32 ? -1 : 31;  // row_bcast31
    default:
      return -1;
  }
}

namespace {

constexpr u32 kFlushOut = 0x8000, kFlushIn = 0x40;  // MXCSR: flush-to-zero, denormals-are-zero
constexpr u32 kMasked = 0x1f80;  // MXCSR: all exceptions masked, round to nearest

u32 host_control(u32 round, u32 denormals) {
  // MODE rounds: 0 nearest, 1 +inf, 2 -inf, 3 zero. MXCSR: 0 nearest, 1 -inf, 2 +inf, 3 zero.
  constexpr u32 kRound[4] = {0, 2, 1, 3};
  return kMasked | kRound[round & 3] << 13 | (denormals & 1 ? 0 : kFlushIn) |
         (denormals & 2 ? 0 : kFlushOut);
}

u32 select(u32 value, Sel sel, bool sext) {
  if (sel == Sel::kDword) return value;
  if (sel >= Sel::kWord0) {
    const u32 half = value >> (sel == Sel::kWord1 ? 16 : 0) & 0xffff;
    return sext ? static_cast<u32>(static_cast<i32>(half << 16) >> 16) : half;
  }
  const u32 byte = value >> 8 * static_cast<int>(sel) & 0xff;
  return sext ? static_cast<u32>(static_cast<i32>(byte << 24) >> 24) : byte;
}

bool dpp_valid(const Wave& w, const Inst& in, int lane, int* from) {
  *from = dpp_source(in.dpp_ctrl, lane);
  return *from >= 0 && w.active(*from);
}

// EXEC further cut by DPP: masked rows and banks, and lanes whose source is missing unless it reads
// as zero.
u64 write_mask(const Wave& w, const Inst& in) {
  u64 mask = w.exec();
  if (!in.dpp) return mask;
  for (int lane = 0; lane < kLanes; ++lane) {
    int from = 0;
    const bool enabled = in.row_mask >> (lane >> 4) & 1 && in.bank_mask >> (lane >> 2 & 3) & 1;
    if (!enabled || (!dpp_valid(w, in, lane, &from) && !in.bound_ctrl)) mask &= ~(u64{1} << lane);
  }
  return mask;
}

void apply_dpp(Wave& w, const Inst& in, u32* row) {
  u32 source[kLanes];
  std::memcpy(source, row, sizeof source);
  for (int lane = 0; lane < kLanes; ++lane) {
    int from = 0;
    row[lane] = dpp_valid(w, in, lane, &from) ? source[from] : 0;
  }
}

void apply_sign(const Operand& op, Type type, bool high, u32* row) {
  if (type == Type::kF64 && !high) return;
  const u32 sign = type == Type::kF16 ? 0x8000u : 0x80000000u;
  const u32 keep = op.abs ? ~sign : ~0u, flip = op.neg ? sign : 0u;
  for (int l = 0; l < kLanes; ++l) row[l] = (row[l] & keep) ^ flip;
}

// omod, then clamp to [0, 1]. omod is ignored with output denormals or IEEE on, and makes -0 and
// denormals +0; a NaN clamps to 0 with DX10_CLAMP and stays otherwise. Source: CDNA3 ISA, "Output
// modifiers".
struct OutputModifiers {
  double scale;
  bool omod, clamp, nan_to_zero;
  OutputModifiers(const Wave& w, const Inst& in)
      : scale(in.omod == 1   ? 2.0
              : in.omod == 2 ? 4.0
                             : 0.5),
        omod(in.omod != 0 && !(w.mode & kModeIeee) &&
             !(w.mode & (in.result == Type::kF32 ? 0x20 : 0x80))),
        clamp(in.clamp),
        nan_to_zero(w.mode & kModeDx10Clamp) {}
  template <class Real>
  Real apply(Real value, Real least_normal) const {
    if (omod) {
      value *= static_cast<Real>(scale);
      if (std::fabs(value) < least_normal) value = 0;
    }
    if (!clamp) return value;
    if (std::isnan(value)) return nan_to_zero ? Real{0} : value;
    return value > 0 ? (value < 1 ? value : Real{1}) : Real{0};
  }
};
void finish_row(Wave& w, const Inst& in, u32* row) {
  const OutputModifiers modifiers(w, in);
  if (in.result == Type::kF16) {
    for (int l = 0; l < kLanes; ++l) {
      const float value = static_cast<float>(std::bit_cast<_Float16>(static_cast<u16>(row[l])));
      const auto half = static_cast<_Float16>(modifiers.apply(value, 0x1p-14f));
      row[l] = (row[l] & 0xffff0000) | std::bit_cast<u16>(half);
    }
    return;
  }
  for (int l = 0; l < kLanes; ++l) row[l] = as_bits(modifiers.apply(as_float(row[l]), 0x1p-126f));
}

u32 merge_sdwa(u32 old, u32 value, const Inst& in) {
  if (in.dst_sel == Sel::kDword) return value;
  const bool word = in.dst_sel >= Sel::kWord0;
  const int shift = word ? (in.dst_sel == Sel::kWord1 ? 16 : 0) : 8 * static_cast<int>(in.dst_sel);
  const u32 bits = word ? 0xffffu : 0xffu;
  const u32 placed = (value & bits) << shift;
  if (in.dst_unused == Unused::kPreserve) return (old & ~(bits << shift)) | placed;
  if (in.dst_unused == Unused::kSext && (value & (bits ^ bits >> 1))) {
    return placed | (shift + (word ? 16 : 8) < 32 ? ~0u << (shift + (word ? 16 : 8)) : 0u);
  }
  return placed;
}

}  // namespace

const float kOpaqueOne = 1.0f, kOpaqueZero = 0.0f;

u32 host_control_f32(u32 mode) { return host_control(mode, mode >> 4 & 3); }
u32 host_control_f64(u32 mode) { return host_control(mode >> 2, mode >> 6 & 3); }

void set_host_control(u32 control) { _mm_setcsr(control); }

HostControl::HostControl(u32 current, u32 wanted) : restore_(current), changed_(current != wanted) {
  if (changed_) _mm_setcsr(wanted);
}
HostControl::~HostControl() {
  if (changed_) _mm_setcsr(restore_);
}

KeptHostControl::KeptHostControl() : control_(_mm_getcsr()) {}
KeptHostControl::~KeptHostControl() { _mm_setcsr(control_); }

u32 scalar32(const Wave& w, const Operand& op) {
  if (op.kind == Operand::Kind::kConstant) return static_cast<u32>(op.value);
  if (op.kind == Operand::Kind::kVector) return w.v[op.reg][0];
  if (op.reg < 128) return w.s[op.reg];
  return static_cast<u32>(scalar64(w, op));
}

u64 scalar64(const Wave& w, const Operand& op) {
  if (op.kind == Operand::Kind::kConstant) return op.value;
  switch (op.reg) {
    case kSharedBase:
      return kSharedAperture;
    case kPrivateBase:
      return kPrivateAperture;
    case kVccz:
      return w.s64(kVcc) == 0;
    case kExecz:
      return w.exec() == 0;
    case kScc:
      return w.scc;
    default:
      return w.s64(op.reg);
  }
}

const u32* fetch_slow(Wave& w, const Inst& in, int slot, bool high) {
  const Operand& op = in.op[slot];
  u32* row = w.staged[(slot & 3) * 2 + high];
  switch (op.kind) {
    case Operand::Kind::kVector:
      std::memcpy(row, w.v[op.reg + high], sizeof w.v[0]);
      break;
    case Operand::Kind::kConstant:
      std::memcpy(row, high ? op.row_high : op.row, sizeof w.v[0]);
      break;
    default: {
      const u32 value = op.count > 1 || op.reg >= 128
                            ? static_cast<u32>(scalar64(w, op) >> (high ? 32 : 0))
                            : scalar32(w, op);
      for (int l = 0; l < kLanes; ++l) row[l] = value;
    }
  }
  if (in.plain) return row;
  if (in.dpp && slot == in.first_source) apply_dpp(w, in, row);
  const int source = slot - in.first_source;
  const Sel sel = source == 0 ? in.src0_sel : source == 1 ? in.src1_sel : Sel::kDword;
  if (in.sdwa && sel != Sel::kDword) {
    for (int l = 0; l < kLanes; ++l) row[l] = select(row[l], sel, op.sext);
  }
  if (in.half_select >> source & 1) {
    for (int l = 0; l < kLanes; ++l) row[l] >>= 16;
  }
  if (op.neg || op.abs) apply_sign(op, in.type, high, row);
  return row;
}

void store_row(Wave& w, int reg, const u32* row) {
  if (w.exec() == kAllLanes) {
    std::memcpy(w.v[reg], row, sizeof w.v[0]);
    return;
  }
  const u32* mask = w.mask();
  u32* to = w.v[reg];
  for (int l = 0; l < kLanes; ++l) to[l] = (row[l] & mask[l]) | (to[l] & ~mask[l]);
}

void store_slow(Wave& w, const Inst& in, int reg, u32* row) {
  if (in.plain) return store_row(w, reg, row);
  if (in.float_result && in.result != Type::kF64 && (in.omod || in.clamp)) finish_row(w, in, row);
  if (in.sdwa) {
    for (int l = 0; l < kLanes; ++l) row[l] = merge_sdwa(w.v[reg][l], row[l], in);
  }
  if (in.high_result) {
    for (int l = 0; l < kLanes; ++l) row[l] = (w.v[reg][l] & 0xffff) | row[l] << 16;
  }
  const u64 mask = write_mask(w, in);
  for (int l = 0; l < kLanes; ++l) {
    if (mask >> l & 1) w.v[reg][l] = row[l];
  }
}

void store64(Wave& w, const Inst& in, u32* low, u32* high) {
  if (in.float_result && (in.omod || in.clamp)) {
    const OutputModifiers modifiers(w, in);
    for (int l = 0; l < kLanes; ++l) {
      const u64 bits = std::bit_cast<u64>(modifiers.apply(as_double(low[l], high[l]), 0x1p-1022));
      low[l] = static_cast<u32>(bits);
      high[l] = static_cast<u32>(bits >> 32);
    }
  }
  if (!in.dpp) {
    store_row(w, in.op[0].reg, low);
    store_row(w, in.op[0].reg + 1, high);
    return;
  }
  store_slow(w, in, in.op[0].reg, low);
  store_slow(w, in, in.op[0].reg + 1, high);
}

Flow fault(Wave& w, const Inst& in, std::string what) {
  const Dim3 g = w.group->id;
  w.fault = fmt::format("{}\n  at {}\n  kernel {}, workgroup ({}, {}, {}), wave {}", what,
                        w.program->where(in), w.program->kernel.name, g.x, g.y, g.z, w.id);
  return Flow::kFault;
}

}  // namespace attest::emulator
