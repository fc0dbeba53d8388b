// Wait states that the ISA demands of software between two instructions.
#pragma once
#include <map>

#include "harness/device/emulator/checks/hazard_rules.hpp"
#include "harness/device/emulator/checks/reports.hpp"

namespace attest::emulator {

class HazardChecks {
 public:
  explicit HazardChecks(Reports& reports) : reports_(reports) {}

  void begin_launch(const Program& program, const ProgramUses& uses, int waves);
  void begin_wave(const Wave& w) { states_[w.shadow] = {}; }
  void before(const Wave& w, const Inst& in) {
    const HazardTraits& t = (*traits_)[in.index];
    State& s = states_[w.shadow];
    if (t.wants & s.history) look_back(w, in, t, s);
    if (s.clock < s.matrix_until && t.near_matrix &&
        (*uses_)[in.index].touched.meets(s.matrix_rows, s.older_rows))
      look_at_matrices(w, in, t, s);
    s.history = t.states < kHistory ? s.history << kProducerBits * t.states | t.first : 0;
    if (t.first) s.recent.push(in.index, s.clock);
    if (t.matrix) push_matrix(in, s);
    s.clock += t.states;
  }

 private:
  // The longest distance of a rule between MFMAs, or of one and another instruction.
  static constexpr u32 kMatrixStates = 19;
  // The last instructions of some kind: more than fit in the longest distance.
  struct Ring {
    static constexpr u32 kEntries = 32;
    struct Entry {
      u32 inst, clock;
    };
    std::array<Entry, kEntries> entries;
    u32 count = 0;
    void push(u32 inst, u32 clock) { entries[count++ % kEntries] = {inst, clock}; }
    u32 size() const { return count < kEntries ? count : kEntries; }
    const Entry& last(u32 back) const { return entries[(count - 1 - back) % kEntries]; }
  };
  struct State {
    u32 clock = 0, matrix_until = 0;
    u64 history = 0;  // Producer bits of the last states, the latest lowest
    // Rows that MFMAs write or take as C: those since the last change of generation, which last as
    // long as the longest rule, and those of the generation before.
    RowSet matrix_rows, older_rows;
    u32 generation_until = 0;
    Ring recent, matrices;
  };

  void push_matrix(const Inst& in, State& s);
  void look_back(const Wave& w, const Inst& in, const HazardTraits& t, const State& s);
  void look_at_matrices(const Wave& w, const Inst& in, const HazardTraits& t, const State& s);
  struct Pair {
    const Wave& w;
    const Inst& in;
    u32 first;  // the earlier instruction
    int between, needed;
    bool listed_only = false;
  };
  void report(const Pair& pair, std::string_view rule, std::optional<int> row);

  Reports& reports_;
  const ProgramUses* uses_ = nullptr;
  std::map<const Program*, std::vector<HazardTraits>> all_traits_;
  const std::vector<HazardTraits>* traits_ = nullptr;  // [instruction]
  std::vector<State> states_;
  bool gfx90a_ = false;
};

}  // namespace attest::emulator
