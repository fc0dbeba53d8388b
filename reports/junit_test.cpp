#include <gtest/gtest.h>

#include "reports/formats_testing.hpp"

namespace attest {
namespace {

constexpr const char* kToken = "v1:k=mla_decode:h=1:dist=needles";

std::string junit(const std::vector<CaseRecord>& cases, std::int64_t announced = -1) {
  return render_junit(run_of(cases, announced), {});
}

std::string element_of(Status status) {
  const std::string text = junit({case_of(kToken, status, "why")});
  const std::size_t at = text.find("<testcase");
  return text.substr(at, text.find("</testsuite>") - at);
}

bool holds(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

TEST(Junit, OfEachStatusSaysWhatTheExitCodeSays) {
  EXPECT_TRUE(holds(element_of(Status::kPassed), "time=\"0.000\"/>"));
  for (const Status status :
       {Status::kFailed, Status::kFlaky, Status::kXpass, Status::kSuspect, Status::kVacuous}) {
    EXPECT_TRUE(holds(element_of(status),
                      fmt::format("<failure type=\"{}\" message=\"why\">why\n", to_string(status))))
        << element_of(status);
  }
  for (const Status status : {Status::kCrashed, Status::kHung, Status::kInfra}) {
    EXPECT_TRUE(holds(element_of(status), fmt::format("<error type=\"{}\"", to_string(status))));
  }
  for (const Status status : {Status::kSkipped, Status::kXfail}) {
    EXPECT_TRUE(holds(element_of(status), "<skipped message=\"why\">why"));
  }
}

TEST(Junit, IsGreenOnlyWhereTheExitCodeIs0) {
  for (int s = 0; s <= static_cast<int>(Status::kXpass); ++s) {
    const Results results = run_of({case_of(kToken, static_cast<Status>(s), "why")});
    const bool green = holds(render_junit(results, {}), "failures=\"0\" errors=\"0\"");
    EXPECT_EQ(green, exit_code(results.tally) == 0) << to_string(static_cast<Status>(s));
  }
  EXPECT_TRUE(holds(junit({case_of(kToken, Status::kPassed)}, 2), "errors=\"1\""));  // one is lost
  EXPECT_TRUE(holds(junit({}), "errors=\"1\""));
}

TEST(Junit, NamesACaseByItsTokenWithinItsKernelAndData) {
  EXPECT_TRUE(holds(element_of(Status::kFailed),
                    fmt::format("name=\"{}\" classname=\"mla_decode.needles\"", kToken)));
  EXPECT_TRUE(holds(element_of(Status::kFailed),
                    fmt::format("see it again: ./attest repro '{}'\n", kToken)));
}

TEST(Junit, CountsWhatItHolds) {
  const std::string text = render_junit(approved_run(), {});
  EXPECT_EQ(count_of(text, "<testcase "), 18u);
  EXPECT_EQ(count_of(text, "<failure "), 8u);
  EXPECT_EQ(count_of(text, "<error "), 5u);
  EXPECT_EQ(count_of(text, "<skipped "), 2u);
  EXPECT_EQ(count_of(text, "tests=\"18\" failures=\"8\" errors=\"5\" skipped=\"2\""), 1u);
}

TEST(Junit, HoldsNoCharacterThatXmlForbids) {
  std::string every;
  for (int c = 0; c < 0x80; ++c) every += static_cast<char>(c);
  every += "\uFFFE\uFFFF\u202e]]>&amp;";
  const std::string text = junit({case_of("v9:k=" + every, Status::kFailed, every, every)});
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    EXPECT_TRUE(byte >= 0x20 || c == '\n' || c == '\t') << int{byte};
  }
  EXPECT_FALSE(holds(text, "\uFFFE") || holds(text, "\uFFFF") || holds(text, "]]>"));
  EXPECT_TRUE(holds(text, "&amp;amp;"));
}

TEST(Junit, CutsALongReasonButNotTheCommand) {
  std::string reason;
  while (reason.size() < 1'000'000) reason += "größer & ";
  const std::string text = junit({case_of(kToken, Status::kFailed, reason)});
  EXPECT_LT(text.size(), 70'000u);
  EXPECT_TRUE(holds(text, fmt::format("see it again: ./attest repro '{}'\n</failure>", kToken)));
}

TEST(Junit, IsNeverLargerThanCiSystemsTakeAndSaysWhatIsLeftOut) {
  std::vector<CaseRecord> cases;
  for (int i = 0; i < 12'000; ++i) {
    const Status status = i % 2 == 0 ? Status::kPassed : Status::kFailed;
    cases.push_back(case_of(fmt::format("v1:k=mla_decode:seed={}", i), status,
                            std::string(i % 100 == 1 ? 16'000 : 900, '<')));
    cases.back().token += std::string(1500, '1');
  }
  const std::string text = junit(cases);
  EXPECT_LT(text.size(), 17u << 20);
  EXPECT_GT(text.size(), 15u << 20);
  EXPECT_TRUE(holds(text, fmt::format("failures=\"{}\"", count_of(text, "<failure "))));
  EXPECT_TRUE(
      holds(text, fmt::format("<testsuites name=\"attest nightly --tier smoke\" tests=\"{}\"",
                              count_of(text, "<testcase "))));
  EXPECT_TRUE(holds(text, " stories are left out here, as CI systems refuse a large file"));
  EXPECT_TRUE(holds(text, " cases are left out here, as CI systems refuse a large file"));
}

TEST(Junit, LeavesOutPassesRatherThanAFailure) {
  std::vector<CaseRecord> cases;
  for (int i = 0; i < 16'000; ++i) {
    cases.push_back(
        case_of(fmt::format("v1:k=k:seed={}{}", i, std::string(1300, '1')), Status::kPassed));
  }
  cases.push_back(case_of(kToken, Status::kFailed, "why"));
  const std::string text = junit(cases);
  EXPECT_LT(text.size(), 17u << 20);
  EXPECT_TRUE(holds(text, "failures=\"1\""));
  EXPECT_TRUE(holds(text, "<failure type=\"failed\" message=\"why\">why\n"));
}

TEST(Junit, HasNoTimeThatTheSchemaForbids) {
  Results results = run_of({case_of(kToken, Status::kPassed)});
  EXPECT_TRUE(holds(render_junit(results, {}), " timestamp=\"2026-11-30T02:00:00\">"));
  results.runs[0].started = "yesterday";
  EXPECT_FALSE(holds(render_junit(results, {}), "timestamp="));
}

}  // namespace
}  // namespace attest
