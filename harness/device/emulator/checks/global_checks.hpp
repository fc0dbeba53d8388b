// Global memory: tensors' extents, bytes that nobody wrote, races between workgroups, and what was
// released.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "harness/core/device.hpp"
#include "harness/device/emulator/checks/access.hpp"
#include "harness/device/emulator/checks/global_races.hpp"
#include "harness/device/emulator/checks/reports.hpp"
#include "harness/device/emulator/checks/tracked_buffer.hpp"

namespace attest::emulator {

class GlobalChecks {
 public:
  GlobalChecks(const CheckSet& on, Reports& reports)
      : on_(on), reports_(reports), races_(reports) {}

  // What happens to buffers outside of launches.
  void allocated(const Buffer& buffer, const std::string& label);
  void released(const Buffer& buffer);
  void host_wrote(const Buffer& buffer, std::size_t offset, std::size_t bytes);
  void described(const Buffer& buffer, const BufferUse& use);

  void begin_launch(const Program& program, const Dim3& grid);
  void end_launch();
  // at[lane]: addresses, each inside an allocation or (code, arguments, LDS, scratch) not one of a
  // buffer. `data_row`: of a store, the first vector register of its data, else -1. Returns the
  // lanes of a load that read what nobody wrote. A store of such data is a mistake where it
  // happens (register_checks); what it stores is not one once more.
  u64 access(const Wave& w, const Inst& in, const u64* at, const Access& access, int data_row);
  // Of the last access with such lanes: those of its dwords.
  u64 undefined_dword(int dword) const {
    return undefined_dwords_[static_cast<std::size_t>(dword)];
  }
  // An access that is in no allocation.
  void outside(const Wave& w, const Inst& in, int lane, u64 address, int bytes);

 private:
  TrackedBuffer* find(const Wave& w, u64 address, bool writes);
  u64 check(TrackedBuffer& buffer, const Wave& w, const Inst& in, const u64* at, Access access,
            int data_row);
  void report_outside(const TrackedBuffer& buffer, const Wave& w, const Inst& in, const u64* at,
                      const Access& access, u64 lanes);
  void report_guarded(const TrackedBuffer& buffer, const Wave& w, const Inst& in, const u64* at,
                      const Access& access);
  u64 look_for_unwritten(TrackedBuffer& buffer, const Wave& w, const Inst& in, const u64* at,
                         const Access& access);

  const CheckSet& on_;
  Reports& reports_;
  GlobalRaces races_;
  TrackedBuffers buffers_;
  TrackedBuffers adopted_;               // code objects' variables that this launch writes
  std::vector<TrackedBuffer*> last_of_;  // [instruction] the buffer it accessed last
  std::array<u64, 16> undefined_dwords_{};
};

}  // namespace attest::emulator
