#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>

#include "harness/core/case.hpp"

namespace attest {
namespace {

// Tests are deterministic: the same thousand cases each time, unless RC_PARAMS says otherwise.
[[maybe_unused]] const int kFixedSeed = setenv("RC_PARAMS", "seed=20 max_success=1000", 0);

template <class T>
rc::Gen<T> often(T usual, rc::Gen<T> rest) {
  return rc::gen::weightedOneOf<T>({{2, rc::gen::just(usual)}, {1, std::move(rest)}});
}

float any_scale() {
  const float scale = std::ldexp(static_cast<float>(*rc::gen::inRange(-(1 << 24), 1 << 24)),
                                 *rc::gen::inRange(-60, -6));
  return scale;
}

float any_descale() {
  return std::ldexp(static_cast<float>(*rc::gen::inRange(1 << 23, 1 << 24)),
                    *rc::gen::inRange(-50, 2));
}

// Lengths in runs, as batches have them.
std::vector<int> any_lengths(std::size_t count, int low, int high) {
  std::vector<int> lengths;
  while (lengths.size() < count) {
    const std::size_t run = std::min<std::size_t>(*rc::gen::inRange(1, 6), count - lengths.size());
    lengths.insert(lengths.end(), run, *rc::gen::inRange(low, high));
  }
  return lengths;
}

Problem any_problem() {
  Problem p;
  const std::size_t b = *rc::gen::inRange(1, 20);
  p.h_q = *often(16, rc::gen::inRange(1, kMaxHeads + 1));
  p.s_kv = any_lengths(b, 0, 5000);
  p.s_q = any_lengths(b, 1, kMaxQueryTokens + 1);
  if (*rc::gen::arbitrary<bool>()) p.s_q.assign(b, p.s_q[0]);
  p.page_size = *rc::gen::element(1, 16, 64);
  p.num_splits = *often(0, rc::gen::inRange(1, kMaxSplits + 1));
  if (*rc::gen::arbitrary<bool>()) p.sm_scale = any_scale();
  p.page_order =
      *rc::gen::element(PageOrder::kShuffled, PageOrder::kSequential, PageOrder::kReversed);
  p.grid_order =
      *rc::gen::element(GridOrder::kAuto, GridOrder::kSplitMinor, GridOrder::kSplitMajor);
  const int shortest = *std::min_element(p.s_kv.begin(), p.s_kv.end());
  p.shared_prefix = *often(0, rc::gen::inRange(0, shortest + 1)) / p.page_size * p.page_size;
  p.page_base = *often<std::int64_t>(0, rc::gen::inRange<std::int64_t>(0, (1 << 24) / p.page_size));
  p.kv_indptr_start = *often(0, rc::gen::inRange(0, 1 << 20));
  p.q_pad = 8 * *often(0, rc::gen::inRange(0, 512));
  p.o_pad = 8 * *often(0, rc::gen::inRange(0, 512));
  const auto any_storage = [] { return *often(Storage::kBf16, rc::gen::just(Storage::kFp8)); };
  p.q_type = any_storage();
  p.kv_type = any_storage();
  if (p.q_type == Storage::kFp8) p.q_scale = any_descale();
  if (p.kv_type == Storage::kFp8) p.kv_scale = any_descale();
  return p;
}

Case any_case() {
  Case c;
  c.kernel = *rc::gen::element<std::string>("mla_decode", "mla_decode_bf16_partials", "x9_");
  c.problem = any_problem();
  c.distribution = *rc::gen::element<std::string>("normal", "needles", "monotone");
  c.seed.value = *often<std::uint64_t>(0, rc::gen::arbitrary<std::uint64_t>());
  c.schedule.seed = *often<std::uint64_t>(0, rc::gen::arbitrary<std::uint64_t>());
  c.schedule.kind = static_cast<ScheduleKind>(*rc::gen::inRange(0, 5));
  c.property = *often<std::string>(std::string{kOracle}, rc::gen::just<std::string>("heads"));
  c.steps = *often<std::string>("", rc::gen::just<std::string>("add65.grow0,1.replay"));
  return c;
}

RC_GTEST_PROP(Token, RebuildsTheCaseExactly, ()) {
  const Case c = any_case();
  RC_ASSERT(why_invalid(c.problem).empty());
  const std::string token = to_token(c);
  const Result<Case> parsed = parse_token(token);
  RC_ASSERT(parsed.ok());
  RC_ASSERT(*parsed == c);
  RC_ASSERT(to_token(*parsed) == token);
}

RC_GTEST_PROP(Token, NeedsNoQuotesInAShell, ()) {
  const std::string token = to_token(any_case());
  RC_ASSERT(token.find_first_not_of(
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:=+-") ==
            std::string::npos);
}

RC_GTEST_PROP(Token, SurvivesArbitraryDamage, ()) {
  std::string token = to_token(any_case());
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    token[*rc::gen::inRange<std::size_t>(0, token.size())] = *rc::gen::arbitrary<char>();
  }
  const Result<Case> parsed = parse_token(token);
  if (!parsed.ok()) {
    RC_ASSERT(parsed.trouble().kind == TroubleKind::kUsage);
    return;
  }
  RC_ASSERT(why_invalid(parsed->problem).empty());
  RC_ASSERT(*parse_token(to_token(*parsed)) == *parsed);
}

std::string trouble_of(std::string_view token) {
  const Result<Case> parsed = parse_token(token);
  EXPECT_FALSE(parsed.ok()) << token;
  if (parsed.ok()) return {};
  EXPECT_EQ(parsed.trouble().kind, TroubleKind::kUsage);
  return parsed.trouble().text;
}

bool says(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

TEST(Token, OfTheDefaultCaseNamesOnlyTheKernel) { EXPECT_EQ(to_token(Case{}), "v1:k=mla_decode"); }

TEST(Token, PrintsKeysInCanonicalOrderAndRuns) {
  const std::string token = "v1:k=mla_decode:h=12:s=1,63,4096x8:q=2:page=64:dist=needles:seed=7";
  const Result<Case> parsed = parse_token(token);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->problem.b(), 10);
  EXPECT_EQ(parsed->problem.s_q, std::vector<int>(10, 2));
  EXPECT_EQ(to_token(*parsed), token);
  EXPECT_EQ(
      to_token(*parse_token("v1:seed=7:q=2x10:s=1,63,4096x3,4096x5:page=64:h=12:dist=needles")),
      token);
}

// A token that was kept must mean the same for ever.
TEST(Token, NamesEachKindOfSchedule) {
  for (const auto& [text, schedule] :
       {std::pair{"17", Schedule{17, ScheduleKind::kSeeded}},
        {"i17", Schedule{17, ScheduleKind::kInterleaved}},
        {"d17", Schedule{17, ScheduleKind::kDelayed}},
        {"o0", Schedule{0, ScheduleKind::kOrder}},
        {"l3", Schedule{3, ScheduleKind::kLast}}}) {
    const std::string token = std::string("v1:k=mla_decode:sched=") + text;
    const Result<Case> parsed = parse_token(token);
    ASSERT_TRUE(parsed.ok()) << token;
    EXPECT_EQ(parsed->schedule, schedule) << token;
    EXPECT_EQ(to_token(*parsed), token);
  }
  EXPECT_EQ(to_token(*parse_token("v1:sched=0")), "v1:k=mla_decode");
}

TEST(Token, UnknownKeyNamesTheNearestOne) {
  const std::string text = trouble_of("v1:k=mla_decode:spilts=4");
  EXPECT_TRUE(says(text, "'spilts'")) << text;
  EXPECT_TRUE(says(text, "nearest is 'splits' (1..256")) << text;
}

TEST(Token, BadValueSaysTheKeyAndWhatItAllows) {
  const std::string text = trouble_of("v1:order=sorted");
  EXPECT_TRUE(says(text, "'order'")) << text;
  EXPECT_TRUE(says(text, "shuffled, sequential or reversed")) << text;
  EXPECT_TRUE(says(trouble_of("v1:h=12a"), "key 'h'"));
  EXPECT_TRUE(says(trouble_of("v1:h="), "key 'h'"));
  EXPECT_TRUE(says(trouble_of("v1:s=1,,2"), "key 's'"));
  EXPECT_TRUE(says(trouble_of("v1:seed=-1"), "key 'seed'"));
  EXPECT_TRUE(says(trouble_of("v1:seed=18446744073709551616"), "key 'seed'"));
  EXPECT_TRUE(says(trouble_of("v1:sched=x3"), "key 'sched': 'x3' is no schedule"));
  EXPECT_TRUE(says(trouble_of("v1:sched="), "key 'sched'"));
  EXPECT_TRUE(says(trouble_of("v1:k=../x"), "key 'k'"));
}

TEST(Token, RefusesWhatIsBeyondTheLimits) {
  EXPECT_TRUE(says(trouble_of("v1:h=129"), "h_q = 129 is outside 1..128"));
  EXPECT_TRUE(says(trouble_of("v1:s=1048577"), "s_kv"));
  EXPECT_TRUE(says(trouble_of("v1:s=64x99999999"), "1..4096 sequences"));
  EXPECT_TRUE(says(trouble_of("v1:s=64x4096,1x2147483647"), "1..4096 sequences"));
  EXPECT_TRUE(says(trouble_of("v1:s=1048576x5"), "sum of s_kv"));
  EXPECT_TRUE(says(trouble_of("v1:q=9"), "s_q"));
  EXPECT_TRUE(says(trouble_of("v1:s=64x3:q=1,2"), "s_q has 2 entries"));
  EXPECT_TRUE(says(trouble_of("v1:scale=nan"), "sm_scale"));
  EXPECT_TRUE(says(trouble_of("v1:page=32"), "page_size = 32"));
  EXPECT_TRUE(says(trouble_of("v1:qt=fp8:qscale=0"), "q_scale = 0 is outside"));
  EXPECT_TRUE(says(trouble_of("v1:kvt=fp8:kvscale=-1"), "kv_scale = -1 is outside"));
  EXPECT_TRUE(says(trouble_of("v1:kvt=fp8:kvscale=nan"), "kv_scale = nan is outside"));
  EXPECT_TRUE(says(trouble_of("v1:kvt=fp8:kvscale=2e9"), "is outside"));
}

TEST(Token, OfFp8SaysHowItIsStoredBehindTheShape) {
  const std::string token =
      "v1:k=x:h=12:qpad=8:qt=fp8:kvt=fp8:qscale=0.5:kvscale=0.001:dist=needles";
  const Result<Case> parsed = parse_token(token);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->problem.q_type, Storage::kFp8);
  EXPECT_EQ(parsed->problem.kv_type, Storage::kFp8);
  EXPECT_EQ(parsed->problem.q_scale, 0.5f);
  EXPECT_EQ(parsed->problem.kv_scale, 0.001f);
  EXPECT_EQ(to_token(*parsed), token);
  EXPECT_EQ(to_token(*parse_token("v1:qt=bf16:kvt=fp8:qscale=1:kvscale=1")),
            "v1:k=mla_decode:kvt=fp8");
}

TEST(Token, ADescaleFactorOfBf16MeansNothing) {
  EXPECT_TRUE(says(trouble_of("v1:qscale=2"), "q_scale = 2 means nothing"));
  EXPECT_TRUE(says(trouble_of("v1:qt=fp8:kvscale=2"), "kv_scale = 2 means nothing"));
  EXPECT_TRUE(says(trouble_of("v1:qt=e4m3"), "'qt'"));
}

TEST(Token, RefusesOtherVersionsAndRepeatedKeys) {
  EXPECT_TRUE(says(trouble_of("v2:h=1"), "version 'v1:'"));
  EXPECT_TRUE(says(trouble_of(""), "version"));
  EXPECT_TRUE(says(trouble_of("v1:h=1:h=1"), "'h' comes twice"));
  EXPECT_TRUE(says(trouble_of("v1:"), "no key=value"));
}

}  // namespace
}  // namespace attest
