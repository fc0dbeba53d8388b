#include "harness/device/emulator/checks/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace attest::emulator {
namespace {

std::string place_of(const Program& program, u32 inst) {
  const u32 pc = program.insts[inst].pc;
  return program.object ? program.object->source_line(pc) : fmt::format("pc {:#x}", pc);
}

std::string who(const Dim3& group, int wave, int lane) {
  std::string text =
      fmt::format("workgroup ({}, {}, {}), wave {}", group.x, group.y, group.z, wave);
  if (lane >= 0) text += fmt::format(", lane {}", lane);
  return text;
}

Dim3 id_of(const Dim3& grid, u32 workgroup) {
  return {workgroup % grid.x, workgroup / grid.x % grid.y, workgroup / grid.x / grid.y};
}

// "a.hip:38:19 < b.hip:3:1 < c.hip:9:2" as "a.hip:38 < b.hip:3": two instructions of one line are
// one mistake, but not two calls of one inlined helper. A pc stays.
std::string line_of(std::string_view place) {
  std::string line;
  for (int frame = 0; frame < 2 && !place.empty(); ++frame) {
    const std::size_t end = std::min(place.find(" < "), place.size());
    const std::string_view first = place.substr(0, end);
    line += first.substr(0, std::min(first.rfind(':'), first.size()));
    place.remove_prefix(std::min(end + 3, place.size()));
  }
  return line;
}

}  // namespace

std::string Reports::party_text(const Program& program, const Dim3& grid, const Party& party) {
  const Dim3 group = id_of(grid, party.workgroup);
  std::string text;
  if (party.wave >= 0) text += fmt::format("wave {}", party.wave);
  if (party.lane >= 0) text += fmt::format(", lane {}", party.lane);
  return fmt::format("{}{}workgroup ({}, {}, {}) at {}: {}", text, text.empty() ? "" : " of ",
                     group.x, group.y, group.z, place_of(program, party.inst),
                     program.text[party.inst]);
}

// The report to fill, or null when it is there.
CheckReport* Reports::first_time(const Program& program, u32 inst, Check check, bool benign) {
  auto [at, first] = found_.try_emplace({&program, inst, check, benign});
  CheckReport& report = at->second.report;
  ++report.times;
  if (!first) return nullptr;
  at->second.order = found_.size();
  report.check = check;
  report.kernel = program.kernel.name;
  report.place = place_of(program, inst);
  report.instruction = program.text[inst];
  report.benign = benign;
  return &report;
}

void Reports::add(Check check, const Wave& w, const Inst& in, int lane,
                  const std::function<std::string()>& what, std::string other, bool benign) {
  CheckReport* const report = first_time(*w.program, in.index, check, benign);
  if (!report) return;
  report->what = what();
  report->who = who(w.group->id, w.id, lane);
  report->other = std::move(other);
}

void Reports::add(Check check, const Program& program, const Dim3& grid, const Party& at,
                  const std::function<std::string()>& what, const Party& against, bool benign) {
  CheckReport* const report = first_time(program, at.inst, check, benign);
  if (!report) return;
  report->what = what();
  report->who = who(id_of(grid, at.workgroup), at.wave, at.lane);
  report->other = party_text(program, grid, against);
}

std::vector<CheckReport> Reports::take() {
  std::vector<Entry> entries;
  for (auto& [key, entry] : found_) entries.push_back(std::move(entry));
  found_.clear();
  // What nobody wrote is often what a race or a missing wait left: the cause comes first.
  const auto rank = [](const Entry& e) {
    return std::pair{e.report.check == Check::kUninitialised, e.order};
  };
  std::sort(entries.begin(), entries.end(),
            [&](const Entry& a, const Entry& b) { return rank(a) < rank(b); });
  std::vector<CheckReport> merged;
  for (Entry& entry : entries) {
    CheckReport& report = entry.report;
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const CheckReport& m) {
      return m.check == report.check && m.kernel == report.kernel && m.benign == report.benign &&
             line_of(m.place) == line_of(report.place);
    });
    if (same == merged.end()) {
      merged.push_back(std::move(report));
    } else {
      same->times += report.times;
    }
  }
  return merged;
}

}  // namespace attest::emulator
