#include "harness/device/emulator/checks/hazard_checks.hpp"

#include "harness/device/emulator/checks/planted_launch.hpp"
#include "harness/device/emulator/decode_text.hpp"

namespace attest::emulator {
namespace {

CheckSet hazards() { return CheckSet().add(Check::kHazards); }

HazardTraits traits(std::string_view text, bool gfx90a) {
  const Inst in = parse_text(text).inst;
  return hazard_traits(text, in, uses_of(text, in, gfx90a).value(), gfx90a);
}
int passes(std::string_view text, bool gfx90a) {
  return uses_of(text, parse_text(text).inst, gfx90a).value().passes;
}

constexpr const char* kTile = "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], 0";
constexpr const char* kFloatTile = "v_mfma_f32_16x16x4_f32 v[0:3], v4, v6, 0";
constexpr const char* kDouble = "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], 0";

int states(MatrixUse use, const char* first, const char* then, bool gfx90a) {
  return matrix_states(use, traits(first, gfx90a), passes(first, gfx90a), traits(then, gfx90a),
                       passes(then, gfx90a), gfx90a);
}

}  // namespace

TEST(Hazards, AreFoundWhereStatesLackAndNowhereElse) {
  PlantedFile("hazards.s").expect_planted(hazards());
}

TEST(Hazards, AReportSaysTheRegisterTheStatesAndTheEarlierInstruction) {
  const auto all = PlantedFile("hazards.s").reports("mfma_read_one_state_early", hazards());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].what,
            "v11: the result of an MFMA is read by a VALU instruction: 6 wait states between them, "
            "and 7 are needed");
  EXPECT_NE(all[0].other.find("v_mfma_f32_16x16x16_bf16"), std::string::npos) << all[0].other;
}

TEST(Hazards, WhatShippedKernelsDoIsListedAndNoMistake) {
  for (const char* kernel : {"mask_after_one_state", "m0_at_once"}) {
    const auto all = PlantedFile("hazards.s").reports(kernel, hazards());
    ASSERT_EQ(all.size(), 1u) << kernel;
    EXPECT_TRUE(all[0].benign) << kernel;
  }
}

// Source: GCNHazardRecognizer.cpp, the constants and functions with these numbers in comments.
TEST(Hazards, MatrixStatesAreThoseOfTheTarget) {
  const char* const add = "v_add_f32_e32 v8, v0, v1";
  EXPECT_EQ(states(MatrixUse::kRead, kTile, add, false), 7);
  EXPECT_EQ(states(MatrixUse::kRead, kTile, add, true), 11);
  EXPECT_EQ(states(MatrixUse::kRead, kFloatTile, add, false), 10);
  EXPECT_EQ(states(MatrixUse::kSourceC, kTile, kTile, false), 5);
  EXPECT_EQ(states(MatrixUse::kSourceC, kTile, kTile, true), 8);
  EXPECT_EQ(states(MatrixUse::kSourceC, kFloatTile, kFloatTile, false), 8);
  EXPECT_EQ(states(MatrixUse::kSourceC, kFloatTile, kTile, false), 0);
  EXPECT_EQ(states(MatrixUse::kSourceC, kTile, kDouble, true), 9);
  EXPECT_EQ(states(MatrixUse::kSourceC, kDouble, kDouble, false), 9);
  EXPECT_EQ(states(MatrixUse::kSourceAB, kTile, kTile, false), 7);
  EXPECT_EQ(states(MatrixUse::kSourceAB, kDouble, kDouble, false), 11);
  EXPECT_EQ(states(MatrixUse::kMemoryRead, kDouble, add, false), 18);
  EXPECT_EQ(states(MatrixUse::kRead, kDouble, add, false), 11);
  EXPECT_EQ(states(MatrixUse::kOverwriteC, kTile, add, false), 3);
  EXPECT_EQ(states(MatrixUse::kOverwriteC, kFloatTile, add, false), 0);
  EXPECT_EQ(states(MatrixUse::kOverwriteC, kTile, add, true), 7);
  EXPECT_EQ(states(MatrixUse::kSameC, kTile, kTile, false), 0);
}

TEST(Hazards, EachRuleIsWithinTheHistoryThatIsKept) {
  for (const HazardRule& rule : hazard_rules()) {
    EXPECT_LE(rule.gfx90a, kHistory) << rule.text;
    EXPECT_LE(rule.gfx942, kHistory) << rule.text;
    EXPECT_LT(rule.first, 1u << kProducerBits) << rule.text;
  }
}

}  // namespace attest::emulator
