// The bounds of kernels whose q and cache are fp8: models that keep their contract stay within
// every tier, those that leave out a descale factor do not.
#include <gtest/gtest.h>

#include <utility>

#include "reference/model/ratios.hpp"

namespace attest {
namespace {

struct Fp8Variant {
  const char* name;
  Arithmetic arithmetic;
  Storage q_type;
  float q_scale, kv_scale;
};

constexpr Arithmetic fnuz_p(Arithmetic a) {
  a.p_bits = 4;
  a.p_min_exponent = -7;
  a.p_largest = 240;
  return a;
}

// Kernels of fp8: Q.K of codes, P rounded to e4m3fnuz, P.V of codes, and kv_scale at the end.
const Fp8Variant kFp8Variants[] = {
    {"all of fp8", fnuz_p({.matrix_unit = MatrixUnit::kCdna3Fp8}), Storage::kFp8, 0.7f, 3},
    {"P scaled", fnuz_p({.matrix_unit = MatrixUnit::kCdna3Fp8, .p_scale = 128}), Storage::kFp8,
     0.05f, 0.05f},
    {"l of rounded P, natural lse",
     fnuz_p({.matrix_unit = MatrixUnit::kCdna3Fp8, .l_from_rounded_p = true, .lse_in_log2 = false}),
     Storage::kFp8, 1, 0.3f},
    {"lazy, division-free",
     fnuz_p({.matrix_unit = MatrixUnit::kCdna3Fp8,
             .merge = Merge::kDivisionFree,
             .tile_tokens = 16,
             .lazy_rescale = 4}),
     Storage::kFp8, 3, 0.1f},
    {"bf16 q", {.matrix_unit = MatrixUnit::kCdna3Bf16}, Storage::kBf16, 1, 0.11f},
    {"fp32 P", {.matrix_unit = MatrixUnit::kCdna3Fp8, .p_bits = 24}, Storage::kFp8, 0.7f, 0.3f},
};

Problem problem_of(const Fp8Variant& variant, int s_kv) {
  Problem p;
  p.h_q = 2;
  p.s_kv = {s_kv};
  p.q_type = variant.q_type;
  p.kv_type = Storage::kFp8;
  p.q_scale = variant.q_scale;
  p.kv_scale = variant.kv_scale;
  return p;
}

TEST(Fp8Bound, EveryTierHoldsForKernelsOfFp8AndIsNotIdle) {
  for (const Fp8Variant& variant : kFp8Variants) {
    Contract contract;
    contract.arithmetic = variant.arithmetic;
    OfTiers most;
    for (Family family : kFamilies) {
      for (const auto& [s_kv, splits] : {std::pair{1, 1}, {63, 1}, {200, 3}, {1025, 16}}) {
        const OfTiers r =
            worst_ratios(problem_of(variant, s_kv), family, contract, contract, splits);
        for (std::size_t tier = 0; tier < r.size(); ++tier) {
          EXPECT_LE(r[tier].largest(), 1)
              << variant.name << " " << to_string(static_cast<Tier>(tier)) << " " << name_of(family)
              << ", s_kv " << s_kv;
          most[tier].take(r[tier]);
        }
      }
    }
    for (const Ratios& of_tier : most) {
      EXPECT_GT(of_tier.o, 0.02) << variant.name;
      EXPECT_GT(of_tier.lse, 0.003) << variant.name;
    }
  }
}

// The model of another problem on the inputs of this one: a kernel that leaves out a factor.
OfTiers ratios_without(const Fp8Variant& variant, bool q_scale, bool kv_scale) {
  const Problem problem = problem_of(variant, 200);
  Problem dropped = problem;
  if (q_scale) dropped.q_scale = 1;
  if (kv_scale) dropped.kv_scale = 1;
  const auto inputs = small_inputs(problem, Family::kPositiveV, 21);
  Contract contract;
  contract.arithmetic = variant.arithmetic;
  const auto kernel = model::run_model(dropped, *inputs, contract, {.num_splits = 3});
  OfTiers worst;
  for (const bool declared : {false, true}) {
    contract.arithmetic.schedule_declared = declared;
    const auto r = reference(problem, *inputs, contract, 3, {});
    EXPECT_TRUE(r.ok());
    for (const Gate& gate : gates_of(r->tiers)) {
      worst[static_cast<int>(gate.tier)].take(
          ratios_of(gate, problem, r->expected, *kernel, false));
    }
  }
  return worst;
}

TEST(Fp8Bound, EveryTierIsBrokenByAKernelThatLeavesOutADescaleFactor) {
  for (const Fp8Variant& variant : kFp8Variants) {
    const OfTiers right = ratios_without(variant, false, false);
    const OfTiers without_kv = ratios_without(variant, false, true);
    const OfTiers without_q = ratios_without(variant, true, false);
    for (std::size_t tier = 0; tier < right.size(); ++tier) {
      EXPECT_LE(right[tier].largest(), 1) << variant.name;
      EXPECT_GT(without_kv[tier].o, 4) << variant.name;
      EXPECT_GT(without_kv[tier].lse, 4) << variant.name;
      if (variant.q_scale != 1) {
        EXPECT_GT(without_q[tier].lse, 4) << variant.name;
      }
    }
  }
}

}  // namespace
}  // namespace attest
