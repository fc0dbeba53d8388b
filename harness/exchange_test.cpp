#include "harness/exchange.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "golden/hdf5_file.hpp"
#include "harness/device/device_list.hpp"
#include "harness/execute.hpp"
#include "harness/generate.hpp"
#include "harness/oracle_verdict.hpp"

namespace attest {
namespace {

// A case, exported; and what our own kernel computes for it, as if it came from elsewhere.
class ExchangeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    const Outcome written = export_case(c_, inputs_, 1);
    ASSERT_TRUE(written.ok()) << written.trouble().text;
    auto device = open_device("emu:gfx942", {.threads = 1});
    ASSERT_TRUE(device.ok());
    const Kernel& kernel = *find_kernel(c_.kernel);
    const auto inputs = generate(c_, walk_of(kernel, c_.problem), 1);
    auto output = execute(kernel, **device, ATTEST_CODE_OBJECT_DIR, c_, *inputs);
    ASSERT_TRUE(output.ok()) << output.trouble().text;
    output_ = std::move(*output);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string bring_back(const Output& output, bool with_lse = true, std::uint64_t columns = 512) {
    const auto tokens = static_cast<std::uint64_t>(c_.problem.total_q()),
               heads = static_cast<std::uint64_t>(c_.problem.h_q);
    const std::string path = (folder_ / "outputs.h5").string();
    const auto file = Hdf5File::create(path);
    EXPECT_TRUE((*file)
                    ->write("outputs/o", Number::kU16, {tokens, heads * 512 / columns, columns},
                            output.o.data(), {})
                    .ok());
    if (with_lse) {
      EXPECT_TRUE(
          (*file)->write("outputs/lse", Number::kF32, {tokens, heads}, output.lse.data(), {}).ok());
    }
    EXPECT_TRUE((*file)->close().ok());
    return path;
  }
  Verdict judged(const Output& output) {
    const auto result = judge_file(inputs_, bring_back(output), {.name = "theirs"}, 1);
    EXPECT_TRUE(result.ok()) << result.trouble().text;
    return result.ok() ? result->verdict : Verdict{};
  }
  std::string refusal(const std::string& outputs) {
    const auto result = judge_file(inputs_, outputs, {}, 1);
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.trouble().text;
  }

  Case c_ = *parse_token("v1:k=mla_decode:h=5:s=100,0,7:q=2:page=16:splits=1:qpad=8:seed=3");
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  (std::string("attest_exchange_") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::string inputs_ = (folder_ / "case.h5").string();
  Output output_;
};

TEST_F(ExchangeTest, RightOutputsPassAndSayWhatTheySee) {
  const Verdict verdict = judged(output_);
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  EXPECT_EQ(verdict.checked, c_.problem.rows() * 513);
  EXPECT_GT(verdict.evidence.tokens_visible, 0.5);
}

TEST_F(ExchangeTest, AWrongElementFailsByItsPlace) {
  output_.o[512 * 3 + 17] ^= 0x40;  // a half of its value, or more
  const Verdict verdict = judged(output_);
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_NE(verdict.reason.find("theirs: o wrong at sequence 0, query token 0, head 3, column 17"),
            std::string::npos)
      << verdict.reason;
}

TEST_F(ExchangeTest, AnLseInBase2Fails) {
  for (std::uint32_t& bits : output_.lse)
    bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) * 1.44269504f);
  EXPECT_EQ(judged(output_).status, Status::kFailed);
}

TEST_F(ExchangeTest, WhatIsMissingOrMisshapenIsNamed) {
  EXPECT_NE(refusal(inputs_).find("outputs/o: there is no such dataset"), std::string::npos);
  EXPECT_NE(refusal(bring_back(output_, false)).find("outputs/lse: there is no such dataset"),
            std::string::npos);
  EXPECT_NE(refusal(bring_back(output_, true, 256)).find("outputs/o has the shape [6, 10, 256]"),
            std::string::npos);
  EXPECT_NE(refusal((folder_ / "none.h5").string()).find("none.h5: there is no such file"),
            std::string::npos);
}

