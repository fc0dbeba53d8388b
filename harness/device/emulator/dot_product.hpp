// How a matrix unit sums a dot product onto its accumulator, by Arith. Source: MMA-Sim (Xie et al.,
// arXiv:2511.10909), whose authors compared it with MI250X and MI300X bit for bit; we had no such card.
#pragma once
#include "harness/core/arith.hpp"

namespace attest::emulator {

inline constexpr int kDotColumns = 16;  // that are summed at a time
inline constexpr int kDotDepth = 32;    // the longest

// What enters a unit decides how it sums.
enum class DotInput { kF32, kHalf, kFp8 };  // kHalf: f16 and bf16

struct DotOperands {
  const float* a;                       // [depth]
  const float (*b)[kDotColumns];        // [depth][column]
  int depth = 0;
  DotInput input = DotInput::kHalf;
};

// c[j] becomes c[j] + sum over k of a[k] * b[k][j]. f32 inputs are a chain of FMAs on every unit.
// The host rounds to nearest and keeps subnormals; what a unit flushes is flushed here.
void add_dot_product(Arith arith, const DotOperands& operands, float* c);

}  // namespace attest::emulator
