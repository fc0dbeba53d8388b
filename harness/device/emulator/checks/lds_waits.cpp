#include "harness/device/emulator/checks/lds_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "harness/device/emulator/checks/register_checks.hpp"

namespace attest::emulator {

bool LdsWaits::Write::holds(u32 byte) const {
  if (byte < begin || byte >= end) return false;
  for (u64 left = lanes; left != 0; left &= left - 1) {
    if (byte - at[static_cast<std::size_t>(std::countr_zero(left))] < bytes) return true;
  }
  return false;
}

void LdsWaits::begin_launch(const Program& program, const Dim3& grid, int waves_of_group) {
  program_ = &program;
  grid_ = grid;
  stores_.resize(static_cast<std::size_t>(waves_of_group));
}

void LdsWaits::begin_workgroup() {
  for (Recent& recent : stores_) recent.count = 0;
  late_.clear();
}

void LdsWaits::fill(Write& write, const Wave& w, const Inst& in, const LdsLanes& lanes,
                    u32 number) {
  write.wave = &w;
  write.inst = in.index;
  write.number = number;
  write.lanes = lanes.lanes;
  write.bytes = static_cast<u32>(lanes.bytes);
  std::memcpy(write.at.data(), lanes.at, sizeof write.at);
}

void LdsWaits::stored(const Wave& w, const Inst& in, const LdsLanes& lanes) {
  Recent& recent = stores_[static_cast<std::size_t>(w.id)];
  fill(recent.writes[recent.count++ % kUnderWay], w, in, lanes, counts_.lgkm_issued(w));
}

void LdsWaits::mark(const Write& write, LdsShadow& shadow, bool late) {
  for (u64 left = write.lanes; left != 0; left &= left - 1) {
    const u32 first = write.at[static_cast<std::size_t>(std::countr_zero(left))];
    for (u32 byte = first; byte < first + write.bytes; ++byte) {
      u8& bits = shadow.bits(byte);
      bits = static_cast<u8>(late ? bits | LdsShadow::kLate : bits & ~LdsShadow::kLate);
    }
  }
}

namespace {

template <class Write>
void set_hull(Write& write) {
  write.begin = ~0u;
  write.end = 0;
  for (u64 left = write.lanes; left != 0; left &= left - 1) {
    const u32 at = write.at[static_cast<std::size_t>(std::countr_zero(left))];
    write.begin = std::min(write.begin, at);
    write.end = std::max(write.end, at + write.bytes);
  }
}

}  // namespace

void LdsWaits::brings(const Wave& w, const Inst& in, const LdsLanes& lanes, LdsShadow& shadow) {
  // More than a workgroup can have under way (vmcnt has 6 bits): some have been waited for.
  if (late_.size() >= 64 * stores_.size()) forget_the_done(shadow);
  Write& write = late_.emplace_back();
  fill(write, w, in, lanes, counts_.vm_issued(w));
  write.memory = true;
  set_hull(write);
  mark(write, shadow, true);
}

bool LdsWaits::done(const Write& write) const {
  const Wave& w = *write.wave;
  return (write.memory ? counts_.vm_done(w) : counts_.lgkm_done(w)) >= write.number;
}

template <class Predicate>
void LdsWaits::forget(LdsShadow& shadow, Predicate gone) {
  const auto first = std::stable_partition(late_.begin(), late_.end(),
                                           [&](const Write& write) { return !gone(write); });
  if (first == late_.end()) return;
  std::for_each(first, late_.end(), [&](const Write& write) { mark(write, shadow, false); });
  late_.erase(first, late_.end());
  for (const Write& write : late_) mark(write, shadow, true);
}

void LdsWaits::forget_the_done(LdsShadow& shadow) {
  forget(shadow, [&](const Write& write) { return !write.crossed && done(write); });
}

void LdsWaits::read(const Wave& w, const Inst& in, const LdsLanes& lanes, LdsShadow& shadow) {
  forget_the_done(shadow);
  for (u64 left = lanes.lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (u32 i = 0; i < static_cast<u32>(lanes.bytes); ++i) {
      const u32 byte = lanes.at[lane] + i;
      if (!(shadow.bits(byte) & LdsShadow::kLate)) continue;
      for (const Write& write : late_) {
        // Another wave's that has not crossed a barrier is a race. LDS serves a wave in order.
        const bool early = write.wave == &w ? write.memory && !done(write) : write.crossed;
        if (early && write.holds(byte)) return report(w, in, lane, byte, write);
      }
    }
  }
}

void LdsWaits::report(const Wave& w, const Inst& in, int lane, u32 byte, const Write& write) {
  const auto what = [&] {
    const char* counter = write.memory ? "vmcnt" : "lgkmcnt";
    if (write.wave == &w) {
      return fmt::format("LDS byte {} is read before the load that brings it was waited for ({})",
                         byte, counter);
    }
    return fmt::format(
        "LDS byte {} is read, but wave {} came to the barrier without having waited "
        "for its {} ({})",
        byte, write.wave->id, write.memory ? "load of it" : "store to it", counter);
  };
  const u32 workgroup = w.group->linear;
  const Party at{.workgroup = workgroup,
                 .inst = in.index,
                 .wave = static_cast<std::int16_t>(w.id),
                 .lane = static_cast<std::int16_t>(lane)};
  const Party against{.workgroup = workgroup,
                      .inst = write.inst,
                      .wave = static_cast<std::int16_t>(write.wave->id)};
  // Compilers wait for stores before a barrier. Shipped hand-written kernels do not: they count on
  // LDS taking the accesses of all waves in order, which no text that we found says or denies.
  const bool of_a_store = write.wave != &w && !write.memory;
  reports_.add(Check::kWaits, *program_, grid_, at, what, against,
               of_a_store && !program_->has_lines);
}

void LdsWaits::at_barrier(const Wave& w, LdsShadow& shadow) {
  for (Write& write : late_) {
    if (write.wave == &w) write.waited = done(write);
  }
  Recent& recent = stores_[static_cast<std::size_t>(w.id)];
  for (std::size_t i = 0; i < std::min(recent.count, kUnderWay); ++i) {
    Write& write = recent.writes[i];
    if (done(write)) continue;
    set_hull(write);
    mark(write, shadow, true);
    late_.push_back(write);
  }
  recent.count = 0;
}

void LdsWaits::barrier_released(LdsShadow& shadow) {
  forget(shadow, [](const Write& write) { return write.waited; });
  for (Write& write : late_) write.crossed = true;
}

}  // namespace attest::emulator
