#include "harness/command_stress.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

#include "harness/device/device_list.hpp"
#include "harness/run_header.hpp"
#include "harness/runner.hpp"
#include "harness/shell_word.hpp"
#include "harness/source_of.hpp"
#include "harness/stress.hpp"
#include "reports/run/say.hpp"
#include "reports/run/text.hpp"

namespace attest {
namespace {

struct Kind {
  const char* name;
  const char* option;  // how often
  int on_emulator, on_hardware;
  Verdict (*run)(const Kernel&, Device&, const Case&, const StressOptions&);
};
constexpr Kind kReplay = {"replay", "--replays", 20, 1000, stress_replay};
constexpr Kind kRepeat = {"repeat", "--launches", 20, 1000, stress_repeat};
constexpr Kind kOrder = {"order", "--launches", 2, 50, stress_order};

// The whole command for these cases.
std::string command_of(const Kind& kind, const CommonOptions& common,
                       const std::vector<std::string>& tokens, int count) {
  std::string text = fmt::format("./attest stress {}", kind.name);
  for (const std::string& token : tokens) text += " " + shell_word(token);
  return text + fmt::format(" {} {}{}", kind.option, count, repro_options(common));
}

// As the console of `attest run`, with what was repeated in place of what a case sees.
class StressConsole final : public Reporter {
 public:
  StressConsole(const ConsoleOptions& options, std::function<std::string(const std::string&)> again)
      : coloured_(has_colour(options.colour, stdout)), again_(std::move(again)) {}

  void run_begin(const RunHeader& header) override {
    cases_ = header.cases;
    say("{} case{} on {}, {}\n", header.cases, header.cases == 1 ? "" : "s", header.device,
        header.machine);
  }
  void case_begin(std::int64_t /*index*/, const std::string& /*token*/) override {}
  void case_end(const CaseRecord& record) override {
    const Verdict& verdict = record.verdict;
    checked_ += verdict.checked;
    print("{} {}  ", status_word(verdict.status, coloured_), visible(record.token));
    if (!verdict.worst.empty()) {
      const auto worst =
          std::max_element(verdict.worst.begin(), verdict.worst.end(),
                           [](const Worst& a, const Worst& b) { return a.ratio < b.ratio; });
      print("ratio {:.3g} in {}  ", worst->ratio, visible(worst->tensor));
    }
    const bool is_through = verdict.status == Status::kPassed && !verdict.remarks.empty();
    if (is_through) print("{}  ", visible(verdict.remarks.back()));
    print("{:.0f} ms\n", record.total_ms);
    if (verdict.status != Status::kPassed) print_reason(record);
    std::fflush(stdout);
  }
  void run_end(const Tally& tally, double seconds) override {
    print("{} of {} cases: {}; {} elements looked at in {:.1f} s\n", tally.total(), cases_,
          tally_text(tally), checked_, seconds);
    if (std::fflush(stdout) != 0) failed_ = true;
  }
  std::string trouble() const override { return failed_ ? "stdout: it cannot be written" : ""; }

 private:
  void print_reason(const CaseRecord& record) {
    std::string reason = visible(record.verdict.reason);
    for (std::size_t at = 0; (at = reason.find('\n', at)) != std::string::npos;) {
      reason.insert(++at, 9, ' ');
    }
    print("         {}\n", reason);
    const Verdict& verdict = record.verdict;
    if (!verdict.blame.empty()) print("         blame {}\n", visible(verdict.blame));
    if (!verdict.bucket.empty()) print("         bucket {}\n", visible(verdict.bucket));
    print("         see it again: {}\n", again_(record.token));
  }
  template <class... T>
  void print(fmt::format_string<T...> format, T&&... values) {
    if (!say_to(stdout, format, std::forward<T>(values)...)) failed_ = true;
  }

