#include "harness/device/emulator/checks/pending_loads.hpp"

#include <algorithm>

namespace attest::emulator {

void PendingLoads::reset() {
  rows.clear();
  issued_ = done_ = {};
}

Queue PendingLoads::queue_of(const Uses& uses, bool flat_to_lds) const {
  if (uses.unit == Unit::kScalarMemory) return Queue::kScalar;
  return uses.unit == Unit::kLds || flat_to_lds ? Queue::kLds : Queue::kMemory;
}

void PendingLoads::issue(u32 inst, const Uses& uses, bool flat_to_lds) {
  const Queue own = queue_of(uses, flat_to_lds);
  push(own, inst, uses.writes > 0 ? &uses : nullptr);
  // Both counters count a flat access; its data come with one of them.
  if (uses.flat) push(own == Queue::kLds ? Queue::kMemory : Queue::kLds, inst, nullptr);
}

void PendingLoads::push(Queue q, u32 inst, const Uses* uses) {
  u32& issued = issued_[static_cast<int>(q)];
  if (issued - done(q) == kInFlight) complete(q, done(q) + 1);
  entries_[static_cast<int>(q)][issued % kInFlight] = {inst, uses};
  ++issued;
  if (!uses) return;
  for (const Span& span : uses->destinations()) {
    rows.add(span.row, span.count);
    for (int r = 0; r < span.count; ++r) owner_[span.row + r] = {q, issued};
  }
}

// A count of n leaves n operations of any kind. In the worst case all of them are of one queue.
void PendingLoads::wait(u8 vm, u8 lgkm) {
  if (vm < kInFlight) complete(Queue::kMemory, issued(Queue::kMemory) - vm);
  if (lgkm < kInFlight) complete(Queue::kLds, issued(Queue::kLds) - lgkm);
  if (lgkm == 0) complete(Queue::kScalar, issued(Queue::kScalar));
}

void PendingLoads::complete(Queue q, u32 up_to) {
  u32& done = done_[static_cast<int>(q)];
  if (static_cast<i32>(up_to - done) <= 0) return;
  while (done != up_to) {
    const Entry& entry = entries_[static_cast<int>(q)][done % kInFlight];
    ++done;
    if (!entry.uses) continue;
    for (const Span& span : entry.uses->destinations()) {
      for (int row = span.row; row < span.row + span.count; ++row) {
        if (owner_[row].queue == q && owner_[row].sequence == done) rows.remove(row);
      }
    }
  }
}

void PendingLoads::forget(const Span& span) {
  for (int row = span.row; row < span.row + span.count; ++row) rows.remove(row);
}

PendingLoads::Load PendingLoads::of(int row) const {
  const Owner& owner = owner_[row];
  const auto& entries = entries_[static_cast<int>(owner.queue)];
  return {entries[(owner.sequence - 1) % kInFlight].inst, owner.queue,
          issued(owner.queue) - owner.sequence};
}

}  // namespace attest::emulator
