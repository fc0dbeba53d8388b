#include "kernels/external/aiter.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "kernels/external/aiter_arguments.hpp"
#include "kernels/external/user_object.hpp"

namespace attest::external {
namespace {

namespace fs = std::filesystem;

const AiterObject& object_named(std::string_view name) {
  for (const AiterObject& object : aiter_objects()) {
    if (object.name == name) return object;
  }
  ADD_FAILURE() << name;
  return aiter_objects().front();
}

Problem problem_of(const AiterObject& object) {
  Problem p;
  p.h_q = object.heads;
  p.s_q = {object.most_s_q};
  p.num_splits = 2;
  p.q_type = object.q;
  p.kv_type = object.kv;
  return p;
}

template <class T>
T at(const KernelArguments& packed, std::size_t byte) {
  T value{};
  std::memcpy(&value, &packed.bytes()[byte], sizeof value);
  return value;
}

// Bytes: ROCm/aiter csrc/py_itfs_cu/asm_mla.cu:31-83 at e4048607a535, and s_load offsets of the
// objects.
TEST(AiterArguments, LieWhereTheObjectsReadThem) {
  const KernelArguments packed = pack({.partial_o = 1,
                                       .partial_lse = 2,
                                       .q = 3,
                                       .kv = 4,
                                       .kv_indptr = 5,
                                       .kv_indices = 6,
                                       .kv_last_page_len = 7,
                                       .sm_scale = 0.5f,
                                       .rows = 9,
                                       .num_splits = 10,
                                       .q_bytes = 11,
                                       .page_bytes = 12,
                                       .log2_page_size = 13,
                                       .qo_indptr = 14,
                                       .splits = 15,
                                       .o = 16,
                                       .q_scale = 17,
                                       .kv_scale = 18,
                                       .bf16_nosplit = 19,
                                       .lse = 20,
                                       .global_kv_indptr = 21,
                                       .cp_world_size = 22,
                                       .cp_rank = 23});
  EXPECT_TRUE(packed.is_segment());
  EXPECT_EQ(packed.bytes().size(), 0x170u);
  for (const std::size_t byte :
       {0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0xd0, 0xe0, 0xf0, 0x100, 0x110, 0x130, 0x140}) {
    EXPECT_EQ(at<std::uint64_t>(packed, byte), byte / 16 + 1) << byte;
  }
  EXPECT_EQ(at<float>(packed, 0x70), 0.5f);
  for (const std::size_t byte : {0x80, 0x90, 0xa0, 0xb0, 0xc0, 0x120, 0x150, 0x160}) {
    EXPECT_EQ(at<std::uint32_t>(packed, byte), byte / 16 + 1) << byte;
  }
}

TEST(AiterObjects, HaveNamesOfTokensAndFilesOfTheirOwn) {
  std::set<std::string_view> names, files, symbols;
  for (const AiterObject& object : aiter_objects()) {
    EXPECT_TRUE(names.insert(object.name).second) << object.name;
    EXPECT_TRUE(files.insert(object.file).second) << object.file;
    EXPECT_TRUE(symbols.insert(object.symbol).second) << object.symbol;
    EXPECT_EQ(object.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
              std::string_view::npos);
    EXPECT_EQ(find_kernel(object.name)->name(), object.name);
  }
  EXPECT_EQ(aiter_kernels().size(), aiter_objects().size());
}

TEST(Aiter, TakesTheShapesOfItsObjects) {
  for (const AiterObject& object : aiter_objects()) {
    if (object.refused.empty()) {
      EXPECT_EQ(why_refused(object, problem_of(object)), "") << object.name;
    }
  }
}

TEST(Aiter, SaysWhyItDoesNotTakeAProblem) {
  const AiterObject& object = object_named("aiter_bf16_gqa16_q4");
  const auto expect = [&](auto change, const char* why) {
    Problem p = problem_of(object);
    change(p);
    EXPECT_NE(why_refused(object, p).find(why), std::string::npos) << why_refused(object, p);
  };
  expect([](Problem& p) { p.kv_type = Storage::kFp8; }, "the cache in bf16");
  expect([](Problem& p) { p.h_q = 12; }, "it computes 16 heads, not 12");
  expect([](Problem& p) { p.s_q = {1}; }, "for 2 to 4 query tokens, not 1");
  expect([](Problem& p) { p.s_kv = {9, 9}, p.s_q = {2, 3}; }, "as many query tokens");
  expect([](Problem& p) { p.s_kv = {3}; }, "sees nothing of its sequence");
  expect([](Problem& p) { p.page_size = 16; }, "page_size 1");
  expect([](Problem& p) { p.o_pad = 8; }, "no pads");
  expect([](Problem& p) { p.sm_scale = -1; }, "sm_scale > 0");
  expect([](Problem& p) { p.page_base = 3'800'000; }, "32-bit");
  expect([](Problem& p) { p.num_splits = 1; }, "writes no lse");
}

TEST(Aiter, PlansNoTailOfFewerTokensThanQueryTokens) {
  const AiterObject& object = object_named("aiter_bf16_gqa16_ps");
  Problem p = problem_of(object);
  p.s_kv = {128 + object.most_s_q};
  p.num_splits = 3;
  EXPECT_EQ(why_refused(object, p), "");
  --p.s_kv[0];
  EXPECT_NE(why_refused(object, p), "");
}

TEST(Aiter, SplitsThatTakeTurnsAreDeclared) {
  const Problem p = problem_of(object_named("aiter_bf16_gqa16_q4"));
  EXPECT_EQ(find_kernel("aiter_bf16_gqa16_q4")->contract(p).split_rule.dealt_tile, 16);
  EXPECT_EQ(find_kernel("aiter_bf16_gqa16_ps")->contract(p).split_rule.dealt_tile, 0);
}

TEST(UserObject, IsTheFileOrInTheFolderOrWhereAiterHasIt) {
  const fs::path folder = fs::path(testing::TempDir()) / "user_object_test";
  fs::create_directories(folder / "hsa/gfx942/mla");
  const fs::path file = folder / "hsa/gfx942/mla/some.co";
  std::ofstream(file) << "object";
  for (const fs::path& given : {file, file.parent_path(), folder / "hsa", folder}) {
    const auto found = find_user_object("some.co", given.string());
    ASSERT_TRUE(found.ok()) << given << ": " << found.trouble().text;
    EXPECT_EQ(*found, file.string());
  }
  const auto other = find_user_object("other.co", folder.string());
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.trouble().text.find("--code-object"), std::string::npos) << other.trouble().text;
  fs::remove_all(folder);
}

TEST(UserObject, IsAskedForWhereNoneIsGiven) {
  const auto found = find_user_object("some.co", "");
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.trouble().text.find("some.co"), std::string::npos);
  EXPECT_NE(found.trouble().text.find(kObjectVariable), std::string::npos);
}

}  // namespace
}  // namespace attest::external
