#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>

#include "harness/command_bench.hpp"
#include "harness/command_golden.hpp"
#include "harness/command_options.hpp"
#include "harness/command_stress.hpp"
#include "harness/commands.hpp"
#include "harness/device/device_list.hpp"
#include "harness/finished_runs.hpp"
#include "harness/machine.hpp"
#include "harness/nightly_options.hpp"
#include "harness/worker.hpp"
#include "kernels/external/user_object.hpp"
#include "reports/format.hpp"

namespace attest {
namespace {

// What the options of one command line are parsed into.
struct Parsed {
  CommonOptions common;
  Selection selection;
  SoundnessOptions soundness;
  DetectRequest detect;
  FuzzRequest fuzz;
  CrosscheckRequest crosscheck;
  SelftestRequest selftest;
  JudgeRequest judge;
  ReportRequest report;
  RunFiles run_files;
  ListRequest list;
  BenchKernelsRequest bench_kernels;
  BenchVerifyRequest bench_verify;
  GoldenRequest golden;
  StressRequest stress;
  std::string checks = "none", ariths = "fma";
  NightlyRequest nightly;
  std::string out, token, unit, standalone;
  WorkerRequest worker;
  std::function<int()> command;
};

CLI::App& add_command(CLI::App& app, Parsed& parsed, const std::string& name,
                      const std::string& about, std::function<int()> command) {
  CLI::App& sub = *app.add_subcommand(name, about);
  add_common(sub, parsed.common);
  sub.callback([&parsed, command = std::move(command)] { parsed.command = command; });
  return sub;
}

void add_ledger(CLI::App& command, CommonOptions& common) {
  command.add_option("--ledger", common.ledger, "file of known failures; none: nothing is excused")
      ->capture_default_str();
}

void add_emulation(CLI::App& command, Parsed& parsed) {
  command
      .add_option("--arith", parsed.ariths,
                  "matrix unit and transcendentals of the emulator: fma, exact, cdna2, cdna3, "
                  "adversarial; several by commas, or all: right under some alone is suspect")
      ->capture_default_str();
  command.add_flag("--check{all}", parsed.checks,
                   "watch the execution: races, missing waits, what nobody wrote ...; "
                   "--check=NAME,NAME for some, see `attest list`");
  command
      .add_option("--schedules", parsed.common.schedules,
                  "also run each case under so many other orders of workgroups and waves, and a "
                  "grid of up to 5 workgroups in every order of arrival")
      ->check(CLI::Range(1, 1 << 20));
}

void add_run(CLI::App& app, Parsed& parsed) {
  CLI::App& run = add_command(app, parsed, "run", "run cases and judge them", [&] {
    return command_run(parsed.common, parsed.selection, parsed.run_files);
  });
  run.add_option("tokens", parsed.selection.tokens, "cases");
  run.add_option("--suite", parsed.selection.suites, "all cases of a suite; may be given again")
      ->type_size(1)
      ->allow_extra_args(false);
  run.add_option("--match", parsed.selection.match,
                 "of these, or of all suites, the cases whose token holds it; with * ? [ a glob "
                 "over the token");
  run.add_option("--corpus", parsed.selection.corpus,
                 "folder of failures that were kept (*.tokens): run first");
  for (const ReportFormat& format : all_report_formats()) {
    if (format.name == "console") continue;
    run.add_option(fmt::format("--{}", format.name), parsed.run_files[std::string(format.name)],
                   fmt::format("file: {}", format.purpose));
  }
  run.add_flag("--in-process", parsed.common.in_process,
               "on a GPU: launch kernels in this process, for tools that watch it, such as "
               "compute-sanitizer; a fault then ends the run, and a launch may take ten minutes");
  add_ledger(run, parsed.common);
  add_console(run, parsed.common.console);
  add_emulation(run, parsed);
}

void add_repro(CLI::App& app, Parsed& parsed) {
  CLI::App& repro = add_command(app, parsed, "repro", "run one case and show all about it", [&] {
    return command_repro(parsed.common, parsed.token, parsed.standalone);
  });
  repro.add_option("token", parsed.token, "the case")->required();
  add_emulation(repro, parsed);
  repro
      .add_option(
          "--standalone", parsed.standalone,
          "of a failure, write a C++ program that shows it without attest; compile and run it")
      ->excludes("--json");
}

void add_exchange(CLI::App& app, Parsed& parsed) {
  CLI::App& out = add_command(
      app, parsed, "export", "write a case's inputs for a kernel that runs elsewhere (HDF5)",
      [&] { return command_export(parsed.common, parsed.token, parsed.out); });
  out.add_option("token", parsed.token, "the case")->required();
  out.add_option("--out", parsed.out, "file")->required();
  JudgeRequest& request = parsed.judge;
  CLI::App& judge = add_command(app, parsed, "judge", "judge what a kernel elsewhere computed",
                                [&] { return command_judge(parsed.common, request); });
  add_judge_options(judge, request);
}

void add_bench(CLI::App& app, Parsed& parsed) {
  CLI::App& bench = *app.add_subcommand("bench", "measure speed on this machine");
  bench.require_subcommand(1);
  CLI::App& emulator = add_command(bench, parsed, "emulator", "kernels on the emulator", [&] {
    return command_bench_emulator(parsed.common, parsed.out);
  });
  CLI::App& reference =
      add_command(bench, parsed, "reference", "the fp64 reference with its bounds",
                  [&] { return command_bench_reference(parsed.common, parsed.out); });
  for (CLI::App* sub : {&emulator, &reference})
    sub->add_option("--out", parsed.out, "also write Markdown here");
  CLI::App& kernels = add_command(bench, parsed, "kernels", "a kernel on a device, a launch", [&] {
    return command_bench_kernels(parsed.common, parsed.bench_kernels);
  });
  add_bench_kernels_options(kernels, parsed.bench_kernels);
  CLI::App& verify =
      add_command(bench, parsed, "verify", "cases that are verified, end to end",
                  [&] { return command_bench_verify(parsed.common, parsed.bench_verify); });
  add_bench_verify_options(verify, parsed.bench_verify);
}

void add_soundness(CLI::App& app, Parsed& parsed) {
  CLI::App& sub = add_command(
      app, parsed, "soundness", "whether any correct kernel (a model of one) is called wrong",
      [&] { return command_soundness(parsed.common, parsed.soundness, parsed.out); });
  add_soundness_options(sub, parsed.soundness);
  sub.add_option("--out", parsed.out, "also write Markdown here");
}

void add_detect(CLI::App& app, Parsed& parsed) {
  DetectRequest& request = parsed.detect;
  CLI::App& detect = add_command(app, parsed, "detect", "which check sees which planted defect",
                                 [&] { return command_detect(parsed.common, request); });
  add_detect_options(detect, request);
}

void add_fuzz(CLI::App& app, Parsed& parsed) {
  FuzzRequest& request = parsed.fuzz;
  CLI::App& fuzz = add_command(app, parsed, "fuzz", "draw cases, and shrink and keep what fails",
                               [&] { return command_fuzz(parsed.common, request); });
  add_ledger(fuzz, parsed.common);
  add_emulation(fuzz, parsed);
  add_fuzz_options(fuzz, request);
}

void add_crosscheck(CLI::App& app, Parsed& parsed) {
  CrosscheckRequest& request = parsed.crosscheck;
  CLI::App& sub =
      add_command(app, parsed, "crosscheck", "the same cases on two devices: the same verdicts?",
                  [&] { return command_crosscheck(parsed.common, request); });
  add_crosscheck_options(sub, request);
}

void add_selftest(CLI::App& app, Parsed& parsed) {
  SelftestRequest& request = parsed.selftest;
  CLI::App& sub =
      add_command(app, parsed, "selftest", "fuzz mutants of the kernels: are they killed?",
                  [&] { return command_selftest(parsed.common, request); });
  add_selftest_options(sub, request);
}

void add_report(CLI::App& app, Parsed& parsed) {
  ReportRequest& request = parsed.report;
  CLI::App& report = *app.add_subcommand(
      "report", "a report of runs that are over, from their JSON Lines; its exit code is theirs");
  report.callback([&parsed] { parsed.command = [&] { return command_report(parsed.report); }; });
  report
      .add_option(
          "files", request.files,
          "results.jsonl, or the folder of `attest nightly --out`; several: the shards of one "
          "run")
      ->required();
  report.add_option("--format", request.format, "see `attest list`; default: console");
  report.add_option("--out", request.out, "file; -: stdout, the default");
  report.add_option("--all", request.folder, "folder: each format that is kept in a file");
  report.add_option("--history", request.history,
                    "SQLite file of `attest history`: trends, and since when what fails");
}

void add_list(CLI::App& app, Parsed& parsed) {
  ListRequest& request = parsed.list;
  CLI::App& list =
      add_command(app, parsed, "list", "kernels, devices, suites, distributions, report formats",
                  [&] { return command_list(parsed.common, request); });
  add_list_options(list, request);
  add_ledger(list, parsed.common);
}

// What other commands start.
void add_worker(CLI::App& app, Parsed& parsed) {
  WorkerRequest& request = parsed.worker;
  CLI::App& worker = add_command(app, parsed, "worker", "judge cases that its parent names",
                                 [&] { return command_worker(parsed.common, request); });
  worker.group("");  // not in --help
  worker.add_option("--parent", request.parent, "the process that started it")->required();
  worker.add_flag("--drawn", request.drawn, "short limits, no second oracle");
  worker.add_option("--launcher", request.launcher, "of a mutant");
  worker.add_option("--crew", request.crew, "cases beside each other");
  worker.add_option("--control-objects", request.control_objects, "folder, of the control case");
  add_ledger(worker, parsed.common);
  add_emulation(worker, parsed);
}

void add_golden(CLI::App& app, Parsed& parsed) {
  CLI::App& golden = *app.add_subcommand("golden", "files of what the formula gives (HDF5)");
  golden.require_subcommand(1);
  for (const GoldenVerb& verb : golden_verbs()) {
    CLI::App& sub = add_command(golden, parsed, verb.name, verb.about, [&parsed, run = verb.run] {
      return run(parsed.common, parsed.golden);
    });
    verb.add_options(sub, parsed.golden);
  }
}

void add_stress(CLI::App& app, Parsed& parsed) {
  CLI::App& stress = *app.add_subcommand("stress", "one case over many launches of one memory");
  stress.require_subcommand(1);
  for (const StressVerb& verb : stress_verbs()) {
    CLI::App& sub = add_command(stress, parsed, verb.name, verb.about, [&parsed, run = verb.run] {
      return run(parsed.common, parsed.stress);
    });
    verb.add_options(sub, parsed.stress);
    add_console(sub, parsed.common.console);
  }
}

void add_commands(CLI::App& app, Parsed& parsed) {
  add_list(app, parsed);
  add_run(app, parsed);
  add_repro(app, parsed);
  CLI::App& explain = add_command(
      app, parsed, "explain", "what a case could show: data, tiers, visibility; runs no kernel",
      [&] { return command_explain(parsed.common, parsed.token, parsed.unit); });
  explain.add_option("token", parsed.token, "the case")->required();
  explain.add_option("--unit", parsed.unit,
                     "matrix unit of the bounds: fma, cdna1, cdna2, cdna3, hopper; default: the "
                     "device's");
  CLI::App& nightly = add_command(app, parsed, "nightly", "run a tier and keep its results",
                                  [&] { return command_nightly(parsed.common, parsed.nightly); });
  add_nightly_options(nightly, parsed.nightly, parsed.common);
  add_ledger(nightly, parsed.common);
  add_console(nightly, parsed.common.console);
  add_emulation(nightly, parsed);
  add_command(app, parsed, "doctor", "what is here, what is missing, how to get it",
              [&] { return command_doctor(parsed.common); });
  add_exchange(app, parsed);
  add_bench(app, parsed);
  add_soundness(app, parsed);
  add_detect(app, parsed);
  add_fuzz(app, parsed);
  add_crosscheck(app, parsed);
  add_report(app, parsed);
  add_compare(app, parsed.command);
  add_history(app, parsed.command);
  add_selftest(app, parsed);
  add_worker(app, parsed);
  add_golden(app, parsed);
  add_stress(app, parsed);
}

// Where one is closed, the next file to be opened would get its number, and what is meant for
// people would go into that file. What is written to it fails as before.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest number is free
  }
}

}  // namespace

