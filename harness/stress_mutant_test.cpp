// That stress finds what is wrong with graphs of the real kernel's launcher, on the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/command_stress.hpp"
#include "harness/device/device_list.hpp"
#include "harness/mutant_build.hpp"
#include "harness/stress.hpp"

namespace attest {
namespace {

constexpr const char* kToken = "v1:k=mla_decode:h=5:s=200,65:page=16:splits=4:dist=needles";

Verdict replayed(const Kernel& kernel, const std::string& code_objects) {
  auto device = open_device("emu:gfx942", {.threads = 1});
  EXPECT_TRUE(device.ok());
  return stress_replay(kernel, **device, *parse_token(kToken),
                       {{.code_objects = code_objects, .threads = 1}, 8, ATTEST_CODE_OBJECT_DIR});
}

Verdict replayed_mutant(const std::string& name) {
  const auto mutants = read_mutants(ATTEST_SOURCE_DIR "/fuzz/mutants");
  EXPECT_TRUE(mutants.ok());
  for (const Mutant& mutant : *mutants) {
    if (mutant.name != name) continue;
    const auto built =
        build_mutant(mutant, {.target = "gfx942", .code_objects = ATTEST_CODE_OBJECT_DIR});
    if (!built.ok()) return verdict_of(built.trouble(), name);
    return replayed(*built->make_kernel("mla_decode"), built->code_objects());
  }
  return verdict_of({TroubleKind::kUsage, "no such mutant"}, name);
}

TEST(StressedLauncher, ThatIsRightPasses) {
  const Verdict verdict = replayed(*find_kernel("mla_decode"), ATTEST_CODE_OBJECT_DIR);
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
}

TEST(StressedLauncher, WhoseGridIsForTheLengthsAtItsCaptureIsFound) {
  const Verdict verdict = replayed_mutant("splits_for_the_lengths_at_capture");
  EXPECT_EQ(verdict.status, Status::kFailed) << verdict.reason;
  EXPECT_TRUE(verdict.bucket.starts_with("replay-stage1.unwritten.")) << verdict.bucket;
  EXPECT_NE(verdict.reason.find("on stream 1, captured with lengths of 1, "), std::string::npos)
      << verdict.reason;
}

TEST(StressedLauncher, WhosePlanIsForTheLengthsOfItsFirstCallIsFound) {
  const Verdict verdict = replayed_mutant("lengths_read_at_the_first_call");
  EXPECT_EQ(verdict.status, Status::kFailed) << verdict.reason;
  EXPECT_TRUE(verdict.bucket.starts_with("replay-stage1.unwritten.")) << verdict.bucket;
  EXPECT_NE(verdict.reason.find("`attest repro` shows it too: v1:"), std::string::npos)
      << verdict.reason;
}

// What `attest stress` runs where no case is named.
TEST(StressTokens, AreOfEachKernelHeadTilePageSizeAndKindOfBatch) {
  for (const bool is_emulated : {true, false}) {
    std::set<std::string> kernels;
    std::set<int> pages, tiles, query_tokens;
    bool has_empty = false, has_one_split = false, has_many_splits = false;
    for (const std::string& token : stress_tokens(is_emulated)) {
      const auto c = known_case(token);
      ASSERT_TRUE(c.ok()) << token;
      EXPECT_EQ(why_not_stressed(*c), "") << token;
      const Problem& p = c->problem;
      const Kernel& kernel = *find_kernel(c->kernel);
      EXPECT_EQ(kernel.why_unsupported(p), "") << token;
      kernels.insert(c->kernel);
      pages.insert(p.page_size);
      tiles.insert(p.h_q % 64 == 0);
      query_tokens.insert(p.max_s_q());
      has_empty |= std::count(p.s_kv.begin(), p.s_kv.end(), 0) > 0;
      has_one_split |= kernel.num_splits(p) == 1;
      has_many_splits |= kernel.num_splits(p) >= 8;
    }
    EXPECT_EQ(kernels.size(), all_kernels().size());
    EXPECT_EQ(pages.size(), 3u);
    EXPECT_EQ(tiles.size(), 2u);
    EXPECT_GE(query_tokens.size(), 3u);
    EXPECT_TRUE(has_empty && has_one_split && has_many_splits);
  }
}

}  // namespace
}  // namespace attest
