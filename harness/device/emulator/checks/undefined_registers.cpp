#include "harness/device/emulator/checks/undefined_registers.hpp"

namespace attest::emulator {
namespace {

constexpr u64 kAllBits = 0xffffffff;  // of a scalar register

bool is_scalar(int row) { return row >= kScalarRow; }

}  // namespace

void UndefinedRegisters::reset(const Wave& w) {
  rows.clear();
  lanes_.fill(0);
  origin_.fill(0);
  for (int row = 1; row < kScalarRow; ++row) set(row, w.exec(), 0);
  for (int reg = w.initial_sgprs; reg < kFlatScratch; ++reg) set(kScalarRow + reg, kAllBits, 0);
  for (int row : {kVccRow, kVccRow + 1, kM0Row}) set(row, kAllBits, 0);
  set(kSccRow, 1, 0);
}

void UndefinedRegisters::set(int row, u64 lanes, u32 origin) {
  lanes_[row] = lanes;
  origin_[row] = origin;
  if (lanes) {
    rows.add(row, 1);
  } else {
    rows.remove(row);
  }
}

u64 UndefinedRegisters::lanes_of(const Span& span, u64 exec, int* row) const {
  u64 lanes = 0;
  for (int r = span.count; r-- > 0;) {
    const u64 of_row = lanes_[span.row + r] & (is_scalar(span.row) ? kAllLanes : exec);
    if (of_row) *row = span.row + r;
    lanes |= of_row;
  }
  return lanes;
}

void UndefinedRegisters::load(const Wave& w, const Inst& in, const Uses& uses,
                              const LoadedDwords& undefined) {
  for (const Span& span : uses.destinations()) {
    for (int row = span.row; row < span.row + span.count; ++row) {
      const auto dword = static_cast<std::size_t>(row - span.row);
      const u64 loaded = dword < undefined.size() ? undefined[dword] : 0;
      if (is_scalar(row)) {
        set(row, loaded ? kAllBits : 0, in.index + 1);
      } else {
        const u64 stays = lanes_[row] & ~w.exec();
        set(row, stays | (loaded & w.exec()), loaded & w.exec() ? in.index + 1 : origin_[row]);
      }
    }
  }
}

}  // namespace attest::emulator
