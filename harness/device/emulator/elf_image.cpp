#include "harness/device/emulator/elf_image.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace attest::emulator {
namespace {

// Source: LLVM AMDGPUUsage, "ELF Code Object", for this file's AMDGPU numbers.
constexpr std::uint16_t kMachineAmdgpu = 224;
constexpr unsigned char kOsAmdgpuHsa = 64;
constexpr std::uint32_t kMachMask = 0xff;
const std::map<std::uint32_t, std::string_view> kMachs = {
    {0x2c, "gfx900"},  {0x2e, "gfx904"},  {0x2f, "gfx906"},  {0x30, "gfx908"},  {0x33, "gfx1010"},
    {0x36, "gfx1030"}, {0x3f, "gfx90a"},  {0x40, "gfx940"},  {0x41, "gfx1100"}, {0x46, "gfx1101"},
    {0x4b, "gfx941"},  {0x4c, "gfx942"},  {0x4e, "gfx1201"}, {0x48, "gfx1200"}, {0x49, "gfx1250"},
    {0x4f, "gfx950"},  {0x44, "gfx1103"}, {0x47, "gfx1102"}};

// Limits that no real code object comes near.
constexpr std::uint64_t kMaxImage = std::uint64_t{1} << 30;
constexpr int kMaxSegments = 128;
constexpr std::size_t kMaxName = 65536;
constexpr std::uint64_t kPage = 4096;

// What a relocation type writes. Source: AMDGPUUsage, "Relocation Records".
struct RelocationType {
  bool symbol, relative;  // adds the symbol's address; subtracts the place's
  int bytes;              // that are written
  int shift;              // 32: the high half
};
const std::map<std::uint32_t, RelocationType> kRelocations = {
    {1, {true, false, 4, 0}},    // R_AMDGPU_ABS32_LO
    {2, {true, false, 4, 32}},   // R_AMDGPU_ABS32_HI
    {3, {true, false, 8, 0}},    // R_AMDGPU_ABS64
    {4, {true, true, 4, 0}},     // R_AMDGPU_REL32
    {5, {true, true, 8, 0}},     // R_AMDGPU_REL64
    {10, {true, true, 4, 0}},    // R_AMDGPU_REL32_LO
    {11, {true, true, 4, 32}},   // R_AMDGPU_REL32_HI
    {13, {false, false, 8, 0}},  // R_AMDGPU_RELATIVE64
};

}  // namespace

Pages::Pages(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return;
  data_ = static_cast<std::byte*>(at);
  bytes_ = bytes;
}

Pages::~Pages() {
  if (data_) munmap(data_, bytes_);
}

bool ElfImage::load(std::string_view target) {
  return read_header(target) && read_segments() && refuse_overlap() && copy_segments() &&
         read_dynamic() && read_symbols() && relocate(dynamic_[DT_RELA], dynamic_[DT_RELASZ]) &&
         relocate(dynamic_[DT_JMPREL], dynamic_[DT_PLTRELSZ]);
}

bool ElfImage::read_header(std::string_view target) {
  const auto header = reader_.at<Elf64_Ehdr>(0, "the ELF header");
  if (!header) return false;
  header_ = *header;
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) {
    return reader_.fail(
        0, "no ELF magic number (an offload bundle or an archive must be unpacked first)");
  }
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB) {
    return reader_.fail(EI_CLASS, "not a 64-bit little-endian ELF file");
  }
  if (!read_architecture(target)) return false;
  if (header_.e_phentsize != sizeof(Elf64_Phdr)) {
    return reader_.fail(offsetof(Elf64_Ehdr, e_phentsize), "program headers of an unknown size");
  }
  // Section headers come last in a file, so that their absence shows any truncation.
  const std::uint64_t sections = std::uint64_t{header_.e_shnum} * header_.e_shentsize;
  return header_.e_shoff == 0 || reader_.bytes(header_.e_shoff, sections, "the section headers");
}

bool ElfImage::read_architecture(std::string_view target) {
  if (header_.e_machine != kMachineAmdgpu) {
    return reader_.fail(
        offsetof(Elf64_Ehdr, e_machine),
        fmt::format("machine {} is not AMDGPU ({})", header_.e_machine, kMachineAmdgpu));
  }
  if (header_.e_ident[EI_OSABI] != kOsAmdgpuHsa) {
    return reader_.fail(EI_OSABI, fmt::format("OS ABI {} is not AMDGPU HSA ({})",
                                              header_.e_ident[EI_OSABI], kOsAmdgpuHsa));
  }
  const std::uint32_t number = header_.e_flags & kMachMask;
  const auto mach = kMachs.find(number);
  const std::string found =
      mach == kMachs.end()
          ? fmt::format("an architecture attest does not know (mach {:#x})", number)
          : std::string(mach->second);
  if (found == target) return true;
  return reader_.fail(offsetof(Elf64_Ehdr, e_flags),
                      fmt::format("built for {}, but the device is {}", found, target));
}

