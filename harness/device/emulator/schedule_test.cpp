// Schedules: which orders of workgroups and waves they give, and what a kernel shows under them
// that it does not show in order.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "harness/device/emulator/arrival.hpp"
#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/launches.hpp"

namespace attest::emulator {
namespace {

Schedule named(std::string_view text) {
  const auto schedule = parse_schedule(text);
  EXPECT_TRUE(schedule) << text;
  return schedule.value_or(Schedule{});
}

TEST(Arrival, OrdersOfTheFirstRanksAreAllThereAre) {
  for (std::uint32_t groups = 1, count = 1; groups <= 6; count *= ++groups) {
    std::set<Words> orders;
    Words last;
    for (std::uint64_t rank = 0; rank < count; ++rank) {
      const Words order = arrival_order({rank, ScheduleKind::kOrder}, groups);
      EXPECT_TRUE(std::ranges::is_permutation(order, counting(groups)));
      EXPECT_LT(last, order) << "in lexicographic order";
      last = order;
      orders.insert(order);
    }
    EXPECT_EQ(orders.size(), count);
    EXPECT_EQ(arrival_order({count + 3, ScheduleKind::kOrder}, groups),
              arrival_order({3, ScheduleKind::kOrder}, groups));
  }
}

TEST(Arrival, ALargeGridHasOrdersToo) {
  EXPECT_EQ(arrival_order({0, ScheduleKind::kOrder}, 500), counting(500));
  const Words order = arrival_order({~std::uint64_t{0}, ScheduleKind::kOrder}, 500);
  EXPECT_TRUE(std::ranges::is_permutation(order, counting(500)));
  EXPECT_NE(order, counting(500));
}

TEST(Arrival, AnyWorkgroupCanBeTheLast) {
  for (std::uint32_t last = 0; last < 7; ++last) {
    Words expected = counting(7);
    std::erase(expected, last);
    expected.push_back(last);
    EXPECT_EQ(arrival_order({last, ScheduleKind::kLast}, 7), expected);
    EXPECT_EQ(arrival_order({last + 7, ScheduleKind::kLast}, 7), expected);
  }
}

// A token that was kept must mean the same for ever. Source of the numbers: the shuffle, written
// again in Python.
TEST(Arrival, OfAPlainSeedIsWhatItAlwaysWas) {
  EXPECT_EQ(arrival_order({0}, 4), counting(4));
  EXPECT_EQ(arrival_order({1}, 8), (Words{2, 6, 5, 7, 4, 3, 0, 1}));
  EXPECT_EQ(arrival_order({7}, 10), (Words{2, 3, 5, 4, 1, 9, 6, 8, 0, 7}));
  EXPECT_EQ(arrival_order({~std::uint64_t{0}}, 10), (Words{9, 1, 8, 7, 4, 5, 3, 2, 0, 6}));
}

class Schedules : public testing::TestWithParam<std::string> {
 protected:
  Result<RunStatistics> launch(std::string_view schedule, std::string_view kernel, Dim3 grid,
                               Dim3 block, const KernelArguments& arguments) {
    run_.options.schedule = named(schedule);
    return run_.launch(kernel, grid, block, arguments);
  }
  // Each workgroup's place in the order of all.
  Words tickets(std::string_view schedule, std::uint32_t groups) {
    const Buffer counter = run_.buffer("counter", 1, {0}), ticket = run_.buffer("ticket", groups);
    expect_done(launch(schedule, "take_tickets", {groups}, {64},
                       KernelArguments().add(counter.address).add(ticket.address)),
                groups);
    return Launches::words(ticket);
  }
  Words wave_tickets(std::string_view schedule, std::uint32_t groups) {
    const Buffer counter = run_.buffer("counter", 1, {0}), ticket = run_.buffer("ticket", 32);
    expect_done(launch(schedule, "take_wave_tickets", {groups}, {256},
                       KernelArguments().add(counter.address).add(ticket.address)),
                groups);
    return Launches::words(ticket);
  }
  // What three workgroups see of a message.
  Words message(std::string_view schedule, std::uint32_t waits) {
    const Buffer message = run_.buffer("message", 64, Words(64, 0)),
                 posted = run_.buffer("posted", 1, {0}), seen = run_.buffer("seen", 4 * 64);
    expect_done(launch(schedule, "pass_message", {4}, {64},
                       KernelArguments()
                           .add(message.address)
                           .add(posted.address)
                           .add(seen.address)
                           .add(waits)),
                4);
    Words words = Launches::words(seen);
    words.erase(words.begin(), words.begin() + 64);
    return words;
  }