  bool coloured_, failed_ = false;
  std::int64_t cases_ = 0, checked_ = 0;
  std::function<std::string(const std::string&)> again_;  // the command, for a token
};

Result<std::vector<Case>> cases_of(const StressRequest& request, bool is_emulated) {
  std::vector<Case> cases;
  for (const std::string& token :
       request.tokens.empty() ? stress_tokens(is_emulated) : request.tokens) {
    auto c = known_case(token);
    if (!c.ok()) return c.trouble();
    if (const std::string why = why_not_stressed(*c); !why.empty()) {
      return Trouble{TroubleKind::kUsage, token + ": " + why};
    }
    cases.push_back(std::move(*c));
  }
  return cases;
}

// Where the disturbing kernels are: of the user's folder, or of this build where it has none.
std::string tools_folder(const CommonOptions& common) {
  std::error_code none;
  for (std::filesystem::directory_iterator at(common.code_objects, none), end; !none && at != end;
       at.increment(none)) {
    if (at->path().filename().string().starts_with("disturb.")) return common.code_objects;
  }
  return ATTEST_CODE_OBJECT_DIR;
}

CaseRecord stressed(const Kind& kind, const Case& c, Device& device, const StressOptions& options) {
  const Kernel& kernel = *find_kernel(c.kernel);
  CaseRecord record{to_token(c), {}, 0};
  const auto begin = std::chrono::steady_clock::now();
  try {
    record.verdict = kind.run(kernel, device, c, options);
  } catch (const std::bad_alloc&) {
    record.verdict = verdict_of({TroubleKind::kInfra, "out of memory on the host"}, kernel.name());
  }
  record.verdict.source = source_of(kernel, record.verdict, device.target());
  record.total_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return record;
}

// Behind a fault or a hang a GPU refuses everything to the process.
bool loses_device(const Verdict& verdict, const Device& device) {
  const bool stopped = verdict.status == Status::kCrashed || verdict.status == Status::kHung;
  return stopped && !device.is_emulated();
}

// Until the device is lost: what is left is not run.
Tally stress_all(const Kind& kind, const std::vector<Case>& cases, Device& device,
                 const StressOptions& options,
                 std::span<const std::unique_ptr<Reporter>> reporters) {
  bool is_lost = false;
  const RunCase run = [&](const Case& c) {
    CaseRecord record = stressed(kind, c, device, options);
    is_lost = loses_device(record.verdict, device);
    if (is_lost) stop_requested = true;
    return record;
  };
  const Tally tally = run_cases(cases, run, reporters);
  const auto left = static_cast<std::int64_t>(cases.size()) - tally.total();
  if (is_lost && left > 0) say("{} cases did not run, as the device was lost\n", left);
  return tally;
}

int run_kind(const Kind& kind, const CommonOptions& common, const StressRequest& request) {
  // Before a device is opened: a slip is told at once.
  const bool is_emulated = common.device.starts_with("emu:");
  const auto cases = cases_of(request, is_emulated);
  if (!cases.ok()) return report_trouble(cases.trouble());
  auto device =
      open_device(common.device, {.threads = common.threads, .guard_page = common.guard_page});
  if (!device.ok()) return report_trouble(device.trouble());
  const int by_default = is_emulated ? kind.on_emulator : kind.on_hardware;
  const int count = request.count == 0 ? by_default : request.count;
  const auto again = [&](const std::string& token) {
    return command_of(kind, common, {token}, count);
  };
  std::vector<std::unique_ptr<Reporter>> reporters;
  if (common.json) {
    reporters.push_back(make_jsonl_reporter(stdout));
  } else {
    reporters.push_back(std::make_unique<StressConsole>(common.console, again));
  }
  Reporter& reporter = *reporters.front();
  stop_on_interrupt();
  RunHeader header = run_header(common, fmt::format("stress {}", kind.name),
                                static_cast<std::int64_t>(cases->size()));
  header.again = command_of(kind, common, request.tokens, count);
  reporter.run_begin(header);
  const StressOptions options{{.code_objects = common.code_objects, .threads = common.threads},
                              count,
                              tools_folder(common)};
  const Tally tally = stress_all(kind, *cases, **device, options, reporters);
  if (reporter.trouble().empty()) return exit_code(tally);
  return worse_of(exit_code(tally), report_trouble({TroubleKind::kInfra, reporter.trouble()}));
}

void add_options(CLI::App& app, StressRequest& request, const Kind& kind) {
  app.add_option("tokens", request.tokens, "cases; none: a few of every kind of shape");
  app.add_option(kind.option, request.count,
                 fmt::format("how many; default: {}, on an emulator {}", kind.on_hardware,
                             kind.on_emulator))
      ->check(CLI::Range(2, 1 << 24));
}

}  // namespace

std::span<const StressVerb> stress_verbs() {
  static constexpr StressVerb kVerbs[] = {
      {"replay", "replay a graph while lengths, pages and contents change in place",
       [](CLI::App& app, StressRequest& request) { add_options(app, request, kReplay); },
       [](const CommonOptions& common, const StressRequest& request) {
         return run_kind(kReplay, common, request);
       }},
      {"repeat", "launch again and again, disturbed: do the bits stay?",
       [](CLI::App& app, StressRequest& request) { add_options(app, request, kRepeat); },
       [](const CommonOptions& common, const StressRequest& request) {
         return run_kind(kRepeat, common, request);
       }},
      {"order", "launch builds that hold workgroups back: do the bits stay?",
       [](CLI::App& app, StressRequest& request) { add_options(app, request, kOrder); },
       [](const CommonOptions& common, const StressRequest& request) {
         return run_kind(kOrder, common, request);
       }},
  };
  return kVerbs;
}

std::vector<std::string> stress_tokens(bool is_emulated) {
  if (is_emulated) {
    return {"v1:k=mla_decode:h=16:s=130,1,0,65:q=2:page=16:splits=4",
            "v1:k=mla_decode:h=5:s=200,33:page=1:splits=1",
            "v1:k=mla_decode:h=128:s=90,0,17:q=2:page=64:splits=2",
            "v1:k=mla_decode_bf16_partials:h=16:s=300,64:page=64:splits=8",
            "v1:k=mla_decode_bf16_partials:h=64:s=130,2:q=4,1:page=1:splits=3"};
  }
  return {"v1:k=mla_decode:h=16:s=1024x8:page=64:splits=16",
          "v1:k=mla_decode:h=16:s=1,4000,0,777,64,2048,65,300:q=2:page=16:splits=8",
          "v1:k=mla_decode:h=16:s=4096x2,100:page=1:splits=64",
          "v1:k=mla_decode:h=16:s=1500x8:page=64",
          "v1:k=mla_decode:h=24:s=3000x3,5:page=64:splits=1",
          "v1:k=mla_decode:h=128:s=2048x4:page=64:splits=8",
          "v1:k=mla_decode:h=128:s=3000,17:q=4:page=16:splits=4",
          "v1:k=mla_decode:h=128:s=1000,0,2000:q=3,1,2:page=1:splits=5",
          "v1:k=mla_decode_bf16_partials:h=16:s=2048x4,0,5:page=64:splits=32",
          "v1:k=mla_decode_bf16_partials:h=128:s=2500,1,0,600:q=2:page=16:splits=8"};
}

}  // namespace attest
