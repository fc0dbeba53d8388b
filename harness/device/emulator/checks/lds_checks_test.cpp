// Planted races in LDS and missed barriers are found at their lines, under every schedule; their
// healthy neighbours give no report.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/emulator/checks/planted.hpp"
#include "harness/device/emulator/emulator_device.hpp"

namespace attest::emulator {
namespace {

// Every kernel takes (in, out): 1024 words each, in[i] = 3 i.
class Planted {
 public:
  Planted(const std::string& file, std::uint32_t threads) : file_(file), threads_(threads) {}

  std::vector<CheckReport> run(const std::string& kernel, const CheckSet& checks,
                               std::uint64_t seed) {
    const auto device = make_device("gfx942", {.threads = 1, .checks = checks});
    const auto module =
        device->load_module(std::string(ATTEST_PLANTED_OBJECTS) + "/" + file_ + ".co");
    EXPECT_TRUE(module.ok()) << module.trouble().text;
    const auto function = device->function(*module, kernel);
    EXPECT_TRUE(function.ok()) << function.trouble().text;
    std::vector<std::uint32_t> words(1024);
    for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = 3 * i;
    const Buffer in = *device->allocate("in", 4096, 0), out = *device->allocate("out", 4096, 0);
    EXPECT_TRUE(device->write(in, 0, std::as_bytes(std::span(words))).ok());
    device->set_schedule({seed});
    EXPECT_TRUE(device
                    ->launch(*function, {{2}, {threads_}, 0},
                             KernelArguments().add(in.address).add(out.address))
                    .ok());
    const Outcome done = device->synchronize();
    EXPECT_TRUE(done.ok()) << done.trouble().text;
    return device->take_reports();
  }

  void expect_what_is_planted(const CheckSet& checks, std::uint64_t seeds) {
    const auto planted = planted_in(std::string(ATTEST_PLANTED_SOURCES) + "/" + file_);
    EXPECT_GE(planted.size(), 8u);
    for (const auto& [kernel, wanted] : planted) {
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const auto reports = run(kernel, checks, seed);
        EXPECT_EQ(found(reports), wanted) << kernel << ", schedule " << seed << text_of(reports);
      }
    }
  }

  static std::string text_of(const std::vector<CheckReport>& reports) {
    std::string text;
    for (const CheckReport& r : reports) text += "\n" + to_string(r);
    return text;
  }

 private:
  std::string file_;
  std::uint32_t threads_;
};

const CheckSet kRaces = CheckSet().add(Check::kLdsRace),
               kBarriers = CheckSet().add(Check::kBarrier);

TEST(LdsChecks, FindEachPlantedRaceAndNoOtherUnderTenSchedules) {
  Planted("lds.hip", 256).expect_what_is_planted(kRaces, 10);
}

TEST(LdsChecks, FindWhatNobodyWroteWhereItCountsUnderTenSchedules) {
  Planted("lds_uninitialised.hip", 256)
      .expect_what_is_planted(CheckSet().add(Check::kUninitialised), 10);
}

TEST(LdsChecks, FindBytesThatWereNotWaitedForUnderTenSchedules) {
  Planted("lds_waits.hip", 128).expect_what_is_planted(CheckSet().add(Check::kWaits), 10);
}

TEST(BarrierChecks, FindEachPlantedDivergenceAndNoOtherUnderTenSchedules) {
  Planted("barrier.hip", 200).expect_what_is_planted(kBarriers, 10);
}

TEST(LdsChecks, ListStoresOfOneValueApart) {
  const auto reports = Planted("lds.hip", 256).run("one_value", kRaces, 0);
  ASSERT_EQ(reports.size(), 1u) << Planted::text_of(reports);
  EXPECT_TRUE(reports[0].benign);
  EXPECT_NE(reports[0].what.find("with one value"), std::string::npos) << reports[0].what;
}

TEST(LdsChecks, SayWhoRacesWithWhomAndWhere) {
  const auto reports = Planted("lds.hip", 256).run("read_before_barrier", kRaces, 0);
  ASSERT_EQ(reports.size(), 1u);
  const CheckReport& r = reports[0];
  EXPECT_EQ(r.check, Check::kLdsRace);
  EXPECT_EQ(r.kernel, "read_before_barrier");
  EXPECT_NE(r.instruction.find("ds_read_b32"), std::string::npos) << r.instruction;
  EXPECT_EQ(r.what, "wave 1 reads LDS byte 0, wave 0 writes it, and no barrier lies between");
  EXPECT_EQ(r.who, "workgroup (0, 0, 0), wave 1, lane 0");
  EXPECT_NE(r.other.find("wave 0 of workgroup (0, 0, 0) at lds.hip:"), std::string::npos)
      << r.other;
  EXPECT_NE(r.other.find("ds_write_b32"), std::string::npos) << r.other;
}

TEST(LdsChecks, AreSilentWhenTheyAreOff) {
  EXPECT_TRUE(Planted("lds.hip", 256).run("read_before_barrier", kBarriers, 0).empty());
  EXPECT_TRUE(Planted("barrier.hip", 200).run("wave_leaves", kRaces, 0).empty());
}

TEST(BarrierChecks, SayWhichWaveEndedWhere) {
  const auto reports = Planted("barrier.hip", 200).run("wave_leaves", kBarriers, 3);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].what, "wave 0 waits at this barrier, wave 2 has ended and does not come");
  EXPECT_NE(reports[0].other.find("wave 2 of workgroup (0, 0, 0) at barrier.hip:"),
            std::string::npos)
      << reports[0].other;
  EXPECT_NE(reports[0].other.find("s_endpgm"), std::string::npos) << reports[0].other;
}

TEST(BarrierChecks, CountTheLanesThatDoNotCome) {
  const auto reports = Planted("barrier.hip", 200).run("lanes_leave", kBarriers, 0);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].what,
            "14 of the wave's 64 lanes do not come to this barrier: they are switched off, lane 50 "
            "first");
}

}  // namespace
}  // namespace attest::emulator
