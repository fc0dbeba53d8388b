// LDS: races by barrier epochs and byte, bytes that nobody wrote, data on their way from memory;
// and barriers that waves or lanes miss.
#pragma once
#include <memory>
#include <span>

#include "harness/device/emulator/checks/access.hpp"
#include "harness/device/emulator/checks/reports.hpp"

namespace attest::emulator {

class LdsChecks {
 public:
  LdsChecks(const CheckSet& on, Reports& reports) : on_(on), reports_(reports) {}

  // `groups`: how many workgroups are resident at once; Workgroup::slot counts them.
  void begin_launch(const Program& program, const Dim3& grid, int groups, int waves_of_group,
                    std::size_t lds_bytes);
  void begin_workgroup(const Workgroup& group);
  // at[lane]: byte addresses, inside the workgroup's LDS. `undefined_data`: of a store, lanes whose
  // data nobody wrote. Returns the lanes of a load that read what nobody wrote.
  u64 access(const Wave& w, const Inst& in, const u32* at, const Access& access,
             u64 undefined_data);
  // Bytes that a load brings to LDS without a register (buffer_load ... lds), when it has been
  // waited for.
  void dma(const Wave& w, const Inst& in, const u32* at, const Access& access);

  void at_barrier(const Wave& w, const Inst& in);  // before it waits
  void wave_ended(const Wave& w, const Inst& in);
  void barrier_released(const Workgroup& group, std::span<const std::unique_ptr<Wave>> waves);

 private:
  [[maybe_unused]] const CheckSet& on_;
  [[maybe_unused]] Reports& reports_;
};

}  // namespace attest::emulator
