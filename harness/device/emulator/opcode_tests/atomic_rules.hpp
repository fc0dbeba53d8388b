// Read-modify-write rules shared by LDS and global atomics (CDNA3 ISA guide: DS_*,
// GLOBAL_ATOMIC_*).
#pragma once
#include <algorithm>
#include <string>

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

}  // namespace atomic_rule
}  // namespace attest::emulator::opcode_tests
