#include "harness/device/emulator/line_table.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace attest::emulator
