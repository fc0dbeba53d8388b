// Planted mistakes in global memory are found at their lines, under every schedule; their healthy
// neighbours give no report.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "harness/device/emulator/checks/planted.hpp"
#include "harness/device/emulator/emulator_device.hpp"

namespace attest::emulator {
namespace {

using Words = std::vector<std::uint32_t>;

std::string text_of(const std::vector<CheckReport>& reports) {
  std::string text;
  for (const CheckReport& r : reports) text += "\n" + to_string(r);
  return text;
}

// One launch of a planted kernel on a device of its own.
class Bed {
 public:
  explicit Bed(const CheckSet& checks)
      : device_(make_device("gfx942", {.threads = 1, .checks = checks})) {}

  Device& device() { return *device_; }
  Buffer allocate(const std::string& label, std::size_t bytes = 4096) {
    auto made = device_->allocate(label, bytes, 0x7fb1);
    EXPECT_TRUE(made.ok());
    return *made;
  }
  Buffer written(const std::string& label, std::uint32_t value, std::size_t bytes = 4096) {
    const Buffer buffer = allocate(label, bytes);
    const Words words(bytes / 4, value);
    EXPECT_TRUE(device_->write(buffer, 0, std::as_bytes(std::span(words))).ok());
    return buffer;
  }
  Outcome launch(const std::string& file, const std::string& kernel, const LaunchConfig& config,
                 const KernelArguments& arguments) {
    const auto module =
        device_->load_module(std::string(ATTEST_PLANTED_OBJECTS) + "/" + file + ".co");
    EXPECT_TRUE(module.ok()) << module.trouble().text;
    const auto function = device_->function(*module, kernel);
    EXPECT_TRUE(function.ok()) << function.trouble().text;
    const Outcome launched = device_->launch(*function, config, arguments);
    EXPECT_TRUE(launched.ok()) << launched.trouble().text;
    return device_->synchronize();
  }

 private:
  std::unique_ptr<Device> device_;
};

using Run = std::function<std::vector<CheckReport>(const std::string& kernel, std::uint64_t seed)>;

void expect_what_is_planted(const std::string& file, std::size_t kernels, const Run& run) {
  const auto planted = planted_in(std::string(ATTEST_PLANTED_SOURCES) + "/" + file);
  EXPECT_EQ(planted.size(), kernels);
  for (const auto& [kernel, wanted] : planted) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto reports = run(kernel, seed);
      EXPECT_EQ(found(reports), wanted) << kernel << ", schedule " << seed << text_of(reports);
    }
  }
}

const CheckSet kBounds = CheckSet().add(Check::kBounds),
               kReleased = CheckSet().add(Check::kUseAfterFree),
               kRaces = CheckSet().add(Check::kGlobalRace);

std::vector<CheckReport> run_bounds(const std::string& kernel, const CheckSet& checks,
                                    std::uint64_t seed) {
  Bed bed(checks);
  const Buffer in = bed.written("kv", 5), out = bed.written("o", 0);
  bed.device().describe(
      in, {.read_only = true, .unwritten = false, .extents = {{0, 1024}, {2048, 3070}}});
  bed.device().describe(out, {.read_only = false, .unwritten = false, .extents = {{0, 2048}}});
  bed.device().set_schedule({seed});
  const Outcome done = bed.launch("bounds.hip", kernel, {{1}, {64}, 0},
                                  KernelArguments().add(in.address).add(out.address));
  EXPECT_TRUE(done.ok()) << done.trouble().text;
  return bed.device().take_reports();
}

TEST(BoundsCheck, FindsEachPlantedAccessOutsideATensorAndNoOther) {
  expect_what_is_planted("bounds.hip", 15, [](const std::string& kernel, std::uint64_t seed) {
    return run_bounds(kernel, CheckSet::all(), seed);
  });
}

TEST(BoundsCheck, SaysWhichBytesAndWhatIsNear) {
  const auto reports = run_bounds("read_gap", kBounds, 0);
  ASSERT_EQ(reports.size(), 1u) << text_of(reports);
  EXPECT_EQ(
      reports[0].what,
      "reads 4 bytes at kv+1024, not all of which are the tensor's (nearest: bytes 0 to 1024)");
  EXPECT_EQ(reports[0].who, "workgroup (0, 0, 0), wave 0, lane 0");
  EXPECT_EQ(reports[0].kernel, "read_gap");
  const auto last = run_bounds("read_one_row_too_many", kBounds, 0);
  ASSERT_EQ(last.size(), 1u) << text_of(last);
  EXPECT_EQ(last[0].who, "workgroup (0, 0, 0), wave 0, lane 63");
  const auto input = run_bounds("write_input", kBounds, 0);
  ASSERT_EQ(input.size(), 1u) << text_of(input);
  EXPECT_EQ(input[0].what, "writes 4 bytes at kv+0, an input, which the launch may only read");
}

