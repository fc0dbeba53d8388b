// Cross-lane vector instructions. Source: MI300 ISA, chapters 12.8 and 12.9.
#include <bit>

#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {
namespace {

Flow readfirstlane(Wave& w, const Inst& in) {
  const int lane = w.exec() ? std::countr_zero(w.exec()) : 0;
  set_scalar32(w, in.op[0], fetch(w, in, 1)[lane]);
  return Flow::kNext;
}
Flow readlane(Wave& w, const Inst& in) {  // ignores EXEC
  set_scalar32(w, in.op[0], fetch(w, in, 1)[scalar32(w, in.op[2]) & 63]);
  return Flow::kNext;
}
Flow writelane(Wave& w, const Inst& in) {  // ignores EXEC
  w.v[in.op[0].reg][scalar32(w, in.op[2]) & 63] = scalar32(w, in.op[1]);
  return Flow::kNext;
}
Flow nop(Wave&, const Inst&) { return Flow::kNext; }

}  // namespace

std::vector<Semantics> lane_semantics() {
  return {{"v_readfirstlane_b32", readfirstlane},
          {"v_readlane_b32", readlane},
          {"v_writelane_b32", writelane},
          {"v_nop", nop}};
}

}  // namespace attest::emulator
