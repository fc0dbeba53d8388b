// The L2 caches of an MI300X's eight chiplets (XCDs): each keeps what its workgroups read and wrote
// until a release writes it back and an acquire drops it. A value that is stale there is what a
// load gets.
#pragma once
#include "harness/core/device.hpp"
#include "harness/device/emulator/checks/access.hpp"
#include "harness/device/emulator/checks/reports.hpp"

namespace attest::emulator {

class XcdCaches {
 public:
  explicit XcdCaches(Reports& reports) : reports_(reports) {}

  void allocated(const Buffer& buffer);
  void released(const Buffer& buffer);
  void described(const Buffer& buffer,
                 const BufferUse& use);  // what a launch only reads needs no model

  void begin_launch(const Program& program, const Dim3& grid);
  void end_launch();  // all that was written is in memory, nothing is cached
  // Moves at[lane] to where the wave's XCD has these bytes; reports a load that is stale.
  void translate(const Wave& w, const Inst& in, u64* at, const Access& access);
  void cache_control(const Wave& w, const Inst& in);  // buffer_wbl2, buffer_inv

 private:
  [[maybe_unused]] Reports& reports_;
};

}  // namespace attest::emulator
