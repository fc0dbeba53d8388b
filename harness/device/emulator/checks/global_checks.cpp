#include "harness/device/emulator/checks/global_checks.hpp"

#include <fmt/format.h>

#include <bit>

namespace attest::emulator {
namespace {

const char* verb(const Access& access) {
  return access.kind == AccessKind::kLoad    ? "reads"
         : access.kind == AccessKind::kStore ? "writes"
                                             : "updates";
}

}  // namespace

void GlobalChecks::allocated(const Buffer& buffer, const std::string& label) {
  buffers_.add(buffer, label);
}
void GlobalChecks::released(const Buffer& buffer) {
  buffers_.remove(buffer);
  last_of_.clear();
}
void GlobalChecks::host_wrote(const Buffer& buffer, std::size_t offset, std::size_t bytes) {
  TrackedBuffer* const b = buffers_.at(buffer.address);
  if (!b || !on_.has(Check::kUninitialised)) return;
  b->written.write({offset, offset + bytes});
  b->described = true;
}
void GlobalChecks::described(const Buffer& buffer, const BufferUse& use) {
  if (TrackedBuffer* const b = buffers_.at(buffer.address)) b->describe(use);
}

void GlobalChecks::begin_launch(const Program& program, const Dim3& grid) {
  if (races_.nearly_full()) {
    buffers_.each([](TrackedBuffer& b) { b.cells = {}; });
    races_.reset();
  }
  races_.begin_launch(program, grid);
  buffers_.each([this](TrackedBuffer& b) { b.prepare(on_); });
  last_of_.assign(program.insts.size(), nullptr);
}
void GlobalChecks::end_launch() {
  adopted_ = {};
  last_of_.clear();
}

// Variables of a code object take part in races from when they are first written: with a counter
// there, workgroups hand over.
TrackedBuffer* GlobalChecks::find(const Wave& w, u64 address, bool writes) {
  if (TrackedBuffer* const b = buffers_.at(address)) return b;
  if (!on_.has(Check::kGlobalRace)) return nullptr;
  if (TrackedBuffer* const b = adopted_.at(address)) return b;
  const Allocation* const held = writes ? w.group->memory->find(address) : nullptr;
  if (!held) return nullptr;
  const u64 begin = held->begin / 4 * 4;  // cells are of aligned dwords
  TrackedBuffer& b = adopted_.add({begin, held->end - begin}, held->label);
  b.races = true;
  return &b;
}

u64 GlobalChecks::access(const Wave& w, const Inst& in, const u64* at, const Access& access,
                         int data_row) {
  const bool writes = access.kind != AccessKind::kLoad;
  u64 undefined = 0;
  undefined_dwords_ = {};
  TrackedBuffer*& last = last_of_[in.index];
  for (u64 left = access.lanes; left != 0;) {
    u64 inside = last ? last->lanes_inside(at, left) : 0;
    if (inside == 0) {
      last = find(w, at[std::countr_zero(left)], writes);
      inside = last ? last->lanes_inside(at, left) : left & -left;
    }
    left &= ~inside;
    if (!last || !last->watched(writes)) continue;
    Access part = access;
    part.lanes = inside;
    undefined |= check(*last, w, in, at, part, data_row);
  }
  return undefined;
}

u64 GlobalChecks::check(TrackedBuffer& buffer, const Wave& w, const Inst& in, const u64* at,
                        Access access, int data_row) {
  if (buffer.gaps) {
    if (const u64 lanes = buffer.outside_tensor(at, access)) {
      report_outside(buffer, w, in, at, access, lanes);
      access.lanes &= ~lanes;  // one mistake, one report
    }
  }
  if (access.lanes == 0) return 0;
  if (buffer.guarded && access.kind != AccessKind::kLoad) report_guarded(buffer, w, in, at, access);
  const u64 undefined = buffer.unwritten ? look_for_unwritten(buffer, w, in, at, access) : 0;
  if (buffer.races) {
    if (!buffer.cells) buffer.cells = RaceCells(buffer.bytes / 4 + 1);
    races_.access(w, in, at, access, data_row,
                  {.label = buffer.label, .begin = buffer.begin, .cells = buffer.cells});
  }
  return undefined;
}

void GlobalChecks::report_outside(const TrackedBuffer& buffer, const Wave& w, const Inst& in,
                                  const u64* at, const Access& access, u64 lanes) {
  const int lane = std::countr_zero(lanes);
  reports_.add(Check::kBounds, w, in, access.scalar ? -1 : lane, [&] {
    const std::size_t offset = at[lane] - buffer.begin;
    return fmt::format("{} {} bytes at {}+{}, not all of which are the tensor's ({})", verb(access),
                       access.bytes, buffer.label, offset, buffer.nearest_extent(offset));
  });
}

void GlobalChecks::report_guarded(const TrackedBuffer& buffer, const Wave& w, const Inst& in,
                                  const u64* at, const Access& access) {
  const int lane = std::countr_zero(access.lanes);
  reports_.add(Check::kBounds, w, in, lane, [&] {
    return fmt::format("{} {} bytes at {}+{}, an input, which the launch may only read",
                       verb(access), access.bytes, buffer.label, at[lane] - buffer.begin);
  });
}

u64 GlobalChecks::look_for_unwritten(TrackedBuffer& buffer, const Wave& w, const Inst& in,
                                     const u64* at, const Access& access) {
  u64 missing = 0;
  if (access.kind != AccessKind::kStore) missing = buffer.reads_unwritten(at, access);
  for (int dword = 0; missing != 0 && dword < (access.bytes + 3) / 4; ++dword) {
    Access part = access;
    part.lanes = missing;
    undefined_dwords_[static_cast<std::size_t>(dword)] |= buffer.dword_unwritten(at, part, dword);
  }
  if (access.kind == AccessKind::kLoad) return missing;
  buffer.written.write(at, access.lanes, buffer.begin, access.bytes);
  // What an atomic makes of it is in memory at once. A swap keeps nothing of it.
  const std::string& text = w.program->text[in.index];
  if (missing == 0 || text.find("_swap") != std::string::npos) return missing;
  const int lane = std::countr_zero(missing);
  reports_.add(Check::kUninitialised, w, in, lane, [&] {
    return fmt::format("updates {} bytes at {}+{}, which nobody wrote", access.bytes, buffer.label,
                       at[lane] - buffer.begin);
  });
  return 0;
}

void GlobalChecks::outside(const Wave& w, const Inst& in, int lane, u64 address, int bytes) {
  if (!on_.has(Check::kUseAfterFree)) return;
  const Allocation* const gone = w.group->memory->released(address);
  if (!gone) return;
  reports_.add(Check::kUseAfterFree, w, in, lane, [&] {
    return fmt::format("accesses {} bytes at {}+{}; that buffer was released", bytes, gone->label,
                       address - gone->begin);
  });
}

}  // namespace attest::emulator
