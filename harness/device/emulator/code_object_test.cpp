// The ELF file is not trusted: whatever is in it, loading and decoding it ends with a value or with
// a Trouble that names the file and the byte.
#include "harness/device/emulator/code_object.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <random>

#include "harness/device/emulator/test_launch.hpp"

namespace attest::emulator {
namespace {

using Bytes = std::vector<std::byte>;

// Sanitizers make a load some twenty times slower; a seventh of the bytes then has to do.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTEST_SANITIZED 1
#endif
#endif
#ifdef ATTEST_SANITIZED
constexpr std::size_t kStep = 7;
#else
constexpr std::size_t kStep = 1;
#endif

std::shared_ptr<const CodeObject> loaded(const std::string& path, std::string_view target) {
  auto object = CodeObject::load(path, target);
  EXPECT_TRUE(object.ok()) << object.trouble().text;
  return object.ok() ? *object : nullptr;
}

void expect_trouble(const Bytes& file, const std::string& words) {
  const auto object = CodeObject::parse(file, "some.co", "gfx942");
  ASSERT_FALSE(object.ok()) << words;
  EXPECT_EQ(object.trouble().kind, TroubleKind::kUsage);
  EXPECT_TRUE(object.trouble().text.starts_with("some.co: not a usable code object: byte "))
      << object.trouble().text;
  EXPECT_NE(object.trouble().text.find(words), std::string::npos) << object.trouble().text;
}

// Same code and same fields: decoding it again would show nothing new.
bool same_code(const CodeObject& a, const CodeObject& b) {
  if (a.kernels().size() != b.kernels().size()) return false;
  for (std::size_t i = 0; i < a.kernels().size(); ++i) {
    const KernelInfo &x = a.kernels()[i], &y = b.kernels()[i];
    if (x.entry != y.entry || x.code_bytes != y.code_bytes) return false;
    const auto first = a.image().subspan(x.entry, x.code_bytes);
    if (!std::ranges::equal(first, b.image().subspan(x.entry, x.code_bytes))) return false;
  }
  return true;
}

// Loads what may be broken; true when it loads, and then its kernels are decoded too.
bool survives(const Bytes& file, const CodeObject& good) {
  const auto object = CodeObject::parse(file, "some.co", "gfx942");
  if (!object.ok()) {
    EXPECT_TRUE(object.trouble().text.starts_with("some.co: not a usable code object: byte "))
        << object.trouble().text;
    return false;
  }
  const bool decoded_before = same_code(**object, good);
  for (const KernelInfo& kernel : (*object)->kernels()) {
    EXPECT_FALSE((*object)->source_line(kernel.entry).empty());
    if (decoded_before) continue;
    const auto program = decode(*object, kernel);
    if (!program.ok()) EXPECT_TRUE(program.trouble().text.starts_with("some.co: kernel "));
  }
  return true;
}

Elf64_Ehdr header_of(const Bytes& file) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  return header;
}
std::size_t segment_at(const Bytes& file, std::uint32_t type) {
  const Elf64_Ehdr header = header_of(file);
  for (int i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + sizeof(Elf64_Phdr) * i;
    std::uint32_t found;
    std::memcpy(&found, file.data() + at, sizeof found);
    if (found == type) return at;
  }
  ADD_FAILURE() << "no segment of type " << type;
  return 0;
}
Elf64_Phdr segment(const Bytes& file, std::uint32_t type) {
  Elf64_Phdr value;
  std::memcpy(&value, file.data() + segment_at(file, type), sizeof value);
  return value;
}
void edit_segment(Bytes& file, std::uint32_t type, const std::function<void(Elf64_Phdr&)>& edit) {
  Elf64_Phdr value = segment(file, type);
  edit(value);
  std::memcpy(file.data() + segment_at(file, type), &value, sizeof value);
}

class BuiltCodeObject : public testing::TestWithParam<std::string> {};

TEST_P(BuiltCodeObject, LoadsWithSensibleFields) {
  const auto object = loaded(mla_decode_object(GetParam()), GetParam());
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->target(), GetParam());
  EXPECT_EQ(object->path(), mla_decode_object(GetParam()));
  ASSERT_FALSE(object->kernels().empty());
  for (const KernelInfo& k : object->kernels()) {
    EXPECT_EQ(k.entry % 256, 0u) << k.name;  // AMDGPUUsage: kernel entry alignment
    EXPECT_GT(k.code_bytes, 0u);
    EXPECT_LE(k.entry + k.code_bytes, object->image().size());
    EXPECT_GT(k.max_workgroup_size, 0u);
    EXPECT_LE(k.max_workgroup_size, 1024u);
    ASSERT_FALSE(k.arguments.empty());
    EXPECT_EQ(k.arguments.front().offset, 0u);
    EXPECT_LE(k.arguments.back().offset + k.arguments.back().size, k.kernarg_bytes);
    EXPECT_NE(k.properties & 8, 0) << "the kernel argument pointer is not asked for";
  }
}

