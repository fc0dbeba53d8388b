// A code object's metadata note: which kernels it holds, and what each asks for.
// Source: LLVM AMDGPUUsage, "Code Object V3 to V6 Metadata".
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "harness/device/emulator/code_object.hpp"

namespace attest::emulator {

struct KernelMetadata {
  std::string symbol;  // of the descriptor: "mla_stage1.kd"
  KernelInfo info;     // what the descriptor holds is not filled in
};

// The kernels of the note, or what is wrong with it. The note is not trusted.
std::variant<std::vector<KernelMetadata>, std::string> parse_kernel_metadata(
    std::span<const std::byte> note);

}  // namespace attest::emulator
