#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "harness/case_runner.hpp"
#include "harness/commands.hpp"
#include "harness/journal.hpp"
#include "harness/machine.hpp"
#include "harness/nightly.hpp"
#include "harness/nightly_options.hpp"
#include "harness/out_file.hpp"
#include "harness/pace.hpp"
#include "harness/report_files.hpp"
#include "harness/result_files.hpp"
#include "harness/run_header.hpp"
#include "harness/shard.hpp"
#include "harness/worker.hpp"
#include "reports/history/history.hpp"
#include "reports/run/say.hpp"

namespace attest {
namespace {

std::atomic<int> interrupts{0};

void on_interrupt(int) {
  const int before = interrupts++;
  if (before > 1) _exit(3);  // the workers end with this process
  constexpr std::string_view kFirst =
      "\nattest: finishing the cases that run; again to stop at once\n";
  constexpr std::string_view kSecond = "\nattest: stopping at once\n";
  const std::string_view text = before == 0 ? kFirst : kSecond;
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

void count_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // who reads the console may go; the journal goes on
}

constexpr double kControlCostMs = 50;

// A nightly that can begin, or go on.
struct Prepared {
  Journal journal;
  NightlyTask task;
  bool is_finished = false;
};

std::string devices_text(const CommonOptions& common, const NightlyRequest& request) {
  return request.devices.empty() ? common.device
                                 : fmt::format("{}", fmt::join(request.devices, ","));
}

// The whole plan. A history that grows while the shards begin would give each of them another.
Result<std::vector<PlannedCase>> plan_of(const CommonOptions& common, const NightlyRequest& request,
                                         const Shard& shard) {
  PlanRequest wanted{request.tier, common.ledger, request.corpus, request.kills, {}, {}};
  if (!request.costs.empty()) {
    const auto earlier = read_run_of(request.costs);
    if (!earlier.ok()) return earlier.trouble();
    wanted.costs = costs_of(*earlier);
  } else if (!request.history.empty() && shard.count == 1) {
    const auto history = History::open(request.history);
    if (!history.ok()) return history.trouble();
    auto costs = history->costs(devices_text(common, request), nightly_command(common, request),
                                repro_options(common));
    if (!costs.ok()) return costs.trouble();
    // Shards that begin one after another would find different costs, deal the plan differently,
    // and so run some cases twice and others never.
    if (shard.count == 1) wanted.costs = std::move(*costs);
  }
  return make_plan(wanted);
}

Result<Prepared> begin_run(const CommonOptions& common, const NightlyRequest& request,
                           const Shard& shard) {
  auto plan = plan_of(common, request, shard);
  if (!plan.ok()) return plan.trouble();
  auto journal = Journal::begin(request.out);
  if (!journal.ok()) return journal.trouble();
  Prepared prepared{std::move(*journal), {}, false};
  RunHeader& header = prepared.task.header;
  prepared.task.plan = part_of(*plan, shard);
  header = run_header(common, nightly_command(common, request),
                      static_cast<std::int64_t>(prepared.task.plan.size()));
  header.device = devices_text(common, request);
  header.plan = plan_text(*plan);
  const std::string job = request.run.empty() ? job_of(process_environment()) : request.run;
  if (!job.empty() && shard.count > 1) header.run = shared_run_id(job, header);
  return prepared;
}

// What the run that is resumed has done already.
void take_over(const Results& before, NightlyTask& task) {
  task.plan = before.planned;
  task.plan_is_on_record = !before.planned.empty();
  task.tally = graded_tally(before);
  task.tally.interrupted = false;
  for (const CaseRecord& record : before.cases) task.ended.insert(record.planned_token());
  for (const std::string& token : before.begun) {
    const bool is_planned = std::any_of(before.planned.begin(), before.planned.end(),
                                        [&](const PlannedCase& one) { return one.token == token; });
    if (!is_planned) task.begun.push_back(token);
  }
}

Result<Prepared> resume_run(const CommonOptions& common, NightlyRequest request,
                            const Shard& shard) {
  auto journal = Journal::resume(request.resume);
  if (!journal.ok()) return journal.trouble();
  Prepared prepared{std::move(*journal), {}, false};
  const Results& before = *prepared.journal.before();
  const RunHeader& was = before.header();
  if (request.tier.empty()) request.tier = tier_of_command(was.command);
  NightlyTask& task = prepared.task;
  task.header = run_header(common, nightly_command(common, request), was.cases);
  task.header.device = devices_text(common, request);
  task.header.shard = to_text(shard);
  if (const std::string why = why_another_run(was, task.header); !why.empty()) {
    return Trouble{
        TroubleKind::kUsage,
        fmt::format("{}: its run goes on only as it began:{}\nTo go on: {}\nFor "
                    "a new run: another --out instead of --resume",
                    prepared.journal.path(), why, resume_command(was, request, request.resume))};
  }
  task.header.run = was.run;
  task.header.plan = was.plan;
  task.header.resumed = true;
  take_over(before, task);
  task.given_up = prepared.journal.ends_nightlies();
  prepared.is_finished = !before.planned.empty() && before.missing.empty();
  if (before.planned.empty()) {
    auto plan = plan_of(common, request, shard);
    if (!plan.ok()) return plan.trouble();
    task.plan = part_of(*plan, shard);
  }
  return prepared;
}

void fill_in(const CommonOptions& common, const NightlyRequest& request,
             const NightlyNumbers& numbers, const Shard& shard, Prepared& prepared) {
  NightlyTask& task = prepared.task;
  task.header.shard = to_text(shard);
  task.budget_s = numbers.budget_s;
  task.timeout_s = numbers.timeout_s;
  // Another each night, and the same when a night is resumed.
  task.seed =
      request.seed.empty() ? std::strtoull(task.header.run.c_str(), nullptr, 16) : numbers.seed;
  task.shard = shard;
  task.corpus = prepared.journal.folder() + "/corpus";
  const int jobs = request.jobs > 0 ? request.jobs : common.threads;
  const int threads = std::max(1, common.threads / jobs);
  for (int i = 0; i < jobs; ++i) {
    CommonOptions of_worker = common;
    if (const auto& devices = request.devices; !devices.empty()) {
      of_worker.device = devices[static_cast<std::size_t>(i) % devices.size()];
    }
    task.pool.workers.push_back(worker_arguments(of_worker, threads));
  }
  task.pool.memory_bytes = numbers.memory_bytes > 0 ? numbers.memory_bytes : share_of_memory(jobs);
  task.launches = launches_of_a_case(common);
  task.pool.start_limit_s =
      std::max(Pace(task.launches).limit_s(kControlCostMs), numbers.timeout_s);
}

// How it ran: the exit code of trouble, 0 where there was none.
struct Ran {
  int trouble = 0;
  bool disk_is_full = false;
};

Ran run_prepared(const CommonOptions& common, const Prepared& prepared, const Ledger& ledger,
                 const std::string& to_go_on) {
  std::vector<std::unique_ptr<Reporter>> reporters;
  reporters.push_back(make_jsonl_reporter(prepared.journal.file()));
  reporters.push_back(common.json ? make_jsonl_reporter(stdout)
                                  : make_console_reporter(stdout, common.console));
  const NightlyEnd end = run_nightly(prepared.task, ledger, reporters, interrupts);
  for (const std::string& line : end.kept) say("kept: {}\n", line);
  if (!end.kept.empty()) {
    say("to replay them each night, append to fuzz/corpus/ what is in {}/\n", prepared.task.corpus);
  }
  if (end.journal_failed) {
    const std::string text =
        fmt::format("{}: {}; {} finished cases are kept; free space, then: {}",
                    prepared.journal.path(), end.trouble.text, end.ended, to_go_on);
    return {report_trouble({TroubleKind::kInfra, text}), true};
  }
  if (!end.trouble.text.empty()) return {report_trouble(end.trouble), false};
  const std::string why = reporters.back()->trouble();
  if (why.empty()) return {};
  return {report_trouble({TroubleKind::kInfra, "the report could not be written: " + why}), false};
}

// The file of runs, with this one in it. Without --history: none.
Result<Trend> keep_in_history(const Results& results, const std::string& path) {
  if (path.empty()) return Trend{};
  auto history = History::open(path);
  if (!history.ok()) return history.trouble();
  if (Outcome added = history->add(results); !added.ok()) return added.trouble();
  return history->trend();
}

std::string names_of_report_files() {
  std::vector<std::string_view> names;
  for (const ReportFormat& format : all_report_formats()) {
    if (!format.file.empty()) names.push_back(format.file);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

int end_run(const Prepared& prepared, const NightlyRequest& request, const Ran& ran,
            const std::string& to_go_on) {
  const auto results = read_results({prepared.journal.path()});
  if (!results.ok()) return report_trouble(results.trouble());
  int code = run_exit_code(*results);
  const RunHeader& header = prepared.task.header;
  if (code == 5 && header.cases == 0 && !header.shard.empty()) {
    say("attest: shard {}: an empty part of a plan of {}: nothing was asked of it\n", header.shard,
        header.plan.substr(0, header.plan.rfind(' ')));
    code = 0;
  }
  if (ran.trouble != 0) code = worse_of(code, ran.trouble);
  if (ran.disk_is_full) return code;
  const std::string& folder = prepared.journal.folder();
  const auto trend = keep_in_history(*results, request.history);
  const Outcome written = write_report_files(*results, trend.ok() ? *trend : Trend{}, folder);
  if (!trend.ok()) code = worse_of(code, report_trouble(trend.trouble()));
  if (!written.ok()) code = worse_of(code, report_trouble(written.trouble()));
  say("results: {}\n", prepared.journal.path());
  if (written.ok()) say("reports: {}/ {}\n", folder, names_of_report_files());
  if (!results->missing.empty()) {
    say("{} cases did not end; to go on: {}\n", results->missing.size(), to_go_on);
  }
  return code;
}

// A part that the environment names has a folder of its own: its command line is that of the
// others.
void use_folder_of_part(const Shard& shard, NightlyRequest& request) {
  if (shard.count == 1 || shard.from == "--shard") return;
  const std::string part = fmt::format("/shard-{}-of-{}", shard.index + 1, shard.count);
  std::error_code none;
  if (request.resume.empty()) {
    request.out += part;
  } else if (!std::filesystem::exists(request.resume + "/" + kJournalName, none)) {
    request.resume += part;
  }
}

Result<Prepared> prepare(const CommonOptions& common, NightlyRequest& request, const Shard& shard) {
  const bool is_new = request.resume.empty();
  if (is_new && request.tier.empty()) request.tier = "smoke";
  if (is_new && request.out.empty()) request.out = new_out_folder("nightly-" + request.tier);
  use_folder_of_part(shard, request);
  return is_new ? begin_run(common, request, shard) : resume_run(common, request, shard);
}

}  // namespace

// They are here, and one code object is for all of them. The machine's text names the hardware.
Result<std::string> check_devices(const CommonOptions& common, const NightlyRequest& request) {
  std::vector<std::string> names = request.devices;
  if (names.empty()) names = {common.device};
  std::string target, machine;
  for (const std::string& name : names) {
    const auto device = facts_of_device(name);
    if (!device.ok()) return device.trouble();
    if (target.empty()) target = device->target, machine = machine_text(*device);
    if (device->target == target) continue;
    return Trouble{
        TroubleKind::kUsage,
        fmt::format("--device {} runs code for {}, and {} for {}: a night has one kind of "
                    "device; give each its own, and compare them by `attest compare`",
                    names.front(), target, name, device->target)};
  }
  return machine;
}

int command_nightly(const CommonOptions& common, const NightlyRequest& given) {
  NightlyRequest request = given;
  const auto numbers = numbers_of(request);
  if (!numbers.ok()) return report_trouble(numbers.trouble());
  const Environment environment = process_environment();
  const auto shard = shard_of(request.shard, environment);
  if (!shard.ok()) return report_trouble(shard.trouble());
  const auto ledger = Ledger::open(common.ledger);
  if (!ledger.ok()) return report_trouble(ledger.trouble());
  for (const std::string& line : ledger->warnings()) say("attest: {}\n", line);
  const auto machine = check_devices(common, request);
  if (!machine.ok()) return report_trouble(machine.trouble());
  auto prepared = prepare(common, request, *shard);
  if (!prepared.ok()) return report_trouble(prepared.trouble());
  if (const Outcome shown = show_that_shards_are_known(environment); !shown.ok()) {
    return report_trouble(shown.trouble());
  }
  const PrematureExitFile unfinished(environment);
  if (!unfinished.trouble().empty()) {
    return report_trouble({TroubleKind::kInfra, unfinished.trouble()});
  }
  const std::string& note = prepared->journal.note();
  if (!note.empty()) say("attest: {}\n", note);
  if (const std::string part = what_it_is(*shard); !part.empty()) {
    say("attest: {}, in {}\n", part, prepared->journal.folder());
  }
  prepared->task.header.machine = *machine;
  fill_in(common, request, *numbers, *shard, *prepared);
  const std::string to_go_on =
      resume_command(prepared->task.header, request, prepared->journal.folder());
  if (prepared->is_finished) {
    say("attest: {}: its run is finished: {}\n", prepared->journal.path(),
        tally_text(prepared->task.tally));
    return end_run(*prepared, request, {}, to_go_on);
  }
  count_interrupts();
  const Ran ran = run_prepared(common, *prepared, *ledger, to_go_on);
  return end_run(*prepared, request, ran, to_go_on);
}

}  // namespace attest
