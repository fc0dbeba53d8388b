// What workgroups on different chiplets see of each other's stores: the planted kernels, and the
// rules of one buffer's lines.
#include "harness/device/emulator/checks/xcd_caches.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "harness/device/emulator/checks/planted.hpp"
#include "harness/device/emulator/emulator_device.hpp"

namespace attest::emulator {
namespace {

constexpr std::uint32_t kGroups = 12, kThreads = 128;  // four chiplets run two workgroups
using Floats = std::vector<float>;

// One planted kernel in memory of its own.
class PlantedLaunch {
 public:
  explicit PlantedLaunch(const CheckSet& checks, const std::string& target = "gfx942")
      : device_(make_device(target, {.threads = 1, .checks = checks})) {
    auto module = device_->load_module(ATTEST_PLANTED_OBJECTS "/visibility.hip.co");
    EXPECT_TRUE(module.ok()) << module.trouble().text;
    if (module.ok()) module_ = *module;
    data_ = buffer("data", kGroups * kThreads);
    sync_ = buffer("sync", 64);
    out_ = buffer("out", kGroups * kThreads);
  }

  // `out`, when all workgroups have ended.
  Floats run(const std::string& kernel, std::uint64_t seed = 0) {
    return run(kernel, Schedule{.seed = seed});
  }
  Floats run(const std::string& kernel, Schedule schedule) {
    Floats data(kGroups * kThreads, 0.0f), out(data.size());
    for (std::size_t i = 0; i < data.size(); i += 32) data[i] = 1;  // weights
    const std::vector<std::uint32_t> sync(64, 0);
    EXPECT_TRUE(device_->write(data_, 0, std::as_bytes(std::span(data))).ok());
    EXPECT_TRUE(device_->write(sync_, 0, std::as_bytes(std::span(sync))).ok());
    EXPECT_TRUE(device_->write(out_, 0, std::as_bytes(std::span(out))).ok());
    auto function = device_->function(module_, kernel);
    EXPECT_TRUE(function.ok()) << function.trouble().text;
    KernelArguments arguments;
    arguments.add(data_.address).add(sync_.address).add(out_.address).add(std::int32_t{kGroups});
    device_->set_schedule(schedule);
    EXPECT_TRUE(device_->launch(*function, {{kGroups, 1, 1}, {kThreads, 1, 1}}, arguments).ok());
    const Outcome done = device_->synchronize();
    EXPECT_TRUE(done.ok()) << done.trouble().text;
    EXPECT_TRUE(device_->read(out_, 0, std::as_writable_bytes(std::span(out))).ok());
    return out;
  }
  std::vector<CheckReport> reports() { return device_->take_reports(); }

 private:
  Buffer buffer(const std::string& label, std::size_t words) {
    auto made = device_->allocate(label, words * 4, 0xdead);
    EXPECT_TRUE(made.ok());
    return *made;
  }

  std::unique_ptr<Device> device_;
  Module module_;
  Buffer data_, sync_, out_;
};

std::map<std::string, Findings> planted() {
  return planted_in(ATTEST_PLANTED_SOURCES "/visibility.hip");
}
CheckSet visibility() { return CheckSet().add(Check::kVisibility); }

// What thread `t` of the last workgroup sums up, where all see all.
float sum_of_parts(std::uint32_t t) {
  float sum = 0;
  for (std::uint32_t g = 0; g < kGroups; ++g) sum += static_cast<float>(1 + g * kThreads + t);
  return sum;
}

TEST(Visibility, PlantedBugsAreReportedAtTheirLinesAndTheirNeighboursAreSilent) {
  ASSERT_GE(planted().size(), 16u);
  for (const auto& [kernel, expected] : planted()) {
    PlantedLaunch launch(visibility());
    launch.run(kernel);
    EXPECT_EQ(found(launch.reports()), expected) << kernel;
  }
}

TEST(Visibility, AMergeWithoutItsReleaseIsReportedByThisCheckAlone) {
  PlantedLaunch launch(CheckSet::all());
  launch.run("last_arriver_no_release");
  const auto reports = launch.reports();
  for (const CheckReport& report : reports) {
    EXPECT_EQ(report.check, Check::kVisibility) << to_string(report);
  }
  EXPECT_EQ(found(reports), planted()["last_arriver_no_release"]);
}

TEST(Visibility, AMergeWithItsFencesIsSilentUnderEveryCheckAndSchedule) {
  for (const char* kernel :
       {"last_arriver", "last_arriver_ordered_counter", "weighted_arriver", "passed_through"}) {
    PlantedLaunch launch(CheckSet::all());
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
      const Floats out = launch.run(kernel, seed);
      ASSERT_EQ(out[1],
                sum_of_parts(1) + (std::string_view(kernel) == "weighted_arriver" ? kGroups : 0))
          << kernel << " seed " << seed;
      for (const CheckReport& report : launch.reports()) {
        FAIL() << kernel << " seed " << seed << ": " << to_string(report);
      }
    }
  }
}

// Also where several workgroups run at once, and where their stores are late: without checks, which
// a late store would bypass.
TEST(Visibility, AMergeWithItsFencesIsRightUnderSchedulesThatInterleaveAndDelay) {
  for (const char* kernel : {"last_arriver", "last_arriver_ordered_counter"}) {
    PlantedLaunch plain{CheckSet()}, checked(CheckSet::all());
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      for (const ScheduleKind kind : {ScheduleKind::kInterleaved, ScheduleKind::kDelayed})
        ASSERT_EQ(plain.run(kernel, {.seed = seed, .kind = kind})[1], sum_of_parts(1))
            << kernel << " seed " << seed;
      checked.run(kernel, {.seed = seed, .kind = ScheduleKind::kInterleaved});
      for (const CheckReport& report : checked.reports())
        FAIL() << kernel << " seed " << seed << ": " << to_string(report);
    }
  }
}