// A path that was typed, and is not there, is a slip: without this its cases would be skipped.
Outcome check_user_objects(const std::string& path, const std::string& by_default) {
  std::error_code none;
  if (path == by_default || std::filesystem::exists(path, none)) return Done{};
  return Trouble{TroubleKind::kUsage,
                 fmt::format("--code-object {}: there is no such file or folder", path)};
}

// Elsewhere they would do nothing, and say nothing about it.
static Outcome check_for_device(const CommonOptions& common, bool is_of_two_devices) {
  if (common.device.starts_with("emu:")) {
    if (is_of_two_devices || common.guard_page == GuardPage::kNone) return Done{};
    return Trouble{TroubleKind::kUsage,
                   fmt::format("--guard-page: only a GPU has it; {} knows every buffer's bounds: "
                               "leave it out",
                               common.device)};
  }
  const char* const option = common.checks.any()                       ? "--check"
                             : common.ariths != CommonOptions{}.ariths ? "--arith"
                             : common.schedules > 0                    ? "--schedules"
                                                                       : nullptr;
  if (option == nullptr) return Done{};
  return Trouble{TroubleKind::kUsage,
                 fmt::format("{}: only an emulator has it, and --device {} is none; leave it out, "
                             "or take emu:gfx942",
                             option, common.device)};
}

