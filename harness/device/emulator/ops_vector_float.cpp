// Vector f32 and f16 arithmetic, transcendentals and conversions. Source: AMD Instinct MI300
// ISA, chapter 12.
#include "harness/device/emulator/float_ops.hpp"

namespace attest::emulator {
namespace {

constexpr i32 sg(u32 value) { return static_cast<i32>(value); }

u32 add(u32 a, u32 b) { return as_bits(as_float(a) + as_float(b)); }
u32 mul(u32 a, u32 b) { return as_bits(as_float(a) * as_float(b)); }
u32 fma(u32 a, u32 b, u32 c) {
  return as_bits(__builtin_fmaf(as_float(a), as_float(b), as_float(c)));
}

// The mad of gfx90a rounds twice and flushes denormals whatever MODE says. Source: LLVM,
// AMDGPU's FeatureMadMacF32Insts.
u32 mad(u32 a, u32 b, u32 c) {
  const float product = flush32(flush32(as_float(a)) * flush32(as_float(b)));
  return as_bits(flush32(product + flush32(as_float(c))));
}
template <bool kIeee>
u32 min3(u32 a, u32 b, u32 c) {
  return min32<kIeee>(min32<kIeee>(a, b), c);
}
template <bool kIeee>
u32 max3(u32 a, u32 b, u32 c) {
  return max32<kIeee>(max32<kIeee>(a, b), c);
}

u32 cvt_u32_f32(u32 a) {
  const float x = as_float(a);
  if (!(x > 0)) return 0;
  return x >= 4294967296.0f ? ~0u : static_cast<u32>(static_cast<i64>(x));
}
u32 cvt_i32_f32(u32 a) {
  const float x = as_float(a);
  if (x != x) return 0;
  if (x >= 2147483648.0f) return 0x7fffffff;
  return x <= -2147483648.0f ? 0x80000000u : static_cast<u32>(static_cast<i32>(x));
}
u32 fract(u32 a) {
  const float x = input32(a);
  const float f = x - std::floor(x);
  return as_bits(f >= 1.0f ? 0x1.fffffep-1f : f);
}
u32 ldexp32(u32 a, u32 b) {
  const i32 e = sg(b) > 600 ? 600 : sg(b) < -600 ? -600 : sg(b);
  return as_bits(static_cast<float>(std::ldexp(static_cast<double>(input32(a)), e)));
}
u32 frexp_exp(u32 a) {
  const float x = input32(a);
  int e = 0;
  if (std::isfinite(x)) std::frexp(x, &e);
  return static_cast<u32>(e);
}
u32 frexp_mant(u32 a) {
  int e = 0;
  const float x = input32(a);
  return std::isfinite(x) ? as_bits(std::frexp(x, &e)) : is_nan32(a) ? quiet32(a) : a;
}
u32 rcp(u32 a) { return as_bits(flush32(1.0f / flush32(as_float(a)))); }
u32 rsq(u32 a) {
  const float x = flush32(as_float(a));
  if (x < 0) return 0x7fc00000;
  return as_bits(flush32(static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)))));
}
u32 sqrt32(u32 a) {
  const float x = flush32(as_float(a));
  return x < 0 ? 0x7fc00000 : as_bits(std::sqrt(x));
}
// Input in revolutions; beyond 256 the result is defined by range. Source: MI300 ISA, V_SIN_F32.
u32 turn(u32 a, bool cosine) {
  const float x = as_float(a);
  if (!std::isfinite(x)) return 0x7fc00000;
  const double r = 2 * M_PI * std::remainder(static_cast<double>(x), 1.0);
  return as_bits(static_cast<float>(cosine ? std::cos(r) : std::sin(r)));
}

u32 exp2_bits(u32 a) { return as_bits(exp2_f32(as_float(a))); }
u32 log2_bits(u32 a) { return as_bits(log2_f32(as_float(a))); }

