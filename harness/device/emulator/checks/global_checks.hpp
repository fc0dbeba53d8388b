// Global memory: tensors' extents, bytes that nobody wrote, and races between workgroups.
#pragma once
#include <span>
#include <vector>

#include "harness/core/device.hpp"
#include "harness/device/emulator/checks/access.hpp"
#include "harness/device/emulator/checks/reports.hpp"

namespace attest::emulator {

class GlobalChecks {
 public:
  GlobalChecks(const CheckSet& on, Reports& reports) : on_(on), reports_(reports) {}

  // What happens to buffers outside of launches.
  void allocated(const Buffer& buffer, const std::string& label);
  void released(const Buffer& buffer);
  void host_wrote(const Buffer& buffer, std::size_t offset, std::size_t bytes);
  void described(const Buffer& buffer, const BufferUse& use);

  void begin_launch(const Program& program, const Dim3& grid);
  void end_launch();
  // at[lane]: addresses, each inside an allocation or (code, arguments, LDS, scratch) not one of a
  // buffer. `undefined_data`: of a store, lanes whose data nobody wrote. Returns the lanes of a
  // load that read what nobody wrote.
  u64 access(const Wave& w, const Inst& in, const u64* at, const Access& access,
             u64 undefined_data);
  // buffer_wbl2, buffer_inv: the halves of a fence.
  void cache_control(const Wave& w, const Inst& in);
  // A text for an address that is in no allocation any more: of a released buffer; empty otherwise.
  std::string released_text(u64 address) const;

 private:
  [[maybe_unused]] const CheckSet& on_;
  [[maybe_unused]] Reports& reports_;
};

}  // namespace attest::emulator