TEST_P(BuiltCodeObject, ForTheOtherTargetIsRefusedWithBothNames) {
  const std::string other = GetParam() == "gfx942" ? "gfx90a" : "gfx942";
  const auto object = CodeObject::load(mla_decode_object(GetParam()), other);
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.trouble().kind, TroubleKind::kUsage);
  const std::string words = "built for " + GetParam() + ", but the device is " + other;
  EXPECT_NE(object.trouble().text.find(words), std::string::npos) << object.trouble().text;
  EXPECT_NE(object.trouble().text.find(mla_decode_object(GetParam())), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Targets, BuiltCodeObject, testing::Values("gfx942", "gfx90a"),
                         [](const auto& target) { return target.param; });

TEST(CodeObject, KnowsTheTestKernelsFields) {
  const auto object = loaded(test_kernels("gfx942"), "gfx942");
  ASSERT_NE(object, nullptr);
  const KernelInfo* ids = find_kernel(*object, "write_ids");
  const KernelInfo* reverse = find_kernel(*object, "reverse_block");
  const KernelInfo* scratch = find_kernel(*object, "through_scratch");
  const KernelInfo* hidden = find_kernel(*object, "write_hidden");
  ASSERT_TRUE(ids && reverse && scratch && hidden);
  ASSERT_EQ(ids->arguments.size(), 6u);
  EXPECT_EQ(ids->arguments[0].value_kind, "global_buffer");
  EXPECT_EQ(ids->arguments[5].value_kind, "by_value");
  EXPECT_EQ(ids->arguments[5].offset, 24u);
  EXPECT_EQ(ids->arguments[5].size, 4u);
  EXPECT_EQ(ids->kernarg_bytes, 28u);
  EXPECT_EQ(ids->kernarg_preload, 0u);
  EXPECT_EQ(reverse->lds_bytes, 1024u);
  EXPECT_EQ(ids->lds_bytes, 0u);
  EXPECT_GE(scratch->scratch_bytes, 160u);
  EXPECT_EQ(ids->scratch_bytes, 0u);
  EXPECT_EQ(hidden->arguments.at(1).value_kind, "hidden_block_count_x");
}

TEST(CodeObject, KnowsPreloadedArguments) {
  const auto object = loaded(test_kernels("preload"), "gfx942");
  ASSERT_NE(object, nullptr);
  const KernelInfo* ids = find_kernel(*object, "write_ids");
  ASSERT_NE(ids, nullptr);
  EXPECT_EQ(ids->kernarg_preload, 7u);  // dwords: one pointer and five numbers
}

TEST(CodeObject, AMissingFileIsTroubleWithItsPath) {
  const auto object = CodeObject::load("/no/such/kernel.co", "gfx942");
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.trouble().kind, TroubleKind::kUsage);
  EXPECT_EQ(object.trouble().text, "/no/such/kernel.co: No such file or directory");
}

TEST(CodeObject, AFolderIsTroubleWithItsPath) {
  const auto object = CodeObject::load(ATTEST_TEST_KERNELS_DIR, "gfx942");
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.trouble().kind, TroubleKind::kUsage);
  EXPECT_TRUE(object.trouble().text.starts_with(ATTEST_TEST_KERNELS_DIR));
}

TEST(CodeObject, WhatIsNoElfFileIsRefused) {
  expect_trouble({}, "the file ends inside the ELF header");
  expect_trouble(Bytes(63), "the file ends inside the ELF header");
  expect_trouble(Bytes(4096), "no ELF magic number");
  const auto own = file_bytes("/proc/self/exe");
  expect_trouble(own, "is not AMDGPU (224)");
}

TEST(CodeObject, A32BitElfFileIsRefused) {
  Bytes file = file_bytes(test_kernels("gfx942"));
  file[EI_CLASS] = std::byte{ELFCLASS32};
  expect_trouble(file, "byte 4: not a 64-bit little-endian ELF file");
}

TEST(CodeObject, AnUnknownArchitectureIsNamedByItsNumber) {
  Bytes file = file_bytes(test_kernels("gfx942"));
  file[offsetof(Elf64_Ehdr, e_flags)] = std::byte{0xee};
  expect_trouble(file, "byte 48: built for an architecture attest does not know (mach 0xee)");
}

