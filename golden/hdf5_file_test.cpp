#include "golden/hdf5_file.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace attest {
namespace {

class Hdf5FileTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write_sample(const std::string& to) const {
    auto file = Hdf5File::create(to);
    ASSERT_TRUE(file.ok()) << file.trouble().text;
    ASSERT_TRUE((*file)->write_attributes({{"token", std::string("v1:k=a")}, {"h_q", 16L}}).ok());
    ASSERT_TRUE((*file)
                    ->write("inputs/q", Number::kU16, {300, 2048}, values_.data(),
                            {{"dtype", std::string("bfloat16")}})
                    .ok());
    ASSERT_TRUE((*file)->write("inputs/none", Number::kI32, {0}, nullptr, {}).ok());
    ASSERT_TRUE((*file)->close().ok());
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  (std::string("attest_hdf5_") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::vector<std::uint16_t> values_ = [] {
    std::vector<std::uint16_t> v(300 * 2048);
    std::iota(v.begin(), v.end(), std::uint16_t{7});
    return v;
  }();
};

TEST_F(Hdf5FileTest, WhatIsWrittenIsReadBack) {
  write_sample(path("a.h5"));
  const auto file = Hdf5File::open(path("a.h5"));
  ASSERT_TRUE(file.ok()) << file.trouble().text;
  EXPECT_EQ(*(*file)->text_attribute("token"), "v1:k=a");
  const auto q = (*file)->read("inputs/q");
  ASSERT_TRUE(q.ok()) << q.trouble().text;
  EXPECT_EQ(q->type, Number::kU16);
  EXPECT_EQ(q->shape, (std::vector<std::uint64_t>{300, 2048}));
  ASSERT_EQ(q->bytes.size(), values_.size() * 2);
  EXPECT_EQ(std::memcmp(q->bytes.data(), values_.data(), q->bytes.size()), 0);
  EXPECT_EQ((*file)->read("inputs/none")->shape, std::vector<std::uint64_t>{0});
  EXPECT_FALSE((*file)->has("outputs/o"));
  EXPECT_NE((*file)->read("outputs/o").trouble().text.find("outputs/o: there is no such dataset"),
            std::string::npos);
}

TEST_F(Hdf5FileTest, ANameThatNoFileCanHaveIsNoSuchFile) {
  const auto file = Hdf5File::open(std::string(300, 'x'));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.trouble().kind, TroubleKind::kUsage);
}

TEST_F(Hdf5FileTest, ADatasetOfMoreThanTheWantedElementsIsRefused) {
  write_sample(path("a.h5"));
  const auto file = Hdf5File::open(path("a.h5"));
  EXPECT_TRUE((*file)->read("inputs/q", 300 * 2048).ok());
  const auto q = (*file)->read("inputs/q", 300 * 2048 - 1);
  ASSERT_FALSE(q.ok());
  EXPECT_NE(q.trouble().text.find("[300, 2048]"), std::string::npos) << q.trouble().text;
}

TEST_F(Hdf5FileTest, AnOutlineIsTypeAndShapeWithoutBytes) {
  write_sample(path("a.h5"));
  const auto file = Hdf5File::open(path("a.h5"));
  const auto q = (*file)->outline("inputs/q");
  ASSERT_TRUE(q.ok()) << q.trouble().text;
  EXPECT_EQ(*q, (StoredTensor{Number::kU16, {300, 2048}, {}}));
  EXPECT_FALSE((*file)->outline("inputs").ok());
}

TEST_F(Hdf5FileTest, TheSameContentGivesTheSameBytes) {
  write_sample(path("a.h5"));
  write_sample(path("b.h5"));
  EXPECT_EQ(bytes_of(path("a.h5")), bytes_of(path("b.h5")));
}

TEST_F(Hdf5FileTest, GroupsAndAttributesAreReadBack) {
  for (const Hdf5Style style : {Hdf5Style::kExchange, Hdf5Style::kArchive}) {
    const Attributes of_group = {{"text", std::string("a b")},
                                 {"empty", std::string()},
                                 {"count", std::int64_t{-5}},
                                 {"error", 1e-300}};
    const auto file = Hdf5File::create(path("a.h5"), style);
    ASSERT_TRUE((*file)->write_group("z", of_group).ok());
    ASSERT_TRUE((*file)->write_group("b", {}).ok());
    ASSERT_TRUE((*file)->write("z/q", Number::kU16, {4}, values_.data(), {{"n", 1.5}}).ok());
    ASSERT_TRUE((*file)->close().ok());
    const auto read = Hdf5File::open(path("a.h5"));
    EXPECT_EQ(*(*read)->attributes("z"), of_group);
    EXPECT_EQ(*(*read)->attributes("z/q"), (Attributes{{"n", 1.5}}));
    EXPECT_TRUE((*read)->attributes("/")->empty());
    EXPECT_EQ(*(*read)->names("/"), (std::vector<std::string>{"b", "z"}));
    EXPECT_EQ(*(*read)->names("z"), (std::vector<std::string>{"q"}));
    for (const auto& trouble : {(*read)->names("z/q").trouble(), (*read)->names("y").trouble(),
                                (*read)->attributes("y").trouble()}) {
      EXPECT_EQ(trouble.kind, TroubleKind::kUsage);
      EXPECT_NE(trouble.text.find("a.h5: "), std::string::npos) << trouble.text;
    }
  }
}

// Names, shapes and attributes of an archive have check sums of their own.
TEST_F(Hdf5FileTest, AFlippedBitOfAnArchivesNamesIsFound) {
  const auto file = Hdf5File::create(path("a.h5"), Hdf5Style::kArchive);
  ASSERT_TRUE((*file)->write_group("recognisable", {{"readable", std::string("words")}}).ok());
  ASSERT_TRUE((*file)->close().ok());
  const std::string whole = bytes_of(path("a.h5"));
  for (const char* const text : {"recognisable", "readable", "words"}) {
    std::string bytes = whole;
    bytes.at(whole.find(text)) ^= 1;
    std::ofstream(path("a.h5"), std::ios::binary) << bytes;
    const auto read = Hdf5File::open(path("a.h5"));
    EXPECT_FALSE(read.ok() && (*read)->names("/").ok() && (*read)->attributes("recognisable").ok())
        << text;
  }
}

TEST_F(Hdf5FileTest, NothingStandsUnderTheNameUntilItIsWhole) {
  {
    auto file = Hdf5File::create(path("a.h5"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->write("q", Number::kU16, {4}, values_.data(), {}).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  EXPECT_FALSE(Hdf5File::create(path("nowhere/a.h5")).ok());
}

TEST_F(Hdf5FileTest, TwoProcessesThatWriteOneFileLeaveOneThatIsWhole) {
  const auto file = Hdf5File::create(path("a.h5"));
  ASSERT_TRUE(file.ok()) << file.trouble().text;
  ASSERT_TRUE((*file)->write("q", Number::kU16, {4}, values_.data(), {}).ok());
  const pid_t child = fork();
  if (child == 0) {  // begins while the other has written half, and ends before it
    const auto other = Hdf5File::create(path("a.h5"));
    _exit(other.ok() && (*other)->write("other", Number::kU16, {9}, values_.data(), {}).ok() &&
                  (*other)->close().ok()
              ? 0
              : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE((*Hdf5File::open(path("a.h5")))->read("other").ok());
  ASSERT_TRUE((*file)->write("kv", Number::kU16, {9}, values_.data(), {}).ok());
  ASSERT_TRUE((*file)->close().ok());
  const auto read = Hdf5File::open(path("a.h5"));
  ASSERT_TRUE(read.ok()) << read.trouble().text;
  EXPECT_EQ(*(*read)->names("/"), (std::vector<std::string>{"kv", "q"}));
  EXPECT_TRUE((*read)->read("q").ok());
  EXPECT_TRUE((*read)->read("kv").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Hdf5FileTest, WhatItsCheckRefusesIsNotPutInPlace) {
  write_sample(path("a.h5"));
  const std::string before = bytes_of(path("a.h5"));
  const auto file = Hdf5File::create(path("a.h5"));
  const Outcome closed = (*file)->close([](const std::string& part) -> Outcome {
    EXPECT_TRUE(Hdf5File::open(part).ok());
    return Trouble{TroubleKind::kInfra, "refused"};
  });
  EXPECT_EQ(closed.trouble().text, "refused");
  EXPECT_EQ(bytes_of(path("a.h5")), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Hdf5FileTest, AFlippedBitIsFound) {
  write_sample(path("a.h5"));
  std::string bytes = bytes_of(path("a.h5"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  std::ofstream(path("a.h5"), std::ios::binary) << bytes;
  const auto file = Hdf5File::open(path("a.h5"));
  EXPECT_TRUE(!file.ok() || !(*file)->read("inputs/q").ok());
}

TEST_F(Hdf5FileTest, AFileThatIsCutOffOrNoneIsNamed) {
  write_sample(path("a.h5"));
  std::filesystem::resize_file(path("a.h5"), std::filesystem::file_size(path("a.h5")) / 2);
  std::ofstream(path("b.h5")) << "text";
  for (const char* name : {"a.h5", "b.h5", "c.h5"}) {
    const auto file = Hdf5File::open(path(name));
    ASSERT_FALSE(file.ok()) << name;
    EXPECT_EQ(file.trouble().kind, TroubleKind::kUsage);
    EXPECT_NE(file.trouble().text.find(name), std::string::npos);
  }
}

}  // namespace
}  // namespace attest
