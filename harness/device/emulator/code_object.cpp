#include "harness/device/emulator/code_object.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/device/emulator/elf_reader.hpp"
#include "harness/device/emulator/line_table.hpp"

namespace attest::emulator {
namespace {

constexpr std::uint16_t kMachineAmdgpu = 224;
constexpr std::uint32_t kNoteAmdgpuMetadata = 32;
constexpr std::uint64_t kMaxImage = std::uint64_t{1} << 30;
// Source: LLVM AMDGPUUsage, "ELF Header", EF_AMDGPU_MACH.
const std::map<std::uint32_t, std::string_view> kMachs = {
    {0x3f, "gfx90a"},  {0x4c, "gfx942"},  {0x40, "gfx940"}, {0x4b, "gfx941"},
    {0x2f, "gfx908"},  {0x4f, "gfx950"},  {0x2e, "gfx906"}, {0x2c, "gfx900"},
    {0x41, "gfx1100"}, {0x36, "gfx1030"}, {0x49, "gfx1250"}};

struct Symbol {
  std::string name;
  std::uint64_t value = 0, size = 0;
};

class Object final : public CodeObject {
 public:
  Object(std::vector<std::byte> file, std::string_view path, std::string_view target)
      : file_(std::move(file)), path_(path), target_(target), reader_(file_, path) {}

  std::optional<Trouble> load() {
    const bool loaded =
        read_header() && load_segments() && read_dynamic() && read_metadata() && read_kernels();
    if (!loaded && !reader_.failed()) reader_.fail(0, "no reason found");
    if (!loaded) return reader_.trouble();
    lines_ = LineTable::make(file_);
    return std::nullopt;
  }

  std::string_view path() const override { return path_; }
  std::string_view target() const override { return target_; }
  std::span<const KernelInfo> kernels() const override { return kernels_; }
  std::span<std::byte> image() const override { return image_->bytes(); }
  std::string source_line(std::uint64_t offset) const override {
    std::string line = lines_ ? lines_->line(offset) : std::string();
    return line.empty() ? fmt::format("pc {:#x}", offset) : line;
  }

 private:
  bool read_header() {
    const auto header = reader_.at<Elf64_Ehdr>(0, "the ELF header");
    if (!header) return false;
    header_ = *header;
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0)
      return reader_.fail(0, "no ELF magic number"), false;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB) {
      return reader_.fail(EI_CLASS, "not a 64-bit little-endian ELF file"), false;
    }
    if (header_.e_machine != kMachineAmdgpu) {
      return reader_.fail(
                 offsetof(Elf64_Ehdr, e_machine),
                 fmt::format("machine {} is not AMDGPU ({})", header_.e_machine, kMachineAmdgpu)),
             false;
    }
    const auto mach = kMachs.find(header_.e_flags & 0xff);
    const std::string found = mach == kMachs.end()
                                  ? fmt::format("an architecture attest does not know (mach {:#x})",
                                                header_.e_flags & 0xff)
                                  : std::string(mach->second);
    if (found != target_)
      return reader_.fail(offsetof(Elf64_Ehdr, e_flags),
                          fmt::format("built for {}, but the device is {}", found, target_)),
             false;
    if (header_.e_phentsize != sizeof(Elf64_Phdr))
      return reader_.fail(offsetof(Elf64_Ehdr, e_phentsize), "program headers of an unknown size"),
             false;
    return true;
  }

  bool load_segments() {
    std::uint64_t end = 0;
    for (int i = 0; i < header_.e_phnum; ++i) {
      const std::uint64_t at = header_.e_phoff + std::uint64_t{sizeof(Elf64_Phdr)} * i;
      const auto segment = reader_.at<Elf64_Phdr>(at, fmt::format("program header {}", i));
      if (!segment) return false;
      if (segment->p_type == PT_DYNAMIC || segment->p_type == PT_NOTE)
        segments_.push_back(*segment);
      if (segment->p_type != PT_LOAD) continue;
      if (segment->p_vaddr > kMaxImage || segment->p_memsz > kMaxImage ||
          segment->p_filesz > segment->p_memsz) {
        return reader_.fail(at, fmt::format("segment {} has an impossible size or address", i)),
               false;
      }
      segments_.push_back(*segment);
      end = std::max(end, segment->p_vaddr + segment->p_memsz);
    }
    if (end == 0) return reader_.fail(header_.e_phoff, "no loadable segment"), false;
    image_ = std::make_unique<Image>((end + 4095) / 4096 * 4096);
    if (!image_->ok())
      return reader_.fail(0, fmt::format("no memory for an image of {} bytes", end)), false;
    for (const Elf64_Phdr& s : segments_) {
      if (s.p_type != PT_LOAD) continue;
      const auto from = reader_.bytes(s.p_offset, s.p_filesz, "a segment");
      if (!from) return false;
      std::memcpy(image_->bytes().data() + s.p_vaddr, from->data(), from->size());
    }
    return true;
  }

