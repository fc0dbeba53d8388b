// The one inner loop of the reference: C[i][j] += sum over k of A[i][k] * B[k][j], blocked in
// registers. Each element is summed in the order of k, whatever the block.
#pragma once
#include "reference/vector.hpp"

namespace attest {

template <class Scalar>
struct Strided {  // element (i, k) at data[i * stride_i + k * stride_k]
  const Scalar* data;
  int stride_i, stride_k;
};

template <class Vector, int kI, int kJ, class Scalar>
inline void multiply_add_block(Strided<Scalar> a, const Scalar* b, int stride_b, int depth,
                               Scalar* c, int stride_c) {
  constexpr int kLanes = sizeof(Vector) / sizeof(Scalar);
  Vector sum[kI][kJ];
  for (int i = 0; i < kI; ++i) {
    for (int j = 0; j < kJ; ++j) sum[i][j] = load<Vector>(c + i * stride_c + j * kLanes);
  }
  for (int k = 0; k < depth; ++k) {
    Vector right[kJ];
    for (int j = 0; j < kJ; ++j) right[j] = load<Vector>(b + k * stride_b + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kI; ++i) {
      const Vector left = Vector{} + a.data[i * a.stride_i + k * a.stride_k];
#pragma GCC unroll 4
      for (int j = 0; j < kJ; ++j) sum[i][j] = fused_multiply_add(left, right[j], sum[i][j]);
    }
  }
  for (int i = 0; i < kI; ++i) {
    for (int j = 0; j < kJ; ++j) store(c + i * stride_c + j * kLanes, sum[i][j]);
  }
}

// rows_i: a multiple of 8. vectors_j: of 16 floats, or an even number of 8 doubles.
template <class Vector, class Scalar>
inline void multiply_add(Strided<Scalar> a, const Scalar* b, int stride_b, int depth, Scalar* c,
                         int stride_c, int rows_i, int vectors_j) {
  constexpr int kLanes = sizeof(Vector) / sizeof(Scalar);
#if defined(__AVX512F__)
  constexpr int kI = 8, kJ = kLanes == 8 ? 2 : 1;  // of 32 registers
#else
  constexpr int kI = 4, kJ = 1;  // a vector is two of 16 registers
#endif
  for (int j = 0; j < vectors_j; j += kJ) {
    for (int i = 0; i < rows_i; i += kI) {
      multiply_add_block<Vector, kI, kJ>({a.data + i * a.stride_i, a.stride_i, a.stride_k},
                                         b + j * kLanes, stride_b, depth,
                                         c + i * stride_c + j * kLanes, stride_c);
    }
  }
}

}  // namespace attest