TEST_F(ExchangeTest, AFileThatIsNoExportIsRefused) {
  const std::string outputs = bring_back(output_);
  const auto result = judge_file(outputs, "", {}, 1);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.trouble().kind, TroubleKind::kUsage);
  EXPECT_NE(result.trouble().text.find("no file of `attest export`"), std::string::npos);
}

// As a file whose kernel wrote over its inputs in place.
TEST_F(ExchangeTest, InputsThatWereChangedAreTheVerdict) {
  const std::string changed = (folder_ / "changed.h5").string();
  const auto from = Hdf5File::open(inputs_);
  const auto to = Hdf5File::create(changed);
  ASSERT_TRUE((*to)
                  ->write_attributes({{"format", *(*from)->text_attribute("format")},
                                      {"token", *(*from)->text_attribute("token")}})
                  .ok());
  for (const char* name : {"inputs/q", "inputs/kv", "inputs/qo_indptr", "inputs/kv_indptr",
                           "inputs/kv_indices", "inputs/kv_last_page_len"}) {
    auto tensor = (*from)->read(name);
    if (std::string_view(name) == "inputs/kv_indptr") tensor->bytes[4] ^= std::byte{1};
    ASSERT_TRUE((*to)->write(name, tensor->type, tensor->shape, tensor->bytes.data(), {}).ok());
  }
  ASSERT_TRUE((*to)->close().ok());
  const auto result = judge_file(changed, bring_back(output_), {.name = "theirs"}, 1);
  ASSERT_TRUE(result.ok()) << result.trouble().text;
  EXPECT_EQ(result->verdict.bucket, "memory.input.kv_indptr.theirs");
}

TEST(Exchange, CasesOfSeveralLaunchesAndHugeCachesAreRefused) {
  for (const auto& [token, word] : {std::pair{"v1:k=mla_decode:prop=repeat", "prop="},
                                    {"v1:k=mla_decode:base=8000000", "base="}}) {
    const auto c = parse_token(token);
    ASSERT_TRUE(c.ok());
    const Outcome outcome = export_case(*c, "/nowhere/x.h5", 1);
    ASSERT_FALSE(outcome.ok());
    EXPECT_NE(outcome.trouble().text.find(word), std::string::npos) << outcome.trouble().text;
  }
}

TEST(Exchange, FormatsOfPThatThereAreNotAreNamed) {
  EXPECT_NE(contract_of({.p = "fp8"}).trouble().text.find("fp8_fnuz"), std::string::npos);
  EXPECT_NE(contract_of({.p = "int8"}).trouble().text.find("'int8'"), std::string::npos);
}

// e4m3fnuz has 2^-7 for its least normal number, e4m3fn 2^-6 (OCP 8-bit floating point, table 1).
TEST(Exchange, FormatsOfFp8DifferByTheirRange) {
  const Arithmetic fnuz = contract_of({.p = "fp8_fnuz"})->arithmetic,
                   fn = contract_of({.p = "fp8_fn"})->arithmetic;
  EXPECT_EQ(fnuz.p_min_exponent, -7);
  EXPECT_EQ(fnuz.p_largest, 240);
  EXPECT_EQ(fn.p_min_exponent, -6);
  EXPECT_EQ(fn.p_largest, 448);
}

TEST(Exchange, TheContractHasTheTileThatTheUserNames) {
  EXPECT_EQ(contract_of({})->arithmetic.tile_tokens, 16);
  EXPECT_EQ(contract_of({.tile = 128})->arithmetic.tile_tokens, 128);
}

TEST(Exchange, TheUnitOfCdna3SumsFp8AsThatUnitDoes) {
  EXPECT_EQ(unit_for(MatrixUnit::kCdna3Bf16, Storage::kFp8), MatrixUnit::kCdna3Fp8);
  EXPECT_EQ(unit_for(MatrixUnit::kCdna3Bf16, Storage::kBf16), MatrixUnit::kCdna3Bf16);
  EXPECT_EQ(unit_for(MatrixUnit::kHopperBf16, Storage::kFp8), MatrixUnit::kHopperBf16);
}

}  // namespace
}  // namespace attest
