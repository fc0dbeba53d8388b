// Lanes of a wave's registers that hold what nobody wrote, and how they spread.
#pragma once
#include "harness/device/emulator/checks/uses.hpp"

namespace attest::emulator {

// How an instruction's results depend on its sources, where it is not "each lane on all sources of
// the lane".
enum class Spread : u8 {
  kLanes,
  kAnd,  // bit by bit, as the next ones; a bit with a known 0 is 0
  kAndNot,
  kOr,
  kOrNot,
  kXor,
  kNot,
  kMove,         // row by row
  kSelect,       // s_cselect
  kSelectLanes,  // v_cndmask
  kPacked,       // pairs of f32, half by half
  kCompare,      // a bit of the destination is a lane
  kReadLane,
  kReadFirstLane,
  kWriteLane,
  kSwap,
  kMatrix,
  kSwizzle,      // ds_swizzle_b32
  kPermute,      // ds_permute_b32
  kBackPermute,  // ds_bpermute_b32
  kDefined       // on no register's value
};
Spread spread_of(std::string_view text, const Uses& uses);

// Lanes of a load by the dword of its destination.
using LoadedDwords = std::array<u64, 16>;

// Of a vector register a bit is a lane, of a scalar one a bit of it, of SCC bit 0.
class UndefinedRegisters {
 public:
  RowSet rows;  // that have an undefined lane

  // What a launch leaves: s0 to s(initial - 1), v0 and EXEC hold values.
  void reset(const Wave& w);
  u64 lanes(int row) const { return lanes_[row]; }
  // The load that brought it, as its index + 1; 0: nobody wrote the register.
  u32 origin(int row) const { return origin_[row]; }
  void set(int row, u64 lanes, u32 origin);
  // Of the rows of `span`, in the lanes that count for it (`exec` of a vector register); the first
  // such row to `row`.
  u64 lanes_of(const Span& span, u64 exec, int* row) const;

  // Before an instruction of the arithmetic units, whose results become known or unknown.
  void spread(const Wave& w, const Inst& in, const Uses& uses, Spread how);
  // After a load that brought what nobody wrote to these lanes.
  void load(const Wave& w, const Inst& in, const Uses& uses, const LoadedDwords& undefined);

 private:
  std::array<u64, kRows> lanes_;
  std::array<u32, kRows> origin_;
};

}  // namespace attest::emulator
