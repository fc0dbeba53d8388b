// Dot products of packed integers and of f16. Source: MI300 ISA, V_DOT2_*, V_DOT4_*, V_DOT8_*; the
// f16 ones flush subnormals whatever MODE says (chapter 6.4).
#include "harness/device/emulator/float_ops.hpp"

namespace attest::emulator {
namespace {

// Sum of the products of the 32 / kBits signed or unsigned fields, and c.
template <int kBits, bool kSigned>
constexpr i64 dot(u32 a, u32 b, i64 c) {
  const auto field = [](u32 x, int at) {
    const u32 up = x << (32 - kBits - at);
    return kSigned ? i64{static_cast<i32>(up) >> (32 - kBits)} : i64{up >> (32 - kBits)};
  };
  for (int at = 0; at < 32; at += kBits) c += field(a, at) * field(b, at);
  return c;
}
template <int kBits, bool kSigned>
u32 dot_of(u32 a, u32 b, u32 c, bool clamp) {
  const i64 sum = dot<kBits, kSigned>(a, b, kSigned ? i64{static_cast<i32>(c)} : i64{c});
  const i64 low = kSigned ? INT32_MIN : 0, high = kSigned ? INT32_MAX : UINT32_MAX;
  return static_cast<u32>(!clamp ? sum : sum < low ? low : sum > high ? high : sum);
}

// kAccumulates: the destination is the third source.
template <int kBits, bool kSigned, bool kAccumulates>
Flow dot_integer(Wave& w, const Inst& in) {
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2),
            *c = kAccumulates ? w.v[in.op[0].reg] : fetch(w, in, 3);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = dot_of<kBits, kSigned>(a[l], b[l], c[l], in.clamp);
  store(w, in, r);
  return Flow::kNext;
}

float half_at(u32 pair, bool high, bool negate) {
  const u32 half = HalfMode::flushed(high ? pair >> 16 : pair & 0xffff, false);
  return half_to_float(half ^ (negate ? 0x8000 : 0));
}
template <bool kAccumulates>
Flow dot_half(Wave& w, const Inst& in) {
  HostControl flush(host_control_f32(w.mode), host_control_f32(0));
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2),
            *c = kAccumulates ? w.v[in.op[0].reg] : fetch(w, in, 3);
  const u32 select[2] = {in.op_sel, in.op_sel_hi}, negate[2] = {in.neg_lo, in.neg_hi};
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    float sum = as_float(c[l]);
    if (in.neg_lo & 4) sum = -sum;
    for (int half = 0; half < 2; ++half) {
      sum = __builtin_fmaf(half_at(a[l], select[half] & 1, negate[half] & 1),
                           half_at(b[l], select[half] & 2, negate[half] & 2), sum);
    }
    r[l] = as_bits(sum);
  }
  store(w, in, r);
  return Flow::kNext;
}

}  // namespace

std::vector<Semantics> vector_dot_semantics() {
  return {
      {"v_dot2_i32_i16", dot_integer<16, true, false>},
      {"v_dot2_u32_u16", dot_integer<16, false, false>},
      {"v_dot4_i32_i8", dot_integer<8, true, false>},
      {"v_dot4_u32_u8", dot_integer<8, false, false>},
      {"v_dot8_i32_i4", dot_integer<4, true, false>},
      {"v_dot8_u32_u4", dot_integer<4, false, false>},
      {"v_dot2c_i32_i16", dot_integer<16, true, true>},
      {"v_dot4c_i32_i8", dot_integer<8, true, true>},
      {"v_dot8c_i32_i4", dot_integer<4, true, true>},
      {"v_dot2_f32_f16", dot_half<false>, Type::kB32, true},
      {"v_dot2c_f32_f16", dot_half<true>, Type::kB32, true},
  };
}

}  // namespace attest::emulator
