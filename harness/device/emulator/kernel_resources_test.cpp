// What the compiled kernels ask of a compute unit, from their code objects' metadata.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "harness/core/kernel.hpp"
#include "harness/device/emulator/code_object.hpp"

namespace attest::emulator {
namespace {

constexpr std::uint32_t kLdsBytes = 65536;  // of a workgroup. CDNA3 ISA, "LDS"
constexpr std::uint32_t kRegisters =
    512;  // of a lane, VGPRs and AccVGPRs together. CDNA3 ISA, "VGPRs"

class KernelResources : public testing::TestWithParam<std::string> {};

// Code objects of the whole catalog for the target, each once.
std::set<std::string> code_objects(const std::string& target) {
  std::set<std::string> paths;
  for (const Kernel* kernel : all_kernels()) {
    paths.insert(std::string(ATTEST_CODE_OBJECT_DIR) + "/" + kernel->code_object(target));
  }
  return paths;
}

// Runs know a build by the hash of its code objects: two trees with the same sources are one build.
TEST_P(KernelResources, ACodeObjectDoesNotTellWhereItsTreeLies) {
  for (const std::string& path : code_objects(GetParam())) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(bytes.empty()) << path;
    EXPECT_EQ(bytes.find(ATTEST_SOURCE_DIR), std::string::npos) << path;
    // The name of a symbol that ends in a hash of the path, or in nothing.
    constexpr std::string_view kUnit = "__hip_cuid_";
    for (std::size_t at = 0; (at = bytes.find(kUnit, at)) != std::string::npos;) {
      at += kUnit.size();
      EXPECT_EQ(bytes[at], 0) << path;
    }
  }
}

TEST_P(KernelResources, NoKernelSpillsOrUsesScratchAndLdsFits) {
  int kernels = 0;
  for (const std::string& path : code_objects(GetParam())) {
    const auto code_object = CodeObject::load(path, GetParam());
    ASSERT_TRUE(code_object.ok()) << code_object.trouble().text;
    for (const KernelInfo& kernel : (*code_object)->kernels()) {
      SCOPED_TRACE(path + ": " + kernel.name);
      ++kernels;
      EXPECT_EQ(kernel.vgpr_spill_count, 0u);
      EXPECT_EQ(kernel.sgpr_spill_count, 0u);
      EXPECT_EQ(kernel.scratch_bytes, 0u);
      EXPECT_FALSE(kernel.uses_dynamic_stack);
      EXPECT_LE(kernel.lds_bytes, kLdsBytes);
      EXPECT_LE(kernel.vgpr_count, kRegisters);
      EXPECT_GT(kernel.vgpr_count, 0u);  // the metadata was read
    }
  }
  EXPECT_GE(kernels, 4);
}

// The launchers pass the explicit arguments only.
TEST_P(KernelResources, NoKernelReadsHiddenArguments) {
  for (const std::string& path : code_objects(GetParam())) {
    const auto code_object = CodeObject::load(path, GetParam());
    ASSERT_TRUE(code_object.ok()) << code_object.trouble().text;
    for (const KernelInfo& kernel : (*code_object)->kernels()) {
      EXPECT_FALSE(kernel.arguments.empty()) << kernel.name;
      for (const ArgumentInfo& argument : kernel.arguments) {
        EXPECT_FALSE(argument.value_kind.starts_with("hidden_"))
            << path << ": " << kernel.name << " takes " << argument.value_kind;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AmdTargets, KernelResources, testing::Values("gfx942", "gfx90a"),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace attest::emulator
