#include "harness/bench_verify.hpp"

#include <gtest/gtest.h>

namespace attest {
namespace {

constexpr const char* kTokens[] = {"v1:k=mla_decode:h=1", "v1:k=mla_decode:h=2:s=65:splits=2",
                                   "v1:k=mla_decode:h=1:s=3,5:steps=launch.add70.launch"};

VerifyWork three_cases() {
  return {"three", 3, [](std::int64_t i) { return *parse_token(kTokens[i]); }};
}

CommonOptions common_on(const std::string& device) {
  CommonOptions common;
  common.device = device;
  common.code_objects = ATTEST_CODE_OBJECT_DIR;
  return common;
}

Result<VerifySpeed> speed_on(const std::string& device) {
  return bench_verify(three_cases(), 2, staged_runners(common_on(device)));
}

TEST(BenchVerify, EachCaseCountsOnce) {
  const auto speed = speed_on("emu:gfx942");
  ASSERT_TRUE(speed.ok()) << speed.trouble().text;
  EXPECT_EQ(speed->cases, 3);
  EXPECT_EQ(speed->kv_tokens, 64 + 65 + 3 + 5);
  EXPECT_EQ(speed->tally.total(), 3);
  EXPECT_EQ(speed->tally.passed, 3) << speed->first_finding;
  EXPECT_GT(speed->seconds, 0);
}

TEST(BenchVerify, SharesOfTheStagesAreOfAllTime) {
  const auto speed = speed_on("emu:gfx942");
  ASSERT_TRUE(speed.ok()) << speed.trouble().text;
  double sum = 0;
  for (const auto& [stage, seconds] : speed->stage_seconds) sum += speed->share(stage);
  EXPECT_NEAR(sum, 1, 1e-9);
  for (const char* stage : {"draw", "generate", "execute", "reference", "judge", "evidence"}) {
    EXPECT_GT(speed->share(stage), 0) << stage;
  }
  EXPECT_EQ(speed->share("no such stage"), 0);
}

TEST(BenchVerify, NoThreadWorksBeforeTheClockStarts) {
  for (int i = 0; i < 20; ++i) {
    const auto speed = bench_verify(three_cases(), 8, staged_runners(common_on("emu:gfx942")));
    ASSERT_TRUE(speed.ok()) << speed.trouble().text;
    double sum = 0;
    for (const auto& [stage, seconds] : speed->stage_seconds) sum += seconds;
    EXPECT_LE(sum, 3 * speed->seconds);  // at most three threads have a case
  }
}

TEST(BenchVerify, WhatIsNotRightIsTold) {
  CommonOptions common = common_on("emu:gfx942");
  common.code_objects = "/nowhere";
  const auto speed = bench_verify(three_cases(), 2, staged_runners(common));
  ASSERT_TRUE(speed.ok()) << speed.trouble().text;
  EXPECT_EQ(speed->tally.infra, 3);
  EXPECT_NE(speed->first_finding.find("v1:k=mla_decode"), std::string::npos);
}

TEST(BenchVerify, ADeviceThatIsNotHereIsTheMachinesTrouble) {
  const auto speed = speed_on("cuda:99");
  ASSERT_FALSE(speed.ok());
  EXPECT_EQ(speed.trouble().kind, TroubleKind::kInfra);
}

}  // namespace
}  // namespace attest
