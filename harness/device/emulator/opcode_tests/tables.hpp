// The opcode tables, by family, and the mnemonics that each family's tests cover.
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/device/emulator/opcode_tests/vector_op.hpp"

namespace attest::emulator::opcode_tests {

// "v4" or "v[4:7]".
inline std::string registers(int first, int dwords) {
  return dwords == 1 ? fmt::format("v{}", first)
                     : fmt::format("v[{}:{}]", first, first + dwords - 1);
}

const std::vector<VectorOp>& vector_integer_ops();
const std::vector<VectorOp>& vector_short_ops();
const std::vector<VectorOp>& vector_float_ops();
const std::vector<VectorOp>& vector_conversion_ops();
const std::vector<VectorOp>& vector_packed_ops();
const std::vector<VectorOp>& vector_fp8_ops();
std::vector<std::string> transcendental_mnemonics();
std::vector<std::string> division_mnemonics();
std::vector<std::string> compare_mnemonics();
std::vector<std::string> carry_mnemonics();
std::vector<std::string> lane_mnemonics();
std::vector<std::string> scalar_mnemonics();
std::vector<std::string> control_mnemonics();
std::vector<std::string> lds_mnemonics();  // atomics included
std::vector<std::string> lds_atomic_mnemonics();
std::vector<std::string> global_mnemonics();
std::vector<std::string> buffer_mnemonics();
std::vector<std::string> buffer_atomic_mnemonics();
std::vector<std::string> lds_load_mnemonics();
std::vector<std::string> index_mnemonics();
std::vector<std::string> scalar_memory_mnemonics();
std::vector<std::string> matrix_mnemonics();

}  // namespace attest::emulator::opcode_tests
