// Segments, symbols and relocations of a hostile file; code_object_test.cpp has the rest.
#include "harness/device/emulator/elf_image.hpp"

#include <algorithm>
#include <cstring>

#include "harness/device/emulator/test_launch.hpp"

namespace attest::emulator {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
T get(const Bytes& file, std::size_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}
template <class T>
void put(Bytes& file, std::size_t at, const T& value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

Bytes good_file() { return file_bytes(test_kernels("gfx942")); }

// Of the n-th program header of a type.
std::size_t header_at(const Bytes& file, std::uint32_t type, int nth = 0) {
  const auto header = get<Elf64_Ehdr>(file, 0);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (get<Elf64_Phdr>(file, at).p_type == type && nth-- == 0) return at;
  }
  ADD_FAILURE() << "no program header of type " << type;
  return 0;
}

// The byte of the dynamic section's entry with this tag.
std::size_t dynamic_at(const Bytes& file, std::int64_t tag) {
  const auto segment = get<Elf64_Phdr>(file, header_at(file, PT_DYNAMIC));
  for (std::size_t at = segment.p_offset; at < segment.p_offset + segment.p_filesz; at += 16) {
    if (get<Elf64_Dyn>(file, at).d_tag == tag) return at;
  }
  ADD_FAILURE() << "no dynamic entry " << tag;
  return 0;
}

// The first segment is loaded from byte 0 to address 0, so that its addresses are bytes of the
// file.
std::size_t relocations_at(const Bytes& file) {
  return get<Elf64_Dyn>(file, dynamic_at(file, DT_RELA)).d_un.d_val;
}

void expect_refused(const Bytes& file, const std::string& words) {
  ElfImage elf(file, "some.co");
  ASSERT_FALSE(elf.load("gfx942")) << words;
  EXPECT_NE(elf.reader().trouble().text.find(words), std::string::npos)
      << elf.reader().trouble().text;
}

TEST(ElfImage, RelocationsGiveAddressesWhereTheImageLies) {
  const Bytes file = good_file();
  ElfImage elf(file, "some.co");
  ASSERT_TRUE(elf.load("gfx942"));
  const auto image = elf.image();
  const auto base = reinterpret_cast<std::uint64_t>(image.data());
  EXPECT_EQ(base % 4096, 0u);
  const Symbol *tables = elf.symbol("tables"), *squares = elf.symbol("squares");
  ASSERT_TRUE(tables && squares);
  std::uint64_t second;
  std::memcpy(&second, image.data() + tables->value + 8, sizeof second);
  EXPECT_EQ(second, base + squares->value);
}

TEST(ElfImage, EachRelocationTypeWritesWhatItsFormulaSays) {
  const Bytes good = good_file();
  const std::size_t at = relocations_at(good);
  const auto relocation = get<Elf64_Rela>(good, at);
  const auto written = [&](std::uint32_t type, std::uint64_t& base, std::uint64_t& symbol) {
    Bytes file = good;
    Elf64_Rela changed = relocation;
    changed.r_addend = 16;
    // Symbol 2 of the dynamic table; which one it is does not matter.
    changed.r_info = ELF64_R_INFO(std::uint64_t{2}, type);
    put(file, at, changed);
    ElfImage elf(file, "some.co");
    EXPECT_TRUE(elf.load("gfx942")) << elf.reader().trouble().text;
    base = reinterpret_cast<std::uint64_t>(elf.image().data());
    const std::size_t symbols = get<Elf64_Dyn>(good, dynamic_at(good, DT_SYMTAB)).d_un.d_val;
    symbol = base + get<Elf64_Sym>(good, symbols + 2 * sizeof(Elf64_Sym)).st_value;
    return *elf.at_address<std::uint64_t>(changed.r_offset, "the word");
  };
  std::uint64_t base, symbol;
  const std::uint64_t low = 0xffffffff, place = relocation.r_offset;
  EXPECT_EQ(written(1, base, symbol) & low, (symbol + 16) & low);                  // ABS32_LO
  EXPECT_EQ(written(2, base, symbol) & low, (symbol + 16) >> 32);                  // ABS32_HI
  EXPECT_EQ(written(3, base, symbol), symbol + 16);                                // ABS64
  EXPECT_EQ(written(4, base, symbol) & low, (symbol + 16 - base - place) & low);   // REL32
  EXPECT_EQ(written(5, base, symbol), symbol + 16 - base - place);                 // REL64
  EXPECT_EQ(written(10, base, symbol) & low, (symbol + 16 - base - place) & low);  // REL32_LO
  EXPECT_EQ(written(11, base, symbol) & low, (symbol + 16 - base - place) >> 32);  // REL32_HI
  EXPECT_EQ(written(13, base, symbol), base + 16);                                 // RELATIVE64
}

TEST(ElfImage, HostileRelocationsAreRefused) {
  const Bytes good = good_file();
  const std::size_t at = relocations_at(good);
  const auto refused = [&](auto edit, const std::string& words) {
    Bytes file = good;
    auto relocation = get<Elf64_Rela>(good, at);
    edit(relocation);
    put(file, at, relocation);
    expect_refused(file, words);
  };
  for (const std::uint64_t offset : {~std::uint64_t{0}, ~std::uint64_t{6}, std::uint64_t{1} << 30})
    refused([&](Elf64_Rela& r) { r.r_offset = offset; }, "lies outside the image");
  refused([](Elf64_Rela& r) { r.r_info = 99; }, "relocation type 99 is not modelled");
  refused([](Elf64_Rela& r) { r.r_info = ELF64_R_INFO(std::uint64_t{5000}, 3); },
          "a relocation names symbol 5000 of ");
  refused([](Elf64_Rela& r) { r.r_info = ELF64_R_INFO(std::uint64_t{0}, 3); }, "is not defined");
  Bytes file = good;
  put(file, dynamic_at(good, DT_RELASZ) + 8, ~std::uint64_t{0});
  expect_refused(file, "relocation");
  file = good;
  put(file, dynamic_at(good, DT_RELA) + 8, ~std::uint64_t{0} - 8);
  expect_refused(file, "a relocation at address 0xfffffffffffffff7 lies outside the image");
  file = good;
  put(file, dynamic_at(good, DT_RELA), std::int64_t{DT_REL});
  expect_refused(file, "relocations without addends are not modelled");
}

TEST(ElfImage, OverlappingSegmentsAreRefused) {
  Bytes file = good_file();
  const std::size_t second = header_at(file, PT_LOAD, 1);
  auto segment = get<Elf64_Phdr>(file, second);
  segment.p_vaddr = get<Elf64_Phdr>(file, header_at(file, PT_LOAD)).p_memsz - 1;
  put(file, second, segment);
  expect_refused(file, "segments overlap at address");
}

TEST(ElfImage, AnImageBeyondAGibibyteIsRefused) {
  Bytes file = good_file();
  const std::size_t at = header_at(file, PT_LOAD, 1);
  auto segment = get<Elf64_Phdr>(file, at);
  segment.p_vaddr = std::uint64_t{1} << 30;
  put(file, at, segment);
  expect_refused(file, "has an impossible size or address");
}

TEST(ElfImage, TooManySegmentsAreRefused) {
  Bytes file = good_file();
  auto header = get<Elf64_Ehdr>(file, 0);
  header.e_phnum = 0xfffe;
  put(file, 0, header);
  expect_refused(file, "65534 segments");
}

TEST(ElfImage, HostileSymbolTablesAreRefused) {
  const Bytes good = good_file();
  const std::size_t hash = get<Elf64_Dyn>(good, dynamic_at(good, DT_HASH)).d_un.d_val;
  for (const std::uint32_t count : {0u, 100000u, ~0u}) {
    Bytes file = good;
    put(file, hash + 4, count);
    expect_refused(file, std::to_string(count) + " symbols cannot be");
  }
  for (const std::int64_t tag : {DT_SYMTAB, DT_STRTAB, DT_HASH}) {
    Bytes file = good;
    put(file, dynamic_at(good, tag) + 8, ~std::uint64_t{0} - 2);
    expect_refused(file, "the image");
    file = good;
    put(file, dynamic_at(good, tag), std::int64_t{0x1234});
    expect_refused(file, "no dynamic symbol table");
  }
}

// Wherever the file is cut, the section headers at its end are missing.
TEST(ElfImage, EachPrefixIsRefused) {
  const Bytes good = good_file();
  for (std::size_t size = 0; size < good.size(); ++size) {
    ElfImage elf(std::span(good).first(size), "some.co");
    ASSERT_FALSE(elf.load("gfx942")) << size;
  }
}

}  // namespace
}  // namespace attest::emulator
