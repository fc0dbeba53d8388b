#include "harness/device/emulator/checks/monitor.hpp"

namespace attest::emulator {

Monitor::Monitor(const CheckSet& on) : on_(on) {
  const bool uninitialised = on.has(Check::kUninitialised);
  if (uninitialised || on.has(Check::kWaits)) registers_.emplace(on_, reports_);
  if (on.has(Check::kHazards)) hazards_.emplace(reports_);
  if (uninitialised || on.has(Check::kLdsRace) || on.has(Check::kWaits))
    lds_.emplace(on_, reports_, registers_ ? &*registers_ : nullptr);
  if (on.has(Check::kBarrier)) barriers_.emplace(reports_);
  if (uninitialised || on.has(Check::kBounds) || on.has(Check::kGlobalRace) ||
      on.has(Check::kUseAfterFree))
    global_.emplace(on_, reports_);
  if (on.has(Check::kVisibility)) caches_.emplace(reports_);
}

void Monitor::allocated(const Buffer& buffer, const std::string& label) {
  if (global_) global_->allocated(buffer, label);
  if (caches_) caches_->allocated(buffer, label);
}
void Monitor::released(const Buffer& buffer) {
  if (global_) global_->released(buffer);
  if (caches_) caches_->released(buffer);
}
void Monitor::host_wrote(const Buffer& buffer, std::size_t offset, std::size_t bytes) {
  if (global_) global_->host_wrote(buffer, offset, bytes);
}
void Monitor::described(const Buffer& buffer, const BufferUse& use) {
  if (global_) global_->described(buffer, use);
  if (caches_) caches_->described(buffer, use);
}

void Monitor::begin_launch(const Program& program, const LaunchConfig& config, int groups,
                           int waves, std::size_t lds_bytes) {
  auto [uses, is_new] = uses_.try_emplace(&program);
  if (is_new) uses->second = uses_of(program);
  if (registers_) registers_->begin_launch(program, uses->second, groups * waves);
  if (hazards_) hazards_->begin_launch(program, uses->second, groups * waves);
  if (lds_) lds_->begin_launch(program, config.grid, groups, waves, lds_bytes);
  if (barriers_) barriers_->begin_launch(program, config.grid, groups, waves);
  if (global_) global_->begin_launch(program, config.grid);
  if (caches_) caches_->begin_launch(program, config.grid);
}
void Monitor::end_launch() {
  if (global_) global_->end_launch();
  if (caches_) caches_->end_launch();
}
void Monitor::begin_workgroup(const Workgroup& group,
                              std::span<const std::unique_ptr<Wave>> waves) {
  if (lds_) lds_->begin_workgroup(group);
  if (barriers_) barriers_->begin_workgroup(group, waves);
  for (const auto& w : waves) {
    if (registers_) registers_->begin_wave(*w);
    if (hazards_) hazards_->begin_wave(*w);
  }
}

u64 Monitor::undefined_data(const Wave& w, const Access& access, int data_row) const {
  u64 lanes = 0;
  if (!registers_ || data_row < 0) return lanes;
  for (int d = 0; d < (access.bytes + 3) / 4; ++d) lanes |= registers_->undefined(w, data_row + d);
  return lanes & access.lanes;
}

void Monitor::global(const Wave& w, const Inst& in, u64* at, const Access& access, int data_row) {
  if (global_) {
    brought_undefined_ = global_->access(w, in, at, access, data_row);
    if (registers_ && brought_undefined_) {
      for (int dword = 0; dword < (access.bytes + 3) / 4; ++dword)
        registers_->loads_undefined(global_->undefined_dword(dword), access.dword + dword);
    }
  }
  if (caches_) caches_->translate(w, in, at, access);
}
void Monitor::lds(const Wave& w, const Inst& in, const u32* at, const Access& access,
                  int data_row) {
  if (!lds_) return;
  const u64 read = lds_->access(w, in, at, access, data_row, undefined_data(w, access, data_row));
  if (!registers_ || !read) return;
  registers_->loads_undefined_lds(in, lds_->undefined_byte());
  for (int dword = 0; dword < (access.bytes + 3) / 4; ++dword)
    registers_->loads_undefined(lds_->undefined_dword(dword), access.dword + dword);
}
void Monitor::lds_dma(const Wave& w, const Inst& in, const u32* at, const Access& access) {
  if (lds_) lds_->dma(w, in, at, access, brought_undefined_ & access.lanes);
  brought_undefined_ = 0;
}
void Monitor::cache_control(const Wave& w, const Inst& in) {
  if (caches_) caches_->cache_control(w, in);
}

}  // namespace attest::emulator