// Of the two fp32 round a result the one that a hash of the input picks: within the documented ulp,
// and as far as can be from the nearest.
template <u32 (*kNearest)(u32), double (*kWide)(double)>
u32 one_sided(u32 a) {
  const float nearest = as_float(kNearest(a));
  const double wide = kWide(static_cast<double>(flush32(as_float(a))));
  if (!std::isnormal(nearest) || static_cast<double>(nearest) == wide) return as_bits(nearest);
  const bool up = a * 0x9e3779b9u >> 31 != 0;
  if (up == (static_cast<double>(nearest) > wide)) return as_bits(nearest);
  return as_bits(std::nextafter(nearest, up ? INFINITY : -INFINITY));
}
template <u32 (*kNearest)(u32), double (*kWide)(double)>
Flow transcendental(Wave& w, const Inst& in) {
  return w.group->arith == Arith::kAdversarial ? map1<one_sided<kNearest, kWide>>(w, in)
                                               : map1<kNearest>(w, in);
}
double wide_exp2(double x) { return std::exp2(x); }
double wide_log2(double x) { return std::log2(x); }
double wide_rcp(double x) { return 1 / x; }
double wide_rsq(double x) { return 1 / std::sqrt(x); }
double wide_sqrt(double x) { return std::sqrt(x); }

// v_div_scale_f32: D = S0 pre-scaled by 2^64 when numerator S2 and denominator S1 would over- or
// underflow; op[1] gets the lanes whose quotient v_div_fmas must scale back. Source: MI300 ISA,
// V_DIV_SCALE_F32.
struct Scaled {
  u32 value;
  bool post;
};
Scaled div_scale(u32 a, u32 denominator, u32 numerator) {
  const float s0 = as_float(a), d = as_float(denominator), n = as_float(numerator);
  const auto exponent = [](float x) { return static_cast<int>(as_bits(x) >> 23 & 0xff); };
  const auto subnormal = [](float x) { return x != 0 && std::fabs(x) < 0x1p-126f; };
  const float up = std::ldexp(s0, 64), down = std::ldexp(s0, -64);
  if (n == 0 || d == 0) return {0x7fc00000, false};
  if (exponent(n) - exponent(d) >= 96) return {as_bits(s0 == d ? up : s0), true};
  if (subnormal(d)) return {as_bits(up), false};
  // The manual scales this denominator up, which for one beyond 2^126 can only overflow: down is
  // what makes quotients right.
  if (subnormal(1.0f / d) && subnormal(n / d)) return {as_bits(s0 == d ? down : s0), true};
  if (subnormal(1.0f / d)) return {as_bits(down), false};
  if (subnormal(n / d)) return {as_bits(s0 == n ? up : s0), true};
  if (exponent(n) <= 23) return {as_bits(up), false};
  return {as_bits(s0), false};
}
Flow div_scale_f32(Wave& w, const Inst& in) {
  const u32 *a = fetch(w, in, 2), *b = fetch(w, in, 3), *c = fetch(w, in, 4);
  HostControl keep_denormals(host_control_f32(w.mode), host_control_f32(w.mode | 0x30));
  alignas(64) u32 r[kLanes];
  u64 post = 0;
  for (int l = 0; l < kLanes; ++l) {
    const Scaled scaled = div_scale(a[l], b[l], c[l]);
    r[l] = scaled.value;
    post |= u64{scaled.post} << l;
  }
  store(w, in, r);
  set_scalar64(w, in.op[1], post & w.exec());
  return Flow::kNext;
}
// fma, times 2^64 or 2^-64 (by the exponent of S2) in the lanes of VCC. The manual's 2^32
// contradicts V_DIV_SCALE's 2^64; RDNA3's text has 2^64, used here.
Flow div_fmas_f32(Wave& w, const Inst& in) {
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2), *c = fetch(w, in, 3);
  const u64 post = w.s64(kVcc);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    // Scaled before the one rounding: a denormal quotient would be rounded twice.
    const double scale = !(post >> l & 1) ? 1 : (c[l] >> 23 & 0xff) > 127 ? 0x1p64 : 0x1p-64;
    r[l] = as_bits(
        static_cast<float>(fma_to_odd(as_float(a[l]), as_float(b[l]), as_float(c[l])) * scale));
  }
  store(w, in, r);
  return Flow::kNext;
}
u32 div_fixup(u32 a, u32 denominator, u32 numerator) {
  const float q = as_float(a), d = as_float(denominator), n = as_float(numerator);
  const u32 sign = (denominator ^ numerator) & 0x80000000;
  if (is_nan32(numerator)) return quiet32(numerator);
  if (is_nan32(denominator)) return quiet32(denominator);
  if ((n == 0 && d == 0) || (std::isinf(n) && std::isinf(d))) return 0xffc00000;
  if (d == 0 || std::isinf(n)) return sign | 0x7f800000;
  if (std::isinf(d) || n == 0) return sign;
  const int gap =
      static_cast<int>(numerator >> 23 & 0xff) - static_cast<int>(denominator >> 23 & 0xff);
  if (gap < -150) return sign;  // underflow
  // Overflow. The manual's condition, an exponent of 255 in the denominator, cannot be met here; a
  // quotient of at least 2^128 is what it must mean, as v_div_fmas has made a NaN of it.
  if (gap > 128) return sign | 0x7f800000;
  return sign | (as_bits(q) & 0x7fffffff);
}

