// Conversions between f32 and the fp8 formats. Source: MI300 ISA, chapter 7.2 and V_CVT_*_FP8_*:
// the narrowing ones take neg and abs, ignore clamp and omod, and keep the destination's other
// bits; the widening ones look at nothing but src0 and, with SDWA, its select.
#include "harness/device/emulator/fp8.hpp"

namespace attest::emulator {
namespace {

bool saturates(const Wave& w) { return (w.mode & kModeFp16Overflow) != 0; }

// op_sel[2] names the half that is written; src0 goes to its low byte.
template <Fnuz kFormat>
Flow narrow_pair(Wave& w, const Inst& in) {
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2), *old = w.v[in.op[0].reg];
  const bool high = in.op_sel >> 2 & 1, saturate = saturates(w);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const u32 pair = encode_fnuz(a[l], kFormat, saturate, false) |
                     encode_fnuz(b[l], kFormat, saturate, false) << 8;
    r[l] = high ? (old[l] & 0xffff) | pair << 16 : (old[l] & 0xffff0000) | pair;
  }
  store(w, in, r);
  return Flow::kNext;
}

// Stochastic rounding: the top bits of src1 are added below the mantissa that is kept, and the rest
// is cut off. op_sel[3:2] names the byte that is written.
template <Fnuz kFormat>
Flow narrow_stochastic(Wave& w, const Inst& in) {
  const u32 *a = fetch(w, in, 1), *random = fetch(w, in, 2), *old = w.v[in.op[0].reg];
  const bool saturate = saturates(w);
  const u32 shift = 8 * (in.op_sel >> 2 & 3);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    u32 bits = a[l];
    // At most infinity, which overflows as what it stands for does.
    if ((bits & 0x7fffffff) < 0x7f800000) bits += random[l] >> (9 + kFormat.mantissa_bits);
    if (!is_nan32(a[l]) && is_nan32(bits)) bits = (bits & 0x80000000) | 0x7f800000;
    r[l] = (old[l] & ~(0xffu << shift)) | encode_fnuz(bits, kFormat, saturate, true) << shift;
  }
  store(w, in, r);
  return Flow::kNext;
}

template <const std::array<u32, 256>& kValues>
Flow widen(Wave& w, const Inst& in) {
  const u32* a = fetch(w, in, 1);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = kValues[a[l] & 0xff];
  store(w, in, r);
  return Flow::kNext;
}
template <const std::array<u32, 256>& kValues>
Flow widen_pair(Wave& w, const Inst& in) {
  const u32* a = fetch(w, in, 1);
  alignas(64) u32 low[kLanes], high[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    low[l] = kValues[a[l] & 0xff];
    high[l] = kValues[a[l] >> 8 & 0xff];
  }
  store64(w, in, low, high);
  return Flow::kNext;
}

}  // namespace

std::vector<Semantics> vector_fp8_semantics() {
  return {
      {"v_cvt_pk_fp8_f32", narrow_pair<kFp8>},       {"v_cvt_pk_bf8_f32", narrow_pair<kBf8>},
      {"v_cvt_sr_fp8_f32", narrow_stochastic<kFp8>}, {"v_cvt_sr_bf8_f32", narrow_stochastic<kBf8>},
      {"v_cvt_f32_fp8", widen<kFp8Values>},          {"v_cvt_f32_bf8", widen<kBf8Values>},
      {"v_cvt_pk_f32_fp8", widen_pair<kFp8Values>},  {"v_cvt_pk_f32_bf8", widen_pair<kBf8Values>},
  };
}

}  // namespace attest::emulator
