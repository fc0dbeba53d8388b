#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "harness/commands.hpp"
#include "harness/core/parallel.hpp"
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
                     : trial.is_absent                 ? "absent"
                     : trial.killed == trial.is_benign ? (trial.killed ? "ALARM" : "SURVIVES")
                     : trial.killed                    ? "killed"
                                                       : "passes";
  fmt::print("{:<8} {:<36} {:<8}", fate, trial.name, trial.bug_class);
  if (trial.killed) {
    fmt::print(" case {} after {:.1f} s, {}\n         {}\n         by {}\n", trial.found.index + 1,
               trial.found.seconds, trial.found.bucket, to_token(trial.found.smallest),
               killers(trial.result.by_property()));
  } else if (trial.is_absent) {
    fmt::print(" its edit is in what another target compiles\n");
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
      {"absent", trial.is_absent},
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
      "{} of {} defects and cheats killed ({:.1f} %), {} false alarms on {} benign mutants, {} not "
      "in this build, {} without a verdict; median time to kill {:.2f} s\n{} shrunk to b <= 2, h "
      "<= 16, s_kv <= 128; longest "
      "shrink "
      "{:.1f} s\n",
      s.killed, s.defects, 100 * s.score(), s.false_alarms, s.benign, s.absent, s.troubled,
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
Result<bool> reproduces(const Kill& kill, const Mutant& mutant, const SelftestOptions& options,
                        const BuildOptions& build, std::string& saw) {
  const auto built = build_mutant(mutant, build);
  if (!built.ok()) return built.trouble();
  const auto c = parse_token(kill.token);
  if (!c.ok()) return c.trouble();
  const auto kernel = built->make_kernel(c->kernel);
  if (kernel == nullptr) return unknown_kernel(c->kernel);
  const auto runner =
      runners_of_mutant(*built, options, [&](std::string_view) { return kernel.get(); })();
  if (!runner.ok()) return runner.trouble();
  const Verdict verdict = (*runner)->run_as_is(*c).verdict;
  saw = verdict.bucket.empty() ? std::string(to_string(verdict.status)) : verdict.bucket;
  if (!built->is_in_build()) saw = "not in this build";
  return verdict.bucket == kill.bucket;
}

int replay(const std::vector<Mutant>& mutants, const SelftestRequest& request,
           const SelftestOptions& options, const BuildOptions& build) {
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
    std::string saw;
    const auto fails = reproduces(kill, *mutant, options, build, saw);
    if (!fails.ok()) return report_trouble(fails.trouble());
    again += *fails;
    fmt::print("{:<8} {:<36} {}{}\n         {}\n", *fails ? "again" : "DIFFERS", kill.mutant,
               kill.bucket, *fails ? "" : ", now " + saw, kill.token);
    std::fflush(stdout);
  }
  fmt::print("{} of {} shrunk tokens fail again in their bucket\n", again, wanted);
  return wanted == 0 ? 5 : again == wanted ? 0 : 1;
}

// Builds every mutant for the device, which need not be here.
int build_all(const std::vector<Mutant>& mutants, const CommonOptions& common,
              const SelftestRequest& request, BuildOptions build) {
  build.launcher_alone = request.build_only == "launchers";
  if (build.target.empty()) {
    const auto device = facts_of_device(common.device);  // its name alone does not say
    if (!device.ok()) return report_trouble(device.trouble());
    build.target = device->target;
  }
  std::mutex telling;
  std::vector<Trouble> troubles;
  int built = 0, absent = 0, launchers = 0;
  const bool done = parallel_for(common.threads, mutants.size(), [&](int, std::size_t i) {
    if (stop_requested) return;
    const auto mutant = build_mutant(mutants[i], build);
    const std::lock_guard lock(telling);
    if (!mutant.ok()) return troubles.push_back(mutant.trouble());
    ++built;
    absent += !mutant->is_in_build() && !build.launcher_alone;
    launchers += !mutant->launcher_path().empty();
    fmt::print(stderr, "built {} of {}: {}\n", built, mutants.size(), mutants[i].name);
  });
  fmt::print("{} of {} mutants are built for {}: {} launchers, {} not in this build\n", built,
             mutants.size(), build.target, launchers, absent);
  int code = 0;
  for (const Trouble& trouble : troubles) {
    report_trouble(trouble);
    code = 4;
  }
  if (!done) return report_trouble({TroubleKind::kInfra, "out of memory on the host"});
  return stop_requested ? 3 : code;
}

}  // namespace

int command_selftest(const CommonOptions& common, const SelftestRequest& request) {
  const auto mutants = mutants_named(request);
  if (!mutants.ok()) return report_trouble(mutants.trouble());
  if (request.list) return list_mutants(*mutants);
  BuildOptions build{.target = target_of_device(common.device),
                     .code_objects = common.code_objects,
                     .cache_dir = request.cache};
  stop_on_interrupt();
  if (!request.build_only.empty()) return build_all(*mutants, common, request, build);
  const auto device = facts_of_device(common.device);
  if (!device.ok()) return report_trouble(device.trouble());
  build.target = device->target;

  SelftestOptions options = request.options;
  options.common = common;
  options.is_emulated = device->is_emulated;
  options.isolated = request.isolate || !device->is_emulated;
  if (options.jobs == 0) options.jobs = device->is_emulated ? 1 : common.threads;
  if (request.replay) return replay(*mutants, request, options, build);
  if (mutants->empty()) return exit_code(Tally{});
  fmt::print(stderr, "{} mutants on {}, {}; {} at a time\n", mutants->size(), common.device,
             machine_text(*device), options.jobs);
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
      write_report(request.out, selftest_markdown(trials, options, command, machine_text(*device)));
  if (written != 0) code = worse_of(code, written);
  if (request.keep) {
    const int kept = keep_kills(request.kills, trials);
    if (kept != 0) code = worse_of(code, kept);
  }
  return code;
}

}  // namespace attest
