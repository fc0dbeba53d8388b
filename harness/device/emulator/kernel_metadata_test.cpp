// The metadata note is not trusted: whatever is in it, reading it ends with kernels or with words.
#include "harness/device/emulator/kernel_metadata.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace attest::emulator {
namespace {

using nlohmann::json;
using Bytes = std::vector<std::uint8_t>;

json good_kernel() {
  return {{".name", "k"},
          {".symbol", "k.kd"},
          {".vgpr_count", 12},
          {".vgpr_spill_count", 3},
          {".max_flat_workgroup_size", 256},
          {".uses_dynamic_stack", true},
          {".args", {{{".offset", 8}, {".size", 4}, {".value_kind", "by_value"}, {".name", "n"}}}}};
}
Bytes note_of(const json& kernel) {
  return json::to_msgpack({{"amdhsa.kernels", json::array({kernel})}});
}
auto parse(const Bytes& note) { return parse_kernel_metadata(std::as_bytes(std::span(note))); }

void expect_words(const Bytes& note, const std::string& words) {
  const auto result = parse(note);
  const auto* why = std::get_if<std::string>(&result);
  ASSERT_NE(why, nullptr) << words;
  EXPECT_NE(why->find(words), std::string::npos) << *why;
}
void expect_words_with(const char* key, const json& value, const std::string& words) {
  json kernel = good_kernel();
  kernel[key] = value;
  expect_words(note_of(kernel), words);
}

TEST(KernelMetadata, FieldsAndArgumentsAreRead) {
  const auto result = parse(note_of(good_kernel()));
  const auto* kernels = std::get_if<std::vector<KernelMetadata>>(&result);
  ASSERT_NE(kernels, nullptr) << std::get<std::string>(result);
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_EQ(kernels->front().symbol, "k.kd");
  const KernelInfo& info = kernels->front().info;
  EXPECT_EQ(info.name, "k");
  EXPECT_EQ(info.vgpr_count, 12u);
  EXPECT_EQ(info.vgpr_spill_count, 3u);
  EXPECT_EQ(info.max_workgroup_size, 256u);
  EXPECT_TRUE(info.uses_dynamic_stack);
  ASSERT_EQ(info.arguments.size(), 1u);
  EXPECT_EQ(info.arguments[0].offset, 8u);
  EXPECT_EQ(info.arguments[0].size, 4u);
  EXPECT_EQ(info.arguments[0].value_kind, "by_value");
  EXPECT_EQ(info.arguments[0].name, "n");
}

// The decoder calls itself once a level: this many levels are more than a stack holds.
TEST(KernelMetadata, MillionsOfLevelsAreRefused) {
  expect_words(Bytes(std::size_t{4} << 20, 0x91), "more than 32 levels");  // [[[...
  Bytes maps;
  for (int i = 0; i < 1 << 20; ++i) maps.insert(maps.end(), {0x81, 0xa1, 'a'});  // {"a": {"a": ...
  expect_words(maps, "more than 32 levels");
}

TEST(KernelMetadata, WhatIsNoMsgpackIsRefusedWithTheByte) {
  expect_words({}, "is no msgpack");
  expect_words({0xc1}, "byte 1 of it is no msgpack");  // the one unused code
  Bytes note = note_of(good_kernel());
  note.push_back(0);
  expect_words(note, "byte " + std::to_string(note.size()) + " of it is no msgpack");
}

TEST(KernelMetadata, EachPrefixIsRefused) {
  const Bytes note = note_of(good_kernel());
  for (std::size_t size = 0; size < note.size(); ++size) {
    expect_words(Bytes(note.begin(), note.begin() + static_cast<long>(size)), "is no msgpack");
  }
}

TEST(KernelMetadata, SizesThatNoNoteHasAreRefused) {
  expect_words({0xdd, 0xff, 0xff, 0xff, 0xff}, "is no msgpack");  // an array of 2^32 - 1
  expect_words({0xdf, 0xff, 0xff, 0xff, 0xff}, "is no msgpack");  // a map
  expect_words({0xdb, 0xff, 0xff, 0xff, 0xff}, "is no msgpack");  // a string
  expect_words({0xc6, 0xff, 0xff, 0xff, 0xff}, "is no msgpack");  // bytes
}

TEST(KernelMetadata, AnotherShapeIsRefused) {
  expect_words(json::to_msgpack(json::array({1, 2})), "no map with amdhsa.kernels");
  expect_words(json::to_msgpack({{"amdhsa.kernels", 3}}), "no map with amdhsa.kernels");
  expect_words(json::to_msgpack(nullptr), "no map with amdhsa.kernels");
  expect_words(note_of(7), "a kernel's metadata is no map");
  expect_words_with(".args", "none", "kernel k: .args is no array");
  expect_words_with(".args", json::array({1}), "kernel k: an argument is no map");
}

TEST(KernelMetadata, NamesThatATerminalWouldObeyAreRefused) {
  for (const char* name : {"", "a b", "\x1b[2J", "k\n"}) {
    expect_words_with(".name", name, "a kernel has no name");
  }
  expect_words_with(".name", std::string(5000, 'k'), "a kernel has no name");
  expect_words_with(".args", json::array({{{".name", "\x1b[2J"}}}), "argument 0 has a name");
}

TEST(KernelMetadata, ArgumentsBeyondAnyLaunchAreRefused) {
  expect_words_with(".args", json::array({{{".offset", 0}, {".size", std::uint64_t{1} << 40}}}),
                    "kernel k: argument 0 of 4294967295 bytes at 0 cannot be");
  expect_words_with(".args", json::array({{{".offset", 65537}, {".size", 4}}}),
                    "kernel k: argument 0 of 4 bytes at 65537 cannot be");
}

TEST(KernelMetadata, WavesOf32LanesAreRefused) {
  expect_words_with(".wavefront_size", 32, "kernel k: waves of 32 lanes, not 64");
}

}  // namespace
}  // namespace attest::emulator
