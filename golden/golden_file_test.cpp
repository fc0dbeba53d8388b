#include "golden/golden_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "golden/digest.hpp"
#include "golden/golden_diff.hpp"
#include "golden/golden_sample.hpp"
#include "harness/core/random.hpp"

// HDF5 1.10 forgets what it opened of a file that it then refuses.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }  // NOLINT

namespace attest {
namespace {

namespace fs = std::filesystem;

TEST(Digest, IsXxh3Of128BitsAsOthersPrintIt) {
  // Source: xxh128sum of xxHash 0.8.1.
  EXPECT_EQ(Digest().text(), "99aa06d3014798d86001c324468d497f");
  Digest digest;
  digest.add("att");
  digest.add("est");
  EXPECT_EQ(digest.text(), digest_of(std::string_view("attest")));
  EXPECT_EQ(digest.text(), "1584dff80f05d412d41d59ff10fd27bc");
}

class GoldenFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    const Outcome written = write_golden(sample_, path_);
    ASSERT_TRUE(written.ok()) << written.trouble().text;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The path of a file of these bytes.
  std::string spoilt(const std::string& bytes) const {
    std::string path = (folder_ / "spoilt.h5").string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // Whether what is wrong is told; then it is told with the file's name, as the user's trouble.
  static bool is_found(const std::string& path) {
    const auto read = read_golden(path);
    if (read.ok()) return false;
    EXPECT_EQ(read.trouble().kind, TroubleKind::kUsage);
    EXPECT_EQ(read.trouble().text.find(path), 0u) << read.trouble().text;
    return true;
  }

  fs::path folder_ =
      fs::temp_directory_path() / (std::string("attest_golden_") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::string path_ = (folder_ / "a.h5").string();
  GoldenFile sample_ = sample_file();
};

TEST_F(GoldenFileTest, WhatIsWrittenIsReadBack) {
  const auto read = read_golden(path_);
  ASSERT_TRUE(read.ok()) << read.trouble().text;
  EXPECT_TRUE(*read == sample_);
}

TEST_F(GoldenFileTest, TheSameContentGivesTheSameBytesWhateverTheOrderOfItsCases) {
  GoldenFile other = sample_;
  std::reverse(other.cases.begin(), other.cases.end());
  const std::string path = (folder_ / "b.h5").string();
  ASSERT_TRUE(write_golden(other, path).ok());
  EXPECT_EQ(bytes_of(path), bytes_of(path_));
}

TEST_F(GoldenFileTest, NoBitFlipsUnseen) {
  const std::string whole = bytes_of(path_);
  int found = 0, harmless = 0;
  ::testing::internal::CaptureStderr();
  for (std::size_t at = 0; at < whole.size(); at += at < 512 ? 1 : 31) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << mix64(at) % 8));
    const std::string path = spoilt(bytes);
    if (is_found(path)) {
      ++found;
      continue;
    }
    ++harmless;  // slack of the format: nothing that is read has changed
    const auto read = read_golden(path);
    EXPECT_TRUE(read.ok() && *read == sample_ && diff_golden(sample_, *read).all_same())
        << "byte " << at << " changes what is read, unseen";
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(found, 2 * harmless) << harmless;
}

TEST_F(GoldenFileTest, NoCutIsUnseen) {
  const std::string whole = bytes_of(path_);
  ::testing::internal::CaptureStderr();
  for (std::size_t size = 0; size < whole.size(); size += size < 128 ? 1 : 211)
    EXPECT_TRUE(is_found(spoilt(whole.substr(0, size)))) << size << " of " << whole.size();
  EXPECT_TRUE(is_found(spoilt(whole.substr(0, whole.size() - 1))));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(GoldenFileTest, ABlockOfZerosIsFound) {
  const std::string whole = bytes_of(path_);
  for (std::size_t at = 0; at + 512 <= whole.size(); at += 512) {
    std::string bytes = whole;
    bytes.replace(at, 512, 512, '\0');
    const std::string path = spoilt(bytes);
    if (is_found(path)) continue;
    const auto read = read_golden(path);
    EXPECT_TRUE(read.ok() && *read == sample_) << "bytes from " << at;
  }
}

// A group, and what is in it, of one file into another; `edit` may change a dataset.
using Edit = std::function<void(const std::string& name, StoredTensor&, Attributes&)>;
void copy_group(const Hdf5File& from, const std::string& group, Hdf5File& to, const Edit& edit) {
  StoredTensor none;
  Attributes attributes = *from.attributes(group);
  edit(group, none, attributes);
  ASSERT_TRUE(to.write_group(group, attributes).ok());
  const auto names = from.names(group);
  for (const std::string& name : *names) {
    const std::string below = group + "/" + name;
    if (name == "inputs") {
      copy_group(from, below, to, edit);
      continue;
    }
    StoredTensor tensor = *from.read(below);
    Attributes of_it = *from.attributes(below);
    edit(below, tensor, of_it);
    if (!tensor.shape.empty())
      EXPECT_TRUE(to.write(below, tensor.type, tensor.shape, tensor.bytes.data(), of_it).ok());
  }
}

// What is said of a copy of `path` that `edit` changed; empty: it reads as `sample`.
std::string why_edited(const std::string& path, const GoldenFile& sample, const Edit& edit,
                       bool without_first = false) {
  const std::string copy = path + ".copy.h5";
  const auto from = Hdf5File::open(path);
  const auto to = Hdf5File::create(copy, Hdf5Style::kArchive);
  StoredTensor none;
  Attributes root = *(*from)->attributes("/");
  edit("/", none, root);
  EXPECT_TRUE((*to)->write_attributes(root).ok());
  const auto names = (*from)->names("/");
  for (const std::string& name : *names) {
    if (!without_first || name != names->front()) copy_group(**from, name, **to, edit);
  }
  EXPECT_TRUE((*to)->close().ok());
  const auto read = read_golden(copy);
  if (read.ok()) return *read == sample ? "" : "another content, unseen";
  return read.trouble().text.substr(copy.size() + 2);
}

// What reads and writes HDF5 can change values and keep every check sum of the format.
TEST_F(GoldenFileTest, ChangesThroughHdf5ItselfAreFound) {
  const auto why = [&](const Edit& edit, bool without_first = false) {
    return why_edited(path_, sample_, edit, without_first);
  };
  const std::string id = golden_id("v1:k=a:h=2"), captured = golden_id("v1:k=a:h=1");
  const auto in = [](const std::string& wanted, const auto& change) {
    return [=](const std::string& name, StoredTensor& tensor, Attributes& attributes) {
      if (name == wanted) change(tensor, attributes);
    };
  };
  using T = StoredTensor;
  using A = Attributes;
  const std::string content = "/: its content is not what it was when it was written";
  EXPECT_EQ(why([](auto&&...) {}), "");
  EXPECT_EQ(why([](auto&&...) {}, true), content);
  EXPECT_EQ(why(in("/", [](T&, A& a) { a["reason"] = std::string("input"); })), content);
  EXPECT_EQ(why(in(id, [](T&, A& a) { a["generator"] = std::string("other"); })), content);
  EXPECT_EQ(why(in(id, [](T&, A& a) { a["error"] = 1e-3; })), content);
  const std::string misfit = id + ": its attributes do not fit each other";
  EXPECT_EQ(why(in(id, [](T&, A& a) { a["rows"] = std::int64_t{3}; })), misfit);
  EXPECT_EQ(why(in(id, [](T&, A& a) { a["contract"] = std::string("p_bits=9"); })), misfit);
  EXPECT_EQ(why(in(id, [](T&, A& a) { a["token"] = std::string("v1:k=a:h=3"); })), misfit);
  EXPECT_EQ(why(in(id, [](T&, A& a) { a["extra"] = 1.0; })), misfit);
  EXPECT_EQ(why(in(id, [](T&, A& a) { a.erase("source"); })), id + ": no attribute source");
  const auto flip = [](T& t, A&) { t.bytes[0] ^= std::byte{1}; };
  const std::string bytes = ": its bytes are not those that were written: the digest differs";
  EXPECT_EQ(why(in(id + "/o_lo", flip)), id + "/o_lo" + bytes);
  EXPECT_EQ(why(in(captured + "/inputs/q", flip)), captured + "/inputs/q" + bytes);
  EXPECT_EQ(why(in(id + "/o_lo",
                   [](T& t, A& a) {
                     t.bytes[0] ^= std::byte{1};
                     a["xxh3_128"] = digest_of(t.bytes);
                   })),
            content);
  EXPECT_NE(why(in(id + "/o_lo",
                   [](T& t, A&) {
                     t.shape = {512, 2};
                   }))
                .find("[512, 2]"),
            std::string::npos);
  EXPECT_NE(why(in(id + "/lse_hi",
                   [](T& t, A&) {
                     t.shape = {1 << 22}, t.bytes.assign(std::size_t{8} << 22, std::byte{0});
                   }))
                .find("lse_hi: its shape is [4194304]"),
            std::string::npos);
  EXPECT_NE(why(in(id + "/o_lo", [](T& t, A&) { t.shape.clear(); })).find("are expected"),
            std::string::npos);
  EXPECT_EQ(why(in(captured + "/inputs/q", [](T& t, A&) { t.shape.clear(); })), content);
}

TEST_F(GoldenFileTest, AnotherFormatIsTold) {
  const auto rewritten = [&](const Attributes& root, const Attributes& of_case) {
    const std::string path = (folder_ / "b.h5").string();
    const auto file = Hdf5File::create(path, Hdf5Style::kArchive);
    EXPECT_TRUE((*file)->write_attributes(root).ok());
    EXPECT_TRUE((*file)->write_group("0123456789ab", of_case).ok());
    EXPECT_TRUE((*file)->close().ok());
    return path;
  };
  const auto why = [](const std::string& path) {
    const auto read = read_golden(path);
    return read.ok() ? "" : read.trouble().text;
  };
  EXPECT_NE(why(rewritten({}, {})).find("no file of `attest golden generate`"), std::string::npos);
  const std::string none;
  const Attributes other = {{"format", std::int64_t{2}}, {"content_xxh3_128", none}};
  EXPECT_NE(why(rewritten(other, {})).find("golden format 2; this program reads 1"),
            std::string::npos);
  const Attributes root = {
      {"format", kGoldenFormat}, {"reason", none}, {"changed", none}, {"content_xxh3_128", none}};
  EXPECT_NE(why(rewritten(root, {})).find("0123456789ab: another format"), std::string::npos);
}

TEST_F(GoldenFileTest, AFolderThatIsNotThereIsTheMachinesTrouble) {
  const Outcome written = write_golden(sample_, (folder_ / "nowhere" / "a.h5").string());
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.trouble().kind, TroubleKind::kInfra);
}

}  // namespace
}  // namespace attest
