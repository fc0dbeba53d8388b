#include "harness/nightly_options.hpp"

#include <gtest/gtest.h>

#include "harness/units.hpp"

namespace attest {
namespace {

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Units, AreReadOrRefused) {
  EXPECT_EQ(parse_seconds("90s"), 90);
  EXPECT_EQ(parse_seconds("1.5m"), 90);
  EXPECT_EQ(parse_seconds("8h"), 8 * 3600);
  EXPECT_EQ(parse_seconds("7"), 7);
  EXPECT_EQ(parse_bytes("4G"), std::int64_t{4} << 30);
  EXPECT_EQ(parse_bytes("0.5M"), std::int64_t{1} << 19);
  EXPECT_EQ(parse_bytes("2K"), 2048);
  for (const char* text : {"", "s", "-1s", "0", "nan", "inf", "1e30", "3 h", "3hh", "3d", "1h2m"}) {
    EXPECT_EQ(parse_seconds(text), std::nullopt) << text;
  }
  for (const char* text : {"", "G", "-4G", "0G", "4GB", "0.1", "nan", "1e18G"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(NightlyOptions, ThatAreNoNumbersAreNamed) {
  const auto why = [](auto set) {
    NightlyRequest request;
    set(request);
    const auto numbers = numbers_of(request);
    EXPECT_FALSE(numbers.ok());
    return numbers.ok() ? "" : numbers.trouble().text;
  };
  EXPECT_TRUE(says(why([](auto& r) { r.budget = "a night"; }), "--budget takes a time"));
  EXPECT_TRUE(says(why([](auto& r) { r.timeout = "0"; }), "--timeout takes a time"));
  EXPECT_TRUE(says(why([](auto& r) { r.memory = "4 GB"; }), "--memory takes a size"));
  EXPECT_TRUE(says(why([](auto& r) { r.seed = "0x1"; }), "--seed takes a whole number"));
}

TEST(NightlyOptions, OfTheRunAreInTheCommandThatGoesOn) {
  CommonOptions common;
  common.ledger = "a ledger";
  common.schedules = 24;
  NightlyRequest request;
  request.tier = "full";
  request.seed = "7";
  RunHeader header;
  header.command = nightly_command(common, request);
  header.repro_options = " --device emu:gfx90a";
  header.shard = "2/8";
  EXPECT_EQ(tier_of_command(header.command), "full");
  request.budget = "8h";
  request.history = "h.sqlite";
  EXPECT_EQ(resume_command(header, request, "an out"),
            "./attest nightly --tier full --schedules 24 --ledger 'a ledger' --seed 7 --device "
            "emu:gfx90a --shard 2/8 --budget 8h --history h.sqlite --resume 'an out'");
}

TEST(NightlyOptions, OfAPartThatTheEnvironmentNamedAreInTheCommandToo) {
  RunHeader header;
  header.command = "nightly --tier smoke";
  header.shard = "2/8";
  EXPECT_EQ(resume_command(header, {}, "out"),
            "./attest nightly --tier smoke --shard 2/8 --resume out");
}

TEST(NightlyOptions, ThatRunACaseMoreOftenAreCounted) {
  CommonOptions common;
  EXPECT_EQ(launches_of_a_case(common), 1);
  common.checks = CheckSet::all();
  EXPECT_EQ(launches_of_a_case(common), 4);
  common.ariths = {Arith::kFma, Arith::kExact, Arith::kCdna3};
  EXPECT_EQ(launches_of_a_case(common), 12);
  common.schedules = 400;
  EXPECT_EQ(launches_of_a_case(common), 521 * 12);
}

TEST(NightlyOptions, ThatDifferMakeAnotherRun) {
  const RunHeader was{.command = "nightly --tier smoke", .device = "emu:gfx942", .machine = "a"};
  RunHeader is = was;
  is.machine = "another";
  is.run = "1";
  is.started = "later";
  EXPECT_EQ(why_another_run(was, is), "");
  const auto why = [&](std::string RunHeader::*member) {
    RunHeader other = was;
    other.*member = " x";
    return why_another_run(was, other);
  };
  EXPECT_EQ(why(&RunHeader::command), "\n  command: it was nightly --tier smoke; now x");
  EXPECT_EQ(why(&RunHeader::device), "\n  device: it was emu:gfx942; now x");
  EXPECT_EQ(why(&RunHeader::repro_options), "\n  options: it was none; now x");
  EXPECT_EQ(why(&RunHeader::build), "\n  build: it was none; now x");
  EXPECT_EQ(why(&RunHeader::bounds), "\n  bounds: it was none; now x");
  EXPECT_EQ(why(&RunHeader::shard), "\n  shard: it was none; now x");
}

}  // namespace
}  // namespace attest
