// Formats of a Comparison, and what holds for those of any Results.
#include "reports/compare/compare_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "reports/compare/test_pairs.hpp"

namespace attest {
namespace {

using test_pairs::compared;
using test_pairs::eight;
using test_pairs::fail;
using test_pairs::good;
using test_pairs::holds;
using test_pairs::kContract;
using test_pairs::with;
using test_runs::run_of;
using test_runs::token_of;

TEST(CompareMarkdown, IsFoundByItsMarkerAndHoldsNoForeignMarkup) {
  const Comparison c = with([](CaseRecord& r) {
    fail(r, "a|b`c``d<script>@everyone\n# e");
    r.verdict.reason = "```\n</details>";
  });
  const std::string text = compared_as_markdown(c);
  EXPECT_TRUE(text.starts_with("<!-- attest-compare -->\n"));
  EXPECT_TRUE(holds(text, "``` a\\|b`c``d<script>@everyone # e ```"));
  EXPECT_TRUE(holds(text, "````\n```\n</details>"));
}

TEST(CompareMarkdown, NamesTheOtherCasesOfAVerdict) {
  std::vector<CaseRecord> pr = eight();
  for (CaseRecord& record : pr) fail(record);
  EXPECT_TRUE(holds(compared_as_markdown(compared(eight(), pr)), "\n" + token_of(7) + "\n"));
}

TEST(CompareMarkdown, FitsAComment) {
  std::vector<CaseRecord> base, pr;
  for (int i = 0; i < 3000; ++i) {
    base.push_back(good(i)), pr.push_back(good(i));
    fail(pr.back(), "bucket_" + std::to_string(i) + std::string(500, '|'));
    pr.back().verdict.reason = std::string(5000, 'x');
    base.push_back(good(100000 + i));
  }
  const std::string text = compared_as_markdown(compared(base, pr));
  EXPECT_LE(text.size(), 65'000u);
  EXPECT_GT(text.size(), 50'000u);
  EXPECT_TRUE(holds(text, "more: `attest compare --format json` has all"));
}

TEST(CompareJson, HasItsFormatAndAllOfIt) {
  std::vector<CaseRecord> pr = eight();
  fail(pr[0]);
  pr[1].verdict.spreads.pop_back();
  const auto json = nlohmann::json::parse(compared_as_json(compared(eight(), pr)));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["buckets"][0]["fate"], "new");
  EXPECT_EQ(json["bounds"][0]["factor"], "inf");
  EXPECT_EQ(json["statuses"][0]["cases"][0], token_of(0));
  EXPECT_EQ(json["base"]["run"]["device"], "emu:gfx942");
}

// Results with any of what compare() looks at.
std::vector<CaseRecord> any_cases() {
  std::vector<CaseRecord> cases;
  const int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    CaseRecord record = good(*rc::gen::inRange(0, 12));
    const bool is_there = std::any_of(cases.begin(), cases.end(), [&](const CaseRecord& other) {
      return other.token == record.token;
    });
    if (is_there) continue;
    Verdict& v = record.verdict;
    v.status = static_cast<Status>(*rc::gen::inRange(0, static_cast<int>(Status::kXpass) + 1));
    if (v.status != Status::kPassed) v.bucket = std::string(1, *rc::gen::element('a', 'b', 'c'));
    if (*rc::gen::arbitrary<bool>()) record.phase = "fuzz";
    v.worst[0].ratio = *rc::gen::element(0.0, 0.01, 0.3, 2.0, std::nan(""),
                                         std::numeric_limits<double>::infinity());
    v.spreads.resize(static_cast<std::size_t>(*rc::gen::inRange(0, 3)));
    for (Spread& s : v.spreads) s.bound_median = *rc::gen::element(0.0, 1e-4, 1e-3, std::nan(""));
    v.contract = *rc::gen::element<std::string>("", "a=1", "a=2 b", kContract);
    v.evidence.tokens_visible = *rc::gen::element(-1.0, 0.0, 0.5, 1.0);
    v.kernel_ms = *rc::gen::element(0.0, 1.0, 3.0);
    cases.push_back(record);
  }
  return cases;
}

RC_GTEST_PROP(CompareProperty, OfResultsWithThemselvesIsEmpty, ()) {
  const Results results = run_of(0, any_cases());
  const Comparison c = compare(results, "a", results, "a");
  RC_ASSERT(c.is_same());
  RC_ASSERT(c.about_runs == std::vector<std::string>{"run: both sides are run 0000000000000000"});
  RC_ASSERT(c.exit_code() == (results.cases.empty() ? 5 : 0));
}

using Named = std::multiset<std::tuple<std::string, std::string, std::int64_t>>;

Named bounds_of(const Comparison& c, bool is_looser) {
  Named bounds;
  for (const BoundMove& move : c.bounds) {
    if (move.is_looser == is_looser) bounds.emplace(move.kernel, move.tensor, move.cases);
  }
  return bounds;
}
// But for those that are gone.
std::int64_t contracts_of(const Comparison& c) {
  return std::count_if(c.contracts.begin(), c.contracts.end(), [](const ContractChange& change) {
    return change.fields != "no longer said";
  });
}

RC_GTEST_PROP(CompareProperty, TheOtherWayRoundHasTheSameChangesTurned, ()) {
  const Results a = run_of(0, any_cases()), b = run_of(1, any_cases());
  const Comparison there = compare(a, "a", b, "b"), back = compare(b, "b", a, "a");
  const auto named = [](const Comparison& c, BucketFate fate) {
    std::set<std::string> names;
    for (const BucketChange& change : c.buckets) {
      if (change.fate == fate) names.insert(change.bucket);
    }
    return names;
  };
  RC_ASSERT(named(there, BucketFate::kNew) == named(back, BucketFate::kFixed));
  RC_ASSERT(named(there, BucketFate::kOpen) == named(back, BucketFate::kOpen));
  const auto sorted = [](std::vector<std::string> tokens) {
    std::sort(tokens.begin(), tokens.end());
    return tokens;
  };
  RC_ASSERT(sorted(there.added) == sorted(back.removed));
  RC_ASSERT(there.statuses.size() == back.statuses.size());
  RC_ASSERT(there.ratios.size() == back.ratios.size());
  RC_ASSERT(contracts_of(there) == contracts_of(back));
  RC_ASSERT(bounds_of(there, true) == bounds_of(back, false));
  RC_ASSERT(bounds_of(there, false) == bounds_of(back, true));
  if (there.exit_code() + back.exit_code() == 0) {
    RC_ASSERT(there.bounds.empty() && there.contracts.empty() && there.drops.empty());
    RC_ASSERT(there.added.empty() && there.removed.empty());
    for (const StatusChange& change : there.statuses) {
      RC_ASSERT(change.before != Status::kPassed && change.after != Status::kPassed);
    }
  }
}

RC_GTEST_PROP(CompareProperty, EveryFormatTakesAnyResults, ()) {
  const Results a = run_of(0, any_cases()), b = run_of(1, any_cases());
  const Comparison c = compare(a, "a", b, "b");
  for (const CompareFormat& format : all_compare_formats()) RC_ASSERT(!format.render(c).empty());
}

}  // namespace
}  // namespace attest
