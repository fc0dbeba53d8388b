#include "harness/detect_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/comparators.hpp"
#include "harness/machine.hpp"

namespace attest {
namespace {

using Cases = std::vector<const DetectCase*>;

std::size_t ours() { return all_comparators().size() - 1; }  // all of our gates together

std::vector<int> lengths_of(const Detection& detection) {
  std::set<int> lengths;
  for (const DetectCase& c : detection.cases) lengths.insert(c.length);
  return {lengths.begin(), lengths.end()};
}

std::vector<std::string> distributions_of(const Detection& detection) {
  std::vector<std::string> names;
  for (const DetectCase& c : detection.cases) {
    if (std::find(names.begin(), names.end(), c.distribution) == names.end()) {
      names.push_back(c.distribution);
    }
  }
  return names;
}

// Of one length; of one distribution, or of all when the name is empty.
Cases cases_of(const Detection& detection, int length, std::string_view distribution = {}) {
  Cases found;
  for (const DetectCase& c : detection.cases) {
    if (c.length == length && (distribution.empty() || c.distribution == distribution)) {
      found.push_back(&c);
    }
  }
  return found;
}

// Whether the defect changes anything in the case.
bool has_effect(const DetectCase& c, std::size_t defect) {
  const auto& cells = c.defects[defect];
  return std::any_of(cells.begin(), cells.end(),
                     [](Cell cell) { return cell == Cell::kMissed || cell == Cell::kCaught; });
}

bool any_has(const Cases& cases, std::size_t defect, std::size_t comparator, Cell cell) {
  return std::any_of(cases.begin(), cases.end(),
                     [&](const DetectCase* c) { return c->defects[defect][comparator] == cell; });
}

bool any_effect(const Cases& cases, std::size_t defect) {
  return std::any_of(cases.begin(), cases.end(),
                     [&](const DetectCase* c) { return has_effect(*c, defect); });
}

int effective(const Cases& cases) {
  int count = 0;
  for (std::size_t d = 0; d < planted_defects().size(); ++d) count += any_effect(cases, d) ? 1 : 0;
  return count;
}

// "17", of the defects with an effect; with F where the correct kernel is rejected in some case.
std::string missed_text(const Cases& cases, std::size_t comparator) {
  int missed = 0, false_alarms = 0, rules = 0;
  for (const DetectCase* c : cases) {
    false_alarms += c->correct[comparator] == Cell::kFalseAlarm ? 1 : 0;
    rules += c->correct[comparator] == Cell::kNoRule ? 0 : 1;
  }
  if (rules == 0) return " ";
  for (std::size_t d = 0; d < planted_defects().size(); ++d) {
    missed += any_effect(cases, d) && !any_has(cases, d, comparator, Cell::kCaught) ? 1 : 0;
  }
  if (false_alarms == static_cast<int>(cases.size())) return "F";
  return false_alarms > 0 ? fmt::format("{} (F in {})", missed, false_alarms)
                          : fmt::format("{}", missed);
}

std::string header(std::string_view first, std::string_view second) {
  std::string names = fmt::format("| {} | {} |", first, second), line = "|---|---:|";
  for (const Comparator& comparator : all_comparators()) {
    names += fmt::format(" {0}{1}{0} |", comparator.ours ? "**" : "", comparator.name);
    line += "---:|";
  }
  return names + "\n" + line + "\n";
}

std::string headline(const Detection& detection, std::string_view distribution) {
  std::string text = header("tokens", "defects with an effect");
  for (const int length : lengths_of(detection)) {
    const Cases cases = cases_of(detection, length, distribution);
    text += fmt::format("| {} | {} |", length, effective(cases));
    for (std::size_t k = 0; k < all_comparators().size(); ++k) {
      text += fmt::format(" {} |", missed_text(cases, k));
    }
    text += "\n";
  }
  return text;
}

// Names of the distributions that show a defect to our gates.
std::vector<std::string> shown_by(const Cases& cases, std::size_t defect) {
  std::vector<std::string> names;
  for (const DetectCase* c : cases) {
    if (c->defects[defect][ours()] == Cell::kCaught) names.push_back(c->distribution);
  }
  return names;
}

std::string shown_text(const Cases& cases, std::size_t defect) {
  if (!any_effect(cases, defect)) return "-";
  const auto names = shown_by(cases, defect);
  const auto effects = std::count_if(cases.begin(), cases.end(),
                                     [&](const DetectCase* c) { return has_effect(*c, defect); });
  if (names.empty()) return fmt::format("**MISSED**, 0 of {}", effects);
  return fmt::format("{} of {}", names.size(), effects);
}

// Distributions that show the defect at every length where it has an effect on any.
std::vector<std::string> always_shown_by(const Detection& detection, std::size_t defect) {
  std::vector<std::string> names = distributions_of(detection);
  for (const int length : lengths_of(detection)) {
    const Cases cases = cases_of(detection, length);
    if (!any_effect(cases, defect)) continue;
    const auto here = shown_by(cases, defect);
    std::erase_if(names, [&](const std::string& name) {
      return std::find(here.begin(), here.end(), name) == here.end();
    });
  }
  return names;
}

bool has_any_effect(const Detection& detection, std::size_t defect) {
  return std::any_of(detection.cases.begin(), detection.cases.end(),
                     [&](const DetectCase& c) { return has_effect(c, defect); });
}

// "normal, needles", or "all but census" where that is shorter.
std::string names_text(const Detection& detection, const std::vector<std::string>& names) {
  if (names.empty()) return "no single one";
  const auto all = distributions_of(detection);
  if (names.size() == all.size()) return "any";
  if (2 * names.size() <= all.size()) return fmt::format("{}", fmt::join(names, ", "));
  std::vector<std::string> others;
  for (const std::string& name : all) {
    if (std::find(names.begin(), names.end(), name) == names.end()) others.push_back(name);
  }
  return fmt::format("all but {}", fmt::join(others, ", "));
}

std::string by_defect(const Detection& detection) {
  std::string text = "| defect |", line = "|---|";
  for (const int length : lengths_of(detection)) {
    text += fmt::format(" {} |", length);
    line += "---:|";
  }
  text += " seen at every length with |\n" + line + "---|\n";
  const auto defects = planted_defects();
  for (std::size_t d = 0; d < defects.size(); ++d) {
    text += fmt::format("| {} |", model::name_of(defects[d]));
    for (const int length : lengths_of(detection)) {
      text += fmt::format(" {} |", shown_text(cases_of(detection, length), d));
    }
    text += fmt::format(" {} |\n", has_any_effect(detection, d)
                                       ? names_text(detection, always_shown_by(detection, d))
                                       : "-");
  }
  return text;
}

std::string letters(const Detection& detection, std::string_view distribution,
                    std::size_t comparator, std::size_t defect, bool of_correct) {
  std::string text;
  for (const int length : lengths_of(detection)) {
    for (const DetectCase* c : cases_of(detection, length, distribution)) {
      const Cell cell = of_correct ? c->correct[comparator] : c->defects[defect][comparator];
      text += of_correct && cell == Cell::kNoEffect ? '+' : static_cast<char>(cell);
    }
  }
  return text;
}

std::string matrix(const Detection& detection, std::string_view distribution) {
  const auto defects = planted_defects();
  std::size_t width = 0;
  for (const model::Defect defect : defects) width = std::max(width, name_of(defect).size());
  std::string text = fmt::format("```\n{:{}}", "", width);
  for (const Comparator& comparator : all_comparators())
    text += fmt::format("  {:13}", comparator.name);
  text += fmt::format("\n{:{}}", "(the correct kernel)", width);
  for (std::size_t k = 0; k < all_comparators().size(); ++k) {
    text += fmt::format("  {:13}", letters(detection, distribution, k, 0, true));
  }
  for (std::size_t d = 0; d < defects.size(); ++d) {
    text += fmt::format("\n{:{}}", name_of(defects[d]), width);
    for (std::size_t k = 0; k < all_comparators().size(); ++k) {
      text += fmt::format("  {:13}", letters(detection, distribution, k, d, false));
    }
  }
  return text + "\n```\n";
}

std::string by_distribution(const Detection& detection) {
  std::string text = header("distribution", "defects with an effect");
  const int longest = lengths_of(detection).back();
  for (const std::string& name : distributions_of(detection)) {
    const Cases cases = cases_of(detection, longest, name);
    text += fmt::format("| {} | {} |", name, effective(cases));
    for (std::size_t k = 0; k < all_comparators().size(); ++k) {
      text += fmt::format(" {} |", missed_text(cases, k));
    }
    text += "\n";
  }
  return text;
}

// "- FlashMLA: periodic at 64, 256" for each check that rejects a correct kernel.
std::string false_alarms(const Detection& detection) {
  std::string text;
  for (std::size_t k = 0; k < all_comparators().size(); ++k) {
    std::vector<std::string> places;
    for (const std::string& name : distributions_of(detection)) {
      std::vector<int> lengths;
      for (const DetectCase& c : detection.cases) {
        if (c.distribution == name && c.correct[k] == Cell::kFalseAlarm)
          lengths.push_back(c.length);
      }
      if (!lengths.empty())
        places.push_back(fmt::format("{} at {}", name, fmt::join(lengths, ", ")));
    }
    if (places.empty()) continue;
    text += fmt::format("- {}: {}\n", all_comparators()[k].name, fmt::join(places, "; "));
  }
  return text.empty() ? "None.\n" : text;
}

std::string sources() {
  std::string text;
  for (const Comparator& comparator : all_comparators()) {
    text += fmt::format("- {}: {}\n", comparator.name, comparator.source);
  }
  return text;
}

std::string cuts(const Detection& detection) {
  std::vector<std::string> parts;
  for (const int length : lengths_of(detection)) {
    parts.push_back(fmt::format("{} in {}", length, splits_for(length)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string introduction(const Detection& detection, std::string_view command) {
  return fmt::format(
      "# Which check sees which defect\n\nMachine: {}. Command: `{}`.\n\n"
      "{} defects, each planted alone in a CPU model of the kernel `mla_decode` that keeps its "
      "contract otherwise "
      "(sequential FMA); {} distributions of inputs; 4 heads unless the command says more; tokens "
      "and splits: {}.\n"
      "A defect is missed when a check accepts it as it accepts the correct kernel. F: the check "
      "rejects the correct "
      "kernel (a false alarm). Empty: the check has no rule there. Bold: ours; what each check is "
      "stands at the end.\n"
      "Other checks are held against the exact result in fp64, rounded to bf16 where theirs is; "
      "they see `lse` where their tests compare it.\n\n",
      machine_text(), command, planted_defects().size(), distributions_of(detection).size(),
      cuts(detection));
}

}  // namespace

std::vector<std::string> detect_holes(const Detection& detection) {
  std::vector<std::string> holes;
  const auto defects = planted_defects();
  for (const int length : lengths_of(detection)) {
    const Cases cases = cases_of(detection, length);
    for (std::size_t d = 0; d < defects.size(); ++d) {
      if (any_effect(cases, d) && shown_by(cases, d).empty()) {
        holes.push_back(fmt::format("MISSED at {} tokens by every distribution: {}", length,
                                    model::name_of(defects[d])));
      }
    }
    for (const DetectCase* c : cases) {
      for (std::size_t k = 0; k < all_comparators().size(); ++k) {
        if (all_comparators()[k].ours && c->correct[k] == Cell::kFalseAlarm) {
          holes.push_back(fmt::format("FALSE ALARM of {} on {} at {} tokens",
                                      all_comparators()[k].name, c->distribution, length));
        }
      }
    }
  }
  return holes;
}

std::string detect_markdown(const Detection& detection, std::string_view command) {
  const std::string plain = distributions_of(detection).front();
  std::string text = introduction(detection, command);
  const auto section = [&](std::string_view title, std::string_view about, std::string_view body) {
    text += fmt::format("## {}\n\n{}{}{}\n", title, about, about.empty() ? "" : "\n\n", body);
  };
  section(fmt::format("Defects missed on `{}` data", plain), "", headline(detection, plain));
  section("Defects missed on the whole portfolio",
          "By every distribution together: what a check sees on one is enough.",
          headline(detection, {}));
  section("Where attest sees each defect",
          "How many of the distributions on which it changes the output at all. `-`: it changes "
          "nothing on any; so "
          "with an empty split where the kernel's rule leaves none empty.",
          by_defect(detection));
  section("Correct kernels rejected", "", false_alarms(detection));
  section(fmt::format("Defects missed by distribution, at {} tokens", lengths_of(detection).back()),
          "", by_distribution(detection));
  section(fmt::format("All cells of `{}` data", plain),
          "A letter a length, shortest first: `A` accepted and so missed, `.` caught, `-` no "
          "effect there, `F` false "
          "alarm, `+` the correct kernel is accepted.",
          matrix(detection, plain));
  section("The checks", "", sources());
  const auto holes = detect_holes(detection);
  if (!holes.empty()) section("Holes", "", fmt::format("- {}\n", fmt::join(holes, "\n- ")));
  text.pop_back();  // one end of line is enough
  return text;
}

std::string detect_json(const Detection& detection, std::string_view command) {
  nlohmann::ordered_json json = {{"command", command},
                                 {"machine", machine_text()},
                                 {"holes", detect_holes(detection)},
                                 {"comparators", nlohmann::ordered_json::array()},
                                 {"cases", nlohmann::ordered_json::array()}};
  for (const Comparator& comparator : all_comparators()) {
    json["comparators"].push_back(
        {{"name", comparator.name}, {"source", comparator.source}, {"ours", comparator.ours}});
  }
  const auto word = [](const std::vector<Cell>& cells) {
    std::string text;
    for (const Cell cell : cells) text += static_cast<char>(cell);
    return text;
  };
  const auto defects = planted_defects();
  for (const DetectCase& c : detection.cases) {
    nlohmann::ordered_json cells;
    for (std::size_t d = 0; d < defects.size(); ++d) {
      cells[std::string(model::name_of(defects[d]))] = word(c.defects[d]);
    }
    json["cases"].push_back({{"distribution", c.distribution},
                             {"tokens", c.length},
                             {"splits", c.num_splits},
                             {"correct", word(c.correct)},
                             {"defects", cells}});
  }
  return json.dump(1) + "\n";
}

}  // namespace attest
