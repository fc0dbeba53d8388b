// What a loader makes of an ELF file: its segments in memory, relocated, its dynamic symbols and
// its notes. The file is not trusted.
#pragma once
#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/emulator/elf_reader.hpp"

namespace attest::emulator {

// Anonymous pages: code addresses are then page aligned, as a driver's are.
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  bool ok() const { return data_ != nullptr; }
  std::span<std::byte> bytes() const { return {data_, bytes_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Symbol {
  std::string name;
  std::uint64_t value = 0, size = 0;
  bool defined = false, weak = false;
};

// A note's contents and where they lie in the file.
struct Note {
  std::span<const std::byte> body;
  std::uint64_t at = 0;
};

class ElfImage {
 public:
  // `file` must outlive the image.
  ElfImage(std::span<const std::byte> file, std::string_view path) : reader_(file, path) {}

  // False: reader().trouble() says what is wrong, at which byte.
  bool load(std::string_view target);

  std::span<std::byte> image() const { return pages_->bytes(); }
  const Symbol* symbol(std::string_view name) const;
  std::optional<Note> note(std::uint32_t type);  // no value and no trouble: there is none
  // Bytes from `address` to the end of the executable segment that holds it; 0 when none does.
  std::uint64_t executable_bytes(std::uint64_t address) const;
  // As Reader::fail, for a thing that lies at `address` of the image.
  bool fail_at_address(std::uint64_t address, std::string_view why) {
    return reader_.fail(file_offset(address), why);
  }
  // A structure inside the image, by virtual address.
  template <class T>
  std::optional<T> at_address(std::uint64_t address, std::string_view what) {
    const auto bytes = image();
    if (address > bytes.size() || bytes.size() - address < sizeof(T)) {
      fail_at_address(address, fmt::format("{} at address {:#x} lies outside the image of {} bytes",
                                           what, address, bytes.size()));
      return std::nullopt;
    }
    T value;
    std::memcpy(&value, bytes.data() + address, sizeof value);
    return value;
  }
  Reader& reader() { return reader_; }

 private:
  bool read_header(std::string_view target);
  bool read_architecture(std::string_view target);
  bool read_segments();
  bool refuse_overlap();
  bool copy_segments();
  bool read_dynamic();
  bool read_symbols();
  bool relocate(std::uint64_t table, std::uint64_t bytes);
  bool relocate_one(const Elf64_Rela& relocation);
  std::optional<std::string> string_at(std::uint64_t address);
  // Of the byte that `address` was loaded from; the dynamic section's where none was.
  std::uint64_t file_offset(std::uint64_t address) const;

  Reader reader_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> loads_, others_;  // PT_LOAD by address; PT_DYNAMIC and PT_NOTE
  std::unique_ptr<Pages> pages_;
  std::map<std::int64_t, std::uint64_t> dynamic_;
  std::uint64_t dynamic_at_ = 0;  // byte of the dynamic section
  std::vector<Symbol> symbols_;
};

}  // namespace attest::emulator
