// Code offset -> source line, from a code object's DWARF line table, with the call sites it was
// inlined from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace attest::emulator {

class LineTable {
 public:
  // `file` is the whole ELF file and must outlive the table. Null when it has no line table.
  static std::unique_ptr<LineTable> make(std::span<const std::byte> file);
  virtual ~LineTable() = default;
  // "stage1.hpp:120:9 < mla_decode.hip:31:3", innermost first, or empty. Safe to call from several
  // threads.
  virtual std::string line(std::uint64_t address) const = 0;
};

}  // namespace attest::emulator
