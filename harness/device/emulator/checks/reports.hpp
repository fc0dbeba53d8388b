// What the checks found in the launches of a device, one report a mistake.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/core/check_report.hpp"
#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

// One wave's (or a lane's) instruction, kept small so that shadow memory can hold the other party
// of a conflict.
struct Party {
  u32 workgroup = 0;  // linear
  u32 inst = 0;       // index in the program
  std::int16_t wave = -1, lane = -1;
};

class Reports {
 public:
  // `lane` -1: not of one lane. `what` is called the first time only.
  void add(Check check, const Wave& w, const Inst& in, int lane,
           const std::function<std::string()>& what, std::string other = {}, bool benign = false);
  // Of two parties, either of which may be the one that runs.
  void add(Check check, const Program& program, const Dim3& grid, const Party& at,
           const std::function<std::string()>& what, const Party& against, bool benign);
  // As text: "wave 1, lane 2 of workgroup (3, 0, 0), a.hip:31:30: ds_write_b128 ...".
  static std::string party_text(const Program& program, const Dim3& grid, const Party& party);

  // Reports of one check, kernel and source line are one. In order of their first time. Empties it.
  std::vector<CheckReport> take();

 private:
  struct Key {
    const Program* program;
    u32 inst;
    Check check;
    bool benign;
    auto operator<=>(const Key&) const = default;
  };
  CheckReport* first_time(const Program& program, u32 inst, Check check, bool benign);

  struct Entry {
    CheckReport report;
    std::size_t order = 0;
  };
  std::map<Key, Entry> found_;
};

}  // namespace attest::emulator
