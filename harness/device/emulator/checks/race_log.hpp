// Who accessed what in a launch, and in which order workgroups are: vector clocks over workgroups,
// whose parts are kept once and named by a number, so that a shadow cell is small.
//
// A workgroup is one party, whichever of its waves acts. Its epoch grows with each release. A
// release and a later acquire of the same bytes order all that the one did before it ahead of what
// the other does after it. So do atomics without a fence: what a missing fence does is another
// check's affair (xcd_caches).
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "harness/device/emulator/checks/access.hpp"
#include "harness/device/emulator/checks/reports.hpp"

namespace attest::emulator {

struct Moment {
  u32 workgroup = 0, epoch = 0;
  bool operator==(const Moment&) const = default;
};
using Known = std::vector<Moment>;  // of each workgroup the latest that is known; sorted

enum class Atomic : u8 { kNo, kMaybe, kYes };

// What an instruction does to its bytes, seen from other workgroups.
struct Manner {
  AccessKind kind = AccessKind::kLoad;
  Atomic atomic = Atomic::kNo;
  bool acquires = false, releases = false;

  bool writes() const { return kind != AccessKind::kLoad; }
  // Two accesses that need no order.
  bool atomic_with(const Manner& other) const {
    return atomic != Atomic::kNo && other.atomic != Atomic::kNo &&
           (atomic == Atomic::kYes || other.atomic == Atomic::kYes);
  }
  bool operator==(const Manner&) const = default;
};
Manner manner_of(const Inst& in, const Access& access, bool gfx90a);

// An instruction of a workgroup in one of its epochs.
struct AccessRecord {
  Moment moment;
  u32 inst = 0;
  std::int16_t wave = 0;
  Manner manner;
  std::shared_ptr<const Known> known;  // of a release: what it passes on beside its moment
};

// Where a workgroup stands.
struct Standing {
  u32 workgroup = ~u32{0};
  u32 epoch = 1;
  std::shared_ptr<const Known> known;
  bool released = false;  // its epoch: what it does next is in a new one

  Moment now() const { return {workgroup, epoch}; }
  bool after(const Moment& moment) const;
};

class RaceLog {
 public:
  using Number = u32;  // of a record or of a set of readers; 0: none
  static constexpr Number kNumbers = Number{1} << 28;

  void begin_launch(std::size_t instructions);
  // Numbers of earlier launches mean nothing. True when there are no more for a launch: cells must
  // be cleared, and reset() called.
  bool nearly_full() const { return next_record() > kNumbers / 2 || next_set() > kNumbers / 2; }
  void reset();
  // Of this launch: so much happened that the log takes no more.
  bool overflowed() const { return records_.size() > kMost || sets_.size() > kMost; }

  Standing& standing(const Workgroup& group);

  // A release also ends the epoch. A loop that does nothing but poll makes one record.
  Number record(const Wave& w, const Inst& in, Standing& me, const Manner& manner);
  bool live(Number record) const { return record >= first_record_; }
  const AccessRecord& at(Number record) const { return records_[record - first_record_]; }
  // What `from` knew when it released.
  static void acquire(Standing& me, const AccessRecord& from);

  // Sets of readers. `with` leaves out those that `me` comes after: who is ordered behind `me` is
  // behind them too.
  bool live_set(Number set) const { return set >= first_set_; }
  Number with(Number set, const Standing& me, Number record);
  bool single(Number set) const { return node(set).rest == 0; }
  // The first record of the set that `unordered` holds for, or 0.
  template <class Predicate>
  Number find(Number set, Predicate unordered) const {
    for (Number at = set; at != 0; at = node(at).rest) {
      if (unordered(this->at(node(at).record))) return node(at).record;
    }
    return 0;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 24;

  struct Node {
    Number record = 0, rest = 0;
  };
  struct Key {
    Number set, record;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      return (u64{k.set} << 32 | k.record) * 0x9e3779b97f4a7c15 >> 20;
    }
  };
  Number next_record() const { return first_record_ + static_cast<Number>(records_.size()); }
  Number next_set() const { return first_set_ + static_cast<Number>(sets_.size()); }
  const Node& node(Number set) const { return sets_[set - first_set_]; }
  Number add_node(Number record, Number rest);
  Number make_set(Number set, const Standing& me, Number record);

  std::vector<AccessRecord> records_;
  std::vector<Node> sets_;
  Number first_record_ = 1, first_set_ = 1;
  std::vector<Standing> standings_;  // [slot]
  std::vector<Number> last_of_;      // [instruction] the record it made last
  std::unordered_map<Key, Number, Hash> joined_;
  Key last_key_{};
  Number last_joined_ = 0;
};

}  // namespace attest::emulator