  // A structure inside the image, by virtual address.
  template <class T>
  std::optional<T> in_image(std::uint64_t address, std::string_view what) {
    const auto bytes = image_->bytes();
    if (address > bytes.size() || bytes.size() - address < sizeof(T)) {
      reader_.fail(0, fmt::format("{} at address {:#x} lies outside the image of {} bytes", what,
                                  address, bytes.size()));
      return std::nullopt;
    }
    T value;
    std::memcpy(&value, bytes.data() + address, sizeof value);
    return value;
  }

  bool read_dynamic() {
    std::map<std::int64_t, std::uint64_t> entries;
    for (const Elf64_Phdr& s : segments_) {
      if (s.p_type != PT_DYNAMIC) continue;
      for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= s.p_filesz; at += sizeof(Elf64_Dyn)) {
        const auto entry = reader_.at<Elf64_Dyn>(s.p_offset + at, "the dynamic section");
        if (!entry) return false;
        if (entry->d_tag == DT_NULL) break;
        entries[entry->d_tag] = entry->d_un.d_val;
      }
    }
    if (!entries.contains(DT_SYMTAB) || !entries.contains(DT_STRTAB))
      return reader_.fail(0, "no dynamic symbol table"), false;
    return read_symbols(entries) && relocate(entries);
  }

  std::optional<std::string> string_at(std::uint64_t address) {
    const auto bytes = image_->bytes();
    const auto* begin = reinterpret_cast<const char*>(bytes.data());
    const std::size_t length =
        address < bytes.size() ? strnlen(begin + address, bytes.size() - address) : 0;
    if (address >= bytes.size() || address + length == bytes.size()) {
      reader_.fail(0,
                   fmt::format("a name at address {:#x} does not end inside the image", address));
      return std::nullopt;
    }
    return std::string(begin + address, length);
  }

  bool read_symbols(std::map<std::int64_t, std::uint64_t>& entries) {
    // The count is in the hash table's second word; GNU hash alone is not what AMD's linker makes.
    std::uint64_t count = 0;
    if (entries.contains(DT_HASH)) {
      const auto words =
          in_image<std::array<std::uint32_t, 2>>(entries[DT_HASH], "the symbol hash table");
      if (!words) return false;
      count = (*words)[1];
    }
    if (count == 0 || count > image_->bytes().size() / sizeof(Elf64_Sym))
      return reader_.fail(0, "the number of symbols is missing or impossible"), false;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto symbol =
          in_image<Elf64_Sym>(entries[DT_SYMTAB] + i * sizeof(Elf64_Sym), "a symbol");
      if (!symbol) return false;
      auto name = string_at(entries[DT_STRTAB] + symbol->st_name);
      if (!name) return false;
      symbols_.push_back({std::move(*name), symbol->st_value, symbol->st_size});
    }
    return true;
  }

  bool relocate(std::map<std::int64_t, std::uint64_t>& entries) {
    if (!entries.contains(DT_RELA)) return true;
    const std::uint64_t base = reinterpret_cast<std::uint64_t>(image_->bytes().data());
    for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= entries[DT_RELASZ];
         at += sizeof(Elf64_Rela)) {
      const auto r = in_image<Elf64_Rela>(entries[DT_RELA] + at, "a relocation");
      if (!r) return false;
      const std::uint32_t type = ELF64_R_TYPE(r->r_info), index = ELF64_R_SYM(r->r_info);
      if (index >= symbols_.size())
        return reader_.fail(
                   0, fmt::format("a relocation names symbol {} of {}", index, symbols_.size())),
               false;
      const std::uint64_t value =
          (type == 13 ? 0 : symbols_[index].value) + static_cast<std::uint64_t>(r->r_addend) + base;
      // Source: AMDGPUUsage, "Relocation Records": ABS64 is 3, RELATIVE64 is 13.
      if (type != 3 && type != 13)
        return reader_.fail(0, fmt::format("relocation type {} is not modelled", type)), false;
      if (!in_image<std::uint64_t>(r->r_offset, "a relocated word")) return false;
      std::memcpy(image_->bytes().data() + r->r_offset, &value, sizeof value);
    }
    return true;
  }

  bool read_metadata() {
    for (const Elf64_Phdr& s : segments_) {
      if (s.p_type != PT_NOTE) continue;
      for (std::uint64_t at = s.p_offset; at + sizeof(Elf64_Nhdr) <= s.p_offset + s.p_filesz;) {
        const auto note = reader_.at<Elf64_Nhdr>(at, "a note");
        if (!note) return false;
        const std::uint64_t name_end =
            at + sizeof(Elf64_Nhdr) + (std::uint64_t{note->n_namesz} + 3) / 4 * 4;
        const auto body = reader_.bytes(name_end, note->n_descsz, "a note's contents");
        if (!body) return false;
        if (note->n_type == kNoteAmdgpuMetadata) return parse_metadata(*body, name_end);
        at = name_end + (std::uint64_t{note->n_descsz} + 3) / 4 * 4;
      }
    }
    return reader_.fail(0, "no AMDGPU metadata note"), false;
  }

  bool parse_metadata(std::span<const std::byte> body, std::uint64_t at) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(body.data());
    metadata_ = nlohmann::json::from_msgpack(begin, begin + body.size(), true, false);
    const bool usable = metadata_.is_object() && metadata_.contains("amdhsa.kernels") &&
                        metadata_["amdhsa.kernels"].is_array();
    if (!usable) reader_.fail(at, "the metadata note is no msgpack map with kernels");
    return usable;
  }

  static std::uint32_t number(const nlohmann::json& map, const char* key) {
    const auto found = map.find(key);
    return found != map.end() && found->is_number_unsigned() ? found->get<std::uint32_t>() : 0;
  }
  static std::string text(const nlohmann::json& map, const char* key) {
    const auto found = map.find(key);
    return found != map.end() && found->is_string() ? found->get<std::string>() : std::string();
  }

  bool read_kernels() {
    for (const auto& entry : metadata_["amdhsa.kernels"]) {
      if (!entry.is_object()) return reader_.fail(0, "a kernel's metadata is no map"), false;
      KernelInfo kernel;
      kernel.name = text(entry, ".name");
      fill_from_metadata(entry, kernel);
      if (!fill_from_descriptor(text(entry, ".symbol"), kernel)) return false;
      kernels_.push_back(std::move(kernel));
    }
    return true;
  }

  static void fill_from_metadata(const nlohmann::json& entry, KernelInfo& kernel) {
    kernel.vgpr_count = number(entry, ".vgpr_count");
    kernel.agpr_count = number(entry, ".agpr_count");
    kernel.sgpr_count = number(entry, ".sgpr_count");
    kernel.vgpr_spill_count = number(entry, ".vgpr_spill_count");
    kernel.sgpr_spill_count = number(entry, ".sgpr_spill_count");
    kernel.max_workgroup_size = number(entry, ".max_flat_workgroup_size");
    const auto dynamic = entry.find(".uses_dynamic_stack");
    kernel.uses_dynamic_stack =
        dynamic != entry.end() && dynamic->is_boolean() && dynamic->get<bool>();
    const auto arguments = entry.find(".args");
    if (arguments == entry.end() || !arguments->is_array()) return;
    for (const auto& a : *arguments) {
      if (a.is_object())
        kernel.arguments.push_back(
            {number(a, ".offset"), number(a, ".size"), text(a, ".value_kind")});
    }
  }

  // Source: LLVM AMDGPUUsage, "Kernel Descriptor".
  bool fill_from_descriptor(const std::string& symbol, KernelInfo& kernel) {
    const auto descriptor = std::find_if(symbols_.begin(), symbols_.end(),
                                         [&](const Symbol& s) { return s.name == symbol; });
    const auto code = std::find_if(symbols_.begin(), symbols_.end(),
                                   [&](const Symbol& s) { return s.name == kernel.name; });
    if (descriptor == symbols_.end())
      return reader_.fail(0, fmt::format("kernel {} has no descriptor symbol", kernel.name)), false;
    const auto words =
        in_image<std::array<std::uint32_t, 16>>(descriptor->value, "a kernel descriptor");
    if (!words) return false;
    kernel.lds_bytes = (*words)[0];
    kernel.scratch_bytes = (*words)[1];
    kernel.kernarg_bytes = (*words)[2];
    std::int64_t entry_offset;
    std::memcpy(&entry_offset, &(*words)[4], sizeof entry_offset);
    kernel.entry = descriptor->value + static_cast<std::uint64_t>(entry_offset);
    kernel.rsrc3 = (*words)[11];
    kernel.rsrc1 = (*words)[12];
    kernel.rsrc2 = (*words)[13];
    kernel.properties = static_cast<std::uint16_t>((*words)[14]);
    kernel.kernarg_preload = static_cast<std::uint16_t>((*words)[14] >> 16);
    const std::uint64_t image = image_->bytes().size();
    if (kernel.entry % 4 != 0 || kernel.entry >= image)
      return reader_.fail(0, fmt::format("kernel {} starts at {:#x}, outside the image",
                                         kernel.name, kernel.entry)),
             false;
    const std::uint64_t size =
        code != symbols_.end() && code->size ? code->size : image - kernel.entry;
    if (size > image - kernel.entry)
      return reader_.fail(
                 0, fmt::format("kernel {} is {} bytes long, past the image", kernel.name, size)),
             false;
    kernel.code_bytes = static_cast<std::uint32_t>(size);
    return true;
  }

  std::vector<std::byte> file_;
  std::string path_, target_;
  Reader reader_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::unique_ptr<Image> image_;
  std::vector<Symbol> symbols_;
  nlohmann::json metadata_;
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
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return Trouble{TroubleKind::kUsage, fmt::format("{}: {}", path, error.message())};
  std::vector<std::byte> file(size);
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(reinterpret_cast<char*>(file.data()), static_cast<std::streamsize>(size))) {
    return Trouble{TroubleKind::kUsage, fmt::format("{}: cannot be read", path)};
  }
  return parse(std::move(file), path, target);
}

}  // namespace attest::emulator
