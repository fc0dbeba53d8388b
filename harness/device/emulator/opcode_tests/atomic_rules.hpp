// Read-modify-write rules shared by LDS and global atomics (CDNA3 ISA guide: DS_*,
// GLOBAL_ATOMIC_*).
#pragma once
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "harness/device/emulator/opcode_tests/vector_op.hpp"

namespace attest::emulator::opcode_tests {

// The new memory value from the old one, the data, and (compare and swap) the compare value.
using AtomicRule = u64 (*)(u64 memory, u64 data, u64 compare);

struct Atomic {
  const char* name;  // "add", "smin", "cmpswap"
  bool wide;         // 64 bits
  AtomicRule rule;
  Kind kind;
  Match match = Match::kBits;
};

namespace atomic_rule {

template <class T>
u64 narrow(T x) {
  return sizeof(T) == 4 ? static_cast<u32>(x) : static_cast<u64>(x);
}
template <class T>
u64 add(u64 m, u64 d, u64) {
  return narrow<T>(static_cast<T>(m + d));
}
template <class T>
u64 sub(u64 m, u64 d, u64) {
  return narrow<T>(static_cast<T>(m - d));
}
template <class T>
u64 rsub(u64 m, u64 d, u64) {
  return narrow<T>(static_cast<T>(d - m));
}
template <class T>
u64 least(u64 m, u64 d, u64) {
  return narrow<T>(std::min(static_cast<T>(m), static_cast<T>(d)));
}
template <class T>
u64 most(u64 m, u64 d, u64) {
  return narrow<T>(std::max(static_cast<T>(m), static_cast<T>(d)));
}
inline u64 conjunction(u64 m, u64 d, u64) { return m & d; }
inline u64 disjunction(u64 m, u64 d, u64) { return m | d; }
inline u64 difference(u64 m, u64 d, u64) { return m ^ d; }
inline u64 swap(u64, u64 d, u64) { return d; }
inline u64 increment(u64 m, u64 d, u64) { return m >= d ? 0 : m + 1; }
inline u64 decrement(u64 m, u64 d, u64) { return m == 0 || m > d ? d : m - 1; }
inline u64 compare_swap(u64 m, u64 d, u64 c) { return m == c ? d : m; }
inline u64 add_f32(u64 m, u64 d, u64) { return bits_of(as_float(m) + as_float(d)); }
inline u64 add_f64(u64 m, u64 d, u64) { return bits_of(as_double(m) + as_double(d)); }
inline u64 add_halves(u64 m, u64 d, u64) {
  u64 r = 0;
  for (int at : {0, 16}) {
    const double sum = half_value((m >> at) & 0xffff) + half_value((d >> at) & 0xffff);
    r |= u64{std::isnan(sum) ? 0x7e00u : half_from(sum)} << at;
  }
  return r;
}

// bf16 sums, rounded once: every sum of two is exact in long double or far from a middle.
inline u64 add_bf16s(u64 m, u64 d, u64) {
  u64 r = 0;
  for (int at : {0, 16}) {
    const float a = as_float((m >> at & 0xffff) << 16), b = as_float((d >> at & 0xffff) << 16);
    const long double sum = static_cast<long double>(a) + b;
    if (std::isnan(sum)) {
      r |= u64{0x7fc0} << at;
      continue;
    }
    // The nearest of the value below and the value above, ties to the even one.
    u32 low = static_cast<u32>(bits_of(static_cast<float>(sum))) >> 16;
    const auto value = [](u32 code) { return static_cast<long double>(as_float(u64{code} << 16)); };
    if (std::fabs(value(low)) > std::fabs(sum) && low & 0x7fff) --low;
    const u32 high = low + 1;
    long double above = value(high);
    if (std::isinf(above)) above = std::copysign(0x1p128L, sum);
    const long double down = std::fabs(sum - value(low)), up = std::fabs(above - sum);
    const bool stays = std::isinf(sum) || down < up || (down == up && low % 2 == 0);
    r |= u64{(stays ? low : high) & 0xffff} << at;
  }
  return r;
}
// A NaN gives way to a number; a signalling one becomes quiet; -0 < +0.
template <class T>
T extreme(T a, T b, bool a_signals, bool b_signals, bool greater) {
  if (a_signals || b_signals) return std::numeric_limits<T>::quiet_NaN();
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  const bool a_less = a == b ? std::signbit(a) : a < b;
  return a_less != greater ? a : b;
}
template <bool kGreater>
u64 extreme_f64(u64 m, u64 d, u64) {
  return bits_of(
      extreme(as_double(m), as_double(d), is_signalling64(m), is_signalling64(d), kGreater));
}
template <bool kGreater>
u64 extreme_f32(u64 m, u64 d, u64) {
  return bits_of(extreme(as_float(m), as_float(d), is_signalling32(static_cast<u32>(m)),
                         is_signalling32(static_cast<u32>(d)), kGreater));
}
inline u64 least_f64(u64 m, u64 d, u64 c) { return extreme_f64<false>(m, d, c); }
inline u64 most_f64(u64 m, u64 d, u64 c) { return extreme_f64<true>(m, d, c); }
inline u64 least_f32(u64 m, u64 d, u64 c) { return extreme_f32<false>(m, d, c); }
inline u64 most_f32(u64 m, u64 d, u64 c) { return extreme_f32<true>(m, d, c); }

}  // namespace atomic_rule

// Of the global and flat instructions, and but for bf16 of the buffer ones.
inline const std::vector<Atomic>& memory_atomics() {
  namespace r = atomic_rule;
  static const std::vector<Atomic> kAtomics = {
      {"add", false, r::add<u32>, Kind::kU32},
      {"add_x2", true, r::add<u64>, Kind::kU64},
      {"sub", false, r::sub<u32>, Kind::kU32},
      {"sub_x2", true, r::sub<u64>, Kind::kU64},
      {"smin", false, r::least<i32>, Kind::kU32},
      {"smin_x2", true, r::least<i64>, Kind::kU64},
      {"smax", false, r::most<i32>, Kind::kU32},
      {"smax_x2", true, r::most<i64>, Kind::kU64},
      {"umin", false, r::least<u32>, Kind::kU32},
      {"umin_x2", true, r::least<u64>, Kind::kU64},
      {"umax", false, r::most<u32>, Kind::kU32},
      {"umax_x2", true, r::most<u64>, Kind::kU64},
      {"and", false, r::conjunction, Kind::kU32},
      {"and_x2", true, r::conjunction, Kind::kU64},
      {"or", false, r::disjunction, Kind::kU32},
      {"or_x2", true, r::disjunction, Kind::kU64},
      {"xor", false, r::difference, Kind::kU32},
      {"xor_x2", true, r::difference, Kind::kU64},
      {"inc", false, r::increment, Kind::kU32},
      {"inc_x2", true, r::increment, Kind::kU64},
      {"dec", false, r::decrement, Kind::kU32},
      {"dec_x2", true, r::decrement, Kind::kU64},
      {"swap", false, r::swap, Kind::kU32},
      {"swap_x2", true, r::swap, Kind::kU64},
      {"cmpswap", false, r::compare_swap, Kind::kU32},
      {"cmpswap_x2", true, r::compare_swap, Kind::kU64},
      {"add_f32", false, r::add_f32, Kind::kF32, Match::kFloat},
      {"add_f64", true, r::add_f64, Kind::kF64, Match::kFloat},
      {"pk_add_f16", false, r::add_halves, Kind::kPkHalf, Match::kFloat},
      {"min_f64", true, r::least_f64, Kind::kF64, Match::kFloat},
      {"max_f64", true, r::most_f64, Kind::kF64, Match::kFloat},
      {"pk_add_bf16", false, r::add_bf16s, Kind::kPkBf16, Match::kFloat},
  };
  return kAtomics;
}
inline bool is_cmpswap(const Atomic& op) { return std::string(op.name).starts_with("cmpswap"); }

}  // namespace attest::emulator::opcode_tests
