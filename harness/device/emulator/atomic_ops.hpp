// What memory atomics do to a cell, for global, flat and buffer instructions alike. Source: MI300
// ISA, chapters 9.2 and 12.15-12.17.
#pragma once
#include <fmt/format.h>

#include <atomic>

#include "harness/device/emulator/float_ops.hpp"

namespace attest::emulator {

// Fn(memory, data, second data) becomes the cell's value, atomically against other host threads.
// The data of lane `lane` starts at v[reg], and the old value goes back there with sc0.
template <class T, auto Fn, int kDataCount>
T run_atomic(const Wave& w, int reg, int lane, u64 address) {
  constexpr int kDwords = sizeof(T) / 4;
  T operand[2] = {};
  u32 words[2 * kDwords] = {};
  for (int d = 0; d < kDataCount * kDwords; ++d) words[d] = w.v[reg + d][lane];
  std::memcpy(operand, words, sizeof(T) * kDataCount);
  std::atomic_ref<T> cell(*reinterpret_cast<T*>(address));
  T old = cell.load();
  while (!cell.compare_exchange_weak(old, Fn(old, operand[0], operand[1]))) {
  }
  return old;
}
template <class T>
void put_lane(Wave& w, int reg, int lane, T value) {
  for (int d = 0; d < static_cast<int>(sizeof(T) / 4); ++d)
    w.v[reg + d][lane] = static_cast<u32>(u64{value} >> 32 * d);
}

template <class T>
bool signed_less(T a, T b) {
  return static_cast<std::make_signed_t<T>>(a) < static_cast<std::make_signed_t<T>>(b);
}

// Maker::run<T, Fn, kDataCount> is the handler of one space. Adds "global_atomic_swap" and so on.
template <class Maker>
class AtomicTable {
 public:
  AtomicTable(std::vector<Semantics>& all, std::string_view space) : all_(all), space_(space) {
    integer<[](auto, auto x, auto) { return x; }>("swap");
    integer<[](auto m, auto x, auto) { return m + x; }>("add");
    integer<[](auto m, auto x, auto) { return m - x; }>("sub");
    integer<[](auto m, auto x, auto) { return signed_less(m, x) ? m : x; }>("smin");
    integer<[](auto m, auto x, auto) { return m < x ? m : x; }>("umin");
    integer<[](auto m, auto x, auto) { return signed_less(x, m) ? m : x; }>("smax");
    integer<[](auto m, auto x, auto) { return m > x ? m : x; }>("umax");
    integer<[](auto m, auto x, auto) { return m & x; }>("and");
    integer<[](auto m, auto x, auto) { return m | x; }>("or");
    integer<[](auto m, auto x, auto) { return m ^ x; }>("xor");
    integer<[](auto m, auto x, auto) { return m >= x ? 0 : m + 1; }>("inc");
    integer<[](auto m, auto x, auto) { return m == 0 || m > x ? x : m - 1; }>("dec");
    integer<[](auto m, auto x, auto c) { return m == c ? x : m; }, 2>("cmpswap");
    one<u32, [](u32 m, u32 x, u32) { return add_f32(m, x); }>("add_f32");
    one<u64, [](u64 m, u64 x, u64) { return atomic_add_f64(m, x); }>("add_f64");
    one<u64, [](u64 m, u64 x, u64) { return atomic_min_f64(m, x); }>("min_f64");
    one<u64, [](u64 m, u64 x, u64) { return atomic_max_f64(m, x); }>("max_f64");
    one<u32, [](u32 m, u32 x, u32) { return atomic_pk_add_f16(m, x); }>("pk_add_f16");
  }
  template <class T, auto Fn>
  void one(std::string_view op) {
    add(op, Maker::template run<T, Fn, 1>);
  }

 private:
  template <auto Fn, int kDataCount = 1>
  void integer(std::string_view op) {
    add(op,
        Maker::template run<u32, [](u32 m, u32 x, u32 y) { return static_cast<u32>(Fn(m, x, y)); },
                            kDataCount>);
    add(fmt::format("{}_x2", op),
        Maker::template run<u64, [](u64 m, u64 x, u64 y) { return static_cast<u64>(Fn(m, x, y)); },
                            kDataCount>);
  }
  void add(std::string_view op, Handler run) {
    all_.push_back({keep_name(fmt::format("{}_atomic_{}", space_, op)), run});
  }

  std::vector<Semantics>& all_;
  std::string_view space_;
};

}  // namespace attest::emulator
