// The L2 caches of an MI300X's eight chiplets (XCDs): each keeps what its workgroups read and wrote
// until a release writes it back and an acquire drops it. A value that is stale there is what a
// load gets.
// Source: LLVM, "User Guide for AMDGPU Backend", memory model gfx942: sc1 on a load or store is
// agent scope (with sc0: system scope), `buffer_wbl2 sc1` the release, `buffer_inv sc1` the acquire
// of that scope; an atomic has one encoding up to agent scope. Without sc1 they are of a workgroup,
// which is on one XCD. Workgroups go to the XCDs in turn (ROCm/composable_kernel#3652: "scheduled
// round-robin across XCDs"; kernels renumber their workgroups by it).
// Lines stay until an acquire drops them, dirty bytes until a release: a real cache may evict them
// earlier. What an access is told by at[lane] happens before the next one is told.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "harness/core/device.hpp"
#include "harness/device/emulator/checks/access.hpp"
#include "harness/device/emulator/checks/cached_buffer.hpp"
#include "harness/device/emulator/checks/reports.hpp"

namespace attest::emulator {

class XcdCaches {
 public:
  explicit XcdCaches(Reports& reports) : reports_(reports) {}

  void allocated(const Buffer& buffer, const std::string& label);
  void released(const Buffer& buffer);
  void described(const Buffer& buffer,
                 const BufferUse& use);  // what a launch only reads needs no model

  void begin_launch(const Program& program, const Dim3& grid);
  bool models_launch() const { return program_ != nullptr; }
  void end_launch();  // all that was written is in memory, nothing is cached
  // Moves at[lane] to where the wave's XCD has these bytes; reports a load that is stale.
  void translate(const Wave& w, const Inst& in, u64* at, const Access& access);
  void cache_control(const Wave& w, const Inst& in);  // buffer_wbl2, buffer_inv

 private:
  struct Known {
    Buffer buffer;
    std::string label;
    bool read_only = false;
    std::unique_ptr<CachedBuffer> cached;  // since the first access
  };
  struct Span {  // of addresses, none of them or all of them of one buffer
    u64 begin = 1, end = 0;
    Known* known = nullptr;  // with a model; null: memory as it is
  };

  struct Found {
    const Known* known = nullptr;
    int lane = -1;
    Stale stale;
  };

  std::vector<Known>::iterator at_or_after(u64 address);
  Span span_at(u64 address);
  static bool covers(const Span& span, const u64* at, const Access& access);
  u64 touch(CachedBuffer& cached, const Wave& w, const Inst& in, u64 offset, const Access& access,
            Stale* stale);
  void report(const Wave& w, const Inst& in, const Found& found);

  Reports& reports_;
  std::vector<Known> buffers_;        // sorted by address
  const Program* program_ = nullptr;  // null: its device has one L2
  Dim3 grid_;
  std::vector<Span> spans_;    // [instruction]: what it touched last
  std::vector<Party> stores_;  // of this launch; a CachedBuffer has the index
};

}  // namespace attest::emulator
