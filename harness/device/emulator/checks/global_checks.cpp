#include "harness/device/emulator/checks/global_checks.hpp"

namespace attest::emulator {

void GlobalChecks::allocated(const Buffer&, const std::string&) {}
void GlobalChecks::released(const Buffer&) {}
void GlobalChecks::host_wrote(const Buffer&, std::size_t, std::size_t) {}
void GlobalChecks::described(const Buffer&, const BufferUse&) {}
void GlobalChecks::begin_launch(const Program&, const Dim3&) {}
void GlobalChecks::end_launch() {}
u64 GlobalChecks::access(const Wave&, const Inst&, const u64*, const Access&, u64) { return 0; }
void GlobalChecks::cache_control(const Wave&, const Inst&) {}
std::string GlobalChecks::released_text(u64) const { return {}; }

}  // namespace attest::emulator