TEST(Visibility, AMergeWithoutItsReleaseIsReportedUnderEverySchedule) {
  PlantedLaunch launch(visibility());
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    launch.run("last_arriver_no_release", seed);
    ASSERT_EQ(found(launch.reports()), planted()["last_arriver_no_release"]) << seed;
  }
}

TEST(Visibility, AStaleValueIsWhatTheKernelGets) {
  PlantedLaunch coherent{CheckSet()}, cached(visibility());
  const std::string kernel = "last_arriver_no_release";
  EXPECT_EQ(coherent.run(kernel)[5], sum_of_parts(5));
  // Workgroup 11 merges: it sees its own row and that of workgroup 3, on the same chiplet.
  EXPECT_EQ(cached.run(kernel)[5], static_cast<float>(2 + 14 * kThreads + 10));
}

TEST(Visibility, AReportNamesTheBytesTheWriterAndTheReason) {
  PlantedLaunch launch(visibility());
  launch.run("last_arriver_no_release");
  auto reports = launch.reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].what,
            "XCD 3 gets an old value of byte 0 of data: the last store there, on XCD 0, is in the "
            "L2 of that XCD alone: no release at agent scope since");
  EXPECT_EQ(reports[0].who, "workgroup (11, 0, 0), wave 0, lane 0");
  EXPECT_NE(reports[0].other.find("wave 0 of workgroup (0, 0, 0) at visibility.hip:"),
            std::string::npos)
      << reports[0].other;
  launch.run("weighted_arriver_no_acquire");
  reports = launch.reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(reports[0].what.find("no acquire at agent scope since"), std::string::npos);
  launch.run("cleared_late");
  reports = launch.reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(reports[0].what.find("hidden by an older store of the reader's XCD"), std::string::npos)
      << reports[0].what;
  launch.run("cleared_again");
  reports = launch.reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(reports[0].what.find("replaced in memory by an older one"), std::string::npos)
      << reports[0].what;
}

TEST(Visibility, ATableThatAllWriteAlikeIsBenign) {
  PlantedLaunch launch(visibility());
  launch.run("same_table");
  for (const CheckReport& report : launch.reports()) EXPECT_TRUE(report.benign);
}

TEST(Visibility, WhatALaunchWritesIsInMemoryWhenItEnds) {
  PlantedLaunch launch(visibility());
  const Floats out = launch.run("shared_lines");
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], 2 * static_cast<float>(1 + i)) << i;
  }
}

// One buffer between two XCDs, by hand.
class CachedBytes : public testing::Test {
 protected:
  void store(int xcd, u64 offset, u32 value, bool coherent = false) {
    const u64 at =
        coherent ? cached_.store_coherent(xcd, offset, 4, 7) : cached_.store(xcd, offset, 4, 7);
    std::memcpy(reinterpret_cast<void*>(at), &value, 4);
  }
  u32 load(int xcd, u64 offset, bool coherent = false) {
    stale_ = {};
    const u64 at = coherent ? cached_.load_coherent(xcd, offset, 4, &stale_)
                            : cached_.load(xcd, offset, 4, &stale_);
    u32 value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(at), 4);
    return value;
  }

  std::vector<u32> memory_ = std::vector<u32>(3 * kLineBytes, 1);
  CachedBuffer cached_{Buffer{reinterpret_cast<u64>(memory_.data()), 2 * kLineBytes + 20}};
  Stale stale_;
};

TEST_F(CachedBytes, AStoreIsSeenByItsOwnChipletAtOnce) {
  store(3, 8, 5);
  EXPECT_EQ(load(3, 8), 5u);
  EXPECT_FALSE(stale_.found);
  EXPECT_EQ(memory_[2], 1u);
}

TEST_F(CachedBytes, AReleaseAndAnAcquirePassAValueOn) {
  EXPECT_EQ(load(1, 8), 1u);
  store(0, 8, 5);
  EXPECT_EQ(load(1, 8), 1u);
  EXPECT_TRUE(stale_.found);
  EXPECT_EQ(stale_.why, Stale::Why::kNotWrittenBack);
  cached_.write_back(0);
  EXPECT_EQ(load(1, 8), 1u);
  EXPECT_EQ(stale_.why, Stale::Why::kCachedBefore);
  EXPECT_EQ(stale_.store, 7u);
  EXPECT_EQ(stale_.xcd, 0);
  cached_.invalidate(1);
  EXPECT_EQ(load(1, 8), 5u);
  EXPECT_FALSE(stale_.found);
}

