#include "harness/bucket.hpp"

#include <gtest/gtest.h>

#include "harness/core/check_report.hpp"

namespace attest {
namespace {

TEST(Bucket, IsReadBackAsItWasPrinted) {
  for (const Bucket& bucket : {Bucket{"merge", "wrong", "lse", "mla_decode"},
                               Bucket{"stage1", "oob", "kv_indices", "mla_v4-2"},
                               Bucket{"process", "crash", "sigsegv", "mla_decode"}}) {
    const auto read = parse_bucket(to_string(bucket));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, bucket);
  }
  EXPECT_EQ(to_string(Bucket{"a", "b", "c", "d"}), "a.b.c.d");
}

TEST(Bucket, OfOtherThanFourWordsIsRefused) {
  for (const char* text : {"", "a.b.c", "a.b.c.", ".b.c.d", "a..c.d", "a.b.c.d.e", "a.b.c.d.",
                           "a.b.c.D", "a.b.*.d", "a.b.c d.e"}) {
    const auto read = parse_bucket(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.trouble().kind, TroubleKind::kUsage);
    EXPECT_NE(read.trouble().text.find("'" + std::string(text) + "'"), std::string::npos);
  }
}

std::string of(TroubleKind kind, const std::string& what, const char* symbol) {
  return to_string(
      bucket_of({kind, what + "\n  at stage1.hpp:41:20: global_load_dword v0\n  kernel " + symbol +
                           ", workgroup (0, 0, 0), wave 0"},
                "k"));
}

TEST(Bucket, OfACrashNamesStageAndTensor) {
  const auto read = [](const std::string& nearest) {
    return of(TroubleKind::kCrashed,
              "read of 4 bytes at 0x7f00 by lane 0 is outside every buffer: " + nearest,
              "mla_decode_stage1_16");
  };
  EXPECT_EQ(read("0 bytes after the end of kv_indices [0x7f00, 256 bytes]"),
            "stage1.oob.kv_indices.k");
  EXPECT_EQ(read("65536 bytes before the start of q [0x7f00, 256 bytes]"), "stage1.oob.q.k");
  EXPECT_EQ(read("2 bytes inside lse [0x7f00, 256 bytes]"), "stage1.oob.lse.k");
  // Which buffer is nearest to what lies beyond a guard zone is chance.
  EXPECT_EQ(read("65537 bytes before the start of q [0x7f00, 256 bytes]"), "stage1.oob.far.k");
  EXPECT_EQ(read("no buffer is allocated"), "stage1.oob.far.k");
  EXPECT_EQ(of(TroubleKind::kCrashed, "LDS access of 4 bytes at 70000 by lane 1 is outside the",
               "mla_decode_stage2_fp32"),
            "stage2.oob.lds.k");
  EXPECT_EQ(of(TroubleKind::kCrashed, "the kernel trapped (s_trap)", "reduce"),
            "launch.crash.all.k");
}

TEST(Bucket, OfARefusedLaunchNamesTheStage) {
  for (const char* what : {"kernel mla_decode_stage1_16: a grid of 1 x 1 x 1 workgroups of 384",
                           "kernel mla_decode_stage1_16 asks for 70000 bytes of LDS",
                           "argument 1 of kernel mla_decode_stage1_16 is at byte 8"}) {
    EXPECT_EQ(to_string(bucket_of({TroubleKind::kRefused, what}, "k")), "stage1.refused.all.k");
  }
}

TEST(Bucket, OfAHangNamesTheStage) {
  EXPECT_EQ(of(TroubleKind::kHung, "no end after 5 wave instructions", "mla_decode_stage2_bf16"),
            "stage2.hang.all.k");
}

TEST(Bucket, OfDamageNamesTheTensor) {
  const auto damaged = [](const char* text) { return to_string(bucket_of_damage(text, "k")); };
  EXPECT_EQ(damaged("wrote outside partial_o: the byte 2 after its end was written (0x00)"),
            "memory.oob.partial_o.k");
  EXPECT_EQ(damaged("wrote behind the last row of lse, at byte 8"), "memory.oob.lse.k");
  EXPECT_EQ(damaged("wrote into the pad of o behind query token 1, head 2, at column 3"),
            "memory.overwritten.pad.k");
  EXPECT_EQ(damaged("changed its input kv_indptr at byte 4"), "memory.input.kv_indptr.k");
}

TEST(Bucket, OfACheckNamesTheCheckAndTheSourceLine) {
  CheckReport report{.check = Check::kLdsRace,
                     .kernel = "mla_decode_stage1_16",
                     .place = "kernels/mla_decode/stage1.hpp:38:19 < kernels/mla_decode/a.hip:3:1",
                     .instruction = "ds_read_b32 v1, v2",
                     .what = "reads byte 4",
                     .who = "workgroup (0, 0, 0), wave 1"};
  EXPECT_EQ(to_string(bucket_of_damage(to_string(report), "k")),
            "stage1.lds_race.stage1-hpp-38-a-hip-3.k");
  report.place = "a.hip:7:1";
  EXPECT_EQ(to_string(bucket_of_damage(to_string(report), "k")), "stage1.lds_race.a-hip-7.k");
  report.place = "pc 0x1a40";
  report.kernel = "_ZN5aiter3mlaE";
  EXPECT_EQ(to_string(bucket_of_damage(to_string(report), "k")), "launch.lds_race.pc-0x1a40.k");
  EXPECT_TRUE(parse_bucket("launch.lds_race.pc-0x1a40.k").ok());
}

}  // namespace
}  // namespace attest
