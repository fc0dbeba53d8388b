// Bit-level models of the matrix units that a Contract may name, as they sum a dot product onto an
// accumulator. Source: MMA-Sim (Xie et al., arXiv:2511.10909; github.com/microsoft/MMA-Sim), which
// reports agreement with MI100, MI250X and MI300X bit for bit. Two stand-ins where no such model of
// ours exists: kHopperBf16 is that paper's T-FDPA (16 products and the accumulator, truncated to 25
// fractional bits of the largest, result truncated); kUnknown is CDNA2's, which rounds most often
// of the three.
#pragma once
#include <cstddef>
#include <span>

#include "harness/core/contract.hpp"

namespace attest::model {

inline constexpr int kLanes = 16;  // columns come in multiples of it

// sum[j] = sum[j] + sum over k of a[k] * b[k * stride + j], for every j < columns, in the order and
// with the roundings of the unit. A last group that is not full is filled with zeros. Products of
// bf16 or fp8 values are exact, as in the hardware; where `a` holds wider values (P kept in fp32),
// exact products enter the units that sum exactly.
void multiply_accumulate(MatrixUnit unit, std::span<const float> a, const float* b,
                         std::ptrdiff_t stride, int columns, float* sum);

}  // namespace attest::model
