#include "harness/device/emulator/dot_product.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace attest::emulator {
namespace {

using Columns = double[kDotColumns];
using Products = double[kDotDepth][kDotColumns];

double pow2(int e) { return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); }
// Unbiased; zeros and subnormals have the least normal exponent.
int exponent_of(float x) {
  return std::max<int>(static_cast<int>(std::bit_cast<std::uint32_t>(x) >> 23 & 255), 1) - 127;
}

// Products of 11-bit significands are exact in fp64.
void multiply(const DotOperands& in, Products p) {
  for (int k = 0; k < in.depth; ++k) {
    for (int j = 0; j < kDotColumns; ++j) p[k][j] = static_cast<double>(in.a[k]) * in.b[k][j];
  }
}

void fma_chain(const DotOperands& in, float* c) {
  for (int k = 0; k < in.depth; ++k) {
    for (int j = 0; j < kDotColumns; ++j) c[j] = __builtin_fmaf(in.a[k], in.b[k][j], c[j]);
  }
}

// All terms as a double-double by Knuth's two-sum, then rounded to odd in fp64, so that fp32 rounds once. Source: Boldo
// and Melquiond, Emulation of FMA and correctly rounded sums (2008).
void exact(const DotOperands& in, float* c) {
  Products p;
  multiply(in, p);
  for (int j = 0; j < kDotColumns; ++j) {
    double sum = c[j], rest = 0;
    for (int k = 0; k < in.depth; ++k) {
      const double next = sum + p[k][j], from = next - sum;
      rest += (sum - (next - from)) + (p[k][j] - from);
      sum = next;
    }
    const double whole = sum + rest, left = (sum - whole) + rest;
    auto bits = std::bit_cast<std::uint64_t>(whole);
    if (std::isfinite(whole) && left != 0 && !(bits & 1)) bits += (left > 0) == (whole > 0) ? 1 : -1;
    c[j] = static_cast<float>(std::isfinite(whole) ? std::bit_cast<double>(bits) : sum);
  }
}

float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

// Four products by pairs, each sum rounded to fp32 and flushed, then the accumulator.
void cdna2(const DotOperands& in, float* c) {
  for (int first = 0; first < in.depth; first += 4) {
    for (int j = 0; j < kDotColumns; ++j) {
      float p[4] = {};
      for (int k = first; k < std::min(first + 4, in.depth); ++k)
        p[k - first] = flush(flush(in.a[k]) * flush(in.b[k][j]));
      const float sum = flush(flush(p[0] + p[1]) + flush(p[2] + p[3]));
      c[j] = flush(flush(c[j]) + sum);
    }
  }
}

// Products first, first + step ... below end, each truncated to 24 bits below the largest exponent of a product, which
// is the sum of its factors' exponents.
struct Aligned {
  int exponent[kDotColumns];
  Columns sum;    // whole, in units of 2^(exponent - 24)
  Columns plain;  // the sum, to see what is not finite
};
Aligned align(const DotOperands& in, const Products p, int first, int step, int end) {
  Aligned out;
  for (int j = 0; j < kDotColumns; ++j) {
    int largest = -1000;  // below all others
    for (int k = first; k < end; k += step)
      largest = std::max(largest, exponent_of(in.a[k]) + exponent_of(in.b[k][j]));
    out.exponent[j] = largest;
    out.sum[j] = out.plain[j] = 0;
    const double scale = pow2(24 - std::max(largest, -900));
    for (int k = first; k < end; k += step) {
      out.sum[j] += std::trunc(p[k][j] * scale);
      out.plain[j] += p[k][j];
    }
  }
  return out;
}

// The sum of products and the accumulator, each cut downwards at 31 and 24 bits below the larger exponent of both.
float join(double sum, int exponent, float c, bool drops_small_c) {
  const int of_c = exponent_of(c), top = std::max(exponent, of_c);
  const double products = exponent < top - 900 ? (sum < 0 ? -1 : 0)
                                               : std::floor(sum * 128 * pow2(exponent - top));
  double kept = std::floor(static_cast<double>(c) * pow2(24 - top));
  if (drops_small_c && of_c < top - 25) kept = 0;
  return static_cast<float>((products + kept * 128) * pow2(top - 31));
}

void cdna3_half(const DotOperands& in, float* c) {
  Products p;
  multiply(in, p);
  for (int first = 0; first < in.depth; first += 8) {
    const Aligned group = align(in, p, first, 1, std::min(first + 8, in.depth));
    for (int j = 0; j < kDotColumns; ++j) {
      const double plain = group.plain[j] + c[j];
      c[j] = std::isfinite(plain) ? join(group.sum[j], group.exponent[j], c[j], false)
                                  : static_cast<float>(plain);
    }
  }
}

// Sixteen products: the even and the odd ones each by themselves, then together.
void cdna3_fp8(const DotOperands& in, float* c) {
  Products p;
  multiply(in, p);
  for (int first = 0; first < in.depth; first += 16) {
    const int end = std::min(first + 16, in.depth);
    const Aligned even = align(in, p, first, 2, end), odd = align(in, p, first + 1, 2, end);
    for (int j = 0; j < kDotColumns; ++j) {
      const double plain = even.plain[j] + odd.plain[j] + c[j];
      const int top = std::max(even.exponent[j], odd.exponent[j]);
      const auto cut = [&](const Aligned& half) {
        return half.exponent[j] < top - 900 ? (half.sum[j] < 0 ? -1.0 : 0.0)
                                            : std::floor(half.sum[j] * pow2(half.exponent[j] - top));
      };
      c[j] = std::isfinite(plain) ? join(cut(even) + cut(odd), top, c[j], true)
                                  : static_cast<float>(plain);
    }
  }
}

void cdna3(const DotOperands& in, float* c) {
  return in.input == DotInput::kFp8 ? cdna3_fp8(in, c) : cdna3_half(in, c);
}

// Even columns the largest of all, odd ones the smallest: errors of one sign add up along the context.
void adversarial(const DotOperands& in, float* c) {
  float results[4][kDotColumns];
  constexpr Arith kAll[4] = {Arith::kFma, Arith::kExact, Arith::kCdna2, Arith::kCdna3};
  for (int m = 0; m < 4; ++m) {
    std::copy_n(c, kDotColumns, results[m]);
    add_dot_product(kAll[m], in, results[m]);
  }
  for (int j = 0; j < kDotColumns; ++j) {
    float chosen = results[0][j];
    for (int m = 1; m < 4; ++m)
      chosen = j % 2 ? std::min(chosen, results[m][j]) : std::max(chosen, results[m][j]);
    c[j] = chosen;
  }
}

}  // namespace

void add_dot_product(Arith arith, const DotOperands& operands, float* c) {
  if (operands.input == DotInput::kF32) return fma_chain(operands, c);
  switch (arith) {
    case Arith::kFma:
      return fma_chain(operands, c);
    case Arith::kExact:
      return exact(operands, c);
    case Arith::kCdna2:
      return cdna2(operands, c);
    case Arith::kCdna3:
      return cdna3(operands, c);
    case Arith::kAdversarial:
      return adversarial(operands, c);
  }
}

}  // namespace attest::emulator
