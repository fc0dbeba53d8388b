// Vectors of 8 doubles and 16 floats in the compilers' own notation: AVX-512, AVX2 and NEON come
// from one source, and give the same bits, because every order of summation is fixed and every fma
// is explicit.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "harness/core/elements.hpp"

// Where a vector is wider than the machine's registers, passing one by value has no fixed ABI. All
// here is inline.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace attest {

typedef double Double8 __attribute__((vector_size(64)));
typedef std::int64_t Long8 __attribute__((vector_size(64)));
typedef float Float8 __attribute__((vector_size(32)));
typedef float Float16 __attribute__((vector_size(64)));

template <class Vector, class Scalar>
inline Vector load(const Scalar* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class Vector, class Scalar>
inline void store(Scalar* to, const Vector& v) {
  std::memcpy(to, &v, sizeof v);
}

template <class Vector>
inline Vector fused_multiply_add(const Vector& a, const Vector& b, const Vector& c) {
#if __has_builtin(__builtin_elementwise_fma)
  return __builtin_elementwise_fma(a, b, c);
#else
  // GCC has no such builtin. It makes one instruction of a loop over arrays.
  constexpr unsigned kLanes = sizeof(Vector) / sizeof(a[0]);
  std::remove_cvref_t<decltype(a[0])> x[kLanes], y[kLanes], z[kLanes];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  std::memcpy(z, &c, sizeof z);
  for (unsigned i = 0; i < kLanes; ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return load<Vector>(z);
#endif
}

// A NaN in `a` gives `b`.
template <class Vector>
inline Vector larger(const Vector& a, const Vector& b) {
  return a > b ? a : b;
}
template <class Vector>
inline Vector smaller(const Vector& a, const Vector& b) {
  return a < b ? a : b;
}
inline Double8 magnitude(const Double8& a) { return a < 0 ? -a : a; }
inline Double8 square_root(const Double8& a) {
  double x[8];
  std::memcpy(x, &a, sizeof x);
  for (double& value : x) value = std::sqrt(value);
  return load<Double8>(x);
}
inline Double8 splat(double value) { return Double8{} + value; }

inline Float8 load_bf16(const std::uint16_t* from) {
  typedef std::uint16_t Short8 __attribute__((vector_size(16)));
  typedef std::uint32_t Int8 __attribute__((vector_size(32)));
  const Int8 bits = __builtin_convertvector(load<Short8>(from), Int8) << 16;
  Float8 v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

inline Float8 load_elements(const Elements& from) {
  if (from.storage() == Storage::kBf16) {
    typedef std::uint16_t Short8 __attribute__((vector_size(16)));
    std::uint16_t bits[8];
    std::memcpy(bits, from.address(), sizeof(Short8));
    return load_bf16(bits);
  }
  float values[8];
  from.read(8, values);
  return load<Float8>(values);
}

}  // namespace attest
