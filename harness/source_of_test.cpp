#include "harness/source_of.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "harness/core/kernel.hpp"

namespace attest {
namespace {

TEST(SourceOf, NamesALineOfEachStageOfEachKernelThatAttestShips) {
  for (const Kernel* kernel : all_kernels()) {
    for (const char* target : {"gfx942", "sm_90"}) {
      for (const char* stage : {"scores", "values", "merge", "rounding", "stage1", "stage2",
                                "launch", "memory", "replay-merge", "schedule"}) {
        Verdict verdict;
        verdict.bucket = std::string(stage) + ".wrong.all." + std::string(kernel->name());
        const std::string source = source_of(*kernel, verdict, target);
        const std::size_t colon = source.find(':');
        ASSERT_NE(colon, std::string::npos) << kernel->name() << ' ' << stage << ": " << source;
        EXPECT_TRUE(std::filesystem::exists(ATTEST_SOURCE_DIR "/" + source.substr(0, colon)));
      }
    }
  }
}

TEST(SourceOf, NamesWhatTheTargetCompiles) {
  for (const char* stage : {"scores", "values", "stage1"}) {
    Verdict verdict;
    verdict.bucket = std::string(stage) + ".wrong.all.mla_decode";
    const Kernel& kernel = *find_kernel("mla_decode");
    EXPECT_EQ(source_of(kernel, verdict, "gfx942").find("hopper"), std::string::npos) << stage;
    EXPECT_EQ(source_of(kernel, verdict, "sm_90").find("online_softmax"), std::string::npos);
  }
}

TEST(SourceOf, SaysNothingOfAPassOrOfAKernelThatDoesNotTell) {
  EXPECT_EQ(source_of(*all_kernels().front(), Verdict{}, "gfx942"), "");
  Verdict verdict;
  verdict.bucket = "values.wrong.all.k";
  EXPECT_EQ(source_of(*external_kernels().front(), verdict, "gfx942"), "");
}

}  // namespace
}  // namespace attest
