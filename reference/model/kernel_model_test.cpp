#include "reference/model/kernel_model.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "harness/core/formats.hpp"
#include "harness/core/poison.hpp"
#include "reference/reference.hpp"
#include "reference/small_inputs.hpp"

namespace attest::model {
namespace {

struct Flags {
  const char* name;
  Arithmetic arithmetic;
};

// Every flag once, against the default.
const Flags kFlags[] = {
    {"bf16 P", {}},
    {"CDNA1", {.matrix_unit = MatrixUnit::kCdna1Bf16}},
    {"CDNA2", {.matrix_unit = MatrixUnit::kCdna2Bf16}},
    {"CDNA3", {.matrix_unit = MatrixUnit::kCdna3Bf16}},
    {"CDNA3 fp8", {.matrix_unit = MatrixUnit::kCdna3Fp8}},
    {"Hopper", {.matrix_unit = MatrixUnit::kHopperBf16}},
    {"fp32 P", {.p_bits = 24}},
    {"e4m3fn P", {.p_bits = 4, .p_min_exponent = -6, .p_largest = 448}},
    {"e4m3fnuz P x 128", {.p_bits = 4, .p_min_exponent = -7, .p_largest = 240, .p_scale = 128}},
    {"e4m3fn P x 448", {.p_bits = 4, .p_min_exponent = -6, .p_largest = 448, .p_scale = 448}},
    {"truncated P", {.p_truncates = true}},
    {"l from rounded P", {.l_from_rounded_p = true}},
    {"scaled q", {.scaled_q = true}},
    {"dequantised K", {.k_relative = 0x1p-8}},
    {"bf16 partials", {.bf16_partials = true}},
    {"truncated o", {.o_truncates = true}},
    {"sequential merge", {.merge = Merge::kSequential}},
    {"division-free merge", {.merge = Merge::kDivisionFree}},
    {"natural lse", {.lse_in_log2 = false}},
    {"tiles of 16", {.tile_tokens = 16}},
    {"four waves", {.tile_tokens = 16, .waves_per_split = 4}},
    {"lazy rescale", {.tile_tokens = 16, .lazy_rescale = 8}},
};

constexpr int kSplits = 3;

Problem problem_of_test() {
  Problem p;
  p.h_q = 3;
  p.s_kv = {70, 400};
  p.s_q = {1, 2};
  p.page_size = 16;
  return p;
}

ModelResult run(const Problem& p, const Inputs& inputs, const Arithmetic& arithmetic,
                ModelOptions options = {.num_splits = kSplits}) {
  Contract contract;
  contract.arithmetic = arithmetic;
  auto result = run_model(p, inputs, contract, options);
  EXPECT_TRUE(result.ok());
  return std::move(*result);
}

TEST(KernelModel, IsTheFormulaUpToItsRoundingsUnderEveryFlag) {
  const Problem p = problem_of_test();
  for (const Family family : kFamilies) {
    const auto inputs = small_inputs(p, family, 3);
    ASSERT_TRUE(inputs.ok());
    const auto r = reference(p, *inputs, {}, kSplits, {.detail = Detail::kPlain});
    ASSERT_TRUE(r.ok());
    for (const Flags& flags : kFlags) {
      const Arithmetic& a = flags.arithmetic;
      // Logits of hundreds make errors of q and K, 2^-9 and 2^-8 of them, as large as any weight.
      if (family == Family::kHugeLogits || family == Family::kVeryNegative) {
        if (a.scaled_q || a.k_relative > 0) continue;
      }
      const ModelResult m = run(p, *inputs, a);
      // Source: 2^-8 of |v| <= 4 is what rounding P to bf16 may cost, 2^-4 to fp8; the rest is
      // smaller.
      const double tolerance =
          (a.p_bits == 4 ? 0.25 : 0.016) * 1.5 * (family == Family::kHugeLogits ? 4 : 1);
      for (std::size_t i = 0; i < r->expected.o.size(); ++i)
        ASSERT_NEAR(m.o_fp32[i], r->expected.o[i], tolerance) << flags.name << " " << i;
      for (std::size_t i = 0; i < r->expected.lse.size(); ++i) {
        const float lse = std::bit_cast<float>(m.output.lse[i]);
        ASSERT_NEAR(lse, r->expected.lse[i], a.p_bits == 4 ? 0.07 : 0.02) << flags.name;
      }
    }
  }
}

TEST(KernelModel, EveryFlagChangesBits) {
  const Problem p = problem_of_test();
  const auto normal = small_inputs(p, Family::kNormal, 3);
  const auto rising = small_inputs(p, Family::kStaircase, 3);
  ASSERT_TRUE(normal.ok() && rising.ok());
  for (const Flags& flags : kFlags) {
    if (&flags == &kFlags[0]) continue;
    Arithmetic base;
    if (flags.arithmetic.waves_per_split > 1 || flags.arithmetic.lazy_rescale > 0)
      base.tile_tokens = 16;
    const auto changes = [&](const Inputs& inputs) {
      const ModelResult with = run(p, inputs, flags.arithmetic), without = run(p, inputs, base);
      return with.output.o != without.output.o || with.o_fp32 != without.o_fp32;
    };
    EXPECT_TRUE(changes(*normal) || changes(*rising)) << flags.name;
  }
}

TEST(KernelModel, DoesNotDependOnThreadsNorOnWhatSharesTheLaunch) {
  const Problem p = problem_of_test();
  const auto inputs = small_inputs(p, Family::kNormal, 5);
  ASSERT_TRUE(inputs.ok());
  const Arithmetic a{.tile_tokens = 16, .waves_per_split = 2, .lazy_rescale = 2};
  const Output one = run(p, *inputs, a).output;
  const Output three = run(p, *inputs, a, {.num_splits = kSplits, .threads = 3}).output;
  EXPECT_EQ(one.o, three.o);
  EXPECT_EQ(one.partial_o, three.partial_o);
  EXPECT_EQ(one.partial_lse, three.partial_lse);
}

TEST(KernelModel, HeadsOfALazyGroupRescaleTogether) {
  Problem p;
  p.h_q = 4;
  p.s_kv = {200};
  const auto inputs = small_inputs(p, Family::kNormal, 5);
  ASSERT_TRUE(inputs.ok());
  const auto o_of = [&](int lazy_heads, double lazy_rescale) {
    return run(p, *inputs,
               {.tile_tokens = 16, .lazy_rescale = lazy_rescale, .lazy_heads = lazy_heads},
               {.num_splits = 1})
        .o_fp32;
  };
  const auto alone = o_of(1, 0.5), pairs = o_of(2, 0.5), never = o_of(1, 1e30);
  EXPECT_NE(alone, pairs);
  EXPECT_NE(alone, never);
  EXPECT_EQ(o_of(1, 1e30), o_of(4, 1e30));
  EXPECT_EQ(o_of(1, 0), o_of(4, 0));
}

TEST(KernelModel, LeavesPoisonWhereTheContractWritesNothing) {
  Problem p;
  p.h_q = 2;
  p.s_kv = {0, 70, 2};
  p.s_q = {1, 1, 3};
  const auto inputs = small_inputs(p, Family::kNormal, 5);
  ASSERT_TRUE(inputs.ok());
  for (const EmptyRow rule : {EmptyRow::kZerosAndMinusInf, EmptyRow::kUnwritten}) {
    Contract contract;
    contract.empty_row = rule;
    for (const int splits : {1, kSplits}) {
      const auto m = run_model(p, *inputs, contract, {.num_splits = splits});
      ASSERT_TRUE(m.ok());
      const bool zeros = rule == EmptyRow::kZerosAndMinusInf;
      const std::uint32_t minus_inf = std::bit_cast<std::uint32_t>(-INFINITY);
      for (const int token : {0, 2}) {  // of the empty sequence; the first of three that see two
        EXPECT_EQ(m->output.o[token * 2 * kDV], zeros ? 0 : kPoison16) << splits;
        EXPECT_EQ(m->output.lse[token * 2], zeros ? minus_inf : kPoison32) << splits;
      }
      for (const int token : {1, 3, 4}) EXPECT_NE(m->output.lse[token * 2 + 1], kPoison32);
      if (splits == 1) continue;
      // Sequence 1 has two live splits of 64 and 6 tokens, the third is nobody's.
      const auto partial_lse = [&](int token, int split) {
        return m->output.partial_lse[(token * kSplits + split) * 2];
      };
      EXPECT_NE(partial_lse(1, 1), kPoison32);
      EXPECT_EQ(partial_lse(1, 2), kPoison32);
      EXPECT_EQ(partial_lse(0, 0), kPoison32);
      EXPECT_EQ(partial_lse(2, 0), minus_inf);  // live, but it shows this token nothing
    }
  }
}

TEST(KernelModel, TranscendentalsMoveTheResultBothWays) {
  Problem p;
  p.s_kv = {300};
  const auto inputs = small_inputs(p, Family::kNormal, 5);
  ASSERT_TRUE(inputs.ok());
  const auto lse_of = [&](Transcendental mode) {
    const ModelResult m = run(p, *inputs, {.exp_ulp = 16, .log_ulp = 1},
                              {.num_splits = kSplits, .transcendental = mode});
    return std::bit_cast<float>(m.output.lse[0]);
  };
  EXPECT_GT(lse_of(Transcendental::kHigh), lse_of(Transcendental::kNearest));
  EXPECT_LT(lse_of(Transcendental::kLow), lse_of(Transcendental::kNearest));
}

}  // namespace
}  // namespace attest::model