// --- f16: evaluated in f32, whose 24 bits make one rounding of +, -, * the same as rounding once;
// fma in f64 ---------
u32 half(float value) { return float_to_half(value); }
float hf(u32 bits) { return half_to_float(bits & 0xffff); }
template <auto Fn>
Flow half1(Wave& w, const Inst& in) {
  const HalfMode mode(w);
  const u32* a = fetch(w, in, 1);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = mode.out(half(Fn(hf(mode.in(a[l])))));
  store(w, in, r);
  return Flow::kNext;
}
template <auto Fn>
Flow half2(Wave& w, const Inst& in) {
  const HalfMode mode(w);
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = mode.out(half(Fn(hf(mode.in(a[l])), hf(mode.in(b[l])))));
  store(w, in, r);
  return Flow::kNext;
}
template <bool kGreater>
Flow half_extreme(Wave& w, const Inst& in) {
  const HalfMode mode(w);
  const bool ieee = w.mode & kModeIeee;
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l)
    r[l] = mode.out(extreme16(mode.in(a[l]), mode.in(b[l]), ieee, kGreater));
  store(w, in, r);
  return Flow::kNext;
}
// The other half of the destination stays: only v_fma_legacy_f16 clears it.
Flow fma_f16(Wave& w, const Inst& in) {
  const HalfMode mode(w);
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2), *c = fetch(w, in, 3),
            *old = w.v[in.op[0].reg];
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l)
    r[l] = (old[l] & 0xffff0000) | mode.out(fma_half(mode.in(a[l]), mode.in(b[l]), mode.in(c[l])));
  store(w, in, r);
  return Flow::kNext;
}
Flow cvt_f16_f32(Wave& w, const Inst& in) {
  const HalfMode mode(w);
  const u32* a = fetch(w, in, 1);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = mode.out(half(as_float(canonical32(a[l]))));
  store(w, in, r);
  return Flow::kNext;
}
Flow cvt_f32_f16(Wave& w, const Inst& in) {
  const HalfMode mode(w);
  const u32* a = fetch(w, in, 1);
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = as_bits(hf(mode.in(a[l])));
  store(w, in, r);
  return Flow::kNext;
}
Flow cvt_pkrtz_f16_f32(Wave& w, const Inst& in) {
  const HalfMode mode(w);
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2);
  const auto convert = [&](u32 x) { return mode.out(float_to_half_rtz(as_float(canonical32(x)))); };
  alignas(64) u32 r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = convert(a[l]) | convert(b[l]) << 16;
  store(w, in, r);
  return Flow::kNext;
}

