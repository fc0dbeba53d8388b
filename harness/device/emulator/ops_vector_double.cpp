// Vector f64 arithmetic and conversions. Source: AMD Instinct MI300 ISA, chapter 12.
#include <algorithm>

#include "harness/device/emulator/float_ops.hpp"

namespace attest::emulator {
namespace {

constexpr i32 sg(u32 value) { return static_cast<i32>(value); }

u32 cvt_i32_f64(double x) {
  if (x != x) return 0;
  if (x >= 2147483647.0) return 0x7fffffff;
  return x <= -2147483648.0 ? 0x80000000u : static_cast<u32>(static_cast<i32>(x));
}
u32 cvt_u32_f64(double x) {
  if (!(x > 0)) return 0;
  return x >= 4294967295.0 ? ~0u : static_cast<u32>(x);
}
struct Pairs {
  const u32 *low, *high;
  double at(int l) const { return as_double(low[l], high[l]); }
};
Pairs pair(Wave& w, const Inst& in, int slot) {
  return {fetch(w, in, slot), fetch_high(w, in, slot)};
}

template <int kSources, auto Fn>
Flow map_f64(Wave& w, const Inst& in) {
  HostControl control(host_control_f32(w.mode), host_control_f64(w.mode));
  const Pairs a = pair(w, in, 1), b = kSources > 1 ? pair(w, in, 2) : a,
              c = kSources > 2 ? pair(w, in, 3) : a;
  alignas(64) u32 r0[kLanes], r1[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    u64 bits;
    if constexpr (kSources == 1) bits = bits64(Fn(a.at(l)));
    if constexpr (kSources == 2) bits = bits64(Fn(a.at(l), b.at(l)));
    if constexpr (kSources == 3) bits = bits64(Fn(a.at(l), b.at(l), c.at(l)));
    r0[l] = static_cast<u32>(bits);
    r1[l] = static_cast<u32>(bits >> 32);
  }
  store64(w, in, r0, r1);
  return Flow::kNext;
}
template <auto Fn>
Flow narrow_f64(Wave& w, const Inst& in) {  // f64 source, 32-bit result, whose denormals are f32's
  const Pairs a = pair(w, in, 1);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = Fn(a.at(l));
  store(w, in, r);
  return Flow::kNext;
}
template <auto Fn>
Flow widen_f64(Wave& w, const Inst& in) {  // 32-bit source, f64 result
  const u32* a = fetch(w, in, 1);
  alignas(64) u32 r0[kLanes], r1[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const u64 bits = bits64(Fn(a[l]));
    r0[l] = static_cast<u32>(bits);
    r1[l] = static_cast<u32>(bits >> 32);
  }
  store64(w, in, r0, r1);
  return Flow::kNext;
}
Flow ldexp_f64(Wave& w, const Inst& in) {
  HostControl control(host_control_f32(w.mode), host_control_f64(w.mode));
  const Pairs a = pair(w, in, 1);
  const u32* e = fetch(w, in, 2);
  alignas(64) u32 r0[kLanes], r1[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const u64 bits = bits64(std::ldexp(a.at(l), std::clamp(sg(e[l]), -5000, 5000)));
    r0[l] = static_cast<u32>(bits);
    r1[l] = static_cast<u32>(bits >> 32);
  }
  store64(w, in, r0, r1);
  return Flow::kNext;
}

// v_div_scale_f64, v_div_fmas_f64 and v_div_fixup_f64: as the f32 ones (ops_vector_float.cpp), with
// 2^128. Source: MI300 ISA, V_DIV_SCALE_F64.
int exponent64(double x) { return static_cast<int>(bits64(x) >> 52 & 0x7ff); }
struct Scaled {
  double value;
  bool post;
};
Scaled div_scale(double s0, double d, double n) {
  const auto subnormal = [](double x) { return x != 0 && std::fabs(x) < 0x1p-1022; };
  const double up = std::ldexp(s0, 128), down = std::ldexp(s0, -128);
  if (n == 0 || d == 0) return {std::nan(""), false};
  if (exponent64(n) - exponent64(d) >= 768) return {s0 == d ? up : s0, true};
  if (subnormal(d)) return {up, false};
  if (subnormal(1.0 / d) && subnormal(n / d)) return {s0 == d ? down : s0, true};
  if (subnormal(1.0 / d)) return {down, false};
  if (subnormal(n / d)) return {s0 == n ? up : s0, true};
  if (exponent64(n) <= 53) return {up, false};
  return {s0, false};
}
Flow div_scale_f64(Wave& w, const Inst& in) {
  HostControl control(host_control_f32(w.mode), host_control_f64(w.mode | 0xc0));
  const Pairs a = pair(w, in, 2), b = pair(w, in, 3), c = pair(w, in, 4);
  alignas(64) u32 r0[kLanes], r1[kLanes];
  u64 post = 0;
  for (int l = 0; l < kLanes; ++l) {
    const Scaled scaled = div_scale(a.at(l), b.at(l), c.at(l));
    r0[l] = static_cast<u32>(bits64(scaled.value));
    r1[l] = static_cast<u32>(bits64(scaled.value) >> 32);
    post |= u64{scaled.post} << l;
  }
  store64(w, in, r0, r1);
  set_scalar64(w, in.op[1], post & w.exec());
  return Flow::kNext;
}
Flow div_fmas_f64(Wave& w, const Inst& in) {
  HostControl control(host_control_f32(w.mode), host_control_f64(w.mode));
  const Pairs a = pair(w, in, 1), b = pair(w, in, 2), c = pair(w, in, 3);
  const u64 post = w.s64(kVcc);
  alignas(64) u32 r0[kLanes], r1[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    double value = __builtin_fma(a.at(l), b.at(l), c.at(l));
    if (post >> l & 1) {
      // Scaled before the one rounding, as in f32: the sum has 113 bits here.
      const __float128 sum = static_cast<__float128>(a.at(l)) * b.at(l) + c.at(l);
      value = static_cast<double>(sum * (exponent64(c.at(l)) > 1023 ? 0x1p128 : 0x1p-128));
    }
    r0[l] = static_cast<u32>(bits64(value));
    r1[l] = static_cast<u32>(bits64(value) >> 32);
  }
  store64(w, in, r0, r1);
  return Flow::kNext;
}
double div_fixup(double q, double d, double n) {
  const double sign = std::signbit(d) != std::signbit(n) ? -1.0 : 1.0;
  if (std::isnan(n)) return std::bit_cast<double>(quiet64(bits64(n)));
  if (std::isnan(d)) return std::bit_cast<double>(quiet64(bits64(d)));
  if ((n == 0 && d == 0) || (std::isinf(n) && std::isinf(d)))
    return std::bit_cast<double>(u64{0xfff8} << 48);
  if (d == 0 || std::isinf(n)) return sign * INFINITY;
  if (std::isinf(d) || n == 0) return sign * 0.0;
  const int gap = exponent64(n) - exponent64(d);
  if (gap < -1075) return sign * 0.0;      // underflow
  if (gap > 1024) return sign * INFINITY;  // overflow
  return std::copysign(q, sign);
}

std::vector<Semantics> double_arithmetic() {
  const auto f64 = [](std::string_view name, Handler run) {
    return Semantics{name, run, Type::kF64, true};
  };
  return {
      f64("v_add_f64", map_f64<2, [](double a, double b) { return a + b; }>),
      f64("v_mul_f64", map_f64<2, [](double a, double b) { return a * b; }>),
      f64("v_fma_f64",
          map_f64<3, [](double a, double b, double c) { return __builtin_fma(a, b, c); }>),
      f64("v_fmac_f64",
          [](Wave& w, const Inst& in) {
            HostControl control(host_control_f32(w.mode), host_control_f64(w.mode));
            const Pairs a = pair(w, in, 1), b = pair(w, in, 2);
            const int d = in.op[0].reg;
            alignas(64) u32 r0[kLanes], r1[kLanes];
            for (int l = 0; l < kLanes; ++l) {
              const u64 bits =
                  bits64(__builtin_fma(a.at(l), b.at(l), as_double(w.v[d][l], w.v[d + 1][l])));
              r0[l] = static_cast<u32>(bits);
              r1[l] = static_cast<u32>(bits >> 32);
            }
            store64(w, in, r0, r1);
            return Flow::kNext;
          }),
      f64("v_min_f64", by_ieee<map_f64<2, min64<true>>, map_f64<2, min64<false>>>),
      f64("v_max_f64", by_ieee<map_f64<2, max64<true>>, map_f64<2, max64<false>>>),
      f64("v_floor_f64", map_f64<1, [](double a) { return std::floor(a); }>),
      f64("v_ceil_f64", map_f64<1, [](double a) { return std::ceil(a); }>),
      f64("v_trunc_f64", map_f64<1, [](double a) { return std::trunc(a); }>),
      f64("v_rndne_f64", map_f64<1, [](double a) { return std::nearbyint(a); }>),
      f64("v_rcp_f64", map_f64<1, [](double a) { return 1.0 / a; }>),
      f64("v_rsq_f64", map_f64<1, [](double a) { return 1.0 / std::sqrt(a); }>),
      f64("v_sqrt_f64", map_f64<1, [](double a) { return std::sqrt(a); }>),
      f64("v_ldexp_f64", ldexp_f64),
      Semantics{"v_div_scale_f64", div_scale_f64, Type::kF64},
      f64("v_div_fmas_f64", div_fmas_f64),
      f64("v_div_fixup_f64", map_f64<3, div_fixup>),
  };
}

std::vector<Semantics> double_conversions() {
  return {
      Semantics{"v_cvt_f32_f64",
                narrow_f64<[](double a) { return as_bits(static_cast<float>(a)); }>, Type::kF64,
                true},
      Semantics{"v_cvt_i32_f64", narrow_f64<cvt_i32_f64>, Type::kF64},
      Semantics{"v_cvt_u32_f64", narrow_f64<cvt_u32_f64>, Type::kF64},
      Semantics{"v_cvt_f64_f32", widen_f64<[](u32 a) { return static_cast<double>(as_float(a)); }>,
                Type::kF32, true},
      Semantics{"v_cvt_f64_u32", widen_f64<[](u32 a) { return static_cast<double>(a); }>,
                Type::kB32, true},
      Semantics{"v_cvt_f64_i32", widen_f64<[](u32 a) { return static_cast<double>(sg(a)); }>,
                Type::kB32, true},
  };
}

}  // namespace

std::vector<Semantics> vector_double_semantics() {
  std::vector<Semantics> all = double_arithmetic();
  for (const Semantics& entry : double_conversions()) all.push_back(entry);
  return all;
}

}  // namespace attest::emulator