  Launches run_{GetParam()};
};

// The two builds' code differs, and with it where 7 switches.
TEST_P(Schedules, WavesOfAPlainSeedSwitchWhereTheyAlwaysDid) {
  const Words of_gfx942 = {1, 2, 6, 7, 23, 24, 25, 28, 0,  5,  11, 12, 13, 14, 15, 16,
                           3, 4, 8, 9, 10, 17, 18, 19, 20, 21, 22, 26, 27, 29, 30, 31};
  const Words of_gfx90a = {1, 2, 6, 7, 23, 24, 25, 26, 0,  5,  11, 12, 13, 14, 15, 16,
                           3, 4, 8, 9, 10, 17, 18, 19, 20, 21, 22, 27, 28, 29, 30, 31};
  EXPECT_EQ(wave_tickets("7", 1), GetParam() == "gfx942" ? of_gfx942 : of_gfx90a);
}

TEST_P(Schedules, WorkgroupsArriveInTheOrderThatIsAskedFor) {
  EXPECT_EQ(tickets("o1", 3), (Words{0, 2, 1}));
  EXPECT_EQ(tickets("o3", 3), (Words{2, 0, 1}));  // 1, 2, 0
  EXPECT_EQ(tickets("l0", 4), (Words{3, 0, 1, 2}));
}

TEST_P(Schedules, InterleavedWorkgroupsRunAtOnceAndTheSameWayEachTime) {
  for (const char* const schedule : {"i1", "d1"}) {
    const Words once = wave_tickets(schedule, 1);
    EXPECT_EQ(wave_tickets(schedule, 1), once);
    EXPECT_TRUE(std::ranges::is_permutation(once, counting(32)));
  }
  EXPECT_NE(wave_tickets("i1", 1), wave_tickets("i2", 1));
  // All workgroups write the same 32 tickets of `groups` times as many: only the last ones stay.
  const Words many = wave_tickets("i3", 4);
  EXPECT_GT(std::ranges::max(many) - std::ranges::min(many), 32u) << "not one after another";
}

TEST_P(Schedules, EveryThreadRunsOnceUnderAnySchedule) {
  for (const char* const schedule : {"o5", "l2", "i1", "i2", "d1", "d2", "d3"}) {
    SCOPED_TRACE(schedule);
    const Buffer sum = run_.buffer("sum", 1, {0});
    expect_done(
        launch(schedule, "sum_ids", {37}, {100}, KernelArguments().add(sum.address).add(100u)), 37);
    EXPECT_EQ(Launches::words(sum)[0], 3700u * 3699 / 2);
    const Buffer in = run_.buffer("in", 1024, counting(1024)), out = run_.buffer("out", 1024);
    expect_done(launch(schedule, "reverse_block", {4}, {256},
                       KernelArguments().add(in.address).add(out.address)),
                4);
    const Words words = Launches::words(out);
    for (std::uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(words[i], i / 256 * 256 + 255 - i % 256);
  }
}

TEST_P(Schedules, AWorkgroupThatWaitsForAnotherEndsWhereBothAreResident) {
  run_.options.instruction_budget = 1 << 22;
  for (const std::uint32_t groups : {2u, 40u}) {
    const auto wait = [&](std::string_view schedule) {
      const Buffer flags = run_.buffer("flags", groups, Words(groups, 0));
      return launch(schedule, "wait_for_next", {groups}, {64},
                    KernelArguments().add(flags.address).add(groups));
    };
    expect_done(wait("i1"), groups);
    expect_done(wait("i2"), groups);
    expect_done(wait("d1"), groups);
    if (groups > 2) continue;
    run_.options.threads = 1;
    expect_trouble(wait("0"), TroubleKind::kHung, {"kernel wait_for_next"});
    expect_trouble(wait("l1"), TroubleKind::kHung, {"kernel wait_for_next"});
    expect_done(wait("o1"), groups);
  }
}

TEST_P(Schedules, AStoreThatIsNotWaitedForShowsOnlyWhereStoresAreLate) {
  const auto stale = [&](char kind, std::uint32_t waits) {
    int count = 0;
    for (int seed = 0; seed < 40; ++seed) {
      count += message(fmt::format("{}{}", kind, seed), waits) != Words(3 * 64, 7);
    }
    return count;
  };
  EXPECT_EQ(message("0", 0), Words(3 * 64, 7));
  EXPECT_EQ(stale('i', 0), 0);
  EXPECT_GE(stale('d', 0), 10);
  EXPECT_EQ(stale('d', 1), 0) << "with the wait";
}

// The check models what gfx942's chiplets see of each other; gfx90a has one L2.
TEST_P(Schedules, StoresAreLateBesideTheCheckOfVisibilityWhereItHasNoModel) {
  if (GetParam() != "gfx90a") return;
  Monitor monitor(CheckSet().add(Check::kVisibility));
  int stale = 0;
  for (int seed = 0; seed < 20; ++seed) {
    const std::string schedule = fmt::format("d{}", seed);
    run_.options.monitor = nullptr;
    const Words unwatched = message(schedule, 0);
    run_.options.monitor = &monitor;
    EXPECT_EQ(message(schedule, 0), unwatched) << schedule;
    stale += unwatched != Words(3 * 64, 7);
  }
  EXPECT_GT(stale, 0);
}

TEST_P(Schedules, AWorkgroupSeesItsOwnStoresAtOnce) {
  for (int seed = 0; seed < 20; ++seed) {
    const std::size_t words = 3 * 128;
    const Buffer cells = run_.buffer("cells", words), own = run_.buffer("own", words),
                 other = run_.buffer("other", words);
    expect_done(launch(fmt::format("d{}", seed), "exchange", {3}, {128},
                       KernelArguments().add(cells.address).add(own.address).add(other.address)),
                3);
    ASSERT_EQ(Launches::words(own), counting(words)) << seed;
    const Words crossed = Launches::words(other);
    for (std::uint32_t i = 0; i < words; ++i) ASSERT_EQ(crossed[i], i ^ 127) << seed;
  }
}

TEST_P(Schedules, AScalarLoadSeesItsOwnWorkgroupsStoresAtOnce) {
  for (int seed = 0; seed < 20; ++seed) {
    const std::size_t words = 3 * 64;
    const Buffer cells = run_.buffer("cells", words, Words(words, 0)),
                 seen = run_.buffer("seen", words);
    expect_done(launch(fmt::format("d{}", seed), "scalar_sees_own_store", {3}, {64},
                       KernelArguments().add(cells.address).add(seen.address)),
                3);
    ASSERT_EQ(Launches::words(seen), Words(words, 7)) << seed;
  }
}

TEST_P(Schedules, TroubleUnderAnInterleavedScheduleIsToldAsElsewhere) {
  const Buffer out = run_.buffer("out", 640);
  for (const char* const schedule : {"i1", "d5"}) {
    expect_trouble(
        launch(schedule, "trap_if", {10}, {64}, KernelArguments().add(out.address).add(3u)),
        TroubleKind::kCrashed, {"s_trap", "kernel trap_if", "workgroup (3, 0, 0)"});
    run_.options.instruction_budget = 20000;
    const Buffer flag = run_.buffer("flag", 1, {0});
    const auto wait = [&](std::uint32_t groups) {
      return launch(schedule, "wait_for", {groups}, {256}, KernelArguments().add(flag.address));
    };
    expect_trouble(wait(1), TroubleKind::kHung, {"20000 wave instructions", "kernel wait_for"});
  }
}

TEST_P(Schedules, ManyWorkgroupsThatHangAreHungBeforeEachSpendsItsBudget) {
  run_.options.instruction_budget = 20000;
  const Buffer flag = run_.buffer("flag", 1, {0});
  int together = 0;
  for (int seed = 0; seed < 8; ++seed) {
    const auto hung = launch(fmt::format("i{}", seed), "wait_for", {20}, {256},
                             KernelArguments().add(flag.address));
    expect_trouble(hung, TroubleKind::kHung, {"kernel wait_for"});
    together +=
        hung.trouble().text.starts_with("no workgroup ended in 40000 wave instructions of all");
  }
  EXPECT_GE(together, 2);
}

INSTANTIATE_TEST_SUITE_P(Builds, Schedules, testing::Values("gfx942", "gfx90a"),
                         [](const auto& build) { return build.param; });

}  // namespace
}  // namespace attest::emulator
