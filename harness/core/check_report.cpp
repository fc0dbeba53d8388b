#include "harness/core/check_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attest {
namespace {

struct Row {
  std::string_view name, statement;
};
constexpr std::array<Row, kChecks> kRows = {{
    {"bounds", "no access inside a buffer but outside the tensor that it holds"},
    {"uninitialised", "what nobody wrote reaches no address, branch or store"},
    {"lds_race",
     "between two waves' accesses to one LDS byte, one of them a write, lies a barrier"},
    {"global_race", "two workgroups' accesses to one byte, one of them a write, are ordered"},
    {"barrier", "all waves of a workgroup, and all lanes of a wave, come to the same barriers"},
    {"waits", "what a load or store is to deliver is waited for before it is used"},
    {"hazards", "between two instructions lie the wait states that the ISA demands"},
    {"use_after_free", "no access to a buffer that was released"},
    {"visibility", "what another chiplet wrote is read after its release and an acquire"},
}};

}  // namespace

std::string_view to_string(Check check) { return kRows[static_cast<int>(check)].name; }
std::string_view statement(Check check) { return kRows[static_cast<int>(check)].statement; }

Result<CheckSet> parse_checks(std::string_view text) {
  if (text == "all") return CheckSet::all();
  CheckSet checks;
  if (text == "none") return checks;
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, end);
    const auto row =
        std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.name == name; });
    if (row == kRows.end()) {
      return Trouble{TroubleKind::kUsage, fmt::format("'{}' is no check; there are: {}", name,
                                                      to_string(CheckSet::all()) + ", all, none")};
    }
    checks.add(static_cast<Check>(row - kRows.begin()));
    if (end == text.size()) return checks;
    text.remove_prefix(end + 1);
  }
}

std::string to_string(const CheckSet& checks) {
  std::string text;
  for (int i = 0; i < kChecks; ++i) {
    const auto check = static_cast<Check>(i);
    if (checks.has(check)) text += fmt::format("{}{}", text.empty() ? "" : ",", to_string(check));
  }
  return text.empty() ? "none" : text;
}

std::string to_string(const CheckReport& r) {
  std::string text = fmt::format("check {}: {}\n  at {}: {}\n  kernel {}, {}", to_string(r.check),
                                 r.what, r.place, r.instruction, r.kernel, r.who);
  if (!r.other.empty()) text += "\n  against " + r.other;
  if (r.times > 1) text += fmt::format("\n  {} times", r.times);
  if (r.benign) text += "\n  listed only: no failure";
  return text;
}

}  // namespace attest