TEST_F(CachedBytes, AnAcquireBeforeTheReleaseDoesNotHelp) {
  store(0, 8, 5);
  cached_.invalidate(1);
  EXPECT_EQ(load(1, 8), 1u);
  cached_.write_back(0);
  EXPECT_EQ(load(1, 8), 1u);
  EXPECT_EQ(stale_.why, Stale::Why::kCachedBefore);
}

TEST_F(CachedBytes, ANeighbourInTheLineIsNotStale) {
  EXPECT_EQ(load(1, 12), 1u);
  store(0, 8, 5);
  EXPECT_EQ(load(1, 12), 1u);
  EXPECT_FALSE(stale_.found);
  store(1, 4, 6);
  cached_.write_back(0);
  cached_.write_back(1);
  EXPECT_EQ(memory_[1], 6u);
  EXPECT_EQ(memory_[2], 5u);
}

TEST_F(CachedBytes, AnAcquireKeepsWhatItsChipletHasStored) {
  store(0, 8, 5);
  store(1, 12, 6);
  cached_.write_back(1);
  cached_.invalidate(0);
  EXPECT_EQ(load(0, 8), 5u);
  EXPECT_EQ(load(0, 12), 6u);
  EXPECT_FALSE(stale_.found);
}

TEST_F(CachedBytes, ACoherentLoadPassesByACachedLine) {
  EXPECT_EQ(load(1, 8), 1u);
  store(0, 8, 5, true);
  EXPECT_EQ(load(1, 8), 1u);
  EXPECT_EQ(stale_.why, Stale::Why::kCachedBefore);
  EXPECT_EQ(load(1, 8, true), 5u);
  EXPECT_FALSE(stale_.found);
  store(1, 16, 9);
  EXPECT_EQ(load(1, 16, true), 9u);
}

TEST_F(CachedBytes, AnAccessAcrossTwoLinesIsInOnePiece) {
  store(0, kLineBytes, 5);
  stale_ = {};
  const u64 at = cached_.load(1, kLineBytes - 4, 8, &stale_);
  EXPECT_TRUE(stale_.found);
  EXPECT_EQ(stale_.offset, u64{kLineBytes});
  const u64 own = cached_.load(0, kLineBytes - 4, 8, &stale_);
  u32 words[2];
  std::memcpy(words, reinterpret_cast<const void*>(at), sizeof words);
  EXPECT_EQ(words[0] + words[1], 2u);
  std::memcpy(words, reinterpret_cast<const void*>(own), sizeof words);
  EXPECT_EQ(words[0] + words[1], 6u);
}

TEST_F(CachedBytes, AnAtomicActsOnMemoryAndOnItsOwnChipletsStores) {
  store(0, 8, 5);
  u64 at = cached_.atomic(0, 8, 4, 7, &stale_);
  EXPECT_FALSE(stale_.found);
  EXPECT_EQ(at, reinterpret_cast<u64>(&memory_[2]));
  EXPECT_EQ(memory_[2], 5u);
  memory_[2] = 6;
  EXPECT_EQ(load(0, 8), 6u);
  store(0, 8, 9);
  at = cached_.atomic(1, 8, 4, 7, &stale_);
  EXPECT_EQ(stale_.why, Stale::Why::kNotWrittenBack);
  EXPECT_EQ(memory_[2], 6u);
}

TEST_F(CachedBytes, AnEndedLaunchLeavesNothingCached) {
  store(0, 2 * kLineBytes + 16, 5);
  EXPECT_EQ(load(1, 0), 1u);
  cached_.end_launch();
  EXPECT_EQ(memory_[2 * kLineBytes / 4 + 4], 5u);
  EXPECT_EQ(memory_[2 * kLineBytes / 4 + 5], 1u);
  memory_[0] = 3;
  EXPECT_EQ(load(1, 0), 3u);
  EXPECT_EQ(load(2, 2 * kLineBytes + 16), 5u);
  EXPECT_FALSE(stale_.found);
}

TEST_F(CachedBytes, AnOlderStoreOfTheSameValueReplacesNothing) {
  store(0, 8, 5);
  store(1, 8, 5);
  cached_.write_back(1);
  cached_.write_back(0);
  EXPECT_EQ(load(2, 8), 5u);
  EXPECT_FALSE(stale_.found);
}

TEST_F(CachedBytes, AnOlderStoreOfAnotherValueIsReportedWhereItIsRead) {
  store(0, 8, 4);
  store(1, 8, 5);
  cached_.write_back(1);
  EXPECT_EQ(load(0, 8), 4u);
  EXPECT_EQ(stale_.why, Stale::Why::kOwnStore);
  EXPECT_FALSE(stale_.same_value);
  cached_.write_back(0);
  EXPECT_EQ(load(2, 8), 4u);
  EXPECT_EQ(stale_.why, Stale::Why::kOverwritten);
}

}  // namespace
}  // namespace attest::emulator
