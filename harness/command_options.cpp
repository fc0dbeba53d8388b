#include "harness/command_options.hpp"

#include <CLI/CLI.hpp>

#include "harness/core/problem.hpp"

namespace attest {
namespace {

constexpr int kMostTile = 1024;  // reference/tile.hpp

}  // namespace

void add_common(CLI::App& app, CommonOptions& common) {
  app.add_flag("--json", common.json, "machine-readable output on stdout");
  app.add_option("--device", common.device, "where kernels run, see `attest list`")
      ->capture_default_str();
  const auto set_guard_page = [&common](const std::string& name) {
    for (const GuardPage page : {GuardPage::kNone, GuardPage::kAfter, GuardPage::kBefore}) {
      if (to_string(page) == name) common.guard_page = page;
    }
  };
  app.add_option_function<std::string>(
         "--guard-page", set_guard_page,
         "of a GPU: an unmapped page after, or before, each buffer, so that a read beyond it "
         "faults "
         "too: none, after, before; an emulator knows every buffer's bounds")
      ->check(CLI::IsMember({"none", "after", "before"}));
  app.add_option("--threads", common.threads, "host threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--reference", common.reference,
                 "where the sums of references are formed: auto (of large cases on a GPU), cpu; "
                 "device: of run, repro, nightly and bench reference")
      ->check(CLI::IsMember({"auto", "cpu", "device"}))
      ->capture_default_str();
  app.add_option("--code-objects", common.code_objects, "folder of code objects")
      ->capture_default_str();
  app.add_option(
      "--code-object", common.code_object,
      "a code object of your own, or a folder of them, for the adapters of `attest list`; "
      "default: ATTEST_AITER_HSA");
}

Outcome check_reference(const CLI::App& app, const CommonOptions& common) {
  if (common.reference != "device") return Done{};
  std::string name;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    name += (name.empty() ? "" : " ") + at->get_name();
  }
  for (const char* const its : {"run", "repro", "nightly", "bench reference", "worker"}) {
    if (name == its) return Done{};
  }
  return Trouble{TroubleKind::kUsage,
                 "--reference device: " + name +
                     " forms its references on the host; leave it out (run, repro, nightly and "
                     "bench reference have it)"};
}

void add_judge_options(CLI::App& judge, JudgeRequest& request) {
  judge.add_option("file", request.inputs, "of `attest export`, with outputs/o and outputs/lse")
      ->required();
  judge.add_option("outputs", request.outputs, "file of the outputs, where it is another");
  judge.add_option("--name", request.name, "of the kernel, for reports")->capture_default_str();
  judge
      .add_option("--unit", request.unit,
                  "the matrix unit it ran on: fma, cdna1, cdna2, cdna3, hopper, unknown")
      ->capture_default_str();
  judge
      .add_option("--p", request.p,
                  "what it rounds P to before P.V: fp32, bf16, fp16, fp8_fnuz (CDNA3), fp8_fn "
                  "(Hopper)")
      ->capture_default_str();
  judge.add_option("--splits", request.splits, "fp32 partial results that it merges, at most")
      ->check(CLI::Range(1, kMaxSplits))
      ->capture_default_str();
  judge
      .add_option("--tile", request.tile,
                  "tokens between two updates of its running max, at least: fewer allow for more")
      ->check(CLI::Range(1, kMostTile))
      ->capture_default_str();
}

void add_soundness_options(CLI::App& sub, SoundnessOptions& options) {
  sub.add_option("--runs", options.runs, "how many")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  sub.add_option("--first", options.first, "index of the first")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  sub.add_option("--seed", options.seed, "what the runs are drawn from")->capture_default_str();
  sub.add_option("--max-length", options.max_length, "longest context")
      ->check(CLI::Range(1, kMaxContext))
      ->capture_default_str();
}

void add_detect_options(CLI::App& detect, DetectRequest& request) {
  detect.add_option("--distribution", request.distributions, "inputs; default: all")
      ->type_size(1)
      ->allow_extra_args(false);
  detect.add_option("--length", request.lengths, "tokens; default: 64 to 327600")
      ->check(CLI::Range(1, kMaxContext))
      ->type_size(1)
      ->allow_extra_args(false);
  detect.add_option("--heads", request.heads, "query heads")
      ->check(CLI::Range(1, kMaxHeads))
      ->capture_default_str();
  detect.add_option("--seed", request.seed, "of the inputs")->capture_default_str();
  detect.add_flag("--quick", request.quick, "lengths up to 4096");
  detect.add_option("--out", request.out, "also write Markdown here");
}

void add_fuzz_options(CLI::App& fuzz, FuzzRequest& request) {
  fuzz.add_option("--for", request.duration, "how long: 90s, 30m, 8h; default: 1m without --cases");
  fuzz.add_option("--cases", request.cases, "how many")->check(CLI::Range(1, 1 << 30));
  fuzz.add_option("--seed", request.seed, "what the cases are drawn from")->capture_default_str();
  fuzz.add_option("--kernel", request.kernels, "only this; may be given again")
      ->type_size(1)
      ->allow_extra_args(false);
  fuzz.add_option("--property", request.properties,
                  "only this, see `attest list`, or trajectory; may be given again")
      ->type_size(1)
      ->allow_extra_args(false);
  fuzz.add_option("--corpus", request.corpus, "folder of failures: replayed first, added to")
      ->capture_default_str();
  fuzz.add_option("--target", request.target, "ratio: climb towards the largest error / bound")
      ->check(CLI::IsMember({"ratio"}));
  fuzz.add_option("--shrink-seconds", request.shrink_seconds, "for each bucket")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  fuzz.add_flag("--isolate", request.isolate,
                "run cases in worker processes, so that one that ends the program costs itself "
                "alone; always so on a GPU");
  fuzz.add_option("--out", request.out, "folder of fuzz.jsonl; default: a new one in attest-out/");
}

