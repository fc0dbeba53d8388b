#include "harness/nightly_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "harness/shell_word.hpp"
#include "harness/units.hpp"

namespace attest {
namespace {

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

}  // namespace

void add_nightly_options(CLI::App& nightly, NightlyRequest& request, CommonOptions& common) {
  nightly.remove_option(nightly.get_option("--device"));
  nightly
      .add_option_function<std::vector<std::string>>(
          "--device",
          [&request, &common](const std::vector<std::string>& devices) {
            request.devices = devices;
            common.device = devices.front();
          },
          "where kernels run, see `attest list`; given again, workers go round them")
      ->type_size(1)
      ->allow_extra_args(false)
      ->default_str(common.device);
  nightly.add_option("--tier", request.tier,
                     "smoke: seconds; nightly: the corpus, what killed mutants, and what of the "
                     "suites is not long; full: all of them. Default: smoke");
  CLI::Option* const out =
      nightly.add_option("--out", request.out,
                         "folder of results.jsonl and its reports; default: a new one in "
                         "attest-out/");
  nightly
      .add_option("--resume", request.resume,
                  "the folder of a run that did not finish: what has ended does not run again")
      ->excludes(out);
  nightly.add_option("--budget", request.budget,
                     "8h: no case begins that would not end by then; what is left of it after the "
                     "plan goes to cases that fuzz draws");
  nightly.add_option("--shard", request.shard,
                     "2/8: the second of eight parts of the plan; default: as the environment of "
                     "GoogleTest, a Slurm array or an MPI launcher says");
  nightly
      .add_option("--jobs", request.jobs,
                  "worker processes, which share --threads; default: one a thread")
      ->check(CLI::Range(1, 1024));
  nightly.add_option("--timeout", request.timeout,
                     "of a case: without an answer for so long it hangs; default: 60s, or 20 times "
                     "what it is expected to take, and longer where cases run longer");
  nightly.add_option("--memory", request.memory,
                     "4G: that a worker may take; default: its share of what is free");
  nightly.add_option("--history", request.history,
                     "file of runs: this one is added, and gives the trend of its reports; without "
                     "shards also the costs");
  nightly.add_option("--costs", request.costs,
                     "results of an earlier run: its times order the plan and cut it into shards; "
                     "all shards need the same");
  nightly.add_option("--run", request.run,
                     "a name that the shards of one night share, so that a history has them as one "
                     "run; default: the job of Slurm, of an MPI launcher or of GitHub");
  nightly.add_option("--corpus", request.corpus, "folder of failures that were kept")
      ->capture_default_str();
  nightly.add_option("--seed", request.seed, "what fuzz draws from; default: another one each run");
}

Result<NightlyNumbers> numbers_of(const NightlyRequest& request) {
  NightlyNumbers numbers;
  const auto seconds = [](const char* option, const std::string& text, double& value) -> Outcome {
    if (text.empty()) return Done{};
    const auto parsed = parse_seconds(text);
    if (!parsed) {
      return usage(fmt::format("{} takes a time such as 90s, 30m, 8h, not '{}'", option, text));
    }
    value = *parsed;
    return Done{};
  };
  if (Outcome o = seconds("--budget", request.budget, numbers.budget_s); !o.ok())
    return o.trouble();
  if (Outcome o = seconds("--timeout", request.timeout, numbers.timeout_s); !o.ok()) {
    return o.trouble();
  }
  if (!request.memory.empty()) {
    const auto bytes = parse_bytes(request.memory);
    if (!bytes) {
      return usage(fmt::format("--memory takes a size such as 512M, 4G, not '{}'", request.memory));
    }
    numbers.memory_bytes = *bytes;
  }
  if (!request.seed.empty()) {
    const char* const end = request.seed.data() + request.seed.size();
    const auto read = std::from_chars(request.seed.data(), end, numbers.seed);
    if (read.ec != std::errc{} || read.ptr != end) {
      return usage(fmt::format("--seed takes a whole number, not '{}'", request.seed));
    }
  }
  return numbers;
}

double launches_of_a_case(const CommonOptions& common) {
  constexpr int kOrdersOfSmallGrid = 120;  // of 5 workgroups (schedules.cpp)
  constexpr double kWatched = 4;           // an execution that the checks watch, over one alone
  const int schedules = common.schedules > 0 ? common.schedules + kOrdersOfSmallGrid : 0;
  return (1.0 + schedules) * static_cast<double>(std::max<std::size_t>(common.ariths.size(), 1)) *
         (common.checks.any() ? kWatched : 1);
}

std::string nightly_command(const CommonOptions& common, const NightlyRequest& request) {
  std::string text = "nightly --tier " + request.tier;
  if (common.schedules != 0) text += fmt::format(" --schedules {}", common.schedules);
  if (common.ledger != ATTEST_SOURCE_DIR "/fuzz/ledger") {
    text += " --ledger " + shell_word(common.ledger);
  }
  if (!request.seed.empty()) text += " --seed " + request.seed;
  return text;
}

std::string tier_of_command(const std::string& command) {
  constexpr std::string_view kTier = "--tier ";
  const std::size_t at = command.find(kTier);
  if (at == std::string::npos) return "smoke";
  const std::size_t begin = at + kTier.size();
  return command.substr(begin, command.find(' ', begin) - begin);
}

std::string why_another_run(const RunHeader& was, const RunHeader& is) {
  const auto quoted = [](const std::string& text) {
    return text.empty() ? std::string("none") : text.substr(text.find_first_not_of(' '));
  };
  std::string why;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b) why += fmt::format("\n  {}: it was {}; now {}", what, quoted(a), quoted(b));
  };
  compare("command", was.command, is.command);
  compare("device", was.device, is.device);
  compare("options", was.repro_options, is.repro_options);
  compare("build", was.build, is.build);
  compare("bounds", was.bounds, is.bounds);
  compare("shard", was.shard, is.shard);
  return why;
}

std::string resume_command(const RunHeader& header, const NightlyRequest& request,
                           const std::string& folder) {
  std::string text = fmt::format("./attest {}{}", header.command, header.repro_options);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", option, shell_word(value));
  };
  for (std::size_t i = 1; i < request.devices.size(); ++i) add("--device", request.devices[i]);
  add("--shard", header.shard);
  add("--budget", request.budget);
  add("--timeout", request.timeout);
  add("--memory", request.memory);
  if (request.jobs > 0) add("--jobs", std::to_string(request.jobs));
  add("--history", request.history);
  for (const std::string& file : request.costs) add("--costs", file);
  add("--resume", folder);
  return text;
}

}  // namespace attest
