#include "harness/device/emulator/checks/register_checks.hpp"

#include "harness/device/emulator/checks/planted_launch.hpp"

namespace attest::emulator {
namespace {

CheckSet only(Check check) { return CheckSet().add(check); }

CheckReport one_report(const PlantedFile& file, const std::string& kernel, Check check) {
  const auto all = file.reports(kernel, only(check));
  EXPECT_EQ(all.size(), 1u) << kernel;
  return all.empty() ? CheckReport{} : all.front();
}

}  // namespace

TEST(Waits, AreFoundWhereTheyLackAndNowhereElse) {
  PlantedFile("waits.s").expect_planted(only(Check::kWaits));
}

TEST(Waits, AReportSaysTheRegisterTheCountAndTheLoad) {
  const CheckReport report =
      one_report(PlantedFile("waits.s"), "vmcnt_one_too_large", Check::kWaits);
  EXPECT_EQ(report.what,
            "v2 is read before its load is known to be complete: 0 memory operations came after "
            "it, and no s_waitcnt vmcnt(0) or less");
  EXPECT_NE(report.other.find("global_load_dword v2"), std::string::npos) << report.other;
}

TEST(UninitialisedRegisters, AreFoundWhereTheyReachSomethingAndNowhereElse) {
  PlantedFile("uninit_registers.s").expect_planted(only(Check::kUninitialised));
}

TEST(UninitialisedRegisters, AReportSaysTheRegisterAndTheLanes) {
  const CheckReport report =
      one_report(PlantedFile("uninit_registers.s"), "matrix_row", Check::kUninitialised);
  EXPECT_EQ(report.what, "v8, in 16 of the active lanes, was never written, and reaches memory");
}

TEST(RegisterChecks, AreSilentWhenTheyAreOff) {
  EXPECT_TRUE(
      PlantedFile("waits.s").reports("vmcnt_one_too_large", only(Check::kUninitialised)).empty());
  EXPECT_TRUE(PlantedFile("uninit_registers.s").reports("stored", only(Check::kWaits)).empty());
}

}  // namespace attest::emulator
