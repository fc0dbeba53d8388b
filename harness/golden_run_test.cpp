#include "harness/golden_run.hpp"

#include <gtest/gtest.h>

#include "harness/device/device_list.hpp"
#include "harness/golden_make.hpp"

namespace attest {
namespace {

constexpr const char* kToken = "v1:k=mla_decode:h=2:s=100,0,7:q=2:page=16:splits=2";

GoldenFile made(bool digests_only = false) {
  const auto from = generated_inputs(*parse_token(kToken), 1);
  EXPECT_TRUE(from.ok());
  const auto golden = make_golden(*from, digests_only, 1);
  EXPECT_TRUE(golden.ok());
  return {"first", "", {*golden}};
}

Result<GoldenRun> run(const GoldenFile& file,
                      const std::string& code_objects = ATTEST_CODE_OBJECT_DIR) {
  const auto device = open_device("emu:gfx942", {.threads = 1});
  EXPECT_TRUE(device.ok());
  return run_golden(file, **device, {.code_objects = code_objects, .threads = 1});
}

TEST(GoldenRun, AKernelWithinItsBoundsOfTheFilesValuesPasses) {
  const auto by_values = run(made());
  ASSERT_TRUE(by_values.ok()) << by_values.trouble().text;
  EXPECT_EQ(by_values->passed, 1);
  EXPECT_EQ(by_values->by_values, 1);
  EXPECT_TRUE(by_values->disagreements.empty());
  EXPECT_GT(by_values->elements, 0);
  const auto by_oracle = run(made(true));
  ASSERT_TRUE(by_oracle.ok());
  EXPECT_EQ(by_oracle->passed, 1);
  EXPECT_EQ(by_oracle->by_values, 0);
}

TEST(GoldenRun, AnOutputThatIsNotWhatTheFileHoldsIsNamedWithItsElement) {
  GoldenFile file = made();
  file.cases[0].lse_hi[1] += 0.01;
  const auto changed = run(file);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->passed, 0);
  ASSERT_EQ(changed->disagreements.size(), 1u);
  EXPECT_EQ(changed->disagreements[0].token, file.cases[0].token);
  EXPECT_NE(changed->disagreements[0].text.find("lse wrong at sequence 0, query token 0, head 1"),
            std::string::npos)
      << changed->disagreements[0].text;
}

TEST(GoldenRun, ACodeObjectThatIsMissingIsTheMachinesTroubleWithTheToken) {
  const auto missing = run(made(), "nope");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.trouble().kind, TroubleKind::kInfra);
  EXPECT_TRUE(missing.trouble().text.starts_with("v1:k=mla_decode")) << missing.trouble().text;
}

}  // namespace
}  // namespace attest