TEST(BoundsCheck, IsSilentWhenItIsOff) {
  EXPECT_TRUE(run_bounds("read_gap", kRaces, 0).empty());
  EXPECT_TRUE(run_bounds("write_input", kRaces, 0).empty());
}

struct Released {
  std::vector<CheckReport> reports;
  std::string trouble;
};
Released run_released(const std::string& kernel, const CheckSet& checks) {
  Bed bed(checks);
  const Buffer gone = bed.written("q", 5), out = bed.written("o", 5);
  bed.device().release(gone);
  const Outcome done = bed.launch("use_after_free.hip", kernel, {{1}, {64}, 0},
                                  KernelArguments().add(gone.address).add(out.address));
  return {bed.device().take_reports(), done.ok() ? "" : done.trouble().text};
}

TEST(UseAfterFreeCheck, FindsEachPlantedUseAndNoOther) {
  expect_what_is_planted("use_after_free.hip", 7, [](const std::string& kernel, std::uint64_t) {
    return run_released(kernel, CheckSet::all()).reports;
  });
}

TEST(UseAfterFreeCheck, ReportsBesideTheFaultWhichNamesTheBuffer) {
  const Released r = run_released("load", kReleased);
  ASSERT_EQ(r.reports.size(), 1u);
  EXPECT_EQ(r.reports[0].what, "accesses 4 bytes at q+0; that buffer was released");
  EXPECT_NE(r.trouble.find(
                "is outside every buffer: 0 bytes inside q, which was released [0x110000010000"),
            std::string::npos)
      << r.trouble;
  const Released unchecked = run_released("load", CheckSet());
  EXPECT_TRUE(unchecked.reports.empty());
  EXPECT_EQ(unchecked.trouble, r.trouble);
}

std::vector<CheckReport> run_unwritten(const std::string& kernel, const CheckSet& checks,
                                       std::uint64_t seed) {
  Bed bed(checks);
  const Buffer in = bed.written("in", 5), part = bed.allocate("part"), out = bed.allocate("out");
  const Words words(100, 7);
  EXPECT_TRUE(bed.device().write(part, 0, std::as_bytes(std::span(words))).ok());
  bed.device().set_schedule({seed});
  const Outcome done =
      bed.launch("uninit_global.hip", kernel, {{1}, {128}, 0},
                 KernelArguments().add(in.address).add(part.address).add(out.address));
  EXPECT_TRUE(done.ok()) << done.trouble().text;
  return bed.device().take_reports();
}

TEST(UninitialisedGlobalCheck, FindsEachPlantedReadOfWhatNobodyWroteAndNoOther) {
  expect_what_is_planted("uninit_global.hip", 19,
                         [](const std::string& kernel, std::uint64_t seed) {
                           return run_unwritten(kernel, CheckSet::all(), seed);
                         });
}

TEST(UninitialisedGlobalCheck, SaysWhatACounterStartsFrom) {
  const auto reports = run_unwritten("count_from_it", CheckSet().add(Check::kUninitialised), 0);
  ASSERT_EQ(reports.size(), 1u) << text_of(reports);
  EXPECT_EQ(reports[0].what, "updates 4 bytes at part+2000, which nobody wrote");
}

TEST(UninitialisedGlobalCheck, TakesWhatADescriptionCallsUnwrittenAsThat) {
  Bed bed(CheckSet().add(Check::kUninitialised));
  const Buffer in = bed.written("in", 5), part = bed.written("part", 0), out = bed.allocate("out");
  const KernelArguments arguments =
      KernelArguments().add(in.address).add(part.address).add(out.address);
  const LaunchConfig config{{1}, {128}, 0};
  EXPECT_TRUE(bed.launch("uninit_global.hip", "count_from_it", config, arguments).ok());
  EXPECT_EQ(text_of(bed.device().take_reports()), "");
  bed.device().describe(part, {.read_only = false, .unwritten = true, .extents = {}});
  EXPECT_TRUE(bed.launch("uninit_global.hip", "count_from_it", config, arguments).ok());
  EXPECT_EQ(bed.device().take_reports().size(), 1u);
}

