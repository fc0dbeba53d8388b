#include "harness/device/emulator/checks/barrier_checks.hpp"

#include <fmt/format.h>

#include <bit>

namespace attest::emulator {

void BarrierChecks::begin_launch(const Program& program, const Dim3& grid, int groups,
                                 int waves_of_group) {
  program_ = &program;
  grid_ = grid;
  posts_.assign(static_cast<std::size_t>(groups),
                std::vector<Post>(static_cast<std::size_t>(waves_of_group)));
}

void BarrierChecks::begin_workgroup(const Workgroup&,
                                    std::span<const std::unique_ptr<Wave>> waves) {
  for (const auto& w : waves) post(*w) = {.wave = w.get(), .exec = w->exec()};
}

void BarrierChecks::at_barrier(const Wave& w, const Inst& in) {
  Post& mine = post(w);
  mine.waits = &in;
  const u64 missing = mine.exec & ~w.exec();
  if (missing == 0) return;
  const int lane = std::countr_zero(missing);
  reports_.add(
      Check::kBarrier, w, in, lane,
      [&] {
        return fmt::format(
            "{} of the wave's {} lanes do not come to this barrier: they are switched "
            "off, lane {} first",
            std::popcount(missing), std::popcount(mine.exec), lane);
      },
      {}, !program_->has_lines);
}

void BarrierChecks::wave_ended(const Wave& w, const Inst& in) { post(w).ended = &in; }

// A compiler may have made two instructions of one in the source.
bool BarrierChecks::same_barrier(const Inst& a, const Inst& b) const {
  if (a.index == b.index) return true;
  return program_->object &&
         program_->object->source_line(a.pc) == program_->object->source_line(b.pc);
}

void BarrierChecks::report(const Post& at, const Post& other, const Inst& other_inst,
                           const char* does) {
  const auto what = [&] {
    return fmt::format("wave {} waits at this barrier, wave {} {}", at.wave->id, other.wave->id,
                       does);
  };
  const auto party = [](const Wave& w, const Inst& in) {
    return Party{
        .workgroup = w.group->linear, .inst = in.index, .wave = static_cast<std::int16_t>(w.id)};
  };
  reports_.add(Check::kBarrier, *program_, grid_, party(*at.wave, *at.waits), what,
               party(*other.wave, other_inst), !program_->has_lines);
}

void BarrierChecks::released(const Workgroup& group) {
  std::vector<Post>& posts = posts_[static_cast<std::size_t>(group.slot)];
  const Post *first = nullptr, *ended = nullptr;  // first: of those that wait, by instruction
  for (const Post& p : posts) {
    if (p.waits && (!first || p.waits->index < first->waits->index)) first = &p;
    if (p.ended && !ended) ended = &p;
  }
  if (!first) return;
  for (const Post& p : posts) {
    if (p.waits && !same_barrier(*p.waits, *first->waits))
      report(p, *first, *first->waits, "at another");
  }
  if (ended) report(*first, *ended, *ended->ended, "has ended and does not come");
  for (Post& p : posts) p.waits = nullptr;
}

}  // namespace attest::emulator
