// Monitor: all checks of a device, told of each instruction and each memory access of its launches.
// A checked launch runs on one host thread. The handlers call it where it is not null
// (Workgroup::monitor).
#pragma once
#include <map>
#include <memory>
#include <optional>

#include "harness/device/emulator/checks/barrier_checks.hpp"
#include "harness/device/emulator/checks/global_checks.hpp"
#include "harness/device/emulator/checks/hazard_checks.hpp"
#include "harness/device/emulator/checks/lds_checks.hpp"
#include "harness/device/emulator/checks/register_checks.hpp"
#include "harness/device/emulator/checks/xcd_caches.hpp"

namespace attest::emulator {

class Monitor {
 public:
  explicit Monitor(const CheckSet& on);

  // Buffers, outside of launches.
  void allocated(const Buffer& buffer, const std::string& label);
  void released(const Buffer& buffer);
  void host_wrote(const Buffer& buffer, std::size_t offset, std::size_t bytes);
  void described(const Buffer& buffer, const BufferUse& use);
  std::vector<CheckReport> take_reports() { return reports_.take(); }

  // A launch. `groups`: workgroups that are resident at once.
  void begin_launch(const Program& program, const LaunchConfig& config, int groups, int waves,
                    std::size_t lds_bytes);
  void end_launch();
  void begin_workgroup(const Workgroup& group, std::span<const std::unique_ptr<Wave>> waves);

  // Around each instruction; `after` with what it returned.
  void before(const Wave& w, const Inst& in) {
    if (registers_) registers_->before(w, in);
    if (hazards_) hazards_->before(w, in);
  }
  void after(const Wave& w, const Inst& in, Flow flow) {
    if (registers_) registers_->after(w, in);
    if (flow == Flow::kBarrier) at_barrier(w, in);
    if (flow == Flow::kEnd && barriers_) barriers_->wave_ended(w, in);
  }
  void barrier_released(const Workgroup& group) {
    if (barriers_) barriers_->released(group);
    if (lds_) lds_->barrier_released(group);
  }

  // By the handlers of memory instructions, before they touch memory. `data_row`: of a store, the
  // first vector register of its data, else -1.
  void global(const Wave& w, const Inst& in, u64* at, const Access& access, int data_row);
  void lds(const Wave& w, const Inst& in, const u32* at, const Access& access, int data_row);
  // What a load brings to LDS without a register; after global() of the same instruction.
  void lds_dma(const Wave& w, const Inst& in, const u32* at, const Access& access);
  void cache_control(const Wave& w, const Inst& in);
  // Whether global() says, in this launch, where bytes lie: from then on they may move.
  bool moves_accesses() const { return caches_ && caches_->models_launch(); }
  // An access that is in no allocation, and stops the launch. `lane` -1: a scalar one.
  void outside(const Wave& w, const Inst& in, int lane, u64 address, int bytes) {
    if (global_) global_->outside(w, in, lane, address, bytes);
  }

 private:
  void at_barrier(const Wave& w, const Inst& in) {
    if (barriers_) barriers_->at_barrier(w, in);
    if (lds_) lds_->at_barrier(w);
  }
  u64 undefined_data(const Wave& w, const Access& access, int data_row) const;

  CheckSet on_;
  Reports reports_;
  std::map<const Program*, ProgramUses> uses_;
  std::optional<RegisterChecks> registers_;
  std::optional<HazardChecks> hazards_;
  std::optional<LdsChecks> lds_;
  std::optional<BarrierChecks> barriers_;
  std::optional<GlobalChecks> global_;
  std::optional<XcdCaches> caches_;
  u64 brought_undefined_ = 0;  // lanes of the last load from memory that read what nobody wrote
};

}  // namespace attest::emulator