std::vector<CheckReport> run_race(const std::string& kernel, const CheckSet& checks,
                                  std::uint64_t seed) {
  Bed bed(checks);
  const Buffer data = bed.written("data", 5, 8192), sync = bed.written("sync", 0, 64),
               out = bed.allocate("out");
  bed.device().set_schedule({seed});
  const Outcome done =
      bed.launch("global_race.hip", kernel, {{4}, {128}, 0},
                 KernelArguments().add(data.address).add(sync.address).add(out.address));
  EXPECT_TRUE(done.ok()) << kernel << ": " << done.trouble().text;
  return bed.device().take_reports();
}

TEST(GlobalRaceCheck, FindsEachPlantedRaceAndNoOtherUnderEachSchedule) {
  expect_what_is_planted("global_race.hip", 19, [](const std::string& kernel, std::uint64_t seed) {
    return run_race(kernel, kRaces, seed);
  });
}

TEST(GlobalRaceCheck, SaysWhoRacesWithWhomAndWhere) {
  const auto reports = run_race("overlapping_tiles", kRaces, 0);
  ASSERT_EQ(reports.size(), 1u) << text_of(reports);
  EXPECT_EQ(reports[0].what,
            "writes byte data+256, which another workgroup writes, and nothing orders the two");
  EXPECT_EQ(reports[0].who, "workgroup (1, 0, 0), wave 0, lane 0");
  EXPECT_NE(reports[0].other.find("wave 1 of workgroup (0, 0, 0) at global_race.hip:"),
            std::string::npos)
      << reports[0].other;
  EXPECT_EQ(reports[0].times, 3);
}

TEST(GlobalRaceCheck, ReportsTheReadThoughTheWriteCameLast) {
  const auto reports = run_race("read_the_next_tile", kRaces, 0);
  ASSERT_EQ(reports.size(), 1u) << text_of(reports);
  EXPECT_NE(reports[0].instruction.find("load"), std::string::npos) << reports[0].instruction;
  EXPECT_NE(reports[0].other.find("store"), std::string::npos) << reports[0].other;
}

TEST(GlobalRaceCheck, ListsStoresOfOneValueApart) {
  const auto reports = run_race("overlapping_tiles_of_one_value", kRaces, 0);
  ASSERT_EQ(reports.size(), 1u) << text_of(reports);
  EXPECT_TRUE(reports[0].benign);
  EXPECT_NE(reports[0].what.find("writes with the same value"), std::string::npos);
}

// What a missing fence does is the affair of the check on visibility alone.
TEST(GlobalRaceCheck, LeavesAMissingFenceToTheCheckOnVisibility) {
  CheckSet others;
  for (int i = 0; i < kChecks; ++i) {
    if (static_cast<Check>(i) != Check::kVisibility) others.add(static_cast<Check>(i));
  }
  EXPECT_EQ(text_of(run_race("last_arriver_without_fence", others, 3)), "");
}

TEST(GlobalRaceCheck, OrdersLaunches) {
  Bed bed(kRaces);
  const Buffer data = bed.written("data", 5, 8192);
  const KernelArguments arguments =
      KernelArguments().add(data.address).add(data.address).add(data.address);
  for (int launch = 0; launch < 3; ++launch) {
    const std::uint32_t threads = launch == 1 ? 64 : 128;  // tiles of other workgroups
    EXPECT_TRUE(
        bed.launch("global_race.hip", "disjoint_tiles", {{4}, {threads}, 0}, arguments).ok());
    EXPECT_TRUE(
        bed.launch("global_race.hip", "read_the_own_tile", {{2}, {128}, 0}, arguments).ok());
  }
  EXPECT_EQ(text_of(bed.device().take_reports()), "");
}

TEST(GlobalRaceCheck, LeavesOutWhatALaunchOnlyReads) {
  Bed bed(kRaces);
  const Buffer data = bed.written("data", 5, 8192);
  bed.device().describe(data, {.read_only = true, .unwritten = false, .extents = {}});
  EXPECT_TRUE(bed.launch("global_race.hip", "overlapping_tiles", {{4}, {128}, 0},
                         KernelArguments().add(data.address).add(data.address).add(data.address))
                  .ok());
  EXPECT_EQ(text_of(bed.device().take_reports()), "");
}

}  // namespace
}  // namespace attest::emulator