bool ElfImage::read_segments() {
  if (header_.e_phnum > kMaxSegments) {
    return reader_.fail(offsetof(Elf64_Ehdr, e_phnum),
                        fmt::format("{} segments; more than {}", header_.e_phnum, kMaxSegments));
  }
  for (int i = 0; i < header_.e_phnum; ++i) {
    const std::uint64_t at = header_.e_phoff + sizeof(Elf64_Phdr) * static_cast<std::uint64_t>(i);
    const auto segment = reader_.at<Elf64_Phdr>(at, fmt::format("program header {}", i));
    if (!segment) return false;
    if (segment->p_type == PT_DYNAMIC || segment->p_type == PT_NOTE) others_.push_back(*segment);
    if (segment->p_type != PT_LOAD) continue;
    if (segment->p_vaddr > kMaxImage || segment->p_memsz > kMaxImage - segment->p_vaddr ||
        segment->p_filesz > segment->p_memsz) {
      return reader_.fail(at,
                          fmt::format("segment {} has an impossible size or address: {} bytes of "
                                      "the file, {} in memory at {:#x}",
                                      i, segment->p_filesz, segment->p_memsz, segment->p_vaddr));
    }
    loads_.push_back(*segment);
  }
  return !loads_.empty() || reader_.fail(header_.e_phoff, "no loadable segment");
}

bool ElfImage::refuse_overlap() {
  std::sort(loads_.begin(), loads_.end(),
            [](const Elf64_Phdr& a, const Elf64_Phdr& b) { return a.p_vaddr < b.p_vaddr; });
  for (std::size_t i = 1; i < loads_.size(); ++i) {
    if (loads_[i - 1].p_vaddr + loads_[i - 1].p_memsz <= loads_[i].p_vaddr) continue;
    return reader_.fail(header_.e_phoff,
                        fmt::format("segments overlap at address {:#x}", loads_[i].p_vaddr));
  }
  return true;
}

bool ElfImage::copy_segments() {
  const std::uint64_t end = loads_.back().p_vaddr + loads_.back().p_memsz;
  if (end == 0) return reader_.fail(header_.e_phoff, "the loadable segments are empty");
  pages_ = std::make_unique<Pages>((end + kPage - 1) / kPage * kPage);
  if (!pages_->ok()) {
    return reader_.fail(header_.e_phoff, fmt::format("no memory for an image of {} bytes", end));
  }
  for (const Elf64_Phdr& s : loads_) {
    const auto from = reader_.bytes(s.p_offset, s.p_filesz, "a segment");
    if (!from) return false;
    if (!from->empty()) std::memcpy(image().data() + s.p_vaddr, from->data(), from->size());
  }
  return true;
}

bool ElfImage::read_dynamic() {
  for (const Elf64_Phdr& s : others_) {
    if (s.p_type != PT_DYNAMIC) continue;
    const auto bytes = reader_.bytes(s.p_offset, s.p_filesz, "the dynamic section");
    if (!bytes) return false;
    dynamic_at_ = s.p_offset;
    for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= bytes->size(); at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, bytes->data() + at, sizeof entry);
      if (entry.d_tag == DT_NULL) break;
      dynamic_[entry.d_tag] = entry.d_un.d_val;
    }
  }
  if (dynamic_.contains(DT_REL)) {
    return reader_.fail(dynamic_at_, "relocations without addends are not modelled");
  }
  const bool usable =
      dynamic_.contains(DT_SYMTAB) && dynamic_.contains(DT_STRTAB) && dynamic_.contains(DT_HASH);
  return usable ||
         reader_.fail(dynamic_at_, "no dynamic symbol table (DT_SYMTAB, DT_STRTAB, DT_HASH)");
}

bool ElfImage::read_symbols() {
  // The hash table's second word is the number of symbols. Source: System V ABI, "Hash Table".
  const auto words =
      at_address<std::array<std::uint32_t, 2>>(dynamic_[DT_HASH], "the symbol hash table");
  if (!words) return false;
  const std::uint64_t count = (*words)[1];
  if (count == 0 || count > reader_.size() / sizeof(Elf64_Sym)) {
    return fail_at_address(dynamic_[DT_HASH], fmt::format("{} symbols cannot be", count));
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto symbol =
        at_address<Elf64_Sym>(dynamic_[DT_SYMTAB] + i * sizeof(Elf64_Sym), "a symbol");
    if (!symbol) return false;
    auto name = string_at(dynamic_[DT_STRTAB] + symbol->st_name);
    if (!name) return false;
    symbols_.push_back({std::move(*name), symbol->st_value, symbol->st_size,
                        symbol->st_shndx != SHN_UNDEF, ELF64_ST_BIND(symbol->st_info) == STB_WEAK});
  }
  return true;
}