static int run_arguments(int argc, const char* const* argv) {
  open_standard_streams();
  Parsed parsed;
  parsed.common.device = kDefaultDevice;
  parsed.common.code_objects = ATTEST_CODE_OBJECT_DIR;
  const std::string given_objects = external::user_objects();
  parsed.common.code_object = given_objects;
  parsed.common.threads = host_threads();
  parsed.fuzz.corpus = parsed.nightly.corpus = ATTEST_SOURCE_DIR "/fuzz/corpus";
  parsed.list.corpus = parsed.fuzz.corpus;
  parsed.selftest.folder = ATTEST_SOURCE_DIR "/fuzz/mutants";
  parsed.nightly.kills = parsed.selftest.kills = ATTEST_SOURCE_DIR "/fuzz/mutants/kills.txt";
  parsed.list.kills = parsed.selftest.kills;
  const char* const ledger = ATTEST_SOURCE_DIR "/fuzz/ledger";
  if (std::filesystem::exists(ledger)) parsed.common.ledger = ledger;
  CLI::App app{
      "attest verifies GPU attention-decode kernels: their numbers and what they do to memory.\n"
      "Exit codes: 0 passed, 1 failed, 2 usage, 3 incomplete, 4 infrastructure, 5 proves too "
      "little.",
      "attest"};
  app.require_subcommand(1);
  add_commands(app, parsed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // --help is no error
  }
  const auto checks = parse_checks(parsed.checks);
  if (!checks.ok()) return report_trouble(checks.trouble());
  parsed.common.checks = *checks;
  const auto ariths = parse_ariths(parsed.ariths);
  if (!ariths.ok()) return report_trouble(ariths.trouble());
  parsed.common.ariths = *ariths;
  const Outcome fits = check_for_device(parsed.common, app.got_subcommand("crosscheck"));
  if (!fits.ok()) return report_trouble(fits.trouble());
  const Outcome known = check_reference(app, parsed.common);
  if (!known.ok()) return report_trouble(known.trouble());
  const Outcome there = check_user_objects(parsed.common.code_object, given_objects);
  if (!there.ok()) return report_trouble(there.trouble());
  external::set_user_objects(parsed.common.code_object);
  return parsed.command();
}

int run_command_line(int argc, const char* const* argv) {
  try {
    return run_arguments(argc, argv);
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kText = "attest: out of memory on the host\n";  // needs none itself
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kText.data(), kText.size());
    return 4;
  } catch (const std::exception& error) {
    return report_trouble({TroubleKind::kInfra, error.what()});
  }
}

}  // namespace attest
