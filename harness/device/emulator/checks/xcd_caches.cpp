#include "harness/device/emulator/checks/xcd_caches.hpp"

namespace attest::emulator {

void XcdCaches::allocated(const Buffer&) {}
void XcdCaches::released(const Buffer&) {}
void XcdCaches::described(const Buffer&, const BufferUse&) {}
void XcdCaches::begin_launch(const Program&, const Dim3&) {}
void XcdCaches::end_launch() {}
void XcdCaches::translate(const Wave&, const Inst&, u64*, const Access&) {}
void XcdCaches::cache_control(const Wave&, const Inst&) {}

}  // namespace attest::emulator
