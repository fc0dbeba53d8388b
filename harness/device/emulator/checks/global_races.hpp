// Races in global memory between the workgroups of one launch: accesses to one byte, one of them a
// write, not both atomic, that nothing orders. Found from who wrote and who read each byte last, so
// also where the schedule ran one workgroup after the other.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/emulator/checks/lazy_array.hpp"
#include "harness/device/emulator/checks/race_log.hpp"

namespace attest::emulator {

// Of a dword of memory. A number of the log in the low 28 bits, above them which of its bytes.
// Bytes that have different stories are apart: `write` is then the number of four more cells.
struct RaceCell {
  u32 write = 0, read = 0;
  u32 value = 0;  // that was stored
};
using RaceCells = LazyArray<RaceCell>;

class GlobalRaces {
 public:
  explicit GlobalRaces(Reports& reports) : reports_(reports) {}

  void begin_launch(const Program& program, const Dim3& grid);
  // Of launches before; true: clear all cells, then call reset().
  bool nearly_full() const;
  void reset();

  struct Place {
    const std::string& label;
    u64 begin;  // address of the cells' first dword, a multiple of 4
    RaceCells& cells;
  };
  // data_row: of a store.
  void access(const Wave& w, const Inst& in, const u64* at, const Access& access, int data_row,
              const Place& place);

 private:
  using Number = RaceLog::Number;
  struct Conflict {
    int lane;
    u64 byte;  // address
    Number other;
  };
  // The access that runs.
  struct Now {
    Standing* me;
    Number record;
    Manner manner;
    int lane = 0;
    std::optional<Conflict> race{}, benign{};
    // Of a load: words of whole cells, by which most others need no second look.
    u32 harmless = 0;      // `write` of one that does not race
    u32 from = 0, to = 0;  // what `read` of one became; from 0: it was not read
  };
  static Number number(u32 word) { return word & 0x0fffffff; }
  static u32 mask(u32 word) { return word >> 28; }
  bool written(const RaceCell& c) const { return mask(c.write) && log_.live(number(c.write)); }
  bool read(const RaceCell& c) const { return mask(c.read) && log_.live_set(number(c.read)); }
  bool is_split(const RaceCell& c) const { return !mask(c.write) && c.write >= first_split_; }

  void acquire(Standing& me, const RaceCell& cell, u32 bytes) const;
  void touch_dwords(Now& now, RaceCell* cells, int dwords, const u32* data, u64 address);
  void touch(Now& now, RaceCell& cell, u32 bytes, u32 value, u64 address);
  bool must_split(const Now& now, const RaceCell& cell, u32 bytes);
  void split(RaceCell& cell);
  void compare(Now& now, const RaceCell& cell, u32 bytes, u32 value, u64 address) const;
  void give_up(const Wave& w, const Inst& in);
  void report(const Wave& w, const Inst& in, const Place& place, const Manner& manner,
              const Conflict& conflict, bool benign);

  Reports& reports_;
  bool gave_up_ = false;  // in this launch
  RaceLog log_;
  const Program* program_ = nullptr;
  Dim3 grid_;
  bool gfx90a_ = false;
  std::vector<std::array<RaceCell, 4>> splits_;
  u32 first_split_ = 1;
};

}  // namespace attest::emulator
