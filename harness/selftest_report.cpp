#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/selftest.hpp"

namespace attest {
namespace {

using SharesOf = Shares (CampaignResult::*)() const;

std::set<std::string> names_of(const std::vector<Trial>& trials, SharesOf shares) {
  std::set<std::string> names;
  for (const Trial& trial : trials) {
    for (const auto& [name, share] : (trial.result.*shares)()) names.insert(name);
  }
  return names;
}

std::string fate_of(const Trial& t) {
  if (!t.trouble.empty()) return "no verdict";
  if (t.is_absent) return "not in this build";
  if (t.is_benign) return t.killed ? "FALSE ALARM" : "passes";
  return t.killed ? fmt::format("{:.1f} s", t.found.seconds) : "SURVIVES";
}

// "3/7": failed of those that ran; a dot where none failed, nothing where none ran.
std::string cell_of(const Shares& shares, const std::string& name) {
  const auto found = shares.find(name);
  if (found == shares.end() || found->second.ran == 0) return "";
  const Share& share = found->second;
  return share.failed == 0 ? "." : fmt::format("{}/{}", share.failed, share.ran);
}

std::string header(const std::string& first, const std::set<std::string>& names) {
  std::string text = "| " + first + " |", rule = "|---|";
  for (const std::string& name : names) text += fmt::format(" {} |", name), rule += "---|";
  return text + "\n" + rule + "\n";
}

std::string matrix(const std::vector<Trial>& trials, SharesOf shares) {
  const std::set<std::string> names = names_of(trials, shares);
  std::string text = header("mutant", names);
  for (const Trial& trial : trials) {
    const Shares of_trial = (trial.result.*shares)();
    text += fmt::format("| {} |", trial.name);
    for (const std::string& name : names) text += fmt::format(" {} |", cell_of(of_trial, name));
    text += "\n";
  }
  return text;
}

// How many mutants each property killed on each distribution; a benign one counts nowhere.
std::string property_by_distribution(const std::vector<Trial>& trials) {
  const std::set<std::string> properties = names_of(trials, &CampaignResult::by_property);
  const std::set<std::string> distributions = names_of(trials, &CampaignResult::by_distribution);
  std::string text = header("property", distributions);
  for (const std::string& property : properties) {
    text += fmt::format("| {} |", property);
    for (const std::string& distribution : distributions) {
      const auto killed = std::count_if(trials.begin(), trials.end(), [&](const Trial& trial) {
        const auto found = trial.result.shares.find({property, distribution});
        return !trial.is_benign && found != trial.result.shares.end() && found->second.failed > 0;
      });
      text += killed == 0 ? " . |" : fmt::format(" {} |", killed);
    }
    text += "\n";
  }
  return text;
}

std::string shape_text(const Problem& p) {
  return fmt::format("b {}, h {}, s_kv {}", p.b(), p.h_q,
                     p.s_kv.empty() ? 0 : *std::max_element(p.s_kv.begin(), p.s_kv.end()));
}

std::string trials_table(const std::vector<Trial>& trials) {
  std::string text =
      "| mutant | class | recreates | first failure | cases until then | bucket | shrunk to | "
      "tries |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const Trial& t : trials) {
    text += fmt::format("| {} | {} | {} | {} |", t.name, t.bug_class,
                        t.recreates.empty() ? "-" : t.recreates, fate_of(t));
    if (t.killed) {
      text += fmt::format(" {} | {} | {} | {} |\n", t.found.index + 1, t.found.bucket,
                          shape_text(t.found.smallest.problem), t.found.tries);
    } else {
      text += fmt::format(" {} | | | |\n", t.result.cases);
    }
  }
  return text;
}

std::string named_list(const std::vector<Trial>& trials, bool (*wanted)(const Trial&)) {
  std::string text;
  for (const Trial& t : trials) {
    if (!wanted(t)) continue;
    text +=
        fmt::format("- {}: {}{}\n", t.name, t.defect, t.trouble.empty() ? "" : " - " + t.trouble);
  }
  return text.empty() ? "none\n" : text;
}

}  // namespace

std::string selftest_markdown(const std::vector<Trial>& trials, const SelftestOptions& options,
                              const std::string& command, const std::string& machine) {
  const SelftestSummary s = summary_of(trials);
  std::string text = fmt::format(
      "# Mutants of the kernels, and what the fuzzer makes of them\n\n"
      "`{}` on {}, device {}.\n\n"
      "{} of {} defects and cheats killed ({:.1f} %), {} of {} benign mutants called wrong; median "
      "time to "
      "kill {:.2f} s (the next mutant is built beside it, in {:.1f} s, and kept). Each mutant had "
      "{:.0f} s to be "
      "killed; one that failed went on to {} cases, for the matrix.\n\n",
      command, machine, options.common.device, s.killed, s.defects, 100 * s.score(), s.false_alarms,
      s.benign, s.median_kill_seconds, s.median_build_seconds, options.seconds, options.cases);
  text += fmt::format(
      "{} of {} were shrunk to b <= 2, h <= 16, s_kv <= 128; the longest shrink took {:.1f} s.\n\n",
      s.small, s.killed, s.longest_shrink_seconds);
  text += "## Survivors\n" + named_list(trials, [](const Trial& t) {
            return !t.killed && !t.is_benign && !t.is_absent && t.trouble.empty();
          });
  text += "\n## False alarms\n" +
          named_list(trials, [](const Trial& t) { return t.killed && t.is_benign; });
  text += "\n## Without a verdict\n" +
          named_list(trials, [](const Trial& t) { return !t.trouble.empty(); });
  text += "\n## Not in this build\nTheir edits are in what another target compiles.\n\n" +
          named_list(trials, [](const Trial& t) { return t.is_absent; });
  text += "\n## Shrunk to more\n" + named_list(trials, [](const Trial& t) {
            return t.killed && !t.is_benign && !is_small(t.found.smallest.problem);
          });
  text += "\n## Mutants\n" + trials_table(trials);
  text += "\n## Mutant x property\nFailed of ran; a dot: ran, none failed.\n\n" +
          matrix(trials, &CampaignResult::by_property);
  text += "\n## Property x data\nHow many mutants each property killed on each distribution.\n\n" +
          property_by_distribution(trials);
  text += "\n## Mutant x data\nLikewise by distribution.\n\n" +
          matrix(trials, &CampaignResult::by_distribution);
  return text;
}

}  // namespace attest
