// Bytes of LDS that may not be there yet: those that a load brings without a register, until its
// wave has waited for it (vmcnt), and those of a store that its wave did not wait for (lgkmcnt)
// before a barrier. Source: LLVM, "Memory Model gfx942": s_barrier waits for nothing by itself.
#pragma once
#include <array>
#include <vector>

#include "harness/device/emulator/checks/lds_shadow.hpp"
#include "harness/device/emulator/checks/reports.hpp"

namespace attest::emulator {

class RegisterChecks;

class LdsWaits {
 public:
  // `counts` knows what each wave has waited for.
  LdsWaits(Reports& reports, const RegisterChecks& counts) : reports_(reports), counts_(counts) {}

  void begin_launch(const Program& program, const Dim3& grid, int waves_of_group);
  void begin_workgroup();
  // A wave's latest stores are kept: as many as may be under way.
  void stored(const Wave& w, const Inst& in, const LdsLanes& lanes);
  void brings(const Wave& w, const Inst& in, const LdsLanes& lanes, LdsShadow& shadow);
  // Of a load some bytes of which are marked as late.
  void read(const Wave& w, const Inst& in, const LdsLanes& lanes, LdsShadow& shadow);
  void at_barrier(const Wave& w, LdsShadow& shadow);
  void barrier_released(LdsShadow& shadow);

 private:
  struct Write {
    const Wave* wave = nullptr;
    u32 inst = 0;
    u32 number = 0;        // in the order of vmcnt or lgkmcnt
    bool memory = false;   // vmcnt
    bool waited = false;   // at the barrier to which its wave came last
    bool crossed = false;  // a barrier, without having been waited for
    u64 lanes = 0;
    u32 bytes = 0, begin = 0, end = 0;
    std::array<u32, kLanes> at{};

    bool holds(u32 byte) const;
  };
  // lgkmcnt has 4 bits: an operation beyond 15 does not start before an earlier one is done.
  // Source: MI300 ISA, 4.4 "Data dependency resolution".
  // Of two addresses (ds_write2) it is two writes.
  static constexpr std::size_t kUnderWay = 32;
  struct Recent {
    std::array<Write, kUnderWay> writes;
    std::size_t count = 0;  // ever
  };

  static void fill(Write& write, const Wave& w, const Inst& in, const LdsLanes& lanes, u32 number);
  static void mark(const Write& write, LdsShadow& shadow, bool late);
  // Drops those late writes that `gone` holds for; bytes that others bring too stay late.
  template <class Predicate>
  void forget(LdsShadow& shadow, Predicate gone);
  bool done(const Write& write) const;
  void forget_the_done(LdsShadow& shadow);
  void report(const Wave& w, const Inst& in, int lane, u32 byte, const Write& write);

  Reports& reports_;
  const RegisterChecks& counts_;
  const Program* program_ = nullptr;
  Dim3 grid_;
  std::vector<Recent> stores_;  // [wave]
  std::vector<Write> late_;
};

}  // namespace attest::emulator
