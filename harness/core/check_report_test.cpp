#include "harness/core/check_report.hpp"

#include <gtest/gtest.h>

namespace attest {
namespace {

TEST(CheckReport, NamesOfChecksAreReadBack) {
  for (int i = 0; i < kChecks; ++i) {
    const auto check = static_cast<Check>(i);
    const auto parsed = parse_checks(to_string(check));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, CheckSet{}.add(check));
  }
  EXPECT_EQ(*parse_checks("all"), CheckSet::all());
  EXPECT_EQ(*parse_checks(to_string(CheckSet::all())), CheckSet::all());
  EXPECT_EQ(*parse_checks("none"), CheckSet{});
  EXPECT_EQ(to_string(*parse_checks("waits,lds_race")), "lds_race,waits");
}

TEST(CheckReport, AnUnknownCheckIsNamedWithThoseThatThereAre) {
  const auto parsed = parse_checks("waits,races");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.trouble().kind, TroubleKind::kUsage);
  EXPECT_NE(parsed.trouble().text.find("'races'"), std::string::npos);
  EXPECT_NE(parsed.trouble().text.find("lds_race,global_race"), std::string::npos);
}

TEST(CheckReport, SaysPlaceWhoTheOtherPartyAndHowOften) {
  const CheckReport report{.check = Check::kLdsRace,
                           .kernel = "stage1",
                           .place = "a.hip:3:4",
                           .instruction = "ds_read_b32 v0, v1",
                           .what = "reads byte 4 that another wave writes",
                           .who = "workgroup (0, 0, 0), wave 1, lane 2",
                           .other = "wave 0 at a.hip:2:1",
                           .times = 3};
  EXPECT_EQ(to_string(report),
            "check lds_race: reads byte 4 that another wave writes\n"
            "  at a.hip:3:4: ds_read_b32 v0, v1\n"
            "  kernel stage1, workgroup (0, 0, 0), wave 1, lane 2\n"
            "  against wave 0 at a.hip:2:1\n"
            "  3 times");
}

}  // namespace
}  // namespace attest