TEST(CodeObject, ImpossibleSegmentSizesAreRefused) {
  const Bytes good = file_bytes(test_kernels("gfx942"));
  for (const std::uint64_t size : {~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    Bytes file = good;
    edit_segment(file, PT_LOAD, [&](Elf64_Phdr& s) { s.p_memsz = size; });
    expect_trouble(file, "has an impossible size or address");
    file = good;
    edit_segment(file, PT_LOAD, [&](Elf64_Phdr& s) { s.p_vaddr = size; });
    expect_trouble(file, "has an impossible size or address");
    file = good;
    edit_segment(file, PT_LOAD, [&](Elf64_Phdr& s) { s.p_filesz = size; });
    expect_trouble(file, "has an impossible size or address");
    file = good;
    edit_segment(file, PT_LOAD, [&](Elf64_Phdr& s) { s.p_offset = size; });
    expect_trouble(file, "reaches past the end of the file");
  }
}

TEST(CodeObject, AMissingSegmentIsNamed) {
  const Bytes good = file_bytes(test_kernels("gfx942"));
  Bytes file = good;
  edit_segment(file, PT_NOTE, [](Elf64_Phdr& s) { s.p_type = PT_NULL; });
  expect_trouble(file, "no AMDGPU metadata note");
  file = good;
  edit_segment(file, PT_DYNAMIC, [](Elf64_Phdr& s) { s.p_type = PT_NULL; });
  expect_trouble(file, "no dynamic symbol table");
}

// A msgpack array in an array in an array ...: a reader that recurses would spend its stack.
TEST(CodeObject, DeeplyNestedMetadataIsRefused) {
  constexpr std::size_t kDepth = 8 << 20;
  Bytes file = file_bytes(test_kernels("gfx942"));
  const Elf64_Phdr notes = segment(file, PT_NOTE);
  const Elf64_Nhdr note{7, kDepth, 32};
  const std::size_t at = file.size();
  file.resize(at + sizeof note + 8, std::byte{0});
  std::memcpy(file.data() + at, &note, sizeof note);
  std::memcpy(file.data() + at + sizeof note, "AMDGPU", 7);
  file.resize(file.size() + kDepth, std::byte{0x91});
  edit_segment(file, PT_NOTE, [&](Elf64_Phdr& s) {
    s.p_offset = at;
    s.p_filesz = file.size() - at;
  });
  expect_trouble(file, "metadata");
  EXPECT_GT(notes.p_filesz, 0u);
}

class DamagedCodeObject : public testing::Test {
 protected:
  // Flips these bits of one byte, one set at a time; the number of files that are refused.
  int refused_with(std::size_t at, std::initializer_list<int> flips) {
    int refused = 0;
    for (const int flip : flips) {
      file_[at] ^= std::byte(flip);
      refused += !survives(file_, *object_);
      file_[at] = good_[at];
    }
    return refused;
  }

  const Bytes good_ = file_bytes(test_kernels("gfx942"));
  const std::shared_ptr<const CodeObject> object_ = loaded(test_kernels("gfx942"), "gfx942");
  Bytes file_ = good_;
};

TEST_F(DamagedCodeObject, NoPrefixOfItCrashes) {
  ASSERT_NE(object_, nullptr);
  const Bytes kernel = file_bytes(mla_decode_object("gfx942"));
  int refused = 0;
  for (std::size_t size = 0; size < kernel.size(); size += size < 512 ? 1 : 97)
    refused += !survives(Bytes(kernel.begin(), kernel.begin() + static_cast<long>(size)), *object_);
  for (std::size_t size = 0; size < good_.size(); size += size < 512 ? 1 : 97)
    refused += !survives(Bytes(good_.begin(), good_.begin() + static_cast<long>(size)), *object_);
  EXPECT_GT(refused, 1024);
}

TEST_F(DamagedCodeObject, NoChangedByteOfItsFirst4KiBCrashes) {
  ASSERT_NE(object_, nullptr);
  int refused = 0;
  for (std::size_t at = 0; at < 4096; at += kStep) refused += refused_with(at, {1 << at % 8, 0xff});
  EXPECT_GT(refused, 20);
}

TEST_F(DamagedCodeObject, NoChangedByteOfItsDynamicSectionOrNotesCrashes) {
  ASSERT_NE(object_, nullptr);
  for (const std::uint32_t type : {PT_DYNAMIC, PT_NOTE}) {
    const Elf64_Phdr s = segment(good_, type);
    int refused = 0;
    for (std::size_t at = s.p_offset; at < s.p_offset + s.p_filesz; at += kStep)
      refused += refused_with(at, {1 << at % 8, static_cast<int>(0x80 | at % 127)});
    EXPECT_GT(refused, 0);
  }
}

// Descriptors, code and line tables: what loads must decode, or say why not.
TEST_F(DamagedCodeObject, NoChangedByteOfTheRestCrashes) {
  ASSERT_NE(object_, nullptr);
  for (std::size_t at = 4096; at < good_.size(); at += 13 * kStep)
    refused_with(at, {1 << at % 8, 0xff});
}

TEST_F(DamagedCodeObject, NoChangedByteOfADecodeKernelCrashes) {
  file_ = file_bytes(mla_decode_object("gfx942"));
  const auto object = loaded(mla_decode_object("gfx942"), "gfx942");
  ASSERT_NE(object, nullptr);
  for (std::size_t at = 0; at < file_.size(); at += 1009 * kStep) {
    file_[at] ^= std::byte(0xff);
    survives(file_, *object);
    file_[at] ^= std::byte(0xff);
  }
}

TEST_F(DamagedCodeObject, NoHandfulOfChangedBytesCrashes) {
  ASSERT_NE(object_, nullptr);
  std::mt19937_64 random(20240611);
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    file_ = good_;
    const std::size_t reach = round % 2 ? file_.size() : 1024;  // headers, or anything
    for (int edit = 0; edit < 6; ++edit) file_[random() % reach] = std::byte(random() & 0xff);
    refused += !survives(file_, *object_);
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace attest::emulator
