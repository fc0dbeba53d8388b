#include "harness/strawmen.hpp"

#include <cmath>

#include "harness/evidence.hpp"
#include "harness/evidence_world.hpp"
#include "harness/judge_element.hpp"

namespace attest {
namespace {

constexpr const char* kGood = "v1:h=3:s=300,0,260:q=2,1,1:splits=3:page=16";
constexpr float kWide = 1e4f, kTight = 1e-5f;

std::vector<StrawmanResult> strawmen_of(const World& w) {
  return judge_strawmen(w.subject(), w.inputs, w.output, w.reference);
}

const StrawmanResult& named(const std::vector<StrawmanResult>& results, std::string_view name) {
  const auto at = std::find_if(results.begin(), results.end(),
                               [&](const StrawmanResult& r) { return r.name == name; });
  EXPECT_NE(at, results.end()) << name;
  return *at;
}

TEST(ExactOutput, PassesTheJudgeWhateverTheContract) {
  for (const bool odd : {false, true}) {
    Contract contract;
    contract.arithmetic.bf16_partials = contract.arithmetic.o_truncates = odd;
    if (odd) contract.empty_row = EmptyRow::kUnwritten;
    World w(kGood, contract);
    w.set_radii(1e-7f, 1e-6f);  // what rounding lse to fp32 needs, and no more
    std::fill(w.reference.tiers.t0.partial_o.begin(), w.reference.tiers.t0.partial_o.end(), 1e-6f);
    const Verdict verdict = judge(w.subject(), w.output, w.reference);
    EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  }
}

TEST(Strawmen, AreAllRejectedOnGoodData) {
  for (const char* token : {kGood, "v1:h=2:s=400:splits=2:dist=needles"}) {
    const auto results = strawmen_of(World(token));
    ASSERT_EQ(results.size(), strawman_names().size());
    for (const StrawmanResult& result : results) {
      EXPECT_TRUE(result.differs) << result.name << " " << token;
      EXPECT_TRUE(result.rejected) << result.name << " " << token;
    }
  }
}

TEST(Strawmen, AreRejectedByTheJudgeAsAWhole) {
  const World w(kGood);
  for (const std::string_view name : strawman_names()) {
    const Output made = strawman_output(name, w.subject(), w.inputs, w.output, w.reference);
    EXPECT_EQ(judge(w.subject(), made, w.reference).status, Status::kFailed) << name;
  }
}

// Which tensors must be blind for a strawman to pass; with one of them tight it is rejected.
struct Blind {
  const char* name;
  bool o, lse, partials;
};
constexpr Blind kBlind[] = {
    {"zeros", true, false, false},
    {"another head's row", true, true, false},
    {"one split dropped", true, true, false},
    {"scale 2 % off", true, true, false},
    {"last token dropped", true, true, true},
    {"lse in base 2", false, true, false},
};

World blind_world(bool o, bool lse, bool partials) {
  World w("v1:h=3:s=300:splits=3");
  Bound& t0 = w.reference.tiers.t0;
  w.set_radii(kTight, kTight);
  if (o) std::fill(t0.o.begin(), t0.o.end(), kWide);
  if (lse) std::fill(t0.lse.begin(), t0.lse.end(), kWide);
  if (partials) std::fill(t0.partial_o.begin(), t0.partial_o.end(), kWide);
  if (partials) std::fill(t0.partial_lse.begin(), t0.partial_lse.end(), kWide);
  return w;
}

TEST(Strawmen, PassWhereNothingTheyChangeIsSeenAndOnlyThere) {
  for (const Blind& blind : kBlind) {
    const auto passes = [&](bool o, bool lse, bool partials) {
      const World w = blind_world(o, lse, partials);
      const StrawmanResult result = named(strawmen_of(w), blind.name);
      EXPECT_TRUE(result.differs) << blind.name;
      return !result.rejected;
    };
    EXPECT_TRUE(passes(blind.o, blind.lse, blind.partials)) << blind.name;
    if (blind.o) EXPECT_FALSE(passes(false, blind.lse, blind.partials)) << blind.name;
    if (blind.lse) EXPECT_FALSE(passes(blind.o, false, blind.partials)) << blind.name;
    if (blind.partials) EXPECT_FALSE(passes(blind.o, blind.lse, false)) << blind.name;
  }
  EXPECT_TRUE(named(strawmen_of(blind_world(true, true, true)), "poison left").rejected);
}

TEST(Strawmen, AreNotCountedWhereTheyChangeNothing) {
  const auto one_head = strawmen_of(World("v1:h=1:s=300:splits=1"));
  EXPECT_FALSE(named(one_head, "another head's row").differs);
  EXPECT_FALSE(named(one_head, "one split dropped").differs);
  const auto same_heads = strawmen_of(World("v1:h=3:s=300:splits=3:dist=uniform_logits"));
  EXPECT_FALSE(named(same_heads, "another head's row").differs);
  EXPECT_FALSE(named(same_heads, "scale 2 % off").differs);
  EXPECT_TRUE(named(same_heads, "one split dropped").rejected);
  World no_slope(kGood);
  no_slope.reference.temperature_o.clear();
  no_slope.reference.temperature_lse.clear();
  EXPECT_FALSE(named(strawmen_of(no_slope), "scale 2 % off").differs);
}

// Compares an output with what the formula gives for the problem that the mistake computes.
void expect_is_like(const World& w, std::string_view name, const Problem& mistaken,
                    double lse_within) {
  const Output made = strawman_output(name, w.subject(), w.inputs, w.output, w.reference);
  const Expected wanted = w.refer(mistaken).expected;
  for (std::int64_t row = 0; row < wanted.rows; ++row) {
    EXPECT_NEAR(value_of(Stored::kFp32, made.lse[row]), wanted.lse[row], lse_within) << name;
    EXPECT_GT(std::abs(w.reference.expected.lse[row] - wanted.lse[row]), 4 * lse_within) << name;
    for (int d = 0; d < kDV; ++d) {
      // Source: o of magnitude under 1 is stored to half an ulp of bf16, 2^-9, twice.
      ASSERT_NEAR(value_of(Stored::kBf16, made.o[row * kDV + d]), wanted.o[row * kDV + d], 0x1p-8)
          << name;
    }
  }
}

TEST(Strawmen, AreWhatTheMistakeWouldGive) {
  const World w("v1:h=2:s=200:splits=3");
  Problem mistaken = w.c.problem;
  mistaken.s_kv = {199};
  // Source: lse is stored as fp32, to half an ulp of 5.5, 2^-22, twice.
  expect_is_like(w, "last token dropped", mistaken, 0x1p-21);
  mistaken.s_kv = {132};  // splits of 66, 66 and 68 tokens
  expect_is_like(w, "one split dropped", mistaken, 0x1p-21);
  mistaken = w.c.problem;
  mistaken.sm_scale *= 1.02f;
  // Source: the second order, 0.02^2 / 2 times the variance of logits, which is near 1.
  expect_is_like(w, "scale 2 % off", mistaken, 1e-3);
}

TEST(Strawmen, MissALastTokenInThePartialOfItsSplitToo) {
  const World w("v1:h=2:s=200:splits=3");
  const Output made =
      strawman_output("last token dropped", w.subject(), w.inputs, w.output, w.reference);
  Problem shorter = w.c.problem;
  shorter.s_kv = {199};
  const Expected wanted = w.refer(shorter).expected;
  for (std::int64_t row = 0; row < 2; ++row) {
    for (int split = 0; split < 3; ++split) {
      const std::int64_t stored = stored_partial(w.subject(), row, split), part = row * 3 + split;
      // Source: fp32, as above.
      EXPECT_NEAR(value_of(Stored::kFp32, made.partial_lse[stored]), wanted.partial_lse[part],
                  0x1p-21);
      for (int d = 0; d < kDV; ++d) {
        ASSERT_NEAR(value_of(Stored::kFp32, made.partial_o[stored * kDV + d]),
                    wanted.partial_o[part * kDV + d], 0x1p-22);
      }
    }
  }
}

TEST(Strawmen, LeaveRowsAloneThatTheMistakeWouldEmpty) {
  const World w("v1:h=1:s=1:splits=2");
  EXPECT_FALSE(named(strawmen_of(w), "last token dropped").differs);
  EXPECT_FALSE(named(strawmen_of(w), "one split dropped").differs);
}

TEST(Evidence, OfAStrawmanThatPassesIsVacuityWithItsName) {
  World w = blind_world(true, true, false);
  Verdict verdict = judge(w.subject(), w.output, w.reference);
  ASSERT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  prove(w.subject(), w.inputs, w.output, w.reference, verdict);
  EXPECT_EQ(verdict.status, Status::kVacuous);
  EXPECT_EQ(verdict.reason, "kernel_x: an output with the mistake 'zeros' would pass too");
}

TEST(Evidence, MayLackTheStrawmenThatTheDataIsBlindTo) {
  World w = blind_world(true, true, false);
  for (const Blind& blind : kBlind) {
    if (!blind.partials) w.blind_to.push_back(blind.name);
  }
  const auto status = [&] {
    Verdict verdict = judge(w.subject(), w.output, w.reference);
    prove(w.subject(), w.inputs, w.output, w.reference, verdict);
    return verdict.status;
  };
  EXPECT_EQ(status(), Status::kPassed);
  w.blind_to.pop_back();  // lse in base 2
  EXPECT_EQ(status(), Status::kVacuous);
}

TEST(Evidence, NamesEveryStrawmanThatWasJudged) {
  const World w(kGood);
  Verdict verdict = judge(w.subject(), w.output, w.reference);
  prove(w.subject(), w.inputs, w.output, w.reference, verdict);
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  EXPECT_EQ(verdict.evidence.strawmen.size(), strawman_names().size());
}

TEST(Evidence, IsNotSoughtForWhatFailed) {
  World w(kGood);
  w.output.lse[0] ^= 0x80000000;
  Verdict verdict = judge(w.subject(), w.output, w.reference);
  prove(w.subject(), w.inputs, w.output, w.reference, verdict);
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_TRUE(verdict.evidence.strawmen.empty());
}

TEST(Evidence, OfRowsThatSeeNothingIsThatPoisonWouldBeSeen) {
  for (const EmptyRow rule : {EmptyRow::kZerosAndMinusInf, EmptyRow::kUnwritten}) {
    Contract contract;
    contract.empty_row = rule;
    const World w("v1:h=2:s=0,0:splits=2", contract);
    Verdict verdict = judge(w.subject(), w.output, w.reference);
    prove(w.subject(), w.inputs, w.output, w.reference, verdict);
    EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
    const bool written = rule == EmptyRow::kZerosAndMinusInf;
    EXPECT_EQ(verdict.evidence.strawmen,
              std::vector<std::string>{written ? "poison left" : "zeros"});
    EXPECT_EQ(verdict.evidence.tokens_visible, -1);
  }
}

}  // namespace
}  // namespace attest
