#include "harness/device/emulator/checks/lds_checks.hpp"

namespace attest::emulator {

void LdsChecks::begin_launch(const Program&, const Dim3&, int, int, std::size_t) {}
void LdsChecks::begin_workgroup(const Workgroup&) {}
u64 LdsChecks::access(const Wave&, const Inst&, const u32*, const Access&, u64) { return 0; }
void LdsChecks::dma(const Wave&, const Inst&, const u32*, const Access&) {}
void LdsChecks::at_barrier(const Wave&, const Inst&) {}
void LdsChecks::wave_ended(const Wave&, const Inst&) {}
void LdsChecks::barrier_released(const Workgroup&, std::span<const std::unique_ptr<Wave>>) {}

}  // namespace attest::emulator
