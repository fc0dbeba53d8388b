#include "harness/visibility.hpp"

#include <cmath>

#include "harness/evidence.hpp"
#include "harness/evidence_world.hpp"
#include "harness/judge_element.hpp"
#include "reference/row_view.hpp"

namespace attest {
namespace {

Visibility visibility(const World& w) { return visibility_of(w.subject(), w.inputs, w.reference); }

constexpr float kWide = 1e4f;

// With q = 0 every one of L tokens has the weight 1 / L.
TEST(Visibility, OfAUniformTokenEndsWhereItsWeightMeetsTheGateOfLse) {
  World w("v1:h=2:s=200:splits=1:dist=uniform_logits");
  const auto moves = static_cast<float>(-std::log1p(-1.0 / 200));
  // Source: lse is stored as fp32: half an ulp of ln 200 is 2^-22, 5e-5 of what is lost.
  w.set_radii(kWide, moves * 0.9999f);
  EXPECT_EQ(visibility(w).tokens.share(), 1);
  EXPECT_NEAR(visibility(w).smallest_weight_seen, 1.0 / 200, 1e-12);
  w.set_radii(kWide, moves * 1.0001f);
  EXPECT_EQ(visibility(w).tokens.share(), 0);
  EXPECT_EQ(visibility(w).smallest_weight_seen, 0);
}

TEST(Visibility, OfAUniformTokenEndsWhereItsWeightMeetsTheGateOfO) {
  World w("v1:h=2:s=200:splits=1:dist=uniform_logits");
  // o moves by (v - o) / 199, at most 0.026 for |v - o| < 5.2; an ulp of o is under 0.004.
  double largest = 0, least = 9;
  for (int j = 0; j < 200; ++j) {
    const RowView row(w.c.problem, w.inputs, 0);
    double most = 0;
    for (int d = 0; d < kDV; ++d)
      most = std::max(most, std::abs(row.k(j, d) - w.reference.expected.o[d]) / 199);
    largest = std::max(largest, most), least = std::min(least, most);
  }
  w.set_radii(static_cast<float>(least) - 4e-3f, kWide);
  EXPECT_EQ(visibility(w).tokens.share(), 1);
  w.set_radii(static_cast<float>(largest) + 1e-6f, kWide);
  EXPECT_EQ(visibility(w).tokens.share(), 0);
}

// Three splits of 100: a token is 1 / 100 of its split, 1 / 300 of the whole.
TEST(Visibility, SeesALossInThePartialsOfItsSplitFirst) {
  World w("v1:h=1:s=300:splits=3:dist=uniform_logits");
  w.set_radii(kWide, 1.0f / 150);
  EXPECT_EQ(visibility(w).tokens.share(), 1);
  w.set_radii(kWide, 1.0f / 90);
  EXPECT_EQ(visibility(w).tokens.share(), 0);
  // The merge that misses a split leaves partials as they are, but lse moves by ln 1.5.
  EXPECT_EQ(visibility(w).splits.share(), 1);
  w.set_radii(kWide, 0.41f);
  EXPECT_EQ(visibility(w).splits.looked_at, 3);
  EXPECT_EQ(visibility(w).splits.share(), 0);
}

TEST(Visibility, SeesALostSplitInOAlone) {
  World w("v1:h=1:s=300:splits=3:dist=uniform_logits");
  // Thirds of N(0,1) / 100: o moves by up to 0.1 and not more than 0.5.
  w.set_radii(0.02f, kWide);
  EXPECT_EQ(visibility(w).splits.share(), 1);
  w.set_radii(0.5f, kWide);
  EXPECT_EQ(visibility(w).splits.share(), 0);
}

// Whether the loss of a token takes an element of o, or partial o, of the row in which it weighs
// most beyond `radius`. For one live split, so that both are the same.
bool moves_in_heaviest_row(const World& w, int token, Stored stored, double radius) {
  const Expected& e = w.reference.expected;
  double heaviest = 0;
  bool moves = false;
  for (std::int64_t row = 0; row < w.c.problem.rows(); ++row) {
    const RowView view(w.c.problem, w.inputs, row);
    double x = 0;
    for (int d = 0; d < kDQk; ++d) x += double{view.q(d)} * view.k(token, d);
    const double weight = std::exp(w.c.problem.sm_scale * x - e.lse[row]);
    if (weight <= heaviest) continue;
    heaviest = weight, moves = false;
    for (int d = 0; d < kDV; ++d) {
      const double o = e.o[row * kDV + d], left = (o - weight * view.k(token, d)) / (1 - weight);
      moves |= !is_within(stored, value_of(stored, stored_bits(stored, left)), o, radius);
    }
  }
  return moves;
}

TEST(Visibility, LooksForALossInTheOOfTheRowThatLosesMost) {
  World w("v1:h=4:s=60:splits=2");
  for (const Stored stored : {Stored::kFp32, Stored::kBf16}) {  // partial o, and o
    for (const float radius : {0.03f, 0.06f, 0.1f, 0.2f}) {
      w.set_radii(radius, kWide);
      Bound& t0 = w.reference.tiers.t0;
      std::vector<float>& other = stored == Stored::kFp32 ? t0.o : t0.partial_o;
      std::fill(other.begin(), other.end(), kWide);
      int wanted = 0;
      for (int token = 0; token < 60; ++token)
        wanted += moves_in_heaviest_row(w, token, stored, radius);
      EXPECT_EQ(visibility(w).tokens.looked_at, 60);
      EXPECT_EQ(visibility(w).tokens.visible, wanted) << radius;
      EXPECT_GT(wanted, 0) << radius;
      EXPECT_LT(wanted, 60) << radius;
    }
  }
}

TEST(Visibility, OfAPageIsThatOfAllItsTokens) {
  World w("v1:h=1:s=320:splits=1:page=16:dist=uniform_logits");
  w.set_radii(kWide, 0.049f);  // a page moves lse by ln(20 / 19) = 0.0513, a token by 0.0031
  const Visibility seen = visibility(w);
  EXPECT_EQ(seen.pages.looked_at, kPagesLookedAt);
  EXPECT_EQ(seen.pages.share(), 1);
  EXPECT_EQ(seen.tokens.share(), 0);
  w.set_radii(kWide, 0.052f);
  EXPECT_EQ(visibility(w).pages.share(), 0);
}

TEST(Visibility, OfAPageAcrossTwoSplitsIsJudgedInEachOfThem) {
  // Splits of 100: page 6 (tokens 96..111) has 4 tokens of the first and 12 of the second.
  World w("v1:h=1:s=200:splits=2:page=16:dist=uniform_logits");
  w.set_radii(kWide, 0.1f);
  std::fill_n(w.reference.tiers.t0.lse.begin(), 1, kWide);
  // 16 of 100 move a partial lse by 0.174, 12 by 0.128, 4 by 0.041, the last page's 8 by 0.083.
  EXPECT_EQ(visibility(w).pages.looked_at, 8);
  EXPECT_EQ(visibility(w).pages.visible, 7);
}

TEST(Visibility, OfNeedlesIsThatOfTheNeedles) {
  World w("v1:h=1:s=5000:splits=1:dist=needles");
  w.set_radii(kWide, 1e-3f);
  const Visibility seen = visibility(w);
  EXPECT_GT(seen.tokens.visible, 1);  // the first and the last, and what the sample meets at edges
  EXPECT_LT(seen.tokens.share(), 0.5);
  EXPECT_GT(seen.smallest_weight_seen, 1e-3);
}

TEST(Visibility, LooksAtAFewOfMuchAndAtAllOfLittle) {
  const Visibility many = visibility(World("v1:h=1:s=300x30:splits=2"));
  EXPECT_LE(many.tokens.looked_at, kTokensLookedAt);
  EXPECT_LE(many.pages.looked_at, kPagesLookedAt);
  EXPECT_LE(many.splits.looked_at, kSplitsLookedAt);
  EXPECT_GE(many.tokens.looked_at, kTokensLookedAt / 2);
  EXPECT_GE(many.splits.looked_at, 16);
  const Visibility few = visibility(World("v1:h=1:s=0,5,1:splits=2"));
  EXPECT_EQ(few.tokens.looked_at, 6);
  EXPECT_EQ(few.tokens.share(), 1);  // and a sequence's only token, whose loss leaves nothing
  EXPECT_EQ(few.splits.share(), -1);
  EXPECT_EQ(visibility(World("v1:h=1:s=0:splits=2")).tokens.share(), -1);
}

TEST(Evidence, OfALossThatNobodyWouldNoticeIsVacuity) {
  World w("v1:h=1:s=300:splits=1:dist=uniform_logits");
  w.set_radii(0.1f, 0.1f);
  w.blind_to = {"zeros", "last token dropped"};
  Verdict verdict = judge(w.subject(), w.output, w.reference);
  prove(w.subject(), w.inputs, w.output, w.reference, verdict);
  EXPECT_EQ(verdict.status, Status::kVacuous);
  EXPECT_EQ(verdict.reason, "kernel_x: the loss of no token would be noticed");
  EXPECT_EQ(verdict.evidence.tokens_visible, 0);
}

}  // namespace
}  // namespace attest
