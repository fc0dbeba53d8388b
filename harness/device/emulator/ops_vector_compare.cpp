// V_CMP and V_CMPX: the result is one bit a lane; inactive lanes give 0. Source: MI300 ISA,
// chapter 12.11 (VOPC).
#include "harness/device/emulator/float_ops.hpp"

namespace attest::emulator {
namespace {

template <bool kWriteExec>
Flow finish(Wave& w, const Inst& in, u64 bits) {
  bits &= w.exec();
  set_scalar64(w, in.op[0], bits);
  if (kWriteExec) w.set_s64(kExec, bits);
  return Flow::kNext;
}

template <bool kWriteExec, auto Fn>
Flow compare32(Wave& w, const Inst& in) {
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2);
  u64 bits = 0;
  for (int l = 0; l < kLanes; ++l) bits |= u64{Fn(a[l], b[l])} << l;
  return finish<kWriteExec>(w, in, bits);
}
template <bool kWriteExec, auto Fn>
Flow compare16(Wave& w, const Inst& in) {
  const HalfMode mode(w);
  const u32 *a = fetch(w, in, 1), *b = fetch(w, in, 2);
  u64 bits = 0;
  for (int l = 0; l < kLanes; ++l)
    bits |= u64{Fn(half_to_float(mode.in(a[l])), half_to_float(mode.in(b[l])))} << l;
  return finish<kWriteExec>(w, in, bits);
}
template <bool kWriteExec, auto Fn>
Flow compare64(Wave& w, const Inst& in) {
  const u32 *a0 = fetch(w, in, 1), *a1 = fetch_high(w, in, 1), *b0 = fetch(w, in, 2),
            *b1 = fetch_high(w, in, 2);
  u64 bits = 0;
  for (int l = 0; l < kLanes; ++l)
    bits |= u64{Fn(u64{a1[l]} << 32 | a0[l], u64{b1[l]} << 32 | b0[l])} << l;
  return finish<kWriteExec>(w, in, bits);
}

// The sixteen float conditions by name: ordered ones are false with a NaN, n-ones are their
// negations.
enum class Condition {
  kF,
  kLt,
  kEq,
  kLe,
  kGt,
  kLg,
  kGe,
  kO,
  kU,
  kNge,
  kNlg,
  kNgt,
  kNle,
  kNeq,
  kNlt,
  kTru
};
template <Condition kC, class Real>
constexpr bool holds(Real a, Real b) {
  switch (kC) {
    case Condition::kF:
      return false;
    case Condition::kLt:
      return a < b;
    case Condition::kEq:
      return a == b;
    case Condition::kLe:
      return a <= b;
    case Condition::kGt:
      return a > b;
    case Condition::kLg:
      return a < b || a > b;
    case Condition::kGe:
      return a >= b;
    case Condition::kO:
      return a == a && b == b;
    case Condition::kU:
      return a != a || b != b;
    case Condition::kNge:
      return !(a >= b);
    case Condition::kNlg:
      return !(a < b || a > b);
    case Condition::kNgt:
      return !(a > b);
    case Condition::kNle:
      return !(a <= b);
    case Condition::kNeq:
      return !(a == b);
    case Condition::kNlt:
      return !(a < b);
    case Condition::kTru:
      return true;
  }
}

// Class mask bits: sNaN, qNaN, -inf, -normal, -subnormal, -0, +0, +subnormal, +normal, +inf.
constexpr bool in_class(bool nan, bool quiet, bool inf, bool zero, bool subnormal, bool sign,
                        u32 mask) {
  const int bit = nan         ? (quiet ? 1 : 0)
                  : inf       ? (sign ? 2 : 9)
                  : zero      ? (sign ? 5 : 6)
                  : subnormal ? (sign ? 4 : 7)
                              : (sign ? 3 : 8);
  return mask >> bit & 1;
}
constexpr bool class32(u32 a, u32 mask) {
  const u32 magnitude = a & 0x7fffffff;
  return in_class(magnitude > 0x7f800000, a & 0x00400000, magnitude == 0x7f800000, magnitude == 0,
                  magnitude < 0x00800000, a >> 31, mask);
}
constexpr bool class16(u32 a, u32 mask) {
  const u32 magnitude = a & 0x7fff;
  return in_class(magnitude > 0x7c00, a & 0x200, magnitude == 0x7c00, magnitude == 0,
                  magnitude < 0x400, a >> 15 & 1, mask);
}
template <bool kWriteExec>
Flow class_f64(Wave& w, const Inst& in) {
  const u32 *a0 = fetch(w, in, 1), *a1 = fetch_high(w, in, 1), *mask = fetch(w, in, 2);
  u64 bits = 0;
  for (int l = 0; l < kLanes; ++l) {
    const u64 a = u64{a1[l]} << 32 | a0[l], magnitude = a & ~(u64{1} << 63);
    const bool hit =
        in_class(magnitude > u64{0x7ff} << 52, a >> 51 & 1, magnitude == u64{0x7ff} << 52,
                 magnitude == 0, magnitude < u64{1} << 52, a >> 63, mask[l]);
    bits |= u64{hit} << l;
  }
  return finish<kWriteExec>(w, in, bits);
}

template <bool kX, Condition kC>
void add_float(std::vector<Semantics>& all, std::string_view name) {
  const std::string prefix = std::string(kX ? "v_cmpx_" : "v_cmp_") + std::string(name);
  all.push_back({keep_name(prefix + "_f32"),
                 compare32<kX, [](u32 a, u32 b) { return holds<kC>(as_float(a), as_float(b)); }>,
                 Type::kF32});
  all.push_back({keep_name(prefix + "_f16"),
                 compare16<kX, [](float a, float b) { return holds<kC>(a, b); }>, Type::kF16});
  all.push_back({keep_name(prefix + "_f64"),
                 compare64<kX,
                           [](u64 a, u64 b) {
                             return holds<kC>(std::bit_cast<double>(a), std::bit_cast<double>(b));
                           }>,
                 Type::kF64});
}
template <bool kX, Condition kC>
void add_integer(std::vector<Semantics>& all, std::string_view name) {
  const std::string prefix = std::string(kX ? "v_cmpx_" : "v_cmp_") + std::string(name);
  all.push_back(
      {keep_name(prefix + "_u32"), compare32<kX, [](u32 a, u32 b) { return holds<kC>(a, b); }>});
  all.push_back({keep_name(prefix + "_i32"), compare32<kX, [](u32 a, u32 b) {
                   return holds<kC>(static_cast<i32>(a), static_cast<i32>(b));
                 }>});
  all.push_back({keep_name(prefix + "_u16"),
                 compare32<kX, [](u32 a, u32 b) { return holds<kC>(a & 0xffff, b & 0xffff); }>});
  all.push_back({keep_name(prefix + "_i16"), compare32<kX, [](u32 a, u32 b) {
                   return holds<kC>(static_cast<i32>(static_cast<std::int16_t>(a)),
                                    static_cast<i32>(static_cast<std::int16_t>(b)));
                 }>});
  all.push_back({keep_name(prefix + "_u64"),
                 compare64<kX, [](u64 a, u64 b) { return holds<kC>(a, b); }>, Type::kB64});
  all.push_back(
      {keep_name(prefix + "_i64"),
       compare64<kX,
                 [](u64 a, u64 b) { return holds<kC>(static_cast<i64>(a), static_cast<i64>(b)); }>,
       Type::kB64});
}
template <bool kX>
void add_all(std::vector<Semantics>& all) {
  using enum Condition;
  add_float<kX, kF>(all, "f"), add_float<kX, kLt>(all, "lt"), add_float<kX, kEq>(all, "eq"),
      add_float<kX, kLe>(all, "le");
  add_float<kX, kGt>(all, "gt"), add_float<kX, kLg>(all, "lg"), add_float<kX, kGe>(all, "ge"),
      add_float<kX, kO>(all, "o");
  add_float<kX, kU>(all, "u"), add_float<kX, kNge>(all, "nge"), add_float<kX, kNlg>(all, "nlg"),
      add_float<kX, kNgt>(all, "ngt");
  add_float<kX, kNle>(all, "nle"), add_float<kX, kNeq>(all, "neq"), add_float<kX, kNlt>(all, "nlt"),
      add_float<kX, kTru>(all, "tru");
  add_integer<kX, kF>(all, "f"), add_integer<kX, kLt>(all, "lt"), add_integer<kX, kEq>(all, "eq"),
      add_integer<kX, kLe>(all, "le");
  add_integer<kX, kGt>(all, "gt"), add_integer<kX, kLg>(all, "ne"), add_integer<kX, kGe>(all, "ge"),
      add_integer<kX, kTru>(all, "t");
  const std::string prefix = kX ? "v_cmpx_class_" : "v_cmp_class_";
  all.push_back({keep_name(prefix + "f32"), compare32<kX, class32>, Type::kF32});
  all.push_back({keep_name(prefix + "f16"), compare32<kX, class16>, Type::kF16});
  all.push_back({keep_name(prefix + "f64"), class_f64<kX>, Type::kF64});
}

}  // namespace

std::vector<Semantics> vector_compare_semantics() {
  std::vector<Semantics> all;
  add_all<false>(all);
  add_all<true>(all);
  return all;
}

}  // namespace attest::emulator
