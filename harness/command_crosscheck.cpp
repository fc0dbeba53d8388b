#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/case_source.hpp"
#include "harness/commands.hpp"
#include "harness/crosscheck.hpp"
#include "harness/machine.hpp"
#include "harness/out_file.hpp"
#include "harness/result_files.hpp"
#include "harness/run_header.hpp"
#include "harness/runner.hpp"
#include "harness/selection.hpp"
#include "reports/run/say.hpp"
#include "reports/run/status_line.hpp"

namespace attest {
namespace {

using nlohmann::ordered_json;

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

// One of the two: a device, or what was recorded of one.
struct Side {
  std::string name;      // of the device
  std::string hardware;  // empty: it is emulated, or recorded
  std::string repro_options;
  OpenRunner open;
};

std::string ratio_text(const Verdict& verdict) {
  const auto worst =
      std::max_element(verdict.worst.begin(), verdict.worst.end(),
                       [](const Worst& a, const Worst& b) { return a.ratio < b.ratio; });
  if (worst == verdict.worst.end()) return "";
  return fmt::format("  ratio {:.3g} in {}", worst->ratio, worst->tensor);
}

std::string side_text(const Side& side, const CaseRecord& record) {
  const Verdict& verdict = record.verdict;
  std::string text =
      fmt::format("         {:<22} {}{}{}\n", side.name, to_string(verdict.status),
                  ratio_text(verdict), verdict.bucket.empty() ? "" : "  bucket " + verdict.bucket);
  const std::string reason = verdict.reason.substr(0, verdict.reason.find('\n'));
  if (!reason.empty()) text += fmt::format("             {}\n", reason);
  return text + fmt::format("             see it again: ./attest repro '{}'{}\n",
                            record.planned_token(), side.repro_options);
}

ordered_json json_of(const Side& side, const CaseRecord& record) {
  double ratio = -1;
  for (const Worst& worst : record.verdict.worst) ratio = std::max(ratio, worst.ratio);
  ordered_json json = {{"device", side.name},
                       {"status", to_string(record.verdict.status)},
                       {"bucket", record.verdict.bucket},
                       {"reason", record.verdict.reason}};
  if (ratio >= 0) json["ratio"] = ratio;  // JSON has no inf: null
  return json;
}

constexpr std::array kWords = {"same", "evidence", "DIFFERS", "skipped",
                               "no verdict"};  // by Likeness

// Text for people, and JSON Lines, each on disk before the next case ends.
class CrossReport {
 public:
  CrossReport(std::vector<Side> sides, std::FILE* text, std::vector<std::FILE*> journals)
      : sides_(std::move(sides)),
        text_(text),
        journals_(std::move(journals)),
        status_(stderr_screen()) {}

  void ended(const CrossRecords& records, std::size_t of) {
    tally_.add(records);
    const Likeness alike = likeness(records[0].verdict, records[1].verdict);
    const bool is_quiet = alike == Likeness::kSame || alike == Likeness::kSkipped;
    const char* const word = kWords[static_cast<std::size_t>(alike)];
    if (!is_quiet && text_ != nullptr) {
      status_.clear();
      fmt::print(text_, "{:<8} {}\n{}{}", word, records[0].planned_token(),
                 side_text(sides_[0], records[0]), side_text(sides_[1], records[1]));
      std::fflush(text_);
    }
    for (std::size_t i = 0; i < 2; ++i) note_ratios(i, records[i].verdict);
    write({{"event", "case"},
           {"token", records[0].planned_token()},
           {"likeness", word},
           {"verdicts", {json_of(sides_[0], records[0]), json_of(sides_[1], records[1])}}});
    status_.show([&](int /*columns*/) {
      return fmt::format("{} of {} cases: {} the same, {} differ", tally_.total(), of, tally_.same,
                         tally_.different);
    });
  }

  void end(bool interrupted, bool is_partial) {
    status_.clear();
    if (text_ != nullptr) {
      fmt::print(
          text_,
          "{} tokens on {} and {}: {} with the same verdict{}{}; {} right on both but vacuous on "
          "one, {} differ, {} skipped, {} without a verdict{}\n",
          tally_.total(), sides_[0].name, sides_[1].name, tally_.same, tally_.same > 0 ? ": " : "",
          tally_.same > 0 ? tally_text(tally_.statuses) : "", tally_.evidence, tally_.different,
          tally_.skipped, tally_.undecided,
          interrupted  ? "; interrupted"
          : is_partial ? "; what was recorded is incomplete"
                       : "");
      for (std::size_t i = 0; i < 2; ++i) {
        for (const auto& [tensor, ratio] : largest_[i]) {
          fmt::print(text_, "largest ratio of a pass on {} in {}: {:.4g}\n", sides_[i].name, tensor,
                     ratio);
        }
      }
      std::fflush(text_);
    }
    write({{"event", "end"},
           {"tokens", tally_.total()},
           {"same", tally_.same},
           {"statuses", tally_text(tally_.statuses)},
           {"evidence", tally_.evidence},
           {"different", tally_.different},
           {"skipped", tally_.skipped},
           {"undecided", tally_.undecided},
           {"interrupted", interrupted},
           {"recorded_in_part", is_partial}});
  }

