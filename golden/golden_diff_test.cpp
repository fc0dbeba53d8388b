#include "golden/golden_diff.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "golden/golden_sample.hpp"

namespace attest {
namespace {

using Strings = std::vector<std::string>;
using Reasons = std::set<std::string>;

CaseDiff diff_of(const std::function<void(GoldenCase&)>& edit,
                 const GoldenCase& before = sample_case("v1:k=a:h=2")) {
  GoldenCase after = before;
  edit(after);
  const GoldenDiff diff = diff_golden({"", "", {before}}, {"", "", {after}});
  EXPECT_EQ(diff.cases.size(), 1u);
  return diff.cases.at(0);
}

TEST(GoldenDiff, OfTheSameIsSame) {
  const GoldenDiff diff = diff_golden(sample_file(), sample_file());
  EXPECT_TRUE(diff.all_same());
  EXPECT_EQ(diff.same, 3);
  EXPECT_TRUE(diff.reasons().empty());
  EXPECT_EQ(diff.summary(), "3 same, 0 improved, 0 changed");
}

TEST(GoldenDiff, AMoveWithinTheOldStatedErrorIsAnImprovement) {
  const CaseDiff of_o = diff_of([](GoldenCase& c) {
    c.o_lo[700] += 0.9e-28 * c.sum_a_abs_v[700];
    c.reference = "reference 2";
  });
  EXPECT_EQ(of_o.moved, Moved::kImproved) << of_o.detail;
  EXPECT_EQ(of_o.what, (Strings{"reference version", "values"}));
  EXPECT_EQ(of_o.reasons, (Reasons{"reference"}));
  EXPECT_EQ(diff_of([](GoldenCase& c) { c.error = 1e-30; }).moved, Moved::kImproved);
}

TEST(GoldenDiff, ALargerStatedErrorIsNoImprovement) {
  const CaseDiff looser = diff_of([](GoldenCase& c) { c.error = 1.5; });
  EXPECT_EQ(looser.moved, Moved::kChanged);
  EXPECT_EQ(looser.detail, "same numbers; stated error 1e-28 -> 1.5");
  EXPECT_EQ(looser.reasons, (Reasons{"reference"}));
}

TEST(GoldenDiff, AMoveBeyondItIsAChangeAndIsToldWithItsPlace) {
  const CaseDiff of_o = diff_of([](GoldenCase& c) { c.o_lo[700] += 3e-28 * c.sum_a_abs_v[700]; });
  EXPECT_EQ(of_o.moved, Moved::kChanged);
  EXPECT_EQ(of_o.what, (Strings{"values"}));
  EXPECT_NE(of_o.detail.find("row 1 column 188"), std::string::npos) << of_o.detail;
  const CaseDiff of_lse = diff_of([](GoldenCase& c) { c.lse_hi[0] += 1e-15; });
  EXPECT_EQ(of_lse.moved, Moved::kChanged);
  EXPECT_NE(of_lse.detail.find("lse by up to"), std::string::npos) << of_lse.detail;
}

TEST(GoldenDiff, WhatBecomesInfiniteOrNanIsAChange) {
  for (const double value : {double{-INFINITY}, double{NAN}}) {
    EXPECT_EQ(diff_of([=](GoldenCase& c) { c.o_hi[3] = value; }).moved, Moved::kChanged);
    EXPECT_EQ(diff_of([=](GoldenCase& c) { c.lse_hi[0] = value; }).moved, Moved::kChanged);
  }
  EXPECT_EQ(diff_of([](GoldenCase& c) { c.lse_hi[1] = 0; }).moved, Moved::kChanged);
}

TEST(GoldenDiff, MagnitudesAreNamed) {
  const CaseDiff near = diff_of([](GoldenCase& c) { c.sum_a_dev[5] *= 1 + 0x1p-24; });
  EXPECT_EQ(near.moved, Moved::kImproved);
  EXPECT_EQ(near.what, (Strings{"magnitudes"}));
  EXPECT_EQ(near.detail, "sum_a_dev");
  EXPECT_EQ(diff_of([](GoldenCase& c) { c.of_row[5] *= 1.01; }).moved, Moved::kChanged);
}

TEST(GoldenDiff, ValuesOfOtherInputsFollowThem) {
  const CaseDiff moved = diff_of([](GoldenCase& c) {
    c.digest_kv[0] = '9';
    c.o_hi[0] += 1;
    c.sum_aa_vv[0] += 1;
  });
  EXPECT_EQ(moved.moved, Moved::kChanged);
  EXPECT_EQ(moved.what, (Strings{"inputs", "magnitudes", "values"}));
  EXPECT_EQ(moved.reasons, (Reasons{"input"}));
  EXPECT_EQ(diff_of([](GoldenCase& c) { c.generator = "generator 2"; }).reasons,
            (Reasons{"input"}));
}

TEST(GoldenDiff, AContractIsToldFieldByFieldAndMayMoveInputs) {
  const CaseDiff alone = diff_of([](GoldenCase& c) { c.contract = "p_bits=24 merge=max_first"; });
  EXPECT_EQ(alone.what, (Strings{"contract"}));
  EXPECT_EQ(alone.detail, "p_bits 8 -> 24");
  EXPECT_EQ(alone.moved, Moved::kChanged);
  const CaseDiff both = diff_of([](GoldenCase& c) {
    c.contract = "p_bits=24";
    c.digest_kv[0] = '9';
    c.o_hi[0] += 1;
  });
  EXPECT_EQ(both.what, (Strings{"contract", "inputs", "values"}));
  EXPECT_EQ(both.reasons, (Reasons{"contract"}));
}

TEST(GoldenDiff, DigestsAloneSayHowManyRowsMoved) {
  const GoldenCase before = sample_of_digests("v1:k=a:h=3");
  const CaseDiff one = diff_of([](GoldenCase& c) { c.row_digests[17] ^= 1; }, before);
  EXPECT_EQ(one.what, (Strings{"values"}));
  EXPECT_EQ(one.moved, Moved::kChanged);
  EXPECT_EQ(one.detail, "1 of 3 rows have another digest");
  const CaseDiff kept = diff_of([](GoldenCase& c) { c = sample_case("v1:k=a:h=3"); }, before);
  EXPECT_EQ(kept.what, (Strings{"format"}));
  EXPECT_EQ(kept.reasons, (Reasons{"format"}));
}

TEST(GoldenDiff, ValuesInPlaceOfDigestsOrDigestsOfThemHideNoOtherValues) {
  const GoldenCase values = sample_case("v1:k=a:h=3"), digests = sample_of_digests("v1:k=a:h=3");
  GoldenCase moved = values;
  moved.o_lo[600] += 1e-30;
  const CaseDiff to_values = diff_of([&](GoldenCase& c) { c = moved; }, digests);
  EXPECT_EQ(to_values.what, (Strings{"format", "values"}));
  EXPECT_EQ(to_values.reasons, (Reasons{"format", "reference"}));
  EXPECT_NE(to_values.detail.find("1 of 3 rows have another digest"), std::string::npos);
  const CaseDiff to_digests = diff_of([&](GoldenCase& c) { c = digests; }, moved);
  EXPECT_EQ(to_digests.reasons, (Reasons{"format", "reference"}));
}

TEST(GoldenDiff, WhatACaptureKeepsIsComparedWhole) {
  const GoldenCase before = sample_capture("v1:k=a:h=1");
  const CaseDiff other =
      diff_of([](GoldenCase& c) { c.captured[0].tensor.bytes[5] ^= std::byte{1}; }, before);
  EXPECT_EQ(other.moved, Moved::kChanged);
  EXPECT_EQ(other.what, (Strings{"inputs"}));
  EXPECT_EQ(other.detail, "kv moved where nothing reads it");
  EXPECT_EQ(other.reasons, (Reasons{"input"}));
  const CaseDiff fewer = diff_of([](GoldenCase& c) { c.captured.pop_back(); }, before);
  EXPECT_EQ(fewer.detail, "q moved where nothing reads it");
}

TEST(GoldenDiff, AddedAndRemovedCasesAreOfTheInputs) {
  const GoldenCase a = sample_case("v1:k=a:h=1"), b = sample_case("v1:k=a:h=2");
  const GoldenDiff diff = diff_golden({"", "", {a}}, {"", "", {b}});
  ASSERT_EQ(diff.cases.size(), 2u);
  EXPECT_EQ(diff.cases[0].what, (Strings{"removed"}));
  EXPECT_EQ(diff.cases[1].what, (Strings{"added"}));
  EXPECT_EQ(diff.reasons(), (Reasons{"input"}));
  EXPECT_EQ(diff.summary(), "0 same, 0 improved, 2 changed (added 1, removed 1)");
}

}  // namespace
}  // namespace attest
