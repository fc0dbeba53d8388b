#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "harness/core/kernel.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

TEST(Catalog, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const Kernel* kernel : all_kernels()) {
    EXPECT_TRUE(names.insert(kernel->name()).second) << kernel->name();
    EXPECT_EQ(find_kernel(kernel->name()), kernel);
    EXPECT_FALSE(kernel->summary().empty());
  }
  EXPECT_GE(names.size(), 2u);
  for (const Kernel* kernel : external_kernels()) {
    EXPECT_TRUE(names.insert(kernel->name()).second) << kernel->name();
    EXPECT_EQ(find_kernel(kernel->name()), kernel);
    EXPECT_FALSE(kernel->summary().empty());
  }
  EXPECT_EQ(find_kernel("no_such_kernel"), nullptr);
}

TEST(Catalog, EveryKernelHasACodeObjectForEachAmdTarget) {
  for (const Kernel* kernel : all_kernels()) {
    for (const char* target : {"gfx942", "gfx90a"}) {
      const fs::path path = fs::path(ATTEST_CODE_OBJECT_DIR) / kernel->code_object(target);
      EXPECT_TRUE(fs::is_regular_file(path)) << path;
    }
  }
}

// A kernel's folder holds a .hip source and contract.md, and some kernel takes its code object.
TEST(Catalog, EveryKernelFolderIsListed) {
  std::set<std::string> listed;
  for (const Kernel* kernel : all_kernels()) listed.insert(kernel->code_object("gfx942"));
  int folders = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(ATTEST_SOURCE_DIR) / "kernels")) {
    const std::string folder = entry.path().filename();
    if (!entry.is_directory() || folder == "bench" || folder == "disturb") continue;  // instruments
    for (const auto& file : fs::directory_iterator(entry.path())) {
      if (file.path().extension() != ".hip") continue;
      ++folders;
      EXPECT_TRUE(listed.contains(file.path().stem().string() + ".gfx942.co")) << file.path();
      EXPECT_TRUE(fs::exists(entry.path() / "contract.md")) << entry.path();
    }
  }
  EXPECT_GE(folders, 1);
}

}  // namespace
}  // namespace attest
