// Barriers that waves of a workgroup, or lanes of a wave, do not all come to. The hardware counts
// waves, whatever instruction they wait at and whatever their EXEC; HIP's __syncthreads() demands
// that all threads come to the same one. Code without a line table was not made from HIP, as far as
// can be seen, and waves with parts of their own are the craft of hand-written kernels: listed only.
// Source: MI300 ISA, 4.4 "Work-groups" (ended waves no longer count); HIP, "Synchronization
// functions".
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "harness/device/emulator/checks/reports.hpp"

namespace attest::emulator {

class BarrierChecks {
 public:
  explicit BarrierChecks(Reports& reports) : reports_(reports) {}

  void begin_launch(const Program& program, const Dim3& grid, int groups, int waves_of_group);
  void begin_workgroup(const Workgroup& group, std::span<const std::unique_ptr<Wave>> waves);
  void at_barrier(const Wave& w, const Inst& in);  // before it waits
  void wave_ended(const Wave& w, const Inst& in);
  void released(const Workgroup& group);

 private:
  struct Post {
    const Wave* wave = nullptr;
    u64 exec = 0;                 // when it began
    const Inst* waits = nullptr;  // at this barrier
    const Inst* ended = nullptr;  // here
  };
  Post& post(const Wave& w) {
    return posts_[static_cast<std::size_t>(w.group->slot)][static_cast<std::size_t>(w.id)];
  }
  bool same_barrier(const Inst& a, const Inst& b) const;
  void report(const Post& at, const Post& other, const Inst& other_inst, const char* does);

  Reports& reports_;
  const Program* program_ = nullptr;
  Dim3 grid_;
  std::vector<std::vector<Post>> posts_;  // [slot][wave]
};

}  // namespace attest::emulator