std::vector<Semantics> arithmetic() {
  const auto f32 = [](std::string_view name, Handler run) {
    return Semantics{name, run, Type::kF32, true};
  };
  return {
      f32("v_add_f32", map2<add>),
      f32("v_mul_f32", map2<mul>),
      f32("v_fma_f32", map3<fma>),
      f32("v_sub_f32", map2<[](u32 a, u32 b) { return as_bits(as_float(a) - as_float(b)); }>),
      f32("v_subrev_f32", map2<[](u32 a, u32 b) { return as_bits(as_float(b) - as_float(a)); }>),
      f32("v_mul_legacy_f32",
          map2<[](u32 a, u32 b) { return as_float(a) == 0 || as_float(b) == 0 ? 0u : mul(a, b); }>),
      f32("v_mac_f32",
          [](Wave& w, const Inst& in) {
            const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2), *d = w.v[in.op[0].reg];
            alignas(64) u32 r[kLanes];
            for (int l = 0; l < kLanes; ++l) r[l] = mad(a[l], b[l], d[l]);
            store(w, in, r);
            return Flow::kNext;
          }),
      f32("v_fmac_f32",
          [](Wave& w, const Inst& in) {
            const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2), *d = w.v[in.op[0].reg];
            alignas(64) u32 r[kLanes];
            for (int l = 0; l < kLanes; ++l) r[l] = fma(a[l], b[l], d[l]);
            store(w, in, r);
            return Flow::kNext;
          }),
      f32("v_fmamk_f32", map3<[](u32 a, u32 k, u32 b) { return fma(a, k, b); }>),
      f32("v_fmaak_f32", map3<fma>),
      f32("v_madmk_f32", map3<[](u32 a, u32 k, u32 b) { return mad(a, k, b); }>),
      f32("v_madak_f32", map3<mad>),
      f32("v_mad_f32", map3<mad>),
      f32("v_min_f32", by_ieee<map2<min32<true>>, map2<min32<false>>>),
      f32("v_max_f32", by_ieee<map2<max32<true>>, map2<max32<false>>>),
      f32("v_min3_f32", by_ieee<map3<min3<true>>, map3<min3<false>>>),
      f32("v_max3_f32", by_ieee<map3<max3<true>>, map3<max3<false>>>),
      f32("v_med3_f32", by_ieee<map3<med3_32<true>>, map3<med3_32<false>>>),
  };
}

std::vector<Semantics> unary_and_division() {
  const auto f32 = [](std::string_view name, Handler run) {
    return Semantics{name, run, Type::kF32, true};
  };
  return {
      f32("v_exp_f32", transcendental<exp2_bits, wide_exp2>),
      f32("v_log_f32", transcendental<log2_bits, wide_log2>),
      f32("v_rcp_f32", transcendental<rcp, wide_rcp>),
      f32("v_rcp_iflag_f32", transcendental<rcp, wide_rcp>),
      f32("v_rsq_f32", transcendental<rsq, wide_rsq>),
      f32("v_sqrt_f32", transcendental<sqrt32, wide_sqrt>),
      f32("v_sin_f32", map1<[](u32 a) { return turn(a, false); }>),
      f32("v_cos_f32", map1<[](u32 a) { return turn(a, true); }>),
      f32("v_floor_f32", map1<[](u32 a) { return as_bits(std::floor(input32(a))); }>),
      f32("v_ceil_f32", map1<[](u32 a) { return as_bits(std::ceil(input32(a))); }>),
      f32("v_trunc_f32", map1<[](u32 a) { return as_bits(std::trunc(input32(a))); }>),
      f32("v_rndne_f32", map1<[](u32 a) { return as_bits(std::nearbyint(input32(a))); }>),
      f32("v_fract_f32", map1<fract>),
      f32("v_ldexp_f32", map2<ldexp32>),
      Semantics{"v_frexp_exp_i32_f32", map1<frexp_exp>, Type::kF32},
      f32("v_frexp_mant_f32", map1<frexp_mant>),
      Semantics{"v_div_scale_f32", div_scale_f32, Type::kF32},
      f32("v_div_fmas_f32", div_fmas_f32),
      f32("v_div_fixup_f32", map3<div_fixup>),
  };
}

