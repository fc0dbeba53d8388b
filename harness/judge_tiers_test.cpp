// The judge is fed lies about tiers: one ulp over each, shifts of the wrong sign or none, tiers
// that are not there; and what all elements together say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/judge_statistics.hpp"
#include "harness/judge_trial.hpp"

namespace attest {
namespace {

void add_tier(const Trial& trial, float radius, Bound& tier) {
  tier.o.assign(trial.expected.o.size(), radius);
  tier.lse.assign(trial.expected.lse.size(), radius);
  tier.partial_o.assign(trial.expected.partial_o.size(), radius);
  tier.partial_lse.assign(trial.expected.partial_lse.size(), radius);
}

// T0 0.1, T2 1e-2, T2p 1e-3, the latter two about the expected + 2^-5. Powers of two keep sums
// exact.
constexpr float kT0 = 0x1p-3f, kT2 = 0x1p-7f, kT2p = 0x1p-10f, kShift = 0x1p-5f;
constexpr std::int64_t kAt = 5;  // element of lse, 5 * 512 + 40 of o

void make_tiers(Trial& trial) {
  add_tier(trial, kT0, trial.bound);
  add_tier(trial, kT2, trial.reference.tiers.t2);
  add_tier(trial, kT2p, trial.reference.tiers.t2p);
  add_tier(trial, kShift, trial.reference.tiers.p_shift);
  const auto write = [](Trial& t, std::int64_t row) {
    if (std::isinf(t.expected.lse[row])) return;
    t.output.lse[row] = fp32(t.expected.lse[row] + kShift);
    for (std::int64_t i = row * kDV; i < (row + 1) * kDV; ++i)
      t.output.o[i] = bf16(t.expected.o[i] + kShift);
  };
  for (std::int64_t row = 0; row < trial.expected.rows; ++row) write(trial, row);
  for (int token = 0; trial.num_splits > 1 && token < trial.problem.total_q(); ++token) {
    for (int part = 0; part < trial.num_splits * trial.problem.h_q; ++part) {
      const int split = part / trial.problem.h_q, head = part % trial.problem.h_q;
      const std::int64_t stored = trial.stored(token, split, head);
      const std::int64_t at = (token * trial.problem.h_q + head) * trial.num_splits + split;
      if (trial.output.partial_lse[stored] == kPoison32) continue;
      trial.output.partial_lse[stored] = fp32(trial.expected.partial_lse[at] + kShift);
      for (int d = 0; d < kDV; ++d) {
        trial.output.partial_o[stored * kDV + d] =
            fp32(trial.expected.partial_o[at * kDV + d] + kShift);
      }
    }
  }
}

void expect_broken(const Verdict& verdict, std::string_view tier, std::string_view says) {
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_EQ(verdict.broken_tier, tier) << verdict.reason;
  EXPECT_NE(verdict.reason.find(says), std::string::npos) << verdict.reason;
}

TEST(JudgeTiers, PassWhatLiesWithinAllOfThemAboutTheirOwnCentres) {
  for (const int splits : {1, 3}) {
    Trial trial(splits);
    make_tiers(trial);
    const Verdict verdict = trial.judged();
    EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
    EXPECT_EQ(verdict.broken_tier, "");
    for (const Worst& worst : verdict.worst) {
      EXPECT_LE(worst.ratio, 1) << worst.tensor;
      EXPECT_FALSE(worst.tier.empty()) << worst.tensor;
    }
  }
}

TEST(JudgeTiers, KeepTheElementWithTheLargestRatioOverAllGates) {
  Trial trial;
  make_tiers(trial);
  trial.output.lse[3] = fp32(trial.expected.lse[3] + kShift + 0.25 * kT2p);
  trial.output.lse[kAt] = fp32(trial.expected.lse[kAt] + kShift - 0.75 * kT2p);
  trial.output.lse[6] = fp32(trial.expected.lse[6] + kShift + 0.5 * kT2p);
  const Verdict verdict = trial.judged();
  ASSERT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  const auto lse = std::find_if(verdict.worst.begin(), verdict.worst.end(),
                                [](const Worst& worst) { return worst.tensor == "lse"; });
  EXPECT_EQ(lse->tier, "T2p");
  EXPECT_EQ(lse->head, kAt % trial.problem.h_q);
  EXPECT_NEAR(lse->ratio, 0.75, 1e-3);
  EXPECT_NEAR(lse->error, 0.75 * kT2p, 1e-6);
  EXPECT_EQ(lse->bound, kT2p);
  EXPECT_NEAR(lse->expected, trial.expected.lse[kAt] + kShift, 1e-12);
}

TEST(JudgeTiers, RejectOneUlpBeyondEachAndNameTheLoosestBrokenOne) {
  struct Edge {
    float at;  // beyond the expected
    const char* tier;
    const char* says;
  };
  for (const Edge& edge :
       {Edge{kT0, "T0", "; beyond T0 (worst case of the contract)"},
        Edge{kShift + kT2, "T2", "within T0, beyond T2 (P as declared on the declared schedule)"},
        Edge{kShift - kT2, "T2", "within T0, beyond T2"},
        Edge{kShift + kT2p, "T2p", "within T2, beyond T2p (8 sigma"},
        Edge{kShift - kT2p, "T2p", "within T2, beyond T2p"}}) {
    Trial trial;
    make_tiers(trial);
    trial.expected.lse[kAt] = 1.25;  // so that the edges are numbers of fp32
    const float last = 1.25f + edge.at, away = edge.at < kShift ? 0.f : 9.f;
    trial.output.lse[kAt] = fp32(last);
    if (edge.at != kT0) EXPECT_NE(trial.judged().broken_tier, edge.tier);
    trial.output.lse[kAt] = fp32(std::nextafter(last, away));
    expect_broken(trial.judged(), edge.tier, edge.says);
    EXPECT_EQ(trial.judged().wrong, 1);
  }
}

TEST(JudgeTiers, RejectABf16OneCodeBeyondTheRoundedEndOfTheTightest) {
  Trial trial;
  make_tiers(trial);
  trial.expected.o[kAt * kDV + 40] = 1.5;
  std::uint16_t& bits = trial.output.o[kAt * kDV + 40];
  bits = encode_bf16(1.5 + kShift + kT2p);
  EXPECT_EQ(trial.judged().status, Status::kPassed);
  ++bits;
  expect_broken(trial.judged(), "T2p", "o wrong at sequence 0, query token 1, head 1, column 40");
}

TEST(JudgeTiers, RejectAShiftAppliedWithTheWrongSignOrNotAtAll) {
  for (const float lie : {-kShift, 0.f}) {
    Trial trial;
    make_tiers(trial);
    trial.output.lse[kAt] = fp32(trial.expected.lse[kAt] + lie);
    expect_broken(trial.judged(), "T2", "lse wrong");
  }
  Trial trial;
  make_tiers(trial);
  for (float& shift : trial.reference.tiers.p_shift.partial_lse) shift = -shift;
  expect_broken(trial.judged(), "T2", "partial_lse wrong");
}

TEST(JudgeTiers, RejectUnderAShiftOrARadiusThatIsNoNumber) {
  const auto nan = static_cast<float>(kNan);
  const auto edits = {+[](Trial& t, float v) { t.reference.tiers.p_shift.lse[kAt] = v; },
                      +[](Trial& t, float v) { t.reference.tiers.t2p.lse[kAt] = v; },
                      +[](Trial& t, float v) { t.reference.tiers.t2.lse[kAt] = v; }};
  for (const auto& edit : edits) {
    Trial trial;
    make_tiers(trial);
    edit(trial, nan);
    EXPECT_EQ(trial.judged().status, Status::kFailed);
  }
}

TEST(JudgeTiers, JudgeByT1AboutTheShiftOfQWhereNoScheduleIsDeclared) {
  Trial trial;
  add_tier(trial, kT0, trial.bound);
  add_tier(trial, kT2p, trial.reference.tiers.t1);
  EXPECT_EQ(trial.judged().status, Status::kPassed);
  add_tier(trial, kShift, trial.reference.tiers.q_shift);
  expect_broken(trial.judged(), "T1", "within T0, beyond T1 (8 sigma");
  add_tier(trial, 0, trial.reference.tiers.q_shift);
  trial.output.lse[kAt] = fp32(trial.expected.lse[kAt] + 2 * kT2p);
  expect_broken(trial.judged(), "T1", "lse wrong");
  // T2 and T2p take its place.
  add_tier(trial, kT2, trial.reference.tiers.t2);
  add_tier(trial, kT2, trial.reference.tiers.t2p);
  EXPECT_EQ(trial.judged().status, Status::kPassed);
}

TEST(JudgeTiers, JudgeByTheTiersThatATensorHas) {
  Trial trial;
  make_tiers(trial);
  trial.reference.tiers.t2.partial_o = trial.reference.tiers.t2p.partial_o = {};
  trial.output.partial_o[trial.stored(0, 0, 0) * kDV] = fp32(trial.expected.partial_o[0] - kShift);
  EXPECT_EQ(trial.judged().status, Status::kPassed);
  trial.output.partial_o[trial.stored(0, 0, 0) * kDV] = fp32(trial.expected.partial_o[0] - 1);
  expect_broken(trial.judged(), "T0", "partial_o wrong");
}

TEST(JudgeTiers, CallATensorThatNoTierJudgesVacuous) {
  Trial trial;
  trial.bound.partial_o.clear();
  EXPECT_EQ(trial.judged().status, Status::kVacuous);
  Trial infinite;
  make_tiers(infinite);
  infinite.bound.lse[kAt] = static_cast<float>(kInfinity);  // T2 still judges it
  EXPECT_EQ(infinite.judged().status, Status::kPassed);
  infinite.reference.tiers.t2.lse[kAt] = infinite.reference.tiers.t2p.lse[kAt] =
      static_cast<float>(kInfinity);
  EXPECT_EQ(infinite.judged().status, Status::kVacuous);
}

TEST(JudgeTiers, NameTheLoosestOfManyAndReportAnElementThatBreaksIt) {
  Trial trial;
  make_tiers(trial);
  // Far beyond T2p in units of its radius, and only just beyond T0.
  trial.reference.tiers.t2p.lse[2] = 1e-9f;
  trial.output.lse[2] = fp32(trial.expected.lse[2] + kShift + 5e-3);
  trial.output.lse[6] = fp32(trial.expected.lse[6] + 1.01 * kT0);
  const Verdict verdict = trial.judged();
  expect_broken(verdict, "T0", "query token 1, head 2");
  EXPECT_EQ(verdict.wrong, 2);
  for (const Worst& worst : verdict.worst) {
    if (worst.tensor == "lse") EXPECT_EQ(worst.tier, "T0");
  }
}

TEST(JudgeTiers, TakeTruncationWhereTheContractDeclaresItAndOnlyThere) {
  for (const bool truncates : {true, false}) {
    Trial trial;
    add_tier(trial, 1e-6f, trial.bound);
    trial.contract.arithmetic.o_truncates = truncates;
    int differ = 0;
    for (std::size_t i = 0; i < trial.expected.o.size(); ++i) {
      const std::uint16_t truncated = encode_bf16(trial.expected.o[i], Rounding::kTowardZero);
      differ += truncated != trial.output.o[i];
      trial.output.o[i] = truncated;
    }
    EXPECT_GT(differ, 1000);
    EXPECT_EQ(trial.judged().status, truncates ? Status::kPassed : Status::kFailed);
  }
  Trial nearest;
  nearest.contract.arithmetic.o_truncates = true;
  add_tier(nearest, 1e-6f, nearest.bound);
  EXPECT_EQ(nearest.judged().status, Status::kFailed);
}

TEST(JudgeStatistics, SuspectAScoreBeyondTwelveAndNameItsPlace) {
  const Score tile{
      .filter = "tile", .z = 31, .sequence = 0, .split = 6, .token_begin = 6400, .token_end = 6464};
  const Score gain{.filter = "gain", .z = -12.5};
  const Score token{.filter = "token", .z = 40, .sequence = 2, .token_begin = 63, .token_end = 64};
  const auto why = [](const std::vector<Score>& scores) { return why_suspect(scores, {}).reason; };
  EXPECT_EQ(why({gain, tile}),
            "score test: tile tokens 6400..6463 of sequence 0 (split 6): z = 31");
  EXPECT_EQ(why({gain}), "score test: gain: z = -12.5");
  EXPECT_EQ(why({tile, token}), "score test: token 63 of sequence 2: z = 40");
  EXPECT_EQ(why({{.filter = "gain", .z = 12}, {.filter = "sink", .z = -12}}), "");
  EXPECT_NE(why({tile, {.filter = "gain", .z = kNan}}).find("gain: z = nan"), std::string::npos);
}

TEST(JudgeStatistics, MakeAPassSuspectAndLeaveAFailureFailed) {
  Trial trial;
  trial.reference.scores = {{{.filter = "gain", .z = 13}}};
  const Verdict verdict = trial.judged();
  EXPECT_EQ(verdict.status, Status::kSuspect);
  EXPECT_EQ(verdict.reason, "score test: gain: z = 13");
  EXPECT_EQ(verdict.bucket, "suspect.gain.all.kernel_x");
  EXPECT_EQ(verdict.evidence.scores.size(), 1u);
  trial.output.lse[0] ^= 0x80000000;
  EXPECT_EQ(trial.judged().status, Status::kFailed);
}

// `share` of the elements of o moved by one code, within gates that are too wide to reject that.
Trial& with_mismatches(Trial& trial, double share, float t2p) {
  add_tier(trial, kT0, trial.bound);
  add_tier(trial, kT0, trial.reference.tiers.t2);
  add_tier(trial, kT0, trial.reference.tiers.t2p);
  const std::int64_t count = 8 * kDV;  // rows of sequence 0
  for (std::int64_t i = 0; i < count; ++i) {
    trial.expected.o[i] = 1.5 + 0x1p-10;  // ulp 2^-7, an eighth of one from a code
    trial.reference.tiers.t2p.o[i] = t2p;
    trial.output.o[i] = encode_bf16(1.5) + (i < share * count ? 1 : 0);
  }
  return trial;
}

TEST(JudgeStatistics, SuspectTooManyBitsThatAreNotTheEmulatedOnes) {
  // The elements that T2p would reject are looked at by mismatch_of() alone.
  for (const auto& [share, suspect] : {std::pair{0.045, false}, {0.055, true}}) {
    Trial trial;
    with_mismatches(trial, share, 0x1p-10f);
    const Subject subject{"k", trial.problem, trial.contract, trial.num_splits};
    const Mismatch mismatch = mismatch_of(subject, trial.output, trial.reference);
    EXPECT_GE(mismatch.counted, 8 * kDV);
    const double of_those = static_cast<double>(mismatch.differ) / (8 * kDV);
    EXPECT_NEAR(of_those, share, 1e-3);
    const Mismatch these{8 * kDV, mismatch.differ};
    EXPECT_EQ(why_suspect({}, these).reason.empty(), !suspect);
  }
  EXPECT_EQ(why_suspect({}, {1999, 1999}).reason, "");  // too few to tell
  EXPECT_NE(why_suspect({}, {2000, 101}).reason, "");
  EXPECT_EQ(why_suspect({}, {2000, 101}).filter, "mismatch");
}

TEST(JudgeStatistics, CountNoElementWhoseBitsAreOpen) {
  Trial wide;
  with_mismatches(wide, 1, 0x1p-9f);  // a quarter of an ulp
  const Subject subject{"k", wide.problem, wide.contract, wide.num_splits};
  const std::int64_t others = mismatch_of(subject, wide.output, wide.reference).counted;
  EXPECT_EQ(others, 0);  // the rest has the radius of T0
  Trial tie;
  with_mismatches(tie, 1, 0x1p-11f);
  for (std::int64_t i = 0; i < 8 * kDV; ++i) tie.expected.o[i] = 1.5 + 0x1p-8;
  EXPECT_EQ(mismatch_of(subject, tie.output, tie.reference).counted, 0);
}

TEST(JudgeStatistics, GatherTheFactsOfAllRowsThatSeeTokens) {
  Reference reference;
  reference.rows = {{-3, 5, 10, 0.1f, 0.01f, 7}, {}, {-9, 1, 2, 0.3f, -0.2f, 4}};
  const Evidence e = facts_of(reference);
  EXPECT_EQ(e.logit_min, -9);
  EXPECT_EQ(e.logit_max, 5);
  EXPECT_EQ(e.n_eff_min, 2);
  EXPECT_EQ(e.n_eff_max, 10);
  EXPECT_FLOAT_EQ(e.flush_mass, 0.3f);
  EXPECT_FLOAT_EQ(e.gain_bias, -0.2f);
  EXPECT_EQ(e.condition_max, 7);
}

}  // namespace
}  // namespace attest
