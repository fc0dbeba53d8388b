#include "harness/device/emulator/checks/race_log.hpp"

#include <algorithm>

namespace attest::emulator {
namespace {

bool earlier(const Moment& a, const Moment& b) { return a.workgroup < b.workgroup; }

void learn(Known& known, const Moment& moment) {
  const auto at = std::lower_bound(known.begin(), known.end(), moment, earlier);
  if (at == known.end() || at->workgroup != moment.workgroup) {
    known.insert(at, moment);
  } else {
    at->epoch = std::max(at->epoch, moment.epoch);
  }
}

// Of each workgroup the later one.
Known joined(const Known& a, const Known& b) {
  Known out;
  out.reserve(a.size() + b.size());
  auto x = a.begin(), y = b.begin();
  while (x != a.end() || y != b.end()) {
    if (y == b.end() || (x != a.end() && x->workgroup < y->workgroup)) {
      out.push_back(*x++);
    } else if (x == a.end() || y->workgroup < x->workgroup) {
      out.push_back(*y++);
    } else {
      out.push_back(x->epoch > y->epoch ? *x : *y);
      ++x, ++y;
    }
  }
  return out;
}

}  // namespace

// Which bits of a load or store say that it is atomic, at a scope that other workgroups are in.
// Source: LLVM, AMDGPUUsage, "Memory Model GFX942": sc1 at agent scope, sc0 and sc1 at system scope
// (a volatile access, too), sc0 alone at workgroup scope; of an atomicrmw the bits do not tell the
// scopes up to agent apart. "Memory Model GFX90A": a load has glc; a store at agent scope has
// nothing that tells it from a plain one.
Manner manner_of(const Inst& in, const Access& access, bool gfx90a) {
  const bool fits = (access.bytes == 4 || access.bytes == 8) && !access.scalar;
  switch (access.kind) {
    case AccessKind::kAtomic:
      return {access.kind, Atomic::kYes, true, true};
    case AccessKind::kLoad: {
      const bool atomic = (gfx90a ? in.glc : in.sc1) && access.bytes <= 8 && !access.scalar;
      return {access.kind, atomic ? Atomic::kYes : Atomic::kNo, atomic, false};
    }
    case AccessKind::kStore:
      break;
  }
  if (gfx90a) return {access.kind, fits ? Atomic::kMaybe : Atomic::kNo, false, fits};
  const bool atomic = in.sc1 && access.bytes <= 8;
  return {access.kind, atomic ? Atomic::kYes : Atomic::kNo, false, atomic};
}

bool Standing::after(const Moment& moment) const {
  if (moment.workgroup == workgroup) return true;
  if (!known) return false;
  const auto at = std::lower_bound(known->begin(), known->end(), moment, earlier);
  return at != known->end() && at->workgroup == moment.workgroup && at->epoch >= moment.epoch;
}

void RaceLog::begin_launch(std::size_t instructions) {
  first_record_ = next_record();
  first_set_ = next_set();
  records_.clear();
  sets_.clear();
  standings_.clear();
  last_of_.assign(instructions, 0);
  joined_.clear();
  last_key_ = {};
}

void RaceLog::reset() {
  records_.clear();
  sets_.clear();
  first_record_ = first_set_ = 1;
}

Standing& RaceLog::standing(const Workgroup& group) {
  const auto slot = static_cast<std::size_t>(group.slot);
  if (slot >= standings_.size()) standings_.resize(slot + 1);
  Standing& s = standings_[slot];
  if (s.workgroup != group.linear) s = {.workgroup = group.linear, .known = {}};
  return s;
}

RaceLog::Number RaceLog::record(const Wave& w, const Inst& in, Standing& me, const Manner& manner) {
  const bool release = manner.releases;
  Number& last = last_of_[in.index];
  if (last != 0 && me.released == release) {
    const AccessRecord& r = at(last);
    if (r.moment == me.now() && r.wave == w.id && r.manner == manner &&
        (!release || r.known == me.known)) {
      return last;
    }
  }
  if (me.released) ++me.epoch;
  me.released = release;
  last = next_record();
  records_.push_back({.moment = me.now(),
                      .inst = in.index,
                      .wave = static_cast<std::int16_t>(w.id),
                      .manner = manner,
                      .known = release ? me.known : nullptr});
  return last;
}

void RaceLog::acquire(Standing& me, const AccessRecord& from) {
  // Who knows a moment of another learnt it from a release at or after it, and so knows what that
  // one brought.
  if (me.after(from.moment)) return;
  Known known = me.known && from.known ? joined(*me.known, *from.known)
                : me.known             ? *me.known
                : from.known           ? *from.known
                                       : Known{};
  learn(known, from.moment);
  me.known = std::make_shared<const Known>(std::move(known));
}

RaceLog::Number RaceLog::add_node(Number record, Number rest) {
  sets_.push_back({record, rest});
  return next_set() - 1;
}

RaceLog::Number RaceLog::with(Number set, const Standing& me, Number record) {
  const Key key{set, record};
  if (key == last_key_) return last_joined_;
  const auto [at, is_new] = joined_.try_emplace(key, 0);
  if (is_new) at->second = make_set(set, me, record);
  last_key_ = key;
  return last_joined_ = at->second;
}

RaceLog::Number RaceLog::make_set(Number set, const Standing& me, Number record) {
  const Manner mine = at(record).manner;
  std::vector<Number> kept;
  bool all = true;
  for (Number n = set; n != 0; n = node(n).rest) {
    const AccessRecord& r = at(node(n).record);
    if (r.moment == me.now() && r.manner == mine) return set;
    // An atomic write conflicts with a plain read, and not with an atomic one that came after it.
    const bool stays = !me.after(r.moment) || r.manner != mine;
    if (stays) kept.push_back(node(n).record);
    all &= stays;
  }
  if (all) return add_node(record, set);
  Number rest = 0;
  for (auto r = kept.rbegin(); r != kept.rend(); ++r) rest = add_node(*r, rest);
  return add_node(record, rest);
}

}  // namespace attest::emulator