std::optional<std::string> ElfImage::string_at(std::uint64_t address) {
  const auto bytes = image();
  if (address < bytes.size()) {
    const auto* begin = reinterpret_cast<const char*>(bytes.data()) + address;
    const std::size_t most = std::min<std::size_t>(bytes.size() - address, kMaxName);
    const std::size_t length = strnlen(begin, most);
    if (length < most) return std::string(begin, length);
  }
  fail_at_address(address,
                  fmt::format("a name at address {:#x} does not end inside the image", address));
  return std::nullopt;
}

bool ElfImage::relocate(std::uint64_t table, std::uint64_t bytes) {
  for (std::uint64_t at = 0; bytes - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
    const auto relocation = at_address<Elf64_Rela>(table + at, "a relocation");
    if (!relocation || !relocate_one(*relocation)) return false;
  }
  return true;
}

bool ElfImage::relocate_one(const Elf64_Rela& r) {
  const std::uint64_t number = ELF64_R_TYPE(r.r_info), index = ELF64_R_SYM(r.r_info);
  const auto type = kRelocations.find(static_cast<std::uint32_t>(number));
  if (type == kRelocations.end()) {
    return fail_at_address(r.r_offset, fmt::format("relocation type {} is not modelled", number));
  }
  const auto [uses_symbol, relative, bytes, shift] = type->second;
  const std::uint64_t base = reinterpret_cast<std::uint64_t>(image().data());
  std::uint64_t value = static_cast<std::uint64_t>(r.r_addend);
  if (uses_symbol && index >= symbols_.size()) {
    return fail_at_address(
        r.r_offset, fmt::format("a relocation names symbol {} of {}", index, symbols_.size()));
  }
  const Symbol* symbol = uses_symbol ? &symbols_[index] : nullptr;
  if (symbol && !symbol->defined && !symbol->weak) {
    return fail_at_address(r.r_offset, fmt::format("symbol {} is not defined", symbol->name));
  }
  if (!symbol || symbol->defined) value += base + (symbol ? symbol->value : 0);
  if (relative) value -= base + r.r_offset;
  value >>= shift;
  if (r.r_offset > image().size() || image().size() - r.r_offset < static_cast<unsigned>(bytes)) {
    return fail_at_address(r.r_offset, fmt::format("a relocated word at address {:#x} lies outside "
                                                   "the image of {} bytes",
                                                   r.r_offset, image().size()));
  }
  std::memcpy(image().data() + r.r_offset, &value, static_cast<std::size_t>(bytes));
  return true;
}

const Symbol* ElfImage::symbol(std::string_view name) const {
  const auto found = std::find_if(symbols_.begin(), symbols_.end(),
                                  [&](const Symbol& s) { return s.defined && s.name == name; });
  return found == symbols_.end() ? nullptr : &*found;
}

std::optional<Note> ElfImage::note(std::uint32_t type) {
  const auto padded = [](std::uint32_t bytes) { return (std::uint64_t{bytes} + 3) / 4 * 4; };
  for (const Elf64_Phdr& s : others_) {
    if (s.p_type != PT_NOTE) continue;
    if (!reader_.bytes(s.p_offset, s.p_filesz, "the notes")) return std::nullopt;
    const std::uint64_t end = s.p_offset + s.p_filesz;
    for (std::uint64_t at = s.p_offset; at + sizeof(Elf64_Nhdr) <= end;) {
      const auto head = reader_.at<Elf64_Nhdr>(at, "a note");
      if (!head) return std::nullopt;
      const std::uint64_t body_at = at + sizeof(Elf64_Nhdr) + padded(head->n_namesz);
      const auto body = reader_.bytes(body_at, head->n_descsz, "a note's contents");
      if (!body) return std::nullopt;
      if (head->n_type == type) return Note{*body, body_at};
      at = body_at + padded(head->n_descsz);
    }
  }
  return std::nullopt;
}

std::uint64_t ElfImage::executable_bytes(std::uint64_t address) const {
  for (const Elf64_Phdr& s : loads_) {
    if (s.p_flags & PF_X && address >= s.p_vaddr && address < s.p_vaddr + s.p_filesz) {
      return s.p_vaddr + s.p_filesz - address;
    }
  }
  return 0;
}

std::uint64_t ElfImage::file_offset(std::uint64_t address) const {
  for (const Elf64_Phdr& s : loads_) {
    if (address >= s.p_vaddr && address < s.p_vaddr + s.p_filesz) {
      return s.p_offset + address - s.p_vaddr;
    }
  }
  return dynamic_at_;
}

}  // namespace attest::emulator
