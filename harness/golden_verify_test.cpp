#include "harness/golden_verify.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/golden_make.hpp"

namespace attest {
namespace {

constexpr const char* kToken = "v1:k=mla_decode:h=2:s=100,0,7:q=2:page=16:splits=2";

GoldenFile made(bool digests_only = false) {
  const auto from = generated_inputs(*parse_token(kToken), 1);
  EXPECT_TRUE(from.ok()) << from.trouble().text;
  return {"first", "", {*make_golden(*from, digests_only, 1)}};
}

GoldenReport verified(const GoldenFile& file, GoldenVerifyOptions options = {.all = true}) {
  const auto report = verify_golden(file, options);
  EXPECT_TRUE(report.ok()) << report.trouble().text;
  return report.ok() ? *report : GoldenReport{};
}

// The one disagreement of a file that was edited.
template <class Edit>
std::string told(bool digests_only, const Edit& edit) {
  GoldenFile file = made(digests_only);
  edit(file.cases[0]);
  const GoldenReport report = verified(file);
  EXPECT_EQ(report.disagreements.size(), 1u);
  if (report.disagreements.empty()) return "";
  EXPECT_EQ(report.disagreements[0].token, kToken);
  return report.disagreements[0].text;
}

TEST(GoldenVerify, AgreesWithWhatWasJustMade) {
  const GoldenReport values = verified(made());
  EXPECT_TRUE(values.disagreements.empty()) << values.disagreements[0].text;
  EXPECT_EQ(values.rows, 12);
  EXPECT_EQ(values.by_digits, 12);
  EXPECT_LT(values.largest, 1);
  EXPECT_GT(values.largest, 0);
  const GoldenReport digests = verified(made(true));
  EXPECT_TRUE(digests.disagreements.empty()) << digests.disagreements[0].text;
  EXPECT_EQ(digests.by_digits, 12);
}

TEST(GoldenVerify, AWrongValueIsToldWithRowColumnAndBothNumbers) {
  const std::string of_o = told(false, [](GoldenCase& c) {
    c.o_lo[2 * kDV + 17] += 2 * c.error * c.sum_a_abs_v[2 * kDV + 17];
  });
  EXPECT_NE(of_o.find("row 2, o column 17: "), std::string::npos) << of_o;
  EXPECT_NE(of_o.find(" in the file, "), std::string::npos) << of_o;
  EXPECT_NE(of_o.find(" recomputed: "), std::string::npos) << of_o;
  const std::string of_lse =
      told(false, [](GoldenCase& c) { c.lse_hi[1] = std::nextafter(c.lse_hi[1], 100.0); });
  EXPECT_NE(of_lse.find("row 1, lse: "), std::string::npos) << of_lse;
}

TEST(GoldenVerify, NansInfinitiesAndRowsThatSeeNothingAreNoExceptions) {
  EXPECT_NE(told(false, [](GoldenCase& c) { c.o_hi[9] = NAN; }).find("column 9"),
            std::string::npos);
  EXPECT_NE(told(false, [](GoldenCase& c) { c.lse_hi[0] = INFINITY; }).find("lse"),
            std::string::npos);
  // Rows 4 to 7 are those of the sequence without a token.
  EXPECT_NE(told(false, [](GoldenCase& c) { c.lse_hi[4] = -1e300; }).find("row 4, lse"),
            std::string::npos);
  EXPECT_NE(told(false, [](GoldenCase& c) { c.o_lo[5 * kDV] = 1e-300; }).find("row 5, o column 0"),
            std::string::npos);
}

TEST(GoldenVerify, AWrongMagnitudeIsTold) {
  for (const GoldenField& field : golden_fields()) {
    if (field.is_value) continue;
    const auto columns = static_cast<std::size_t>(field.columns);
    const std::string row = told(false, [&](GoldenCase& c) {
      for (std::size_t i = 0; i < columns; ++i) (c.*field.values)[2 * columns + i] *= 1000;
    });
    EXPECT_NE(row.find(fmt::format("row 2, {} column 0: ", field.name)), std::string::npos) << row;
    const std::string one =
        told(false, [&](GoldenCase& c) { (c.*field.values)[columns + 3] *= 1 + 0x1p-20; });
    EXPECT_NE(one.find(fmt::format("row 1, {} column 3: ", field.name)), std::string::npos) << one;
  }
}

TEST(GoldenVerify, AStatedErrorThatGenerateWouldNotStateIsTold) {
  const std::string text = told(false, [](GoldenCase& c) {
    c.error = 1e300;
    c.o_hi[0] += 1;
  });
  EXPECT_NE(text.find("it states an error of 1e+300: more than the "), std::string::npos) << text;
  EXPECT_NE(told(false, [](GoldenCase& c) { c.error *= 1.01; }).find("it states"),
            std::string::npos);
  EXPECT_NE(told(true, [](GoldenCase& c) { c.error = 1e-28; }).find("it states"),
            std::string::npos);
}

TEST(GoldenVerify, AFileWithoutARowProvesNothing) {
  EXPECT_FALSE(verified({"first", "", {}}).proves_something());
  EXPECT_TRUE(verified(made()).proves_something());
}

TEST(GoldenVerify, AnotherDigestOfARowIsTold) {
  EXPECT_EQ(told(true, [](GoldenCase& c) { c.row_digests[3 * 16 + 5] ^= 1; }),
            "row 3: its values have another digest than in the file");
}

TEST(GoldenVerify, OtherInputsAndContractsAreTold) {
  for (const bool digests_only : {false, true}) {
    EXPECT_NE(told(digests_only, [](GoldenCase& c) { c.digest_kv[0] ^= 1; }).find("kv is not"),
              std::string::npos);
    const std::string contract = told(digests_only, [](GoldenCase& c) {
      c.contract.replace(c.contract.find("p_bits=8"), 8, "p_bits=9");
    });
    EXPECT_NE(contract.find("the contract is another: p_bits 9 -> 8"), std::string::npos)
        << contract;
  }
}

TEST(GoldenVerify, ManyWrongRowsAreCounted) {
  GoldenFile file = made();
  for (const std::size_t row : {0, 1, 2, 3, 8}) file.cases[0].lse_hi[row] += 1;
  const GoldenReport report = verified(file);
  ASSERT_EQ(report.disagreements.size(), 4u);
  EXPECT_EQ(report.disagreements[3].text, "and in 2 more of the 12 rows that were recomputed");
}

TEST(GoldenVerify, ASampleHasARowOfEachCaseAndFollowsItsSeed) {
  GoldenFile file = made();
  EXPECT_EQ(verified(file, {.seed = 1}).by_digits, 1);
  // Every row wrong: which one is told says which one was drawn.
  for (double& lse : file.cases[0].lse_hi) lse = 1;
  const auto drawn = [&](std::uint64_t seed) {
    return verified(file, {.seed = seed}).disagreements.at(0).text.substr(0, 7);
  };
  std::set<std::string> rows;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    EXPECT_EQ(drawn(seed), drawn(seed));
    rows.insert(drawn(seed));
  }
  EXPECT_GE(rows.size(), 8u);
}

TEST(GoldenVerify, RowsTooLongForDigitsAreCountedApartAndStillHeld) {
  GoldenVerifyOptions options{.all = true, .most_tokens_of_digits = 50};
  GoldenFile file = made();
  GoldenReport report = verified(file, options);
  EXPECT_TRUE(report.disagreements.empty());
  EXPECT_EQ(report.by_stream, 4);
  EXPECT_EQ(report.by_digits, 8);
  file.cases[0].o_hi[0] += 1;
  report = verified(file, options);
  ASSERT_EQ(report.disagreements.size(), 1u);
  GoldenFile digests = made(true);
  digests.cases[0].row_digests[0] ^= 1;
  EXPECT_EQ(verified(digests, options).disagreements.size(), 1u);
}

TEST(GoldenVerify, ATokenOfWhatIsNotHereIsTheUsersTrouble) {
  GoldenFile file = made();
  file.cases[0].token = "v1:k=nope:h=2:s=100,0,7:q=2:page=16:splits=2";
  const auto report = verify_golden(file, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.trouble().kind, TroubleKind::kUsage);
}

}  // namespace
}  // namespace attest