std::vector<Semantics> half_arithmetic() {
  const auto f16 = [](std::string_view name, Handler run) {
    return Semantics{name, run, Type::kF16, true};
  };
  return {
      f16("v_add_f16", half2<[](float a, float b) { return a + b; }>),
      f16("v_sub_f16", half2<[](float a, float b) { return a - b; }>),
      f16("v_subrev_f16", half2<[](float a, float b) { return b - a; }>),
      f16("v_mul_f16", half2<[](float a, float b) { return a * b; }>),
      f16("v_fma_f16", fma_f16),
      f16("v_min_f16", half_extreme<false>),
      f16("v_max_f16", half_extreme<true>),
      f16("v_rcp_f16", half1<[](float a) { return 1.0f / a; }>),
      f16("v_sqrt_f16", half1<[](float a) { return std::sqrt(a); }>),
      f16("v_rsq_f16", half1<[](float a) { return 1.0f / std::sqrt(a); }>),
      f16("v_exp_f16", half1<exp2_f32>),
      f16("v_log_f16", half1<log2_f32>),
  };
}

std::vector<Semantics> conversions() {
  const auto to_f32 = [](std::string_view name, Handler run) {
    return Semantics{name, run, Type::kB32, true};
  };
  return {
      Semantics{"v_cvt_f32_u32", map1<[](u32 a) { return as_bits(static_cast<float>(a)); }>,
                Type::kF32, true},
      Semantics{"v_cvt_f32_i32", map1<[](u32 a) { return as_bits(static_cast<float>(sg(a))); }>,
                Type::kF32, true},
      Semantics{"v_cvt_u32_f32", map1<cvt_u32_f32>, Type::kF32},
      Semantics{"v_cvt_i32_f32", map1<cvt_i32_f32>, Type::kF32},
      Semantics{"v_cvt_rpi_i32_f32",
                map1<[](u32 a) { return cvt_i32_f32(as_bits(std::floor(as_float(a) + 0.5f))); }>,
                Type::kF32},
      Semantics{"v_cvt_flr_i32_f32",
                map1<[](u32 a) { return cvt_i32_f32(as_bits(std::floor(as_float(a)))); }>,
                Type::kF32},
      Semantics{"v_cvt_f16_f32", cvt_f16_f32, Type::kF32, true},
      Semantics{"v_cvt_f32_f16", cvt_f32_f16, Type::kF16, true},
      Semantics{"v_cvt_pkrtz_f16_f32", cvt_pkrtz_f16_f32, Type::kF32},
      to_f32("v_cvt_f32_ubyte0", map1<[](u32 a) { return as_bits(static_cast<float>(a & 0xff)); }>),
      to_f32("v_cvt_f32_ubyte1",
             map1<[](u32 a) { return as_bits(static_cast<float>(a >> 8 & 0xff)); }>),
      to_f32("v_cvt_f32_ubyte2",
             map1<[](u32 a) { return as_bits(static_cast<float>(a >> 16 & 0xff)); }>),
      to_f32("v_cvt_f32_ubyte3", map1<[](u32 a) { return as_bits(static_cast<float>(a >> 24)); }>),
  };
}
}  // namespace

std::vector<Semantics> vector_float_semantics() {
  std::vector<Semantics> all = arithmetic();
  for (auto list : {unary_and_division(), half_arithmetic(), conversions()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace attest::emulator