  const CrossTally& tally() const { return tally_; }
  bool is_written() const { return is_written_; }

 private:
  void note_ratios(std::size_t side, const Verdict& verdict) {
    if (verdict.status != Status::kPassed) return;
    for (const Worst& worst : verdict.worst) {
      double& largest = largest_[side][worst.tensor];
      largest = std::max(largest, worst.ratio);
    }
  }
  void write(const ordered_json& json) {
    const std::string line =
        json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    for (std::FILE* const to : journals_) {
      const bool is_whole = std::fwrite(line.data(), 1, line.size(), to) == line.size();
      if (!is_whole || std::fflush(to) != 0) is_written_ = false;
    }
  }

  std::vector<Side> sides_;
  std::FILE* text_;
  std::vector<std::FILE*> journals_;
  StatusLine status_;
  CrossTally tally_;
  std::map<std::string, double> largest_[2];
  bool is_written_ = true;
};

// A failure is the kernel's own here, whether a ledger knows it or not.
const Ledger& no_ledger() {
  static const Ledger kNone;
  return kNone;
}

CommonOptions on_device(CommonOptions common, const std::string& device) {
  common.device = device;
  common.ledger = "none";
  if (device.starts_with("emu:")) common.guard_page = GuardPage::kNone;  // needs none
  return common;
}

Result<Side> side_of(const CommonOptions& common, const std::string& device) {
  const auto facts = facts_of_device(device);
  if (!facts.ok()) return facts.trouble();
  const CommonOptions its = on_device(common, device);
  OpenRunner open = runners_of(
      {.common = its, .isolated = !facts->is_emulated, .workers = common.threads}, no_ledger());
  return Side{device, facts->hardware, repro_options(its), std::move(open)};
}

// What a command line asks for, but for its devices.
Result<std::vector<Case>> cases_of(const CrosscheckRequest& request, const Results* recorded) {
  std::vector<Case> cases;
  const auto add = [&](const std::string& token) -> Outcome {
    const auto c = known_case(token);
    if (!c.ok()) return c.trouble();
    cases.push_back(*c);
    return Done{};
  };
  if (recorded != nullptr) {
    for (const CaseRecord& record : recorded->cases) {
      if (const Outcome o = add(record.planned_token()); !o.ok()) return o.trouble();
    }
    return cases;
  }
  for (const std::string& token : request.tokens) {
    if (const Outcome o = add(token); !o.ok()) return o.trouble();
  }
  if (!request.tokens.empty()) return cases;
  // What only an emulator can be asked is not drawn.
  const auto source = random_cases({.seed = request.seed,
                                    .kernels = {all_kernels().begin(), all_kernels().end()},
                                    .is_emulated = false});
  for (std::int64_t i = 0; i < request.cases; ++i) cases.push_back(source->at(i));
  return cases;
}

Outcome check_request(const CrosscheckRequest& request) {
  const bool has_file = !request.save.empty() || !request.against.empty();
  if (request.devices.size() > 2) {
    return usage(
        fmt::format("crosscheck takes two devices, and {} are named", request.devices.size()));
  }
  if (request.devices.empty() || (request.devices.size() == 1 && !has_file)) {
    return usage(
        "crosscheck takes two devices, such as emu:gfx942 cuda:0; or one, and --save FILE of what "
        "is to be compared elsewhere, or --against FILE of what was recorded there");
  }
  if (request.devices.size() == 2 && has_file) {
    return usage("--save and --against stand for one of the two devices: name the other alone");
  }
  return Done{};
}

// Runs the cases on one device, and keeps their verdicts for --against.
int record(const CommonOptions& common, const CrosscheckRequest& request, const Side& side,
           const std::vector<Case>& cases) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(request.save.c_str(), "w"));
  if (file == nullptr) {
    return report_trouble({TroubleKind::kInfra, request.save + ": it cannot be written"});
  }
  const auto journal = make_jsonl_reporter(file.get());
  const CommonOptions its = on_device(common, side.name);
  journal->run_begin(run_header(its, "crosscheck", static_cast<std::int64_t>(cases.size())));
  StatusLine status(stderr_screen());
  Tally tally;
  const auto told = [&](const CrossRecords& records) {
    journal->case_begin(tally.total(), records[0].planned_token());
    journal->case_end(records[0]);
    tally.add(records[0].verdict.status);
    status.show([&](int /*columns*/) {
      return fmt::format("{} of {} cases", tally.total(), cases.size());
    });
  };
  const Outcome ran = run_crosscheck({cases, {side.open}, common.threads}, told, stop_requested);
  status.clear();
  tally.interrupted = tally.total() < static_cast<std::int64_t>(cases.size());
  journal->run_end(tally, status.seconds());
  if (!ran.ok()) return report_trouble(ran.trouble());
  if (!journal->trouble().empty()) {
    return report_trouble({TroubleKind::kInfra, request.save + ": " + journal->trouble()});
  }
  say("{}: {} cases on {}: {}; to compare: ./attest crosscheck DEVICE --against {}\n", request.save,
      tally.total(), side.name, tally_text(tally), request.save);
  tally.vacuous = 0;  // that is compared too
  return exit_code(tally);
}

