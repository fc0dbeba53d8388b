#include "reference/model/matrix_unit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/check.hpp"
#include "reference/vector.hpp"

namespace attest::model {
namespace {

typedef std::int32_t Int8 __attribute__((vector_size(32)));

template <class To, class From>
To bits_of(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

Double8 widen(const Float8& v) { return __builtin_convertvector(v, Double8); }
Long8 widen(const Int8& v) { return __builtin_convertvector(v, Long8); }
Float8 round_to_float(const Double8& v) { return __builtin_convertvector(v, Float8); }
Long8 truncate(const Double8& v) { return __builtin_convertvector(v, Long8); }
Double8 to_double(const Long8& v) { return __builtin_convertvector(v, Double8); }

// One group of products of 8 columns: the factors from `a`, and the rows of b that they meet.
struct Group {
  const float* a;
  const float* b;
  std::ptrdiff_t stride;
  int size;
  Float8 row(int k) const { return load<Float8>(b + k * stride); }
};

// Calls step(group, sum of 8 columns) for each group in turn. Two vectors of columns at a time hide the latency of their
// chains.
template <int kGroup, class Step>
void by_groups(std::span<const float> a, const float* b, std::ptrdiff_t stride, int columns,
               float* sum, const Step& step) {
  const int length = static_cast<int>(a.size());
  for (int j = 0; j < columns; j += 16) {
    Float8 left = load<Float8>(sum + j), right = load<Float8>(sum + j + 8);
    for (int k = 0; k < length; k += kGroup) {
      const Group group{&a[k], b + k * stride + j, stride, std::min(kGroup, length - k)};
      left = step(group, left);
      right = step(Group{group.a, group.b + 8, stride, group.size}, right);
    }
    store(sum + j, left);
    store(sum + j + 8, right);
  }
}

// ---- sequential fp32 FMA ----

// Several vectors at a time hide the latency of a chain.
template <int kVectors>
void fma_chain(std::span<const float> a, const float* b, std::ptrdiff_t stride, float* sum) {
  Float16 c[kVectors];
  for (int v = 0; v < kVectors; ++v) c[v] = load<Float16>(sum + v * kLanes);
  for (std::size_t k = 0; k < a.size(); ++k) {
    const Float16 factor = Float16{} + a[k];
    const float* const row = b + static_cast<std::ptrdiff_t>(k) * stride;
    for (int v = 0; v < kVectors; ++v)
      c[v] = fused_multiply_add(factor, load<Float16>(row + v * kLanes), c[v]);
  }
  for (int v = 0; v < kVectors; ++v) store(sum + v * kLanes, c[v]);
}

void sequential_fma(std::span<const float> a, const float* b, std::ptrdiff_t stride, int columns,
                    float* sum) {
  int j = 0;
  for (; j + 8 * kLanes <= columns; j += 8 * kLanes) fma_chain<8>(a, b + j, stride, sum + j);
  for (; j + 4 * kLanes <= columns; j += 4 * kLanes) fma_chain<4>(a, b + j, stride, sum + j);
  for (; j < columns; j += kLanes) fma_chain<1>(a, b + j, stride, sum + j);
}

// ---- CDNA1: exact sum of two products and C, rounded once (E-FDPA) ----

struct Exact {  // value + rest, exactly
  Double8 value, rest;
};
Exact two_sum(const Double8& a, const Double8& b) {  // Knuth
  const Double8 sum = a + b, from_b = sum - a;
  return {sum, (a - (sum - from_b)) + (b - from_b)};
}

// To fp32 with one rounding: the double is first rounded to odd, which keeps on which side of a tie
// the sum lies. Source: Boldo and Melquiond, "Emulation of FMA and Correctly Rounded Sums", IEEE TC
// 57(4), 2008.
Float8 round_once(const Exact& sum) {
  const Long8 bits = bits_of<Long8>(sum.value);
  const Long8 away = ((sum.rest > 0) == (sum.value > 0)) & 1;  // the rest points away from zero
  const Long8 odd = away != 0 ? bits | 1 : (bits - 1) | 1;
  const Long8 use = (sum.rest != 0) & (sum.value != 0) & ((bits & 1) == 0);
  return round_to_float(bits_of<Double8>(use != 0 ? odd : bits));
}

Float8 cdna1_step(const Group& group, const Float8& c) {
  const Double8 zero = {};
  const Double8 p0 = widen(group.row(0)) * double{group.a[0]};
  const Double8 p1 = group.size > 1 ? widen(group.row(1)) * double{group.a[1]} : zero;
  const Exact products = two_sum(p0, p1), all = two_sum(products.value, widen(c));
  // The two rests do not overlap unless the terms span over 100 bits; then the smaller is below any
  // tie.
  Exact result = two_sum(all.value, all.rest + products.rest);
  const auto finite = result.value - result.value == 0.0;
  result.rest = finite ? result.rest : zero;
  return round_once({finite ? result.value : p0 + p1 + widen(c), result.rest});
}

// ---- CDNA2, the _1k instructions: sums of pairs, each rounded, all flushed (FTZ-AddMul) ----

Float8 flush(const Float8& v) {
  const Float8 zero = {};
  const Float8 size = v < 0 ? -v : v;
  return size < 0x1p-126f ? zero : v;
}

Float8 cdna2_step(const Group& group, const Float8& c) {
  Float8 p[4] = {};
  for (int k = 0; k < group.size; ++k) {
    const float a = std::fabs(group.a[k]) < 0x1p-126f ? 0.0f : group.a[k];
    p[k] = flush(flush(group.row(k)) * a);
  }
  const Float8 sum = flush(flush(p[0] + p[1]) + flush(p[2] + p[3]));
  return flush(flush(c) + sum);
}

// ---- CDNA3 and Hopper: aligned to the largest exponent, cut, summed as integers ----

constexpr int kBias = 127;

// The biased exponent; zeros and subnormals have the least, as in the source.
int exponent_of(float v) { return std::max<int>(bits_of<std::uint32_t>(v) >> 23 & 255, 1); }
Int8 exponents_of(const Float8& v) {
  const Int8 e = bits_of<Int8>(v) >> 23 & 255;
  return e > 1 ? e : Int8{} + 1;
}

Double8 power_of_two(const Long8& exponent) { return bits_of<Double8>((exponent + 1023) << 52); }

Long8 larger_of(const Long8& a, const Long8& b) { return a > b ? a : b; }

// The signed integer m of v = m * 2^(exponent - 23).
Long8 significand_of(const Float8& v) {
  const Int8 bits = bits_of<Int8>(v), fraction = bits & 0x7fffff;
  const Int8 whole = (bits & 0x7f800000) != 0 ? fraction | 0x800000 : fraction;
  return widen(bits < 0 ? -whole : whole);
}

// floor(v / 2^shift) for shift >= 0
Long8 shift_down(const Long8& v, const Long8& shift) {
  const Long8 most = Long8{} + 63;
  return v >> (shift < most ? shift : most);
}

// Products first, first + step ...: each truncated to `bits` fractional bits of the largest
// exponent of a product (at least `exponent`), and summed.
struct Aligned {
  Long8 sum = {};  // in units of 2^(exponent - bits)
  Long8 exponent = Long8{} - 2 * kBias;
  Double8 plain = {};  // the same sum in fp64: to see what is not finite
};
Aligned align(const Group& group, int first, int step, int bits, const Long8& least_exponent) {
  Int8 largest = {};
  for (int k = first; k < group.size; k += step) {
    const Int8 e = exponents_of(group.row(k)) + exponent_of(group.a[k]);
    largest = e > largest ? e : largest;
  }
  Aligned result;
  result.exponent = larger_of(widen(largest) - 2 * kBias, least_exponent);
  const Double8 scale = power_of_two(bits - result.exponent);
  for (int k = first; k < group.size; k += step) {
    const Double8 product = widen(group.row(k)) * double{group.a[k]};
    result.plain += product;
    result.sum += truncate(product * scale);
  }
  return result;
}

Float8 unless_not_finite(const Float8& result, const Double8& plain) {
  const Double8 difference = plain - plain;
  const Double8 chosen = difference == 0.0 ? widen(result) : plain;
  return round_to_float(chosen);
}

// 24 and 31 fractional bits; floors, not truncations, where C and the products' sum meet.
Float8 join_with_c(const Long8& sum, const Long8& exponent, const Float8& c, bool drops_small_c) {
  const Long8 of_c = widen(exponents_of(c)) - kBias;
  const Long8 top = larger_of(exponent, of_c);
  const Long8 products = shift_down(sum << 7, top - exponent);
  Long8 kept = shift_down(significand_of(c) << 1, top - of_c);
  const Long8 none = {};
  if (drops_small_c) kept = of_c < top - 25 ? none : kept;
  return round_to_float(to_double(products + (kept << 7)) * power_of_two(top - 31));
}

constexpr std::int64_t kNoExponent = -1000;  // below every other

Float8 cdna3_step(const Group& group, const Float8& c) {  // TR-FDPA
  const Aligned products = align(group, 0, 1, 24, Long8{} + kNoExponent);
  const Float8 joined = join_with_c(products.sum, products.exponent, c, false);
  return unless_not_finite(joined, products.plain + widen(c));
}

Float8 cdna3_fp8_step(const Group& group, const Float8& c) {  // GTR-FDPA
  const Aligned even = align(group, 0, 2, 24, Long8{} + kNoExponent);
  const Aligned odd = align(group, 1, 2, 24, Long8{} + kNoExponent);
  const Long8 top = larger_of(even.exponent, odd.exponent);
  const Long8 sum =
      shift_down(even.sum, top - even.exponent) + shift_down(odd.sum, top - odd.exponent);
  return unless_not_finite(join_with_c(sum, top, c, true), even.plain + odd.plain + widen(c));
}

// Toward zero to 24 significand bits, or to 2^-149.
Float8 truncate_to_float(const Double8& v) {
  const Long8 cut = bits_of<Long8>(v) & ~((std::int64_t{1} << 29) - 1);
  const Double8 normal = bits_of<Double8>(cut), small = to_double(truncate(v * 0x1p149)) * 0x1p-149;
  return round_to_float(magnitude(v) < 0x1p-126 ? small : normal);
}

Float8 hopper_step(const Group& group, const Float8& c) {  // T-FDPA
  const Long8 of_c = widen(exponents_of(c)) - kBias;
  const Aligned products = align(group, 0, 1, 25, of_c);
  const Double8 scale = power_of_two(25 - products.exponent);
  const Long8 sum = products.sum + truncate(widen(c) * scale);
  const Float8 joined = truncate_to_float(to_double(sum) * power_of_two(products.exponent - 25));
  return unless_not_finite(joined, products.plain + widen(c));
}

}  // namespace

void multiply_accumulate(MatrixUnit unit, std::span<const float> a, const float* b,
                         std::ptrdiff_t stride, int columns, float* sum) {
  ATTEST_CHECK(columns % kLanes == 0);
  switch (unit) {
    case MatrixUnit::kSequentialFma:
      return sequential_fma(a, b, stride, columns, sum);
    case MatrixUnit::kCdna1Bf16:
      return by_groups<2>(a, b, stride, columns, sum, cdna1_step);
    case MatrixUnit::kCdna2Bf16:
    case MatrixUnit::kUnknown:
      return by_groups<4>(a, b, stride, columns, sum, cdna2_step);
    case MatrixUnit::kCdna3Bf16:
      return by_groups<8>(a, b, stride, columns, sum, cdna3_step);
    case MatrixUnit::kCdna3Fp8:
      return by_groups<16>(a, b, stride, columns, sum, cdna3_fp8_step);
    case MatrixUnit::kHopperBf16:
      return by_groups<16>(a, b, stride, columns, sum, hopper_step);
  }
}

}  // namespace attest::model
