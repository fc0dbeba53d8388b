#include <gtest/gtest.h>

#include "reports/formats_testing.hpp"

namespace attest {
namespace {

constexpr std::size_t kMost = 65'000;  // a comment on GitHub has 65,536 characters

std::string markdown(const std::vector<CaseRecord>& cases, const Trend& trend = {}) {
  return render_markdown(run_of(cases), trend);
}

bool holds(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

Worst worst(const char* tensor, double ratio) {
  Worst worst;
  worst.tensor = tensor;
  worst.ratio = ratio;
  return worst;
}

std::string long_token(int i) {
  std::string token = fmt::format("v1:k=mla_decode:h={}:s=1", 1 + i % 128);
  for (int s = 0; s < (i < 20 ? 1000 : 100); ++s) token += fmt::format(",{}", 10'000 + i + s);
  return token;
}

TEST(Markdown, BeginsWithTheMarkerByWhichACommentIsFoundAgain) {
  EXPECT_TRUE(markdown({case_of("v1:k=mla_decode", Status::kPassed)})
                  .starts_with("<!-- attest-report -->\n## ✅ attest: passed (exit code 0)\n"));
}

TEST(Markdown, ShowsEachFindingWithItsCommandInABlock) {
  const std::string text = markdown(
      {case_of("v1:k=mla_decode:h=1", Status::kFailed, "it is wrong", "values.wrong.all.k")});
  EXPECT_TRUE(holds(text, "## ❌ attest: failed (exit code 1)"));
  EXPECT_TRUE(holds(text, "\n```sh\n./attest repro 'v1:k=mla_decode:h=1'\n```\n"));
  EXPECT_TRUE(holds(text, "```text\nit is wrong\n"));
}

TEST(Markdown, FitsACommentWhateverFails) {
  std::vector<CaseRecord> cases;
  for (int i = 0; i < 10'000; ++i) {
    cases.push_back(case_of(long_token(i), Status::kFailed, std::string(3000, '|'),
                            fmt::format("values.wrong.p{}.{}", i, std::string(300, 'k'))));
    cases.back().verdict.source = std::string(1000, '`');
    cases.back().verdict.blame = std::string(3000, '`');
    cases.back().verdict.worst.push_back(worst("o", 2));
    cases.back().verdict.evidence.tokens_visible = 0.5;
  }
  const std::string text = markdown(cases);
  EXPECT_LT(text.size(), kMost);
  EXPECT_TRUE(holds(text, "### What to look at: 10000 findings"));
  EXPECT_TRUE(
      holds(text, "more findings: `./attest report` on the run's results.jsonl names all."));
  EXPECT_TRUE(holds(text, "bytes long, too long for here"));
  EXPECT_EQ(count_of(text, "\n```sh\n"),
            count_of(text, "```sh"));  // each fence on a line of its own
}

TEST(Markdown, CutsALongStoryRatherThanLaterOnes) {
  CaseRecord chatty = case_of("v1:k=mla_decode", Status::kFailed, "first", "a.b.c.d");
  chatty.verdict.remarks = std::vector<std::string>(12, std::string(3000, 'x'));
  chatty.verdict.blame = chatty.verdict.source = std::string(3000, '`');
  const std::string text =
      markdown({chatty, case_of("v1:k=mla_decode:h=2", Status::kFailed, "second", "a.b.c.e")});
  EXPECT_TRUE(holds(text, "text\nfirst\n"));
  EXPECT_TRUE(holds(text, "```text\nsecond\n"));
  EXPECT_FALSE(holds(text, "more findings"));
}

TEST(Markdown, FitsACommentWithManyKernelsThatPass) {
  std::vector<CaseRecord> cases;
  for (int i = 0; i < 3000; ++i) {
    cases.push_back(
        case_of(fmt::format("v1:k=k{}{}:h=1", std::string(200, '`'), i), Status::kPassed));
    cases.back().verdict.worst.push_back(worst("o", 0.5));
    cases.back().verdict.evidence.tokens_visible = 0.5;
    cases.back().total_ms = i;
  }
  EXPECT_LT(markdown(cases).size(), kMost);
}

TEST(Markdown, KeepsForeignTextInCode) {
  const std::string hostile = "a|b ``` <b> @you\n````\nend";
  const std::string text =
      markdown({case_of("v9:k=x|`<b>`", Status::kFailed, hostile, "values.wrong.all.k")});
  // A fence that is longer than any within; a cell whose bars are escaped.
  EXPECT_TRUE(holds(text, "`````text\n" + hostile + "\n")) << text;
  EXPECT_TRUE(holds(text, "| `` v9:k=x\\|`<b>` `` |")) << text;
}

TEST(Markdown, SaysSinceWhenABucketIsKnown) {
  const std::vector<CaseRecord> cases = {
      case_of("v1:k=mla_decode", Status::kFailed, "it is wrong", "values.wrong.all.k")};
  Trend trend;
  trend.buckets.emplace_back().bucket = "another";
  EXPECT_TRUE(holds(markdown(cases, trend), "1 case; never seen before"));
  BucketLife& life = trend.buckets.emplace_back();
  life.bucket = "values.wrong.all.k";
  life.first_seen = "2026-11-28";
  life.runs_seen = 3;
  EXPECT_TRUE(holds(markdown(cases, trend), "1 case; in 3 runs since `2026-11-28`"));
  EXPECT_FALSE(holds(markdown(cases), "seen before"));
  trend.buckets.back().first_seen = run_of(cases).header().started;
  EXPECT_TRUE(holds(markdown(cases, trend), "1 case; never seen before"));
}

TEST(Markdown, GivesTheLargestRatiosAndTheLeastThatPassesSaw) {
  CaseRecord first = case_of("v1:k=mla_decode:h=1", Status::kPassed), second = first;
  second.token = "v1:k=mla_decode:h=2";
  first.verdict.worst = {worst("o", 0.5), worst("lse", 0.25)};
  second.verdict.worst = {worst("o", 0.75), worst("lse", 0.125)};
  first.verdict.evidence.tokens_visible = 0.999;
  second.verdict.evidence.tokens_visible = 1;
  second.verdict.evidence.splits_visible = 0.5;
  const std::string text = markdown({first, second});
  EXPECT_TRUE(holds(text, "| `mla_decode` | `normal` | 2 | 0 | 0.75 | 0.25 |")) << text;
  EXPECT_TRUE(holds(text, "| `mla_decode` | 99 % | – | 50 % | `v1:k=mla_decode:h=1` |")) << text;
}

}  // namespace
}  // namespace attest
