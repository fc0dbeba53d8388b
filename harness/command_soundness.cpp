// soundness: the table of how near a correct kernel comes to each tier, and whether any run went
// beyond.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "harness/commands.hpp"
#include "harness/machine.hpp"
#include "harness/runner.hpp"
#include "harness/soundness.hpp"

namespace attest {
namespace {

struct Report {
  SoundnessOptions options;
  SoundnessTable table;
  double seconds = 0;
};

std::string command_of(const SoundnessOptions& o) {
  std::string text = fmt::format("attest soundness --runs {} --seed {}", o.runs, o.seed);
  if (o.first != 0) text += fmt::format(" --first {}", o.first);
  if (o.max_length != SoundnessOptions{}.max_length)
    text += fmt::format(" --max-length {}", o.max_length);
  return text;
}

// "0.83 / 0.83 / 0.48 / 0.68"; a dash where no run had the tier.
std::string cell(const std::array<double, kTiers>& largest) {
  std::string text;
  for (const double ratio : largest) {
    if (!text.empty()) text += " / ";
    text += ratio < 0 ? "-" : fmt::format("{:.3f}", ratio);
  }
  return text;
}

std::string row(const std::string& name, const SoundnessRatios& ratios) {
  std::string text = fmt::format("| {} | {} | {} |", name, ratios.runs, ratios.elements);
  for (const auto& largest : ratios.largest) text += fmt::format(" {} |", cell(largest));
  return text + "\n";
}

template <class Map, class Order>
std::string rows(const std::string& heading, const Map& by, const Order& order) {
  std::string text = fmt::format(
      "\n| {} | runs | elements | o before rounding | o stored | partial o | lse, partial lse |\n"
      "|---|---:|---:|---|---|---|---|\n",
      heading);
  for (const auto& key : order) {
    const auto found = by.find(typename Map::key_type(key));
    if (found != by.end()) text += row(fmt::format("{}", key), found->second);
  }
  return text;
}

std::string markdown(const Report& report) {
  const SoundnessTable& table = report.table;
  std::string text = fmt::format(
      "# No false alarms: kernel models against every tier\n\n"
      "Machine: {}. Command: `{}`. {:.0f} s.\n\n"
      "{} runs, {} elements, {} violations. Each entry is the largest error in units of its bound: "
      "T0 / T1 / T2 / "
      "T2p. Over 1 is a false alarm.\n",
      machine_text(), command_of(report.options), report.seconds, table.all.runs,
      table.all.elements, table.violations);
  text += rows("arithmetic", table.by_arithmetic, soundness_arithmetics());
  text += rows("L", table.by_length, soundness_lengths());
  std::vector<std::string> data;
  for (const auto& [name, ratios] : table.by_data) data.push_back(name);
  text += rows("data", table.by_data, data);
  text +=
      "\n" + fmt::format("Elements of which a tier promises nothing: {}.\n", table.all.unbounded);
  return text;
}

nlohmann::ordered_json as_json(const SoundnessRatios& ratios) {
  nlohmann::ordered_json json = {{"runs", ratios.runs}, {"elements", ratios.elements}};
  static constexpr const char* kKinds[] = {"o_before_rounding", "o", "partial_o", "lse"};
  for (int kind = 0; kind < kCheckedKinds; ++kind) {
    for (int tier = 0; tier < kTiers; ++tier) {
      const double ratio = ratios.largest[kind][tier];
      if (ratio >= 0) json[kKinds[kind]][std::string(to_string(static_cast<Tier>(tier)))] = ratio;
    }
  }
  return json;
}

std::string json_text(const Report& report) {
  const SoundnessTable& table = report.table;
  nlohmann::ordered_json json = {{"command", command_of(report.options)},
                                 {"machine", machine_text()},
                                 {"violations", table.violations},
                                 {"unbounded", table.all.unbounded},
                                 {"all", as_json(table.all)}};
  for (const auto& [name, ratios] : table.by_arithmetic)
    json["by_arithmetic"][name] = as_json(ratios);
  for (const auto& [name, ratios] : table.by_data) json["by_data"][name] = as_json(ratios);
  for (const auto& [length, ratios] : table.by_length)
    json["by_length"][std::to_string(length)] = as_json(ratios);
  return json.dump(2) + "\n";
}

}  // namespace

int command_soundness(const CommonOptions& common, const SoundnessOptions& given,
                      const std::string& markdown_path) {
  Report report{given, {}, 0};
  report.options.threads = common.threads;
  report.options.violations_to_stderr = common.json;
  report.options.stop = &stop_requested;
  stop_on_interrupt();
  const auto start = std::chrono::steady_clock::now();
  auto table = check_runs(report.options);
  if (!table.ok()) return report_trouble(table.trouble());
  report.table = std::move(*table);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{}", common.json ? json_text(report) : markdown(report));
  const bool complete = report.table.all.runs == report.options.runs;
  if (!complete) {
    fmt::print(stderr, "attest: stopped after {} of {} runs: no file is written\n",
               report.table.all.runs, report.options.runs);
    return report.table.violations > 0 ? 1 : 3;
  }
  if (const int code = write_report(markdown_path, markdown(report)); code != 0) return code;
  return report.table.violations > 0 ? 1 : 0;
}

}  // namespace attest