// Says what of a record is not here. False: nothing.
bool note_gaps(const std::string& path, const Results& recorded) {
  for (const std::string& note : recorded.notes) say("{}: {}\n", path, note);
  const std::size_t missing = recorded.missing.size();
  const bool is_partial = recorded.tally.interrupted || missing > 0 || !recorded.absent.empty();
  if (!is_partial) return false;
  say("{}: that run is incomplete{}: what it lacks is not compared\n", path,
      missing > 0 ? fmt::format(", {} cases did not end, such as {}", missing, recorded.missing[0])
                  : "");
  return true;
}

// `is_partial`: the recorded side lacks cases.
int compare(const CommonOptions& common, const CrosscheckRequest& request, std::vector<Side> sides,
            const std::vector<Case>& cases, bool is_partial) {
  const auto out = open_out_file(request.out, "crosscheck", "crosscheck.jsonl");
  if (!out.ok()) return report_trouble(out.trouble());
  CrossTask task{cases, {}, common.threads};
  for (const Side& side : sides) task.sides.push_back(side.open);
  std::vector<std::FILE*> journals = {out->file.get()};
  if (common.json) journals.push_back(stdout);
  CrossReport report(std::move(sides), common.json ? nullptr : stdout, journals);
  const Outcome ran = run_crosscheck(
      task, [&](const CrossRecords& records) { report.ended(records, cases.size()); },
      stop_requested);
  const bool interrupted = report.tally().total() < static_cast<std::int64_t>(cases.size());
  report.end(interrupted, is_partial);
  say("journal: {}\n", out->path);
  int code = exit_code(report.tally(), interrupted || is_partial);
  if (!ran.ok()) code = worse_of(code, report_trouble(ran.trouble()));
  if (!report.is_written()) {
    code = worse_of(code, report_trouble({TroubleKind::kInfra, out->path + ": it is not whole"}));
  }
  return code;
}

}  // namespace

int command_crosscheck(const CommonOptions& common, const CrosscheckRequest& request) {
  if (const Outcome o = check_request(request); !o.ok()) return report_trouble(o.trouble());
  std::optional<Results> recorded;
  if (!request.against.empty()) {
    auto read = read_run(request.against);
    if (!read.ok()) return report_trouble(read.trouble());
    recorded = std::move(*read);
  }
  std::vector<Side> sides;
  if (recorded) {
    const RunHeader& header = recorded->header();
    sides.push_back(
        {header.device + " (recorded)", "", header.repro_options, recorded_runners(*recorded)});
  }
  for (const std::string& device : request.devices) {
    auto side = side_of(common, device);
    if (!side.ok()) return report_trouble(side.trouble());
    sides.push_back(std::move(*side));
  }
  const auto cases = cases_of(request, recorded ? &*recorded : nullptr);
  if (!cases.ok()) return report_trouble(cases.trouble());
  std::string names;
  for (const Side& side : sides) {
    names += (names.empty() ? "" : " and ") + side.name;
    if (!side.hardware.empty()) names += fmt::format(" ({})", side.hardware);
  }
  say("crosscheck of {} cases on {}; {}\n", cases->size(), names, machine_text());
  const bool is_partial = recorded && note_gaps(request.against, *recorded);
  stop_on_interrupt();
  return request.save.empty() ? compare(common, request, std::move(sides), *cases, is_partial)
                              : record(common, request, sides.front(), *cases);
}

}  // namespace attest
