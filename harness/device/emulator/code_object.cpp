#include "harness/device/emulator/code_object.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "harness/device/emulator/elf_image.hpp"
#include "harness/device/emulator/kernel_metadata.hpp"
#include "harness/device/emulator/line_table.hpp"

namespace attest::emulator {
namespace {

constexpr std::uint32_t kNoteAmdgpuMetadata = 32;
constexpr std::uintmax_t kMaxFile = std::uintmax_t{1} << 30;
constexpr std::uint32_t kMaxUserSgprs = 16;

// Registers that the launch fills, by the bits of kernel_code_properties. Source: LLVM AMDGPUUsage,
// "Kernel Descriptor".
std::uint32_t user_sgprs(const KernelInfo& kernel) {
  constexpr std::array<std::uint32_t, 7> kRegisters = {4, 2, 2, 2, 2, 2, 1};
  std::uint32_t count = kernel.kernarg_preload & 127u;
  for (std::size_t bit = 0; bit < kRegisters.size(); ++bit) {
    if (kernel.properties >> bit & 1) count += kRegisters[bit];
  }
  return count;
}

// Empty, or which demand of the kernel cannot be met.
std::string impossible_demand(const KernelInfo& k) {
  const auto too_much = [](std::string_view what, std::uint64_t asked, std::uint64_t most) {
    return asked > most ? fmt::format("asks for {} {}; there are {}", asked, what, most) : "";
  };
  const std::uint64_t preloaded = (k.kernarg_preload & 127u) + (k.kernarg_preload >> 7);
  for (const std::string& why :
       {too_much("bytes of LDS", k.lds_bytes, kMaxLdsBytes),
        too_much("bytes of scratch a lane", k.scratch_bytes, kMaxScratchBytes),
        too_much("bytes of arguments", k.kernarg_bytes, kMaxKernargBytes),
        too_much("threads a workgroup", k.max_workgroup_size, kMaxWorkgroup),
        too_much("user SGPRs", user_sgprs(k), kMaxUserSgprs),
        too_much("bytes of preloaded arguments", (k.kernarg_preload & 127u) ? 4 * preloaded : 0,
                 k.kernarg_bytes)}) {
    if (!why.empty()) return why;
  }
  return {};
}

class Object final : public CodeObject {
 public:
  Object(std::vector<std::byte> file, std::string_view path, std::string_view target)
      : file_(std::move(file)), path_(path), target_(target), elf_(file_, path) {}

  std::optional<Trouble> load() {
    if (!elf_.load(target_) || !read_kernels()) return elf_.reader().trouble();
    lines_ = LineTable::make(file_);
    return std::nullopt;
  }

  std::string_view path() const override { return path_; }
  std::string_view target() const override { return target_; }
  std::span<const KernelInfo> kernels() const override { return kernels_; }
  std::span<std::byte> image() const override { return elf_.image(); }
  std::string source_line(std::uint64_t offset) const override {
    std::string line = lines_ ? lines_->line(offset) : std::string();
    return line.empty() ? fmt::format("pc {:#x}", offset) : line;
  }

 private:
  bool read_kernels() {
    const auto note = elf_.note(kNoteAmdgpuMetadata);
    if (!note) return elf_.reader().fail(0, "no AMDGPU metadata note");
    auto metadata = parse_kernel_metadata(note->body);
    if (const auto* why = std::get_if<std::string>(&metadata)) {
      return elf_.reader().fail(note->at, "the metadata note: " + *why);
    }
    for (KernelMetadata& kernel : std::get<0>(metadata)) {
      if (!read_descriptor(kernel) || !read_code(kernel)) return false;
      kernels_.push_back(std::move(kernel.info));
    }
    return true;
  }

  // Source: LLVM AMDGPUUsage, "Kernel Descriptor".
  bool read_descriptor(KernelMetadata& kernel) {
    KernelInfo& info = kernel.info;
    const Symbol* symbol = elf_.symbol(kernel.symbol);
    if (!symbol) {
      return elf_.reader().fail(
          0, fmt::format("kernel {} has no descriptor symbol '{}'", info.name, kernel.symbol));
    }
    const auto words =
        elf_.at_address<std::array<std::uint32_t, 16>>(symbol->value, "a kernel descriptor");
    if (!words) return false;
    info.lds_bytes = (*words)[0];
    info.scratch_bytes = (*words)[1];
    info.kernarg_bytes = (*words)[2];
    info.entry = symbol->value + ((*words)[4] | std::uint64_t{(*words)[5]} << 32);
    info.rsrc3 = (*words)[11];
    info.rsrc1 = (*words)[12];
    info.rsrc2 = (*words)[13];
    info.properties = static_cast<std::uint16_t>((*words)[14]);
    info.kernarg_preload = static_cast<std::uint16_t>((*words)[14] >> 16);
    const std::string why = impossible_demand(info);
    return why.empty() ||
           elf_.fail_at_address(symbol->value, fmt::format("kernel {} {}", info.name, why));
  }

  // The function's symbol says how long the code is; without one it is the rest of its segment.
  bool read_code(KernelMetadata& kernel) {
    KernelInfo& info = kernel.info;
    const std::uint64_t most = elf_.executable_bytes(info.entry);
    if (info.entry % 4 != 0 || most < 4) {
      return elf_.reader().fail(
          0, fmt::format("kernel {} starts at {:#x}, which is not in its code", info.name,
                         info.entry));
    }
    std::string name = kernel.symbol;
    if (name.ends_with(".kd")) name.resize(name.size() - 3);
    const Symbol* symbol = elf_.symbol(name);
    const std::uint64_t bytes = symbol && symbol->size ? symbol->size : most;
    if (bytes > most) {
      return elf_.fail_at_address(info.entry, fmt::format("kernel {} is {} bytes long; its segment "
                                                          "ends after {}",
                                                          info.name, bytes, most));
    }
    info.code_bytes = static_cast<std::uint32_t>(bytes);
    return true;
  }

  std::vector<std::byte> file_;
  std::string path_, target_;
  ElfImage elf_;
  std::vector<KernelInfo> kernels_;
  std::unique_ptr<LineTable> lines_;
};

}  // namespace

Result<std::shared_ptr<const CodeObject>> CodeObject::parse(std::vector<std::byte> file,
                                                            std::string_view path,
                                                            std::string_view target) {
  auto object = std::make_shared<Object>(std::move(file), path, target);
  if (auto trouble = object->load()) return *trouble;
  return std::shared_ptr<const CodeObject>(std::move(object));
}

Result<std::shared_ptr<const CodeObject>> CodeObject::load(const std::string& path,
                                                           std::string_view target) {
  const auto usage = [&](std::string_view why) {
    return Trouble{TroubleKind::kUsage, fmt::format("{}: {}", path, why)};
  };
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return usage(error.message());
  if (size > kMaxFile) return usage(fmt::format("{} bytes are no code object", size));
  std::vector<std::byte> file(size);
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(reinterpret_cast<char*>(file.data()), static_cast<std::streamsize>(size))) {
    return usage("cannot be read");
  }
  return parse(std::move(file), path, target);
}

}  // namespace attest::emulator
