#include "harness/device/emulator/checks/xcd_caches.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attest::emulator {
namespace {

int xcd_of(const Wave& w) { return static_cast<int>(w.group->linear % kXcds); }

std::string_view why(Stale::Why why) {
  switch (why) {
    case Stale::Why::kNotWrittenBack:
      return "is in the L2 of that XCD alone: no release at agent scope since";
    case Stale::Why::kOverwritten:
      return "was replaced in memory by an older one, which another XCD wrote back later: no "
             "release at agent scope after that one";
    case Stale::Why::kCachedBefore:
      return "is in memory, but the reader's L2 has the line from before: no acquire at agent "
             "scope "
             "since";
    case Stale::Why::kOwnStore:
      return "is hidden by an older store of the reader's XCD, which its L2 still has: no release "
             "at agent scope after that one";
  }
  return {};
}

}  // namespace

std::vector<XcdCaches::Known>::iterator XcdCaches::at_or_after(u64 address) {
  return std::lower_bound(buffers_.begin(), buffers_.end(), address,
                          [](const Known& k, u64 a) { return k.buffer.address < a; });
}

void XcdCaches::allocated(const Buffer& buffer, const std::string& label) {
  buffers_.insert(at_or_after(buffer.address), Known{buffer, label, false, nullptr});
}
void XcdCaches::released(const Buffer& buffer) {
  const auto at = at_or_after(buffer.address);
  if (at != buffers_.end() && at->buffer.address == buffer.address) buffers_.erase(at);
}
void XcdCaches::described(const Buffer& buffer, const BufferUse& use) {
  const auto at = at_or_after(buffer.address);
  if (at != buffers_.end() && at->buffer.address == buffer.address) at->read_only = use.read_only;
}

void XcdCaches::begin_launch(const Program& program, const Dim3& grid) {
  const bool has_xcds = program.object && program.object->target() == "gfx942";
  program_ = has_xcds ? &program : nullptr;
  if (!has_xcds) return;
  grid_ = grid;
  spans_.assign(program.insts.size(), {});
  stores_.clear();
}
void XcdCaches::end_launch() {
  for (Known& known : buffers_) {
    if (known.cached) known.cached->end_launch();
  }
  program_ = nullptr;
}

// What lies at an address: a buffer, or all between two of them.
XcdCaches::Span XcdCaches::span_at(u64 address) {
  const auto next = at_or_after(address + 1);
  Span span{0, next == buffers_.end() ? ~u64{0} : next->buffer.address, nullptr};
  if (next == buffers_.begin()) return span;
  Known& known = *(next - 1);
  const u64 end = known.buffer.address + known.buffer.bytes;
  span.begin = address < end ? known.buffer.address : end;
  if (address >= end) return span;
  span.end = end;
  if (known.read_only) return span;
  if (!known.cached) known.cached = std::make_unique<CachedBuffer>(known.buffer);
  span.known = &known;
  return span;
}

bool XcdCaches::covers(const Span& span, const u64* at, const Access& access) {
  const u64 bytes = static_cast<u64>(access.bytes);
  u64 outside = 0;
  for (int l = 0; l < kLanes && (l == 0 || !access.scalar); ++l) {
    outside |= u64{at[l] < span.begin || at[l] + bytes > span.end} << l;
  }
  return (outside & access.lanes) == 0;
}

u64 XcdCaches::touch(CachedBuffer& cached, const Wave& w, const Inst& in, u64 offset,
                     const Access& access, Stale* stale) {
  const int xcd = xcd_of(w);
  const auto store = static_cast<u32>(stores_.size());
  switch (access.kind) {
    case AccessKind::kLoad:
      return in.sc1 ? cached.load_coherent(xcd, offset, access.bytes, stale)
                    : cached.load(xcd, offset, access.bytes, stale);
    case AccessKind::kStore:
      return in.sc1 ? cached.store_coherent(xcd, offset, access.bytes, store)
                    : cached.store(xcd, offset, access.bytes, store);
    case AccessKind::kAtomic:
      return cached.atomic(xcd, offset, access.bytes, store, stale);
  }
  return 0;  // there is no other kind
}

void XcdCaches::translate(const Wave& w, const Inst& in, u64* at, const Access& access) {
  if (!program_ || access.lanes == 0) return;
  Span& span = spans_[in.index];
  bool one = covers(span, at, access);
  if (!one) {
    span = span_at(at[std::countr_zero(access.lanes)]);
    one = covers(span, at, access);
  }
  if (one && !span.known) return;
  const bool plain = access.kind == AccessKind::kLoad && !in.sc1;
  Found first[2];  // of the stale loads, and of those whose value is right
  for (u64 lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    if (!one && (at[l] < span.begin || at[l] >= span.end)) span = span_at(at[l]);
    if (!span.known) continue;
    const u64 offset = at[l] - span.known->buffer.address;
    if (plain && span.known->cached->is_plain(xcd_of(w), offset, access.bytes)) continue;
    Stale stale;
    at[l] = touch(*span.known->cached, w, in, offset, access, &stale);
    if (Found& f = first[stale.same_value]; stale.found && !f.known) f = {span.known, l, stale};
  }
  if (access.kind != AccessKind::kLoad) {
    stores_.push_back({w.group->linear, in.index, static_cast<std::int16_t>(w.id), -1});
  }
  for (const Found& f : first) {
    if (f.known) report(w, in, f);
  }
}

void XcdCaches::report(const Wave& w, const Inst& in, const Found& found) {
  const Stale& stale = found.stale;
  const auto what = [&] {
    return fmt::format(
        "XCD {} gets an old value of byte {} of {}: the last store there, on XCD {}, {}", xcd_of(w),
        stale.offset, found.known->label, stale.xcd, why(stale.why));
  };
  reports_.add(Check::kVisibility, w, in, found.lane, what,
               Reports::party_text(*program_, grid_, stores_[stale.store]), stale.same_value);
}

void XcdCaches::cache_control(const Wave& w, const Inst& in) {
  if (!program_ || !in.sc1) return;
  const bool release = program_->text[in.index].starts_with("buffer_wbl2");
  for (Known& known : buffers_) {
    if (!known.cached || known.read_only) continue;
    if (release) known.cached->write_back(xcd_of(w));
    if (!release) known.cached->invalidate(xcd_of(w));
  }
}

}  // namespace attest::emulator
