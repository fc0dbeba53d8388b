// A gfx90a or gfx942 code object (ELF64, AMDGPU HSA), loaded into host memory. The file is not
// trusted. Source: LLVM AMDGPUUsage, "Code Object" and "Kernel Descriptor".
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/trouble.hpp"

namespace attest::emulator {

// One entry of a kernel's .args metadata.
struct ArgumentInfo {
  std::uint32_t offset = 0, size = 0;
  std::string value_kind;  // "by_value", "global_buffer", "hidden_block_count_x", ...
  std::string name;        // empty when the compiler did not keep it
};

// What a workgroup or a launch can have; a kernel that asks for more is refused when it is loaded.
inline constexpr std::uint32_t kMaxLdsBytes = 65536;      // CDNA3 ISA, "LDS"
inline constexpr std::uint32_t kMaxKernargBytes = 65536;  // far beyond what a driver takes
inline constexpr std::uint32_t kMaxWorkgroup = 1024;      // threads. CDNA3 ISA, "Terminology"
// Per lane: a wave's scratch is at most 8191 units of 1 KiB. Source: LLVM AMDGPUUsage,
// COMPUTE_TMPRING_SIZE.WAVESIZE.
inline constexpr std::uint32_t kMaxScratchBytes = 8191 * 1024 / 64;

// Fields of the 64-byte kernel descriptor, and what the metadata note adds.
struct KernelInfo {
  std::string name;
  std::uint64_t entry = 0;  // byte offset of the first instruction in CodeObject::image
  std::uint32_t code_bytes = 0;
  std::uint32_t lds_bytes = 0;      // group_segment_fixed_size
  std::uint32_t scratch_bytes = 0;  // private_segment_fixed_size, per lane
  std::uint32_t kernarg_bytes = 0;
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::uint16_t properties = 0;  // kernel_code_properties
  std::uint16_t kernarg_preload = 0;
  std::uint32_t vgpr_count = 0, agpr_count = 0, sgpr_count = 0;
  std::uint32_t vgpr_spill_count = 0, sgpr_spill_count = 0;
  std::uint32_t max_workgroup_size = 0;
  bool uses_dynamic_stack = false;
  std::vector<ArgumentInfo> arguments;
};

class CodeObject {
 public:
  // Trouble kUsage: what is wrong, at which byte of which file; a code object for another
  // architecture than `target` ("gfx942") says both.
  static Result<std::shared_ptr<const CodeObject>> load(const std::string& path,
                                                        std::string_view target);
  static Result<std::shared_ptr<const CodeObject>> parse(std::vector<std::byte> file,
                                                         std::string_view path,
                                                         std::string_view target);
  virtual ~CodeObject() = default;

  virtual std::string_view path() const = 0;
  virtual std::string_view target() const = 0;  // "gfx942"
  virtual std::span<const KernelInfo> kernels() const = 0;
  // PT_LOAD segments laid out at their virtual addresses from 0 and relocated to where they lie;
  // read-write data included.
  virtual std::span<std::byte> image() const = 0;
  // "file.hip:38:19 < caller.hip:12:3", or "pc 0x1a40" when no line table covers it.
  virtual std::string source_line(std::uint64_t image_offset) const = 0;
};

}  // namespace attest::emulator
