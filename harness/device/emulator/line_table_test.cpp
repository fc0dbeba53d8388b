#include "harness/device/emulator/line_table.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <regex>

#include "harness/device/emulator/test_launch.hpp"

namespace attest::emulator {
namespace {

TEST(LineTable, EveryFourthByteOfTheKernelsMapsToAKernelSourceOrToItsPc) {
  const auto object = CodeObject::load(mla_decode_object("gfx942"), "gfx942");
  ASSERT_TRUE(object.ok()) << object.trouble().text;
  const std::regex place(R"([a-z0-9_]+\.(hpp|hip):\d+:\d+( < [a-z0-9_]+\.(hpp|hip):\d+:\d+)*)");
  int lines = 0, all = 0;
  for (const KernelInfo& kernel : (*object)->kernels()) {
    for (std::uint64_t pc = kernel.entry; pc < kernel.entry + kernel.code_bytes; pc += 4, ++all) {
      const std::string line = (*object)->source_line(pc);
      lines += std::regex_match(line, place);
      ASSERT_TRUE(std::regex_match(line, place) || line.starts_with("pc 0x")) << line;
    }
  }
  EXPECT_GT(all, 0);
  EXPECT_GT(lines, all * 9 / 10);
}

TEST(LineTable, InlinedCodeNamesItsCallSites) {
  const auto object = CodeObject::load(mla_decode_object("gfx942"), "gfx942");
  ASSERT_TRUE(object.ok()) << object.trouble().text;
  bool inlined = false;
  for (const KernelInfo& kernel : (*object)->kernels()) {
    for (std::uint64_t pc = kernel.entry; pc < kernel.entry + kernel.code_bytes; pc += 4) {
      const std::string line = (*object)->source_line(pc);
      inlined |= line.find(".hpp:") < line.find(" < ") && line.find(" < ") != line.npos;
    }
  }
  EXPECT_TRUE(inlined);
}

TEST(LineTable, AnOffsetOutsideTheCodeIsItsPc) {
  const auto object = CodeObject::load(test_kernels("gfx942"), "gfx942");
  ASSERT_TRUE(object.ok()) << object.trouble().text;
  EXPECT_EQ((*object)->source_line(0x12345678), "pc 0x12345678");
  EXPECT_EQ((*object)->source_line(~std::uint64_t{0}), "pc 0xffffffffffffffff");
}

TEST(LineTable, TheStoreOfATestKernelIsOnItsLine) {
  const auto object = CodeObject::load(test_kernels("gfx942"), "gfx942");
  ASSERT_TRUE(object.ok()) << object.trouble().text;
  const KernelInfo* kernel = find_kernel(**object, "store_at");
  ASSERT_NE(kernel, nullptr);
  bool seen = false;
  for (std::uint64_t pc = kernel->entry; pc < kernel->entry + kernel->code_bytes; pc += 4)
    seen |= (*object)->source_line(pc).starts_with(line_with("here: the store"));
  EXPECT_TRUE(seen);
}

TEST(LineTable, AFileWithoutLinesHasNoTable) {
  EXPECT_EQ(LineTable::make({}), nullptr);
  const std::vector<std::byte> noise(4096, std::byte{0x7f});
  EXPECT_EQ(LineTable::make(noise), nullptr);
}

// Where the debug information begins: after all that is loaded.
std::size_t end_of_loaded(const std::vector<std::byte>& file) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

// LLVM's reader crashes on some of these; a report must not.
TEST(LineTable, DamagedDebugInformationGivesALineOrThePc) {
  const std::vector<std::byte> good = file_bytes(test_kernels("gfx942"));
  const auto object = CodeObject::parse(good, "some.co", "gfx942");
  ASSERT_TRUE(object.ok()) << object.trouble().text;
  const std::uint64_t pc = find_kernel(**object, "store_at")->entry;
  const std::string line = (*object)->source_line(pc);
  ASSERT_TRUE(line.starts_with("test_kernels.hip:")) << line;
  int same = 0, unknown = 0;
  for (std::size_t at = end_of_loaded(good); at + 4 <= good.size(); at += 2) {
    std::vector<std::byte> file = good;
    std::fill_n(file.begin() + static_cast<long>(at), 4, std::byte{0xff});
    const auto damaged = CodeObject::parse(file, "some.co", "gfx942");
    ASSERT_TRUE(damaged.ok()) << damaged.trouble().text;  // it runs all the same
    const std::string found = (*damaged)->source_line(pc);
    EXPECT_FALSE(found.empty());
    same += found == line;
    unknown += found.starts_with("pc 0x");
  }
  EXPECT_GT(same, 100);
  EXPECT_GT(unknown, 100);
}

}  // namespace
}  // namespace attest::emulator

// What LLVM held when it crashed is lost.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(readability-identifier-naming)
  return "leak:libLLVM\n";
}
