#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/commands.hpp"
#include "harness/device/device_list.hpp"
#include "harness/machine.hpp"
#include "harness/runner.hpp"
#include "harness/selftest.hpp"

namespace attest {
namespace {

constexpr double kWantedScore = 0.95;  // of defects and cheats that must be killed

Result<std::vector<Mutant>> mutants_named(const SelftestRequest& request) {
  auto all = read_mutants(request.folder);
  if (!all.ok() || request.mutants.empty()) return all;
  std::vector<Mutant> named;
  for (const std::string& name : request.mutants) {
    const auto found = std::find_if(all->begin(), all->end(),
                                    [&](const Mutant& mutant) { return mutant.name == name; });
    if (found == all->end()) {
      return Trouble{
          TroubleKind::kUsage,
          fmt::format("there is no mutant '{}' in {}; `attest selftest --list` lists them", name,
                      request.folder)};
    }
    named.push_back(*found);
  }
  return named;
}

int list_mutants(const std::vector<Mutant>& mutants) {
  for (const Mutant& mutant : mutants) {
    fmt::print("{:<36} {:<8} {:<40} {}\n", mutant.name, mutant.bug_class,
               mutant.recreates.empty() ? "-" : mutant.recreates, mutant.defect);
  }
  return 0;
}

// "oracle 12/40, heads 1/3": failed of ran, where any failed.
std::string killers(const Shares& shares) {
  std::string text;
  for (const auto& [name, share] : shares) {
    if (share.failed == 0) continue;
    text += fmt::format("{}{} {}/{}", text.empty() ? "" : ", ", name, share.failed, share.ran);
  }
  return text;
}

void print_trial(const Trial& trial) {
  const char* fate = !trial.trouble.empty()            ? "trouble"
                     : trial.killed == trial.is_benign ? (trial.killed ? "ALARM" : "SURVIVES")
                     : trial.killed                    ? "killed"
                                                       : "passes";
  fmt::print("{:<8} {:<36} {:<8}", fate, trial.name, trial.bug_class);
  if (trial.killed) {
    fmt::print(" case {} after {:.1f} s, {}\n         {}\n         by {}\n", trial.found.index + 1,
               trial.found.seconds, trial.found.bucket, to_token(trial.found.smallest),
               killers(trial.result.by_property()));
  } else {
    fmt::print(" {} cases in {:.1f} s  {}\n", trial.result.cases, trial.result.seconds,
               trial.trouble);
  }
  std::fflush(stdout);
}

void print_json(const Trial& trial) {
  nlohmann::ordered_json shares = nlohmann::ordered_json::array();
  for (const auto& [key, share] : trial.result.shares) {
    shares.push_back({{"property", key.first},
                      {"distribution", key.second},
                      {"ran", share.ran},
                      {"failed", share.failed}});
  }
  const nlohmann::ordered_json json = {
      {"mutant", trial.name},
      {"class", trial.bug_class},
      {"recreates", trial.recreates},
      {"killed", trial.killed},
      {"trouble", trial.trouble},
      {"cases", trial.result.cases},
      {"seconds", trial.found.seconds},
      {"bucket", trial.found.bucket},
      {"token", trial.killed ? to_token(trial.found.smallest) : ""},
      {"shares", shares}};
  fmt::print("{}\n", json.dump());
  std::fflush(stdout);
}

void print_summary(const SelftestSummary& s) {
  fmt::print(
      "{} of {} defects and cheats killed ({:.1f} %), {} false alarms on {} benign mutants, {} "
      "without a "
      "verdict; median time to kill {:.2f} s\n{} shrunk to b <= 2, h <= 16, s_kv <= 128; longest "
      "shrink "
      "{:.1f} s\n",
      s.killed, s.defects, 100 * s.score(), s.false_alarms, s.benign, s.troubled,
      s.median_kill_seconds, s.small, s.longest_shrink_seconds);
}

int exit_code_of(const SelftestSummary& s) {
  if (s.defects + s.benign == 0) return 5;
  if (s.false_alarms > 0 || s.survivors > (1 - kWantedScore) * s.defects) return 1;
  return s.troubled > 0 ? 4 : 0;
}

// Keeps what is known of other mutants.
int keep_kills(const std::string& path, const std::vector<Trial>& trials) {
  std::vector<Kill> known;
  std::error_code none;
  if (std::filesystem::exists(path, none)) {
    auto read = read_kills(path);
    if (!read.ok()) return report_trouble(read.trouble());
    known = std::move(*read);
  }
  const std::string unfinished = path + ".new";
  if (const int code = write_report(unfinished, to_text(renewed(known, kills_of(trials)))))
    return code;
  std::error_code error;
  std::filesystem::rename(unfinished, path, error);
  return error ? report_trouble({TroubleKind::kInfra, path + ": " + error.message()}) : 0;
}

// Does the token still fail in its bucket, on the mutant as it is built now?
Result<bool> reproduces(const Kill& kill, const Mutant& mutant, Device& device,
                        const BuildOptions& build, std::string& saw) {
  const auto built = build_mutant(mutant, build);
  if (!built.ok()) return built.trouble();
  const auto c = parse_token(kill.token);
  if (!c.ok()) return c.trouble();
  const auto kernel = built->make_kernel(c->kernel);
  if (kernel == nullptr) return unknown_kernel(c->kernel);
  const Verdict verdict =
      verify(*kernel, device, *c, {.code_objects = built->code_objects(), .threads = 1});
  saw = verdict.bucket.empty() ? std::string(to_string(verdict.status)) : verdict.bucket;
  return verdict.bucket == kill.bucket;
}

int replay(const std::vector<Mutant>& mutants, const SelftestRequest& request,
           const CommonOptions& common, const BuildOptions& build) {
  const auto kills = read_kills(request.kills);
  if (!kills.ok()) return report_trouble(kills.trouble());
  int again = 0;
  std::int64_t wanted = 0;
  for (const Kill& kill : *kills) {
    const auto& names = request.mutants;
    if (!names.empty() && std::find(names.begin(), names.end(), kill.mutant) == names.end())
      continue;
    if (stop_requested) return 3;
    ++wanted;
    const auto mutant = std::find_if(mutants.begin(), mutants.end(),
                                     [&](const Mutant& m) { return m.name == kill.mutant; });
    if (mutant == mutants.end()) {
      fmt::print("gone     {}: there is no such mutant in {}\n", kill.mutant, request.folder);
      continue;
    }
    auto device =
        open_device(common.device, {.threads = 1, .instruction_budget = kInstructionBudget});
    if (!device.ok()) return report_trouble(device.trouble());
    std::string saw;
    const auto fails = reproduces(kill, *mutant, **device, build, saw);
    if (!fails.ok()) return report_trouble(fails.trouble());
    again += *fails;
    fmt::print("{:<8} {:<36} {}{}\n         {}\n", *fails ? "again" : "DIFFERS", kill.mutant,
               kill.bucket, *fails ? "" : ", now " + saw, kill.token);
    std::fflush(stdout);
  }
  fmt::print("{} of {} shrunk tokens fail again in their bucket\n", again, wanted);
  return wanted == 0 ? 5 : again == wanted ? 0 : 1;
}

}  // namespace

int command_selftest(const CommonOptions& common, const SelftestRequest& request) {
  const auto mutants = mutants_named(request);
  if (!mutants.ok()) return report_trouble(mutants.trouble());
  if (request.list) return list_mutants(*mutants);
  const auto device = open_device(common.device, {.threads = 1});
  if (!device.ok()) return report_trouble(device.trouble());
  const BuildOptions build{.target = (*device)->target(), .code_objects = common.code_objects};
  stop_on_interrupt();
  if (request.replay) return replay(*mutants, request, common, build);

  SelftestOptions options = request.options;
  options.common = common;
  if (mutants->empty()) return exit_code(Tally{});
  fmt::print(stderr, "{} mutants on {}, {}\n", mutants->size(), common.device, machine_text());
  const std::vector<Trial> trials = run_selftest(
      *mutants, options, build, common.json ? print_json : print_trial, stop_requested);
  const SelftestSummary summary = summary_of(trials);
  if (!common.json) print_summary(summary);
  int code = exit_code_of(summary);
  if (trials.size() < mutants->size()) {
    fmt::print(stderr, "attest: stopped after {} of {} mutants\n", trials.size(), mutants->size());
    code = code == 1 ? 1 : 3;
  }
  std::string command =
      fmt::format("attest selftest --seed {} --seconds {:g} --cases {} --benign-cases {}",
                  options.seed, options.seconds, options.cases, options.benign_cases);
  for (const std::string& name : options.properties) command += " --property " + name;
  for (const std::string& name : request.mutants) command += " --mutant " + name;
  const int written =
      write_report(request.out, selftest_markdown(trials, options, command, machine_text()));
  if (written != 0) code = worse_of(code, written);
  if (request.keep) {
    const int kept = keep_kills(request.kills, trials);
    if (kept != 0) code = worse_of(code, kept);
  }
  return code;
}

}  // namespace attest