void add_crosscheck_options(CLI::App& sub, CrosscheckRequest& request) {
  sub.remove_option(sub.get_option("--device"));
  const auto sort_out = [&request](const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      (word.starts_with("v1:") ? request.tokens : request.devices).push_back(word);
    }
  };
  CLI::Option* const words = sub.add_option_function<std::vector<std::string>>(
      "devices", sort_out,
      "two devices, see `attest list`; then tokens, where cases are not drawn");
  words->required();
  CLI::Option* const against = sub.add_option(
      "--against", request.against,
      "in place of the one device, its recorded verdicts: of --save, or results.jsonl of "
      "any run");
  sub.add_option("--save", request.save,
                 "of one device alone: keep its verdicts in this file, for --against")
      ->excludes(against);
  sub.add_option("--cases", request.cases, "how many are drawn, as fuzz draws them")
      ->check(CLI::Range(1, 1 << 30))
      ->excludes(against)
      ->capture_default_str();
  sub.add_option("--seed", request.seed, "what they are drawn from")
      ->excludes(against)
      ->capture_default_str();
  sub.add_option("--out", request.out,
                 "folder of crosscheck.jsonl; default: a new one in attest-out/");
  sub.footer(
      "Exit code: 1 where a verdict differs, or cases fail (on both devices alike, too, and with "
      "--save); 4 without a verdict; 3 where not all cases are compared, or what was recorded is "
      "incomplete; 5 where nothing passed, or some are suspect.");
}

void add_selftest_options(CLI::App& sub, SelftestRequest& request) {
  SelftestOptions& options = request.options;
  sub.add_option("--mutant", request.mutants, "only this; may be given again")
      ->type_size(1)
      ->allow_extra_args(false);
  sub.add_flag("--list", request.list, "list the mutants");
  sub.add_flag("--replay", request.replay, "run the shrunk tokens of --kills again");
  sub.add_flag("--keep", request.keep, "write the shrunk tokens to --kills");
  sub.add_option("--kills", request.kills, "file of shrunk tokens")->capture_default_str();
  sub.add_option("--mutants", request.folder, "folder of mutants")->capture_default_str();
  sub.add_option("--seconds", options.seconds, "a mutant has to be killed")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  sub.add_option("--cases", options.cases, "that a mutant runs at least, for the matrix")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  sub.add_option("--property", options.properties, "only this; may be given again")
      ->type_size(1)
      ->allow_extra_args(false);
  sub.add_option("--shrink-seconds", options.shrink.seconds, "for each bucket")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  sub.add_option("--benign-cases", options.benign_cases, "that a benign mutant runs")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  sub.add_option("--seed", options.seed, "what the cases are drawn from")->capture_default_str();
  options.jobs = 0;
  sub.add_option(
         "--jobs", options.jobs,
         "mutants at a time, which share --threads; default: one, and on a GPU one a thread")
      ->check(CLI::Range(1, 1024));
  sub.add_flag("--isolate", request.isolate, "run cases in worker processes; always so on a GPU");
  sub.add_flag("--build-only{all}", request.build_only,
               "build the mutants for --device, which need not be here, and run none; "
               "--build-only=launchers: what clang builds, where nvcc builds the rest on the "
               "GPU's machine")
      ->check(CLI::IsMember({"all", "launchers"}));
  sub.add_option("--cache", request.cache,
                 "folder of built mutants, which may be brought from another machine; default: "
                 "that of this build");
  sub.add_option("--out", request.out, "also write Markdown here");
}

void add_list_options(CLI::App& list, ListRequest& request) {
  CLI::Option* const plan =
      list.add_option("--plan", request.plan, "instead, what a nightly runs, over so many shards")
          ->check(CLI::Range(1, 1 << 12));
  list.add_option("--tier", request.tier, "of the plan: smoke, nightly, full")
      ->needs(plan)
      ->capture_default_str();
  list.add_option("--costs", request.costs,
                  "results.jsonl of an earlier run, which says what cases cost; may be given again")
      ->needs(plan)
      ->type_size(1)
      ->allow_extra_args(false);
  list.add_option("--corpus", request.corpus, "folder of failures that were kept")
      ->needs(plan)
      ->capture_default_str();
}

void add_console(CLI::App& command, ConsoleOptions& console) {
  command.add_flag("-v,--verbose", console.verbose,
                   "list all cases and remarks; without it, of more than 200 cases, and of those "
                   "that are drawn, those alone that do not pass");
  const auto set_colour = [&console](const std::string& when) {
    console.colour = when == "always"  ? Colour::kAlways
                     : when == "never" ? Colour::kNever
                                       : Colour::kAuto;
  };
  command
      .add_option_function<std::string>(
          "--color", set_colour, "auto: on a terminal, unless NO_COLOR is set; always; never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

}  // namespace attest
