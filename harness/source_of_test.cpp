#include "harness/source_of.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "harness/core/kernel.hpp"

namespace attest {
namespace {

TEST(SourceOf, NamesALineOfEachStageOfEachKernelThatAttestShips) {
  for (const Kernel* kernel : all_kernels()) {
    for (const char* stage : {"scores", "values", "merge", "rounding", "stage1", "stage2", "launch",
                              "memory", "replay-merge", "schedule"}) {
      Verdict verdict;
      verdict.bucket = std::string(stage) + ".wrong.all." + std::string(kernel->name());
      const std::string source = source_of(*kernel, verdict);
      const std::size_t colon = source.find(':');
      ASSERT_NE(colon, std::string::npos) << kernel->name() << ' ' << stage << ": " << source;
      EXPECT_TRUE(std::filesystem::exists(ATTEST_SOURCE_DIR "/" + source.substr(0, colon)));
    }
  }
}

TEST(SourceOf, SaysNothingOfAPassOrOfAKernelThatDoesNotTell) {
  EXPECT_EQ(source_of(*all_kernels().front(), Verdict{}), "");
  Verdict verdict;
  verdict.bucket = "values.wrong.all.k";
  EXPECT_EQ(source_of(*external_kernels().front(), verdict), "");
}

}  // namespace
}  // namespace attest
